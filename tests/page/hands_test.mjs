// Mouse, keys and fingers.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, checkPicks, hashOf, plotBox, randomPoints, reload, replay, report, run, samples, settle, setView, skip, strata, texts, until, withPage, writePage } from "./browser.mjs";
import { recording } from "./simulated.mjs";

describe("mouse and keys", { skip }, () => {
    /** @param {string} name @param {(page: import("playwright-core").Page) => Promise<void>} use */
    function onPage(name, use) {
        test(name, () => withPage(writePage(recording), use));
    }
    const view = (/** @type {import("playwright-core").Page} */ page) => ask(page, "strata.view()");
    const near = (/** @type {number} */ got, /** @type {number} */ wanted, /** @type {number} */ by) =>
        assert.ok(Math.abs(got - wanted) <= by, `${got} instead of ${wanted}`);

    onPage("the wheel zooms at the cursor", async (page) => {
        const box = await plotBox(page);
        const whole = await view(page);
        await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2);
        await page.mouse.wheel(0, -400);
        const closer = await until(async () => {
            const now = await view(page);
            return now.to - now.from < (whole.to - whole.from) * 0.95 && now;
        }, "zoom");
        await settle(page);
        const at = (/** @type {any} */ each) => each.from + (each.to - each.from) / 4;
        near(at(closer), at(whole), (whole.to - whole.from) * 0.01);
        await page.mouse.wheel(0, 4000);
        await until(async () => (await view(page)).to - (await view(page)).from > closer.to - closer.from, "zoom out");
    });

    onPage("a trackpad's gestures in Safari zoom at the cursor", async (page) => {
        const box = await plotBox(page);
        const before = await setView(page, { from: 300, to: 700 });
        const gesture = (/** @type {string} */ type, /** @type {number} */ scale) =>
            page.evaluate(
                ([type, scale, x, y]) => {
                    const event = new MouseEvent(String(type), { bubbles: true, cancelable: true, clientX: Number(x), clientY: Number(y) });
                    Object.defineProperty(event, "scale", { value: scale });
                    return document.elementFromPoint(Number(x), Number(y))?.dispatchEvent(event);
                },
                [type, scale, box.x + box.width / 4, box.y + 50],
            );
        for (const [type, scale] of /** @type {[string, number][]} */ ([["gesturestart", 1], ["gesturechange", 1.25], ["gesturechange", 2], ["gestureend", 2]]))
            assert.equal(await gesture(type, scale), false, "the browser does not zoom the page");
        await settle(page);
        const after = await view(page);
        near(after.to - after.from, 200, 0.01);
        near(after.from + 50, before.from + 100, 0.5);
        await gesture("gesturestart", 1);
        await gesture("gesturechange", 0.5);
        await settle(page);
        near((await view(page)).to - (await view(page)).from, 400, 0.01);
    });

    onPage("dragging pans", async (page) => {
        const box = await plotBox(page);
        const before = await setView(page, { from: 300, to: 700 });
        await page.mouse.move(box.x + 400, box.y + 100);
        await page.mouse.down();
        await page.mouse.move(box.x + 350, box.y + 100, { steps: 5 });
        await page.mouse.move(box.x + 300, box.y + 100, { steps: 5 });
        await page.mouse.up();
        await settle(page);
        const after = await view(page);
        near(after.from - before.from, (100 / box.width) * 400, 2);
        near(after.to - after.from, 400, 1e-6);
        assert.equal(after.selected, null, "a drag is not a click");
    });

    onPage("a double click shows the whole run again", async (page) => {
        await page.keyboard.press("0"); // the page may open on a part
        await settle(page);
        const whole = await view(page);
        await setView(page, { from: 300, to: 700 });
        const box = await plotBox(page);
        await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height - 15);
        await until(async () => (await view(page)).to - (await view(page)).from === whole.to - whole.from, "whole run");
        assert.equal((await view(page)).selected, null, "and pins nothing");
    });

    /** A point of the plot where an allocation with a stack is drawn. @param {import("playwright-core").Page} page */
    async function somewhere(page) {
        const box = await plotBox(page);
        for (const [x, y] of randomPoints(300, Math.round(box.width), Math.round(box.height))) {
            const pick = await page.evaluate(([x, y]) => window.strata.pick(x, y), [x, y]);
            if (pick && pick.stack.length > 1) return { x: box.x + x + 0.5, y: box.y + y + 0.5, pick };
        }
        throw new Error("nothing with a stack was found");
    }

    onPage("hovering names size and place", async (page) => {
        const { x, y, pick } = await somewhere(page);
        await page.mouse.move(x - 3, y);
        await page.mouse.move(x, y);
        const tip = page.locator("#tip");
        await until(() => tip.isVisible(), "a tip");
        await settle(page);
        const text = await tip.innerText();
        assert.match(text, /\d(\.\d+)?\s*(B|KiB|MiB|GiB|bytes)/);
        assert.ok(pick.stack.some((/** @type {any} */ frame) => text.includes(frame.name)), `a frame's name in: ${text}`);
    });

    onPage("a click pins the stack, Escape lets go", async (page) => {
        const { x, y, pick } = await somewhere(page);
        await page.mouse.click(x, y);
        await until(async () => (await view(page)).selected === pick.allocation, "the pin");
        await settle(page);
        // Three of the user's own frames stand above the facts, the others in a fold.
        await page.evaluate(() => document.querySelectorAll("#detail .fold details").forEach((fold) => fold.setAttribute("open", "")));
        await settle(page);
        const detail = await page.locator("#detail").innerText();
        const user = pick.stack.filter((/** @type {any} */ frame) => frame.file.startsWith("/home/ada/project"));
        for (const frame of user) assert.ok(detail.includes(frame.name), `${frame.name} in: ${detail}`);
        await page.keyboard.press("Escape");
        await until(async () => (await view(page)).selected === null, "no pin");
    });

    onPage("w, s, a, d, 0 and p move the window", async (page) => {
        await page.locator("#plot").focus();
        const width = async () => (await view(page)).to - (await view(page)).from;
        await page.keyboard.press("0");
        await settle(page);
        const whole = await width();
        await page.keyboard.press("w");
        await until(async () => (await width()) < whole, "w");
        await page.keyboard.press("w");
        const start = await view(page);
        await page.keyboard.press("d");
        await until(async () => (await view(page)).from > start.from, "d");
        await page.keyboard.press("a");
        await page.keyboard.press("a");
        await until(async () => (await view(page)).from < start.from, "a");
        const narrow = await width();
        await page.keyboard.press("s");
        await until(async () => (await width()) > narrow, "s");
        await page.keyboard.press("0");
        await until(async () => (await width()) === whole, "0");
        const { peak_event } = await ask(page, "strata.summary()");
        await page.keyboard.press("p");
        await until(async () => (await width()) < whole, "p");
        const now = await view(page);
        assert.ok(now.from <= peak_event && peak_event <= now.to, "the peak is in the window");
        for (let i = 0; i < 6; i++) await page.keyboard.press("w");
        const close = await view(page);
        assert.ok(close.from <= peak_event && peak_event <= close.to, "and stays there");
        assert.ok(close.to - close.from < (now.to - now.from) / 5);
    });

    test("o goes to the out-of-memory event, and shows the missing bytes", async () => {
        const file = path.join(samples, "oom.pickle");
        const [{ oom }] = report(file).devices;
        await withPage(writePage(file), async (page) => {
            // The page opens at that moment, with Why before Who. The missing bytes are the report's figure.
            const lacking = /been\s+([\d.]+ [KMG]iB)\s+short/.exec(run(strata, "report", "--full", path.join(samples, "oom.pickle")).toString())?.[1];
            assert.ok((await page.locator("#panel-why .card-title").first().innerText()).startsWith(`${lacking} short of`), String(lacking));
            assert.match(await page.locator("#panel-why .card").first().innerText(), /short of the 1\.5 GiB requested[\s\S]*loss\.py:19[\s\S]*Requested\s+1\.5 GiB/);
            await page.keyboard.press("p");
            await page.keyboard.press("3");
            await page.keyboard.press("o");
            await settle(page);
            assert.equal(await page.locator("#list-title").innerText(), "When memory ran out");
            const text = (await page.locator("#list-total").innerText()).replace(/\u00a0/g, " ");
            const gib = (/** @type {number} */ bytes) => String(Math.round((bytes / 2 ** 30) * 10) / 10);
            assert.ok(text.includes(`event ${oom[0].event.toLocaleString("en-US")}`), text);
            assert.ok(text.includes(`requested ${gib(oom[0].requested_bytes)} GiB with ${oom[0].device_free_bytes / 2 ** 20} MiB free on the GPU`), text);
            const { from, to } = await view(page);
            assert.ok(from <= oom[0].event && oom[0].event <= to);
        });
    });

    onPage("/ searches, the matches are counted", async (page) => {
        await page.locator("#plot").focus();
        await page.keyboard.press("/");
        await page.keyboard.type("attention.py");
        const wanted = replay("--search", recording, (await view(page)).device, "attention.py");
        const found = page.locator("#found");
        await until(async () => (await found.innerText()).includes(wanted.allocations.toLocaleString("en-US")), "a count");
        assert.equal((await view(page)).search, "attention.py");
    });

    onPage("? lists the keys", async (page) => {
        await page.locator("#plot").focus();
        await page.keyboard.press("?");
        await until(() => page.locator("#keys-dialog").isVisible(), "the sheet");
        await page.keyboard.press("Escape");
        await until(async () => !(await page.locator("#keys-dialog").isVisible()), "no sheet");
    });

    onPage("the device menu switches the device", async (page) => {
        const devices = report(recording).devices;
        const first = (await view(page)).device;
        const other = devices.find((/** @type {any} */ device) => device.device !== first);
        const menu = page.locator("#device");
        const index = (await texts(page, "#device option")).findIndex((text) => text.includes(String(other.device)));
        await menu.selectOption({ index });
        await until(async () => (await view(page)).device === other.device, "the other device");
        await settle(page);
        assert.equal((await ask(page, "strata.summary()")).peak_bytes, other.peak_bytes);
        await checkPicks(page, other.device, await view(page), 50, recording);
    });

    onPage("the hash restores the view", async (page) => {
        const { pick } = await somewhere(page);
        const wanted = await setView(page, { from: 200, to: 500, selected: pick.allocation, colorBy: "size" });
        await until(async () => (await hashOf(page)).includes("200"), "the hash");
        await reload(page);
        assert.deepEqual(await view(page), wanted);
    });
});

