// Labels of stacks in a list, with words that tell stacks with the same label apart.
import { FRAME_USER } from "page_api";
import { perPage } from "./state.js";

/** A stack in a line: its call site and the next user frame that called it.
 * @param {Page} page @param {number} stack @param {number} site */
export function stackText({ session, view }, stack, site) {
    const frames = session.stackFrames(stack);
    const caller = frames
        .slice(frames.indexOf(site) + 1)
        .find((id) => id !== site && view.c.frame_kind(id) === FRAME_USER);
    return caller === undefined
        ? session.siteText(site)
        : `${session.siteText(site)} \u2039 ${session.siteText(caller)}`;
}

/** More stacks than this are not told apart, because reading all their frames would take too long. */
export const TOLD_MOST = 20000;

/** The words that tell a stack apart from others with its label. */
export const toldOf = perPage(
    () => /** @type {{of: unknown, words: Map<number, string>}} */ ({ of: null, words: new Map() }),
);

/** Finds words for stacks with equal labels: the innermost frame that not all of them have, otherwise a number. */
export function tellStacks(/** @type {Page} */ page) {
    const { view } = page;
    const told = toldOf(page);
    if (told.of === view.held) return;
    told.of = view.held;
    told.words.clear();
    if (view.held.count > TOLD_MOST) return;
    /** @type {Map<string, number[]>} */
    const same = new Map();
    for (let i = 0; i < view.held.count; i++) {
        const { site, stack } = view.c.group(i);
        const label = stackText(page, stack, site);
        same.set(label, [...(same.get(label) ?? []), stack]);
    }
    for (const stacks of same.values()) if (stacks.length > 1) tellApart(page, stacks);
}

function tellApart(/** @type {Page} */ page, /** @type {number[]} */ stacks) {
    /** @type {Map<string, number>} */
    const holders = new Map();
    const texts = stacks.map((stack) => [
        ...new Set(page.session.stackFrames(stack).map((id) => page.session.siteText(id))),
    ]);
    for (const frames of texts) for (const text of frames) holders.set(text, (holders.get(text) ?? 0) + 1);
    /** @type {Map<string, number>} */
    const used = new Map();
    stacks.forEach((stack, i) => {
        const own =
            texts[i]
                .filter((text) => (holders.get(text) ?? 0) < stacks.length)
                .sort((a, b) => (holders.get(a) ?? 0) - (holders.get(b) ?? 0))[0] ?? "";
        const nth = (used.get(own) ?? 0) + 1;
        used.set(own, nth);
        toldOf(page).words.set(stack, `${own && ` \u2026 ${own}`}${nth > 1 || !own ? ` (${nth})` : ""}`);
    });
}
