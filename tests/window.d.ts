// What the page and some tests keep at the window of a page.
interface Window {
    strata: any;
    copied: string;
    said: (string | null)[];
}
