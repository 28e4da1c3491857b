// Phases, filter and selection.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ALL, ask, canvasPixels, corpus, hashOf, plotBox, randomPoints, reload, replay, samples, settle, setView, skip, until, withPage, writePage, writeSnapshot } from "./browser.mjs";

describe("phases", { skip }, () => {
    const train = path.join(samples, "train.pickle");

    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
        test(`nested bands have names, a hover text and a range, ${colorScheme}`, async () => {
            await withPage(writePage(train), async (page) => {
                const marks = await ask(page, "strata.phases()");
                const outer = marks.find((/** @type {any} */ mark) => mark.name === "ProfilerStep#1");
                const inner = marks.filter((/** @type {any} */ mark) => mark.row === 1 && mark.from >= outer.from - 1 && mark.to <= outer.to + 1);
                assert.equal(outer.row, 0);
                assert.ok(inner.some((/** @type {any} */ mark) => mark.name === "backward"), "backward lies inside of the step");
                const box = await plotBox(page);
                // The allocator's lane, if there is one, lies between the timeline and the phases.
                let y = box.y + box.height - 2;
                await until(async () => {
                    await page.mouse.move(box.x + (outer.from + outer.to) / 2, (y += 12));
                    await settle(page);
                    return y > box.y + box.height + 120 || (await page.locator("#tip").innerText()).includes("ProfilerStep#1");
                }, "the phase's tip");
                assert.ok((await page.locator("#tip").innerText()).includes("ProfilerStep#1"), "the phase's tip");
                await page.mouse.down();
                await page.mouse.up();
                await until(() => page.locator("#range-tabs").isVisible(), "the selected range");
                const { range } = await ask(page, "strata.view()");
                assert.ok(Math.abs((range.to - range.from) / 2779 - (outer.to - outer.from) / box.width) < 0.01);
            }, { colorScheme });
        });
    }

    test("timers of the compiler are folded until opened; partners may be missing", async () => {
        const file = writeSnapshot("phases.pickle", `(lambda t: {"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096 + i * 512, "size": 512, "stream": 0, "time_us": t + i * 10, "frames": []} for i in range(200)]], "external_annotations": [{"name": n, "stage": s, "device": 0, "time_us": t + at} for n, s, at in [("lost", "END", 5), ("step", "START", 100)] + [("_compile.compile_inner (dynamo_timed)", s, 200 + i * 8 + e * 5) for i in range(50) for e, s in enumerate(["START", "END"])] + [("forward", "START", 800), ("step", "END", 1500)]]})(1700000000000000)`);
        await withPage(writePage(file), async (page) => {
            const names = () => ask(page, "[...new Set(strata.phases().map((mark) => mark.name))].sort()");
            assert.deepEqual(await names(), ["forward", "step"]);
            const [step, forward] = await ask(page, '["step", "forward"].map((name) => strata.phases().find((mark) => mark.name === name))');
            assert.ok(Math.abs(step.to - forward.to) < 1, "what has no end of its own ends with what encloses it");
            assert.equal(await page.locator("#lane-fold").innerText(), "+50");
            await page.locator("#lane-fold").click();
            await until(async () => (await names()).includes("_compile.compile_inner (dynamo_timed)"), "the timers");
            assert.equal(await page.locator("#lane-fold").getAttribute("aria-pressed"), "true");
        });
    });

    test("earlier snapshots are marked", async () => {
        const file = writeSnapshot("snapshots.pickle", `{"segments": [], "device_traces": [[{"action": "snapshot" if i == 50 else "alloc", "addr": 4096 + i * 512, "size": 512, "stream": 0, "time_us": 1700000000000000 + i, "frames": []} for i in range(100)]]}`);
        await withPage(writePage(file), async (page) => {
            const mark = page.locator(".marker-snapshot");
            assert.equal(await mark.innerText(), "Snapshot");
            assert.match(String(await mark.getAttribute("title")), /event 50/);
        });
    });
});

