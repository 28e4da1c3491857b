// Messages of the command line; overview, axes, theme, paper, and screen readers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { ask, canvasPixels, colorsOf, each, folder, openContext, plotBox, report, run, samples, setView, settle, skip, until, withPage, writePage, tool } from "./browser.mjs";
import { recording } from "./simulated.mjs";

describe("pages of a command line", { skip }, () => {
    test("a page of limited size says how much is merged", async () => {
        const file = path.join(folder, "limited.pickle");
        run("python3", path.join(samples, "generate.py"), "--story", "train", "--events", 40_000, "-o", file);
        const whole = readFileSync(writePage(file)).length;
        const [device] = report(file).devices;
        await withPage(writePage(file, "--max-html-size", String(Math.round(whole * 0.9))), async (page) => {
            await page.locator("#trust").click();
            await until(async () => (await page.locator("#trust-body").innerText()).includes("To keep the page below"), "the note");
            await page.keyboard.press("Escape");
            assert.match(String(await page.locator("#drawn").getAttribute("title")), new RegExp(`bands of ${device.allocations.toLocaleString("en-US")} allocations`));
            assert.equal((await ask(page, "strata.summary()")).peak_bytes, device.peak_bytes);
            // One of many bands can be found and pinned, and its details appear.
            const bands = (await ask(page, "strata.stats()")).allocations;
            let many = 0;
            for (let allocation = 0; allocation < bands && !many; allocation += 7) {
                await setView(page, { selected: allocation });
                const facts = await page.locator("#detail").innerText();
                if (/allocations of one stack and time/.test(facts)) many = allocation;
            }
            assert.ok(many, "a merged band");
            assert.doesNotMatch(await page.locator("#detail").innerText(), /Address/);
        });
    });

    test("a page opens with the requested view", async () => {
        const oom = path.join(samples, "oom.pickle");
        const [device] = report(oom).devices;
        await withPage(writePage(oom, "--from", "oom-300", "--to", "oom+10", "--hide-internal"), async (page) => {
            const view = await ask(page, "strata.view()");
            const { event } = device.oom[0];
            assert.deepEqual([view.from, view.to], [event - 300, Math.min(event + 10, device.events)]);
            assert.equal(view.filter.own, true);
            assert.ok(await page.locator("#filter-own").isChecked());
            const { kept, allocations } = await ask(page, "strata.stats()");
            assert.ok(kept > 0 && kept < allocations, `${kept} of ${allocations}`);
            await page.keyboard.press("0");
            await settle(page);
            assert.ok((await ask(page, "strata.view()")).from <= 0);
        });
    });

    test("a browser that cannot unpack the page says so", async () => {
        const context = await openContext();
        try {
            const page = await context.newPage();
            await page.addInitScript("delete window.DecompressionStream");
            await page.goto(pathToFileURL(writePage(path.join(samples, "train.pickle"))).href);
            await until(async () => (await page.locator("#failure").innerText()).includes("no DecompressionStream"), "the sentence");
            assert.ok(await page.locator("#loading").isHidden());
            assert.match(await page.evaluate("strata.ready.then(() => '', (error) => error.message)"), /no DecompressionStream/);
        } finally {
            await context.close();
        }
    });
});

