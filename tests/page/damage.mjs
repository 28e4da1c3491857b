// Ways to damage a page, for the tests of every browser.
import assert from "node:assert/strict";

/** The end of every message of a damaged page: what to do next. */
export const GO_ON = /damaged[^]*(Copy it again|Copy the file again), or write it afresh with Strata|cut off\. Copy the file again, or write it afresh with Strata/;

/** The page's text with the content of an inert element changed. @param {string} text of the page @param {string} id
 * @param {(content: string) => string} change */
export function changed(text, id, change) {
    const begin = text.indexOf(">", text.indexOf(` id="${id}"`)) + 1;
    const end = text.indexOf("</script>", begin);
    assert.ok(begin > 0 && end > begin, id);
    return text.slice(0, begin) + change(text.slice(begin, end)) + text.slice(end);
}

/** Ways to damage the content of an element. @type {Record<string, (own: string) => string>} */
export const DAMAGE = {
    cut: (own) => own.slice(0, (own.length >> 3) * 4),
    overwritten: () => "%%% nothing of it",
    "with one letter that is another": (own) => own.slice(0, own.length >> 1) + (own[own.length >> 1] === "A" ? "B" : "A") + own.slice((own.length >> 1) + 1),
    "with letters that are none": (own) => `${own.slice(0, own.length >> 1)}\u00e9\u0000= ${own.slice(own.length >> 1)}`,
    "with a part in another's place": (own) => own.slice(0, 400) + own.slice(-400, -200) + own.slice(400, -400) + own.slice(-200),
    // Where a recording needs no "=" at its end, what follows it is ignored (docs/payload.md).
    "twice, with an end in the middle": (own) => `${own}=${own}`,
    empty: () => "",
};