describe("filter and selection", { skip }, () => {
    const train = path.join(samples, "train.pickle");

    test("a filter by size leaves the others out of stack, pick, list and counts", async () => {
        await withPage(writePage(train), async (page) => {
            const before = await canvasPixels(page);
            await page.locator("#filter-open").click();
            await page.locator("#filter-least-bytes").fill("16 MiB");
            await until(async () => /of 1,014 allocations/.test(await page.locator("#filter-count").innerText()), "the counts");
            await settle(page);
            const kept = await ask(page, `${ALL}.filter(({bytes}) => bytes >= 16 * 1024 ** 2).length`);
            assert.ok((await page.locator("#filter-count").innerText()).startsWith(`${kept.toLocaleString("en-US")} of`));
            assert.notDeepEqual((await canvasPixels(page)).rgba, before.rgba);
            const stats = await ask(page, "strata.stats()");
            assert.ok(stats.drawn + stats.merged <= kept);
            const box = await plotBox(page);
            for (const [x, y] of randomPoints(100, Math.round(box.width), Math.round(box.height))) {
                const pick = await page.evaluate(([x, y]) => window.strata.pick(x, y), [x, y]);
                assert.ok(!pick || pick.bytes >= 16 * 1024 ** 2, JSON.stringify(pick));
            }
            await page.locator("#filter-least-bytes").fill("16 miles");
            await until(async () => (await page.locator("#filter-least-bytes").getAttribute("aria-invalid")) === "true", "a complaint");
            await page.locator("#filter-reset").click();
            await settle(page);
            assert.deepEqual((await canvasPixels(page)).rgba, before.rgba, "all are back");
        });
    });

    test("lifetime, peak and end; the hash keeps the filter", async () => {
        await withPage(writePage(train), async (page) => {
            const allocations = await ask(page, `${ALL}.map(({birth, death}) => [birth, death])`);
            const { peak_event: peak, live_at_peak, events } = await ask(page, "strata.summary()");
            const count = async (/** @type {object} */ filter) => {
                await setView(page, { filter: { leastAge: "", mostAge: "", atPeak: false, atEnd: false, ...filter } });
                return ask(page, "strata.stats().kept");
            };
            assert.equal(await count({ atPeak: true }), live_at_peak);
            assert.equal(await count({ atEnd: true }), allocations.filter(([, death]) => death >= events).length);
            assert.equal(await count({ leastAge: "100", mostAge: "400" }), allocations.filter(([birth, death]) => death - birth >= 100 && death - birth <= 400).length);
            const short = await count({ mostAge: "2 ms" });
            assert.ok(short > 0 && short < allocations.length);
            await until(async () => (await hashOf(page)).includes("age:<=2ms"), "the hash");
            await reload(page);
            assert.equal(await ask(page, "strata.stats().kept"), short);
            assert.ok(peak >= 0);
        });
    });

    test("ten streams and private pools: by stream and by pool", async (t) => {
        for (const [name, menu] of [["ten_streams_no_time_us.pickle", "stream"], ["private_pools.pickle", "pool"]]) {
            const file = menu === "pool" ? path.join(samples, name) : corpus(name);
            if (!file) {
                t.diagnostic(`skipped: ${name} is not here`);
                continue;
            }
            await withPage(writePage(file), async (page) => {
                await page.locator("#filter-open").click();
                const options = await page.locator(`#filter-${menu} option`).count();
                let sum = 0;
                for (let i = 0; i < options - 1; i++) {
                    await page.locator(`#filter-${menu}`).selectOption(String(i));
                    sum += await ask(page, "strata.stats().kept");
                }
                assert.ok(options > 2);
                assert.equal(sum, (await ask(page, "strata.stats()")).allocations, `every allocation is of one ${menu}`);
                await page.keyboard.press("Escape");
                await page.locator("#view-open").click();
                await page.locator("#color").selectOption(menu);
                await until(async () => (await page.locator("#legend").innerText()).includes(menu), "the legend");
            });
        }
    });

    test("a selected range is summed up: allocated, freed, highest", async () => {
        await withPage(writePage(train), async (page) => {
            const box = await plotBox(page);
            await page.keyboard.down("Shift");
            await page.mouse.move(box.x + box.width * 0.2, box.y + 200);
            await page.mouse.down();
            await page.mouse.move(box.x + box.width * 0.5, box.y + 210, { steps: 4 });
            await page.mouse.up();
            await page.keyboard.up("Shift");
            await page.mouse.move(5, 5);
            await settle(page);
            const { first, end } = await ask(page, "(({from, to}) => ({first: from, end: to}))(strata.view().range)");
            const sums = await ask(page, `(() => {
                const within = (event) => event >= ${first} && event < ${end};
                const sum = { allocated: [0, 0], freed: [0, 0] };
                for (const { bytes, birth, death } of ${ALL}) {
                    if (within(birth)) sum.allocated = [sum.allocated[0] + 1, sum.allocated[1] + bytes];
                    if (within(death)) sum.freed = [sum.freed[0] + 1, sum.freed[1] + bytes];
                }
                return sum;
            })()`);
            assert.ok(sums.allocated[0] > 0 && sums.freed[0] > 0);
            for (const of of ["allocated", "freed"]) {
                await page.locator(`#range-${of}`).click();
                await settle(page);
                const total = page.locator("#list-total");
                assert.match(await total.innerText(), new RegExp(` in ${sums[of][0].toLocaleString("en-US")} allocation`));
                assert.equal(await total.getAttribute("title"), `${sums[of][1].toLocaleString("en-US")} bytes`);
            }
            await page.locator("#range-peak").click();
            await settle(page);
            const { live } = replay("--curves", train, 0);
            const peak = live.indexOf(Math.max(...live.slice(first + 1, end + 1)), first + 1) - 1;
            assert.ok((await page.locator("#list-total").innerText()).includes(`event ${peak.toLocaleString("en-US")}`));
        });
    });
});