describe("overview, axes, theme and paper", { skip }, () => {
    const sample = path.join(samples, "train.pickle");

    test("a drag in the overview chooses the window", async () => {
        await withPage(writePage(sample), async (page) => {
            const whole = await ask(page, "strata.view()");
            await page.keyboard.press("w"); // zooms in, so that there is a brush to move
            await settle(page);
            const near = await ask(page, "strata.view()");
            assert.ok(near.to - near.from < whole.to - whole.from);
            const box = await page.locator("#brush").boundingBox();
            assert.ok(box);
            await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
            await page.mouse.down();
            await page.mouse.move(box.x + box.width / 2 + 40, box.y + box.height / 2, { steps: 4 });
            await page.mouse.up();
            await settle(page);
            const moved = await ask(page, "strata.view()");
            assert.ok(moved.from > near.from, `${moved.from} after ${near.from}`);
            assert.ok(Math.abs(moved.to - moved.from - (near.to - near.from)) < 1, "as wide as before");
        });
    });

    test("the seconds' button switches the axis and back", async () => {
        await withPage(writePage(sample), async (page) => {
            const events = await canvasPixels(page);
            await tool(page, "#axis-time");
            await settle(page);
            assert.equal((await ask(page, "strata.view()")).axis, "time");
            assert.notDeepEqual((await canvasPixels(page)).rgba, events.rgba);
            await tool(page, "#axis-events");
            await settle(page);
            assert.deepEqual((await canvasPixels(page)).rgba, events.rgba);
        });
    });

    test("the capacity is a line of its own", async () => {
        const axis = (/** @type {import("playwright-core").Page} */ page) => page.evaluate(() => /** @type {HTMLCanvasElement} */ (document.getElementById("axes")).toDataURL());
        /** @type {string[]} */ const pictures = [];
        for (const flags of [[], ["--capacity", "1.1GiB"]])
            await withPage(writePage(sample, ...flags), async (page) => {
                pictures.push(await axis(page));
                assert.equal(/capacity 1\.1 GiB/.test(await page.locator("#legend").innerText()), flags.length > 0);
            });
        assert.notEqual(pictures[0], pictures[1]);
    });

    test("the theme's button cycles; the stack and a card's swatches follow", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            const inks = (/** @type {string} */ of) => each(page, `${of} .swatch`, (swatch) => getComputedStyle(swatch).background);
            const themes = [];
            const stacks = new Set();
            for (let i = 0; i < 3; i++) {
                await tool(page, "#theme");
                await settle(page);
                themes.push(await page.evaluate(() => document.documentElement.dataset.theme));
                stacks.add(Buffer.from((await canvasPixels(page)).rgba).toString("latin1"));
                const [held, legend] = [await inks("#panel-why .figure-link"), await inks("#legend")];
                assert.ok(held.length > 0 && held.every((ink) => legend.includes(ink)), `${held} in ${legend}`);
            }
            assert.deepEqual(themes, ["light", "dark", "light"]);
            assert.equal(stacks.size, 2);
        }, { colorScheme: "light" }); // prettier-ignore
    });

    test("nothing moves by itself if the user asks for reduced motion", async () => {
        for (const reducedMotion of /** @type {const} */ (["reduce", "no-preference"]))
            await withPage(writePage(sample), async (page) => {
                const seconds = await page.evaluate(() => parseFloat(getComputedStyle(/** @type {Element} */ (document.querySelector(".figure, .quiet"))).transitionDuration));
                assert.equal(seconds === 0, reducedMotion === "reduce");
            }, { reducedMotion }); // prettier-ignore
    });

    test("paper is one sheet: picture, limit, cards and fingerprint, and no buttons", async () => {
        for (const [name, says] of /** @type {[string, RegExp][]} */ ([
            ["oom", /8\.0 GiB is all this process can get[\s\S]*short of the 1\.5 GiB requested[\s\S]*xxh128:/],
            ["leak_two_per_layer", /keep 24\.8 MiB more each step[\s\S]*xxh128:/],
        ]))
            await withPage(writePage(path.join(samples, `${name}.pickle`)), async (page) => {
                const pdf = await page.pdf({ format: "A4" });
                assert.equal(pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length, 1, name);
                assert.equal(await page.locator(".paper").count(), 0);
                await page.emulateMedia({ media: "print" });
                await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
                assert.match(await page.locator(".paper").innerText(), says);
                assert.equal(await page.locator("[data-finding='0']").count(), 1);
            }, { colorScheme: "dark" });
        await withPage(writePage(sample), async (page) => {
            await page.emulateMedia({ media: "print" });
            await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
            await settle(page);
            assert.ok(colorsOf((await canvasPixels(page)).rgba) > 10);
            for (const id of ["view-open", "minimap", "list"]) assert.ok(await page.locator(`#${id}`).isHidden(), id);
            const drawn = await page.locator(".paper canvas").evaluate((canvas) => canvas instanceof HTMLCanvasElement && canvas.width);
            assert.ok(Number(drawn) > 1400, `${drawn}`);
            await page.emulateMedia({ media: "screen" });
            await page.evaluate(() => dispatchEvent(new Event("afterprint")));
            await settle(page);
            assert.ok(await page.locator("#view-open").isVisible());
        });
    });

    test("Tab goes through the header to the timeline and the list", async () => {
        await withPage(writePage(sample), async (page) => {
            /** @type {string[]} */ const order = [];
            for (let i = 0; i < 40; i++) {
                await page.keyboard.press("Tab");
                order.push(await page.evaluate(() => document.activeElement?.id ?? ""));
            }
            const places = ["device", "view-open", "search", "plot", "list-scroll"].map((id) => order.indexOf(id));
            assert.ok(places.every((place) => place >= 0), order.join(" "));
            assert.deepEqual([...places].sort((a, b) => a - b), places, order.join(" "));
        });
    });
});

describe("accessibility", { skip }, () => {
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
        test(`no accessibility complaint, ${colorScheme}`, async () => {
            await withPage(writePage(path.join(samples, "streams.pickle")), async (page) => {
                await setView(page, { colorBy: "category", filter: { leastBytes: "1K" } });
                await page.locator("#filter-open").click();
                await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
                const { violations } = await page.evaluate("axe.run()");
                const lines = violations.map((/** @type {any} */ each) => `${each.id}: ${each.nodes[0].html}`);
                assert.deepEqual(lines, []);
            }, { colorScheme }); // prettier-ignore
        });
    }

    test("a narrow window still shows the plot", async () => {
        await withPage(writePage(recording), async (page) => {
            const box = await plotBox(page);
            assert.ok(box.width > 250 && box.height > 100, `${box.width}x${box.height}`);
            assert.ok(colorsOf((await canvasPixels(page)).rgba) > 10);
            await page.locator("#tools-open").click(); // a menu has the tools
            await page.locator("#filter-open").click();
            assert.ok(await page.locator("#filter-reset").isVisible());
            assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 420, "nothing leaves the page");
        }, { viewport: { width: 420, height: 800 } }); // prettier-ignore
    });
});
