// Texts for screen readers: each is said once, as a sentence, and none only follows the pointer.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ALL, ask, plotBox, report, rest, samples, setView, skip, until, withPage, writePage } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */

const train = path.join(samples, "train.pickle");

/** Runs before a page's scripts: notes the text of every live region when it changes. */
function listen() {
    const heard = /** @type {string[]} */ ([]);
    Object.assign(window, { takeHeard: () => heard.splice(0) });
    const LIVE = "[aria-live]:not([aria-live=off]), [role=status]:not([aria-live=off]), [role=alert], [role=log], output:not([aria-live=off])";
    new MutationObserver((changes) => {
        const regions = new Set(changes.map(({ target }) => (target instanceof Element ? target : target.parentElement)?.closest(LIVE)));
        for (const region of regions) if (region?.checkVisibility() && region.textContent) heard.push(region.textContent);
    }).observe(document, { childList: true, characterData: true, attributes: true, attributeFilter: ["hidden"], subtree: true });
}

/** The texts that were said since the last call. @param {Page} page @returns {Promise<string[]>} */
async function heard(page) {
    await rest(page);
    return page.evaluate("takeHeard()");
}

/** Opens a page; passes on the texts that are said meanwhile. @param {string} input @param {(page: Page, opened:
 * string[]) => Promise<void>} use @param {object} [options] */
const hear = (input, use, options) =>
    withPage(writePage(input), async (page) => {
        await page.addInitScript(listen);
        await page.reload();
        await page.evaluate("strata.ready");
        await use(page, await heard(page));
    }, options);

/** Checks that a single text was said, and that it matches. @param {string[]} all @param {RegExp} wanted */
function once(all, wanted) {
    assert.equal(all.length, 1, all.join(" | "));
    assert.match(all[0].replace(/\u00a0/g, " "), wanted);
    assert.match(all[0], /\.$/, "a sentence");
}

describe("texts for screen readers", { skip }, () => {
    test("a page that was opened: its file, and where its highest moment is", async () => {
        const [{ peak_event: peak }] = report(train).devices;
        await hear(train, async (_, opened) => once(opened, new RegExp(`^train\\.pickle is open\\. .*highest 7\\.3 GiB at event ${peak.toLocaleString("en-US")} `)));
    });

    test("one that ran out of memory says so first", async () => {
        await hear(path.join(samples, "oom.pickle"), async (_, opened) => once(opened, /^oom\.pickle is open\. The most urgent of what was found: out of memory: 1\.5 GiB requested.*\. Stacked allocations/));
    });

    test("a search, its matches one by one, the filter, a pin, and back", async () => {
        await hear(train, async (page) => {
            await page.keyboard.press("/");
            await page.keyboard.type("attention", { delay: 20 });
            const { allocations } = await until(async () => {
                const found = await ask(page, 'strata.search("attention")');
                return found.allocations > 0 && found;
            }, "matches");
            // While a search is typed, its counts may be said; the final count is said last.
            const searched = await heard(page);
            assert.match(searched.at(-1) ?? "", new RegExp(`^The search finds ${allocations} allocations, .* at the peak\\.$`));
            assert.equal(new Set(searched).size, searched.length, "nothing twice");

            await page.keyboard.press("Enter");
            once(await heard(page), new RegExp(`^1 of ${allocations}: .*[KMG]iB of attention\\.py:\\d+ \\w+, (lived|from|older|alive) .*\\.$`));
            await page.keyboard.press("Enter");
            once(await heard(page), new RegExp(`^2 of ${allocations}: `));

            await setView(page, { filter: { leastBytes: "64 MiB" } });
            const kept = (await ask(page, ALL)).filter((/** @type {any} */ { bytes }) => bytes >= 2 ** 26).length;
            const filtered = await heard(page);
            assert.equal(filtered.length, 1, filtered.join(" | "));
            assert.match(filtered[0], new RegExp(`^Filtered: ${kept} of 1,014 allocations`));

            await setView(page, { filter: {}, search: "" });
            const all = await heard(page);
            assert.match(all.join(" "), /No filter: all 1,014 allocations\./);

            await setView(page, { selected: 300 });
            once(await heard(page), /^Pinned: .*[KMG]iB of \w+\.py:\d+ \w+, /);
            await setView(page, { selected: null });
            once(await heard(page), /^Nothing selected\.$/);
        });
    });

    test("an earlier view, by key", async () => {
        await hear(train, async (page) => {
            await rest(page);
            // Changes within a second are one entry of the history.
            await page.waitForTimeout(1200);
            await setView(page, { from: 100, to: 400 });
            await until(() => page.evaluate(() => /window=100_400/.test(location.hash)), "the window in the address");
            assert.deepEqual(await heard(page), [], "the window is not told while it moves");
            await page.keyboard.press("[");
            await until(async () => (await ask(page, "strata.view()")).from < 0, "the whole run");
            once(await heard(page), /^Stacked allocations from .* to event 2,778; highest 7\.3 GiB at event /);
        });
    });

    test("what the pointer meets in timeline, lanes, overview and map is not spoken", async () => {
        await hear(path.join(samples, "oom.pickle"), async (page) => {
            await page.keyboard.press("g");
            await heard(page);
            const box = await plotBox(page);
            for (let i = 1; i < 12; i++) await page.mouse.move(box.x + (box.width * i) / 12, box.y + (box.height * i) / 14);
            await page.mouse.move(box.x + box.width / 2, box.y + box.height + 20);
            const map = await page.locator("#map-scroll").boundingBox();
            assert.ok(map);
            for (let i = 1; i < 12; i++) await page.mouse.move(map.x + (map.width * i) / 12, map.y + 30);
            await page.mouse.wheel(0, 100);
            assert.deepEqual(await heard(page), []);
            // The arrow keys say which block they reach.
            await page.locator("#map-scroll").focus();
            await page.keyboard.press("h");
            assert.match((await heard(page)).at(-1) ?? "", /MiB hole in a segment of/);
        });
    });
});