describe("fingers", { skip }, () => {
    test("one pans, two zoom", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const client = await page.context().newCDPSession(page);
            const box = await plotBox(page);
            const touch = (/** @type {string} */ type, /** @type {number[]} */ ...xs) =>
                client.send("Input.dispatchTouchEvent", { type: /** @type {any} */ (type), touchPoints: xs.map((x, id) => ({ x: box.x + x, y: box.y + 150, id })) });
            await setView(page, { from: 500, to: 1500 });
            await touch("touchStart", 400);
            for (const x of [380, 340, 300]) await touch("touchMove", x);
            await touch("touchEnd");
            await settle(page);
            const panned = await ask(page, "strata.view()");
            assert.ok(panned.from > 560 && Math.abs(panned.to - panned.from - 1000) < 1, JSON.stringify(panned));
            const at = (/** @type {any} */ view, /** @type {number} */ x) => view.from + (x / box.width) * (view.to - view.from);
            await touch("touchStart", 300);
            await touch("touchStart", 300, 500);
            for (const spread of [20, 60, 100]) await touch("touchMove", 300 - spread, 500 + spread);
            await touch("touchEnd");
            await settle(page);
            const zoomed = await ask(page, "strata.view()");
            assert.ok(Math.abs((zoomed.to - zoomed.from) - 500) < 25, JSON.stringify(zoomed));
            assert.ok(Math.abs(at(zoomed, 400) - at(panned, 400)) < 20, "what was between the fingers stays there");
            assert.equal(zoomed.selected, null);
        }, { hasTouch: true });
    });
});
