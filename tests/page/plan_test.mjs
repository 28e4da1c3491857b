// The tab Plan: the rows of `strata plan --json`, in order of effort, with one limit. A row is shown in the timeline
// until Esc.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { each, run, samples, skip, strata, until, withPage, writePage } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */

const oom = path.join(samples, "oom.pickle");
const COSTS = ["none", "time", "precision", "elsewhere"];

const planned = (/** @type {string[]} */ ...flags) => JSON.parse(run(strata, "plan", "--json", ...flags, oom).toString()).devices[0];

const rowsOf = (/** @type {Page} */ page) =>
    each(page, "#panel-plan .plan-row", (row) => ({
        id: row instanceof HTMLElement ? (row.dataset.change ?? "") : "",
        fits: row instanceof HTMLElement ? (row.dataset.fits ?? "") : "",
        figure: row.querySelector(".plan-verdict b")?.textContent ?? "",
        verdict: row.querySelector(".plan-verdict")?.textContent ?? "",
        cost: row.querySelector(".plan-cost")?.textContent ?? "",
    }));

const openPlan = (/** @type {Page} */ page) => page.locator("#tab-plan").click();

const served = (/** @type {string | null} */ fits) => fits === "yes" || fits === "with_retries" || fits === "request";

const gib = (/** @type {number} */ bytes) => (bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 30).toFixed(2)} GiB`);

describe("plan", { skip }, () => {
    test("rows are those of strata plan, fitting ones first, then by effort", async () => {
        const wanted = planned();
        await withPage(writePage(oom), async (page) => {
            await openPlan(page);
            const rows = await until(async () => {
                const found = await rowsOf(page);
                return found.length > 0 && found;
            }, "rows");
            const all = new Map([...wanted.plans.map((/** @type {any} */ plan) => [plan.changes.join("+"), plan]), ...wanted.changes.map((/** @type {any} */ one) => [one.id, one])]);
            assert.deepEqual(rows.map(({ id }) => id).sort(), [...all.keys()].sort());
            for (const { id, fits, figure, cost, verdict } of rows) {
                const own = all.get(id);
                const bytes = own.live_peak_bytes_max ?? own.live_peak_bytes_min;
                assert.equal(figure, `${own.live_peak_bytes_max === null ? "not below " : ""}${gib(bytes)}`);
                assert.equal(fits, own.fits ?? "");
                assert.match(cost, /^costs /);
                if (served(own.fits)) assert.ok(bytes <= wanted.budget.used_bytes && verdict.includes("to spare"));
            }
            const ranks = rows.map(({ id, fits }) => (served(fits) ? 0 : all.get(id).live_peak_bytes_max === null ? 20 : 10) + COSTS.indexOf(all.get(id).cost));
            assert.deepEqual(ranks, [...ranks].sort((a, b) => a - b));
            // The tab names one limit, and does not call a lower bound insufficient.
            const said = ((await page.locator("#panel-plan").textContent()) ?? "").replaceAll("\u00a0", " ");
            assert.ok(said.includes(`As recorded ${gib(wanted.as_recorded.live_peak_bytes_max)} in use; limit ${gib(wanted.budget.used_bytes)}, what the process had.`), said);
            assert.deepEqual(await each(page, "#panel-plan h3", (h3) => h3.textContent), ["Not enough by itself", "Only a bound is known"]);
            assert.equal(await page.locator("#panel-plan h3:last-of-type ~ .plan-row").count(), rows.filter(({ figure }) => figure.startsWith("not below")).length);
        });
    });

    test("a click, and Enter on a row that arrows chose, show the change; Esc goes back", async () => {
        await withPage(writePage(oom), async (page) => {
            await openPlan(page);
            const first = page.locator("#panel-plan .plan-row").first();
            await first.click();
            await until(async () => (await first.getAttribute("aria-pressed")) === "true", "the row");
            assert.match((await page.locator("#proof-text").textContent()) ?? "", /checkpoint all 4 blocks · 4\.09 GiB ✓ 3\.91 GiB to spare at the failed request/);
            await page.keyboard.press("Escape");
            await until(async () => !(await page.locator("#proof").isVisible()), "the strip to go");
            await page.locator("#panel-plan .plan-row").first().focus();
            await page.keyboard.press("ArrowDown");
            await page.keyboard.press("Enter");
            await until(async () => (await page.locator("#panel-plan .plan-row[aria-pressed=true]").count()) === 1, "another row");
            await until(async () => (await page.locator("#panel-plan .plan-row").nth(1).getAttribute("aria-pressed")) === "true", "it");
        });
    });

    test("a tap shows the change, and useless changes are folded away", async () => {
        const file = writePage(oom, "--gpu", "9.4GiB");
        const useless = planned("--gpu", "9.4GiB").changes.filter(
            (/** @type {any} */ one) => !served(one.fits) && Math.max(one.saves_peak_bytes, one.saves_reserved_bytes ?? 0) <= 0);
        await withPage(file, async (page) => {
            await page.locator("#tab-plan").tap();
            const row = page.locator("#panel-plan .plan-row").first();
            await row.tap();
            await until(async () => (await row.getAttribute("aria-pressed")) === "true", "the row");
            assert.equal(await page.locator("#panel-plan details .plan-row").count(), useless.length);
        }, { hasTouch: true });
    });

    test("nothing is wider than the panel, and each row is there for mouse, keys and touch, at any width", async () => {
        const file = writePage(oom, "--gpu", "9.4GiB");
        for (const width of [360, 820, 1440])
            for (const scheme of /** @type {const} */ (["light", "dark"]))
                await withPage(file, async (page) => {
                    await page.setViewportSize({ width, height: 900 });
                    await page.emulateMedia({ colorScheme: scheme });
                    await openPlan(page);
                    const row = page.locator("#panel-plan .plan-row").first();
                    await row.waitFor();
                    const wide = await each(page, "#panel-plan, #panel-plan .plan-row, #panel-plan .plan-row > *, #panel-plan p", (element) =>
                        element.scrollWidth > element.clientWidth ? element.textContent : "");
                    assert.deepEqual(wide.filter((text) => text !== ""), [], `${width} ${scheme}`);
                    const pressed = (/** @type {string} */ now) => until(async () => (await row.getAttribute("aria-pressed")) === now, `${width} ${scheme} ${now}`);
                    for (const way of [() => row.click(), () => row.tap(), () => row.press("Enter")]) {
                        await way();
                        await pressed("true");
                        await page.keyboard.press("Escape");
                        await pressed("false");
                    }
                }, { hasTouch: true });
    });

    test("the card of the failed request leads there, and has the first sentence", async () => {
        await withPage(writePage(oom), async (page) => {
            await page.locator("#tab-why").click();
            const card = page.locator("#panel-why .card").first();
            await until(async () => ((await card.textContent()) ?? "").match(/What to domodel.*checkpoint\(block, x.*Gets past it: .* to spare.*Checkpoint all 4 blocks/s), "the sentence");
            await card.locator("[data-action=plan]").click();
            await until(async () => (await page.locator("#tab-plan").getAttribute("aria-selected")) === "true", "the tab");
        });
    });

    test("the missing bytes in header, card and rows are the report's", async () => {
        const { budget, changes } = planned();
        const advice = JSON.parse(run(strata, "report", "--json", oom).toString()).devices[0].oom_details[0].advice;
        const [, lacking] = /would have been (.*) short/.exec(advice.find((/** @type {any} */ one) => one.code === "memory_in_use").text) ?? [];
        await withPage(writePage(oom), async (page) => {
            const text = async (/** @type {string} */ where) => ((await page.locator(where).first().textContent()) ?? "").replaceAll("\u00a0", " ");
            assert.ok((await text("header")).includes(`${lacking} short of`), await text("header"));
            await page.locator("#tab-why").click();
            const card = await text("#panel-why .card");
            assert.ok(card.includes(`${lacking} short`), card);
            for (const { code, text: said } of advice) if (code !== "memory_in_use" && code !== "plan") assert.ok(card.includes(said), card);
            await openPlan(page);
            const rows = await until(async () => (await rowsOf(page)).length > 0 && rowsOf(page), "rows");
            for (const { id, verdict } of rows) {
                const own = changes.find((/** @type {any} */ one) => one.id === id);
                const short = (own?.live_peak_bytes_max ?? 0) - budget.used_bytes;
                if (own?.fits === "no" && own.live_peak_bytes_max !== null)
                    assert.ok(verdict.endsWith(short > 0 ? `at least ${gib(short)} short` : "does not fit"), verdict);
            }
            assert.ok(rows.some(({ verdict }) => verdict.includes(`at least ${lacking} short`)));
        });
    });

    for (const [name, ...flags] of [["log_error_hip.log"], ["cpu_train.trace.json.gz"], ["train.pickle"], ["oom.pickle", "--no-plan"]])
        test(`${name} ${flags} has no plan and no tab for one, and an old address says why`, async () => {
            const page_ = writePage(path.join(samples, name), ...flags);
            await withPage(page_, async (page) => {
                assert.equal(await page.locator("#tab-plan").isVisible(), false);
            });
            await withPage(page_, async (page) => {
                await until(async () => /Nothing (can be|was) planned|no limit/.test((await page.locator("#panel-plan").textContent()) ?? ""), "the words");
            }, { hash: "#tab=plan" });
        });
});