describe("the result of a filter", { skip }, () => {
    const train = path.join(samples, "train.pickle");

    /** For each column of the overview the rows of pixels that a colour fills, from the lower edge. @param {import("playwright-core").Page} page @param {string} name */
    async function filledRows(page, name) {
        return page.evaluate((name) => {
            const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("minimap-canvas"));
            const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
            const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
            context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
            const wanted = [1, 3, 5].map((at) => parseInt(String(context.fillStyle).slice(at, at + 2), 16));
            const rows = Array.from({ length: canvas.width }, (_, x) => {
                let count = 0;
                for (let y = 0; y < canvas.height; y++) {
                    const at = (y * canvas.width + x) * 4;
                    if (data[at + 3] === 255 && wanted.every((value, i) => data[at + i] === value)) count++;
                }
                return count;
            });
            return { rows, height: canvas.height };
        }, name);
    }

    test("is said, drawn in the overview, and undone with one click", async () => {
        await withPage(writePage(train), async (page) => {
            const strip = page.locator("#filtered");
            assert.equal(await strip.isVisible(), false);
            const whole = await filledRows(page, "--curve");
            await setView(page, { filter: { leastBytes: "64 MiB" } });
            const allocations = await ask(page, `${ALL}.filter(({ bytes }) => bytes >= 2 ** 26)`);
            const { peak_event: peak } = await ask(page, "strata.summary()");
            const bytes = allocations.filter(({ birth, death }) => birth <= peak && peak < death).reduce((sum, allocation) => sum + allocation.bytes, 0);
            const text = await strip.innerText();
            assert.ok(text.startsWith(`Filtered: ${allocations.length} of 1,014 allocations \u00b7 ${(bytes / 2 ** 30).toFixed(1)} GiB of 7.3 GiB at the peak`), text);
            const some = await filledRows(page, "--curve");
            const smaller = some.rows.filter((rows, x) => rows < whole.rows[x]).length;
            assert.ok(smaller > some.rows.length / 2 && some.rows.every((rows, x) => rows <= whole.rows[x]), `${smaller} of ${some.rows.length} columns are lower`);
            const pale = await filledRows(page, "--curve-pale");
            assert.ok(pale.rows.some((rows) => rows > 3), "the whole stays behind it");
            await page.locator("#filtered-reset").click();
            await settle(page);
            assert.equal(await strip.isVisible(), false);
            assert.deepEqual(await filledRows(page, "--curve"), whole);
        });
    });

    test("has a scale of its own if it would be flat", async () => {
        await withPage(writePage(train), async (page) => {
            await setView(page, { filter: { mostBytes: "64 KiB" } });
            const allocations = await ask(page, `${ALL}.filter(({ bytes }) => bytes <= 2 ** 16).map(({ bytes, birth, death }) => [bytes, birth, death])`);
            const { events } = await ask(page, "strata.summary()");
            const change = new Array(events + 2).fill(0);
            for (const [bytes, birth, death] of allocations) {
                change[birth + 1] += bytes;
                change[death + 1] -= bytes;
            }
            let [live, highest, at] = [0, 0, 0];
            change.forEach((bytes, moment) => {
                live += bytes;
                if (live > highest) [highest, at] = [live, moment - 1];
            });
            const { rows, height } = await filledRows(page, "--curve");
            assert.ok(Math.abs(Math.max(...rows) - (height * 16) / 17) <= 2, `${Math.max(...rows)} of ${height} pixels`);
            await setView(page, { from: at - 5, to: at + 5 });
            const box = await plotBox(page);
            const edge = box.height / 17;
            const pick = (/** @type {number} */ y) => page.evaluate(([x, y]) => window.strata.pick(x, y), [box.width * 0.55, y]);
            assert.equal(await pick(edge - 3), null, "nothing lies above the highest moment");
            assert.ok((await pick(edge + 3))?.bytes <= 2 ** 16, "the highest moment reaches the top");
            await setView(page, { filter: { leastBytes: "1 PiB" } });
            assert.match(await page.locator("#filtered").innerText(), /^No allocation passes the filter/);
        });
    });
});
