// Properties that the page and some tests add to a page's window.
interface Window {
    strata: any;
    copied: string;
    said: (string | null)[];
}
