// A random walk of clicks, keys, wheels and drags through pages: none may end in an error. Seed and length are fixed, so a
// failure repeats; STRATA_WALK_SEED and STRATA_WALK_STEPS make other and longer walks.
import path from "node:path";
import { test } from "node:test";

import { samples, skip, withPage, writePage } from "./browser.mjs";

const seed = Number(process.env.STRATA_WALK_SEED ?? 7);
const steps = Number(process.env.STRATA_WALK_STEPS ?? 220);

const KEYS = (
    "p o 0 9 v w a s d q x l h k g m n t f e u j c , . < > 1 2 3 4 5 6 7 8 b / ? Escape Escape Enter Tab ArrowDown ArrowUp ArrowLeft " +
    "ArrowRight Home End PageDown Space Shift+Tab Backspace"
).split(" ");

/** @param {number} state */
function generator(state) {
    return (/** @type {number} */ below) => {
        state = (Math.imul(state, 1103515245) + 12345) >>> 0;
        return Math.floor((state / 2 ** 32) * below);
    };
}

/** Clicks some things that can be seen, one right after the other, before the page draws what the first one changed.
 * @param {import("playwright-core").Page} page @param {number[]} numbers which ones */
const clickQuickly = (page, numbers) =>
    page.evaluate((numbers) => {
        const asked = 'button, summary, select, [role="row"], input[type="checkbox"], #map-scroll';
        const seen = [...document.querySelectorAll(asked)].filter((element) => {
            const { x, y, width, height } = element.getBoundingClientRect();
            const hit = document.elementFromPoint(x + width / 2, y + height / 2);
            return hit !== null && !element.matches(":disabled") && (element.contains(hit) || hit.contains(element));
        });
        for (const number of numbers) {
            const element = seen[number % seen.length];
            if (element instanceof HTMLSelectElement) {
                element.selectedIndex = number % element.options.length;
                element.dispatchEvent(new Event("change", { bubbles: true }));
            } else element?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: number % 7 === 0 }));
        }
    }, numbers);

/** @param {import("playwright-core").Page} page @param {(below: number) => number} next */
async function walk(page, next) {
    const place = () => /** @type {const} */ ([next(1400), next(900)]);
    for (let step = 0; step < steps; step++) {
        const what = next(10);
        if (what < 4) await clickQuickly(page, Array.from({ length: 1 + next(3) }, () => next(100000)));
        else if (what < 7) await page.keyboard.press(KEYS[next(KEYS.length)]);
        else if (what < 8) await page.mouse.move(...place());
        else if (what < 9) await page.mouse.wheel(next(3) * 100 - 100, next(5) * 200 - 400);
        else {
            await page.mouse.move(...place());
            await page.mouse.down();
            await page.mouse.move(...place(), { steps: 2 });
            await page.mouse.up();
        }
        // Clicks that open another tab of the browser or save a file are not the page's.
        for (const other of page.context().pages()) if (other !== page) await other.close();
        if (await page.locator("#failure").isVisible()) return;
    }
}

for (const [i, name] of ["two_devices", "oom", "train", "private_pools", "streams"].entries())
    test(`a walk through ${name} meets no error`, { skip }, () =>
        withPage(writePage(path.join(samples, `${name}.pickle`)), (page) => walk(page, generator(seed + i))));
