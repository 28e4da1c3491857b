// A page in a frame, or served under another policy, says what the policy forbids and which word it lacks.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { test } from "node:test";

import { folder, openContext, samples, skip, withPage, writePage } from "./browser.mjs";
import { until } from "../waiting.mjs";

const recording = path.join(samples, "train.pickle");

/**
 * Opens a tab on a server of our own. Both are closed in any case, because an open one keeps the test alive.
 * @param {http.RequestListener} answer @param {(tab: import("playwright-core").Page, address: string) => Promise<void>} act
 */
async function withServer(answer, act) {
    const server = http.createServer(answer);
    await new Promise((done) => void server.listen(0, "127.0.0.1", () => done(true)));
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    const context = await openContext({});
    try {
        await act(await context.newPage(), `http://127.0.0.1:${port}/`);
    } finally {
        await context.close();
        server.closeAllConnections();
        server.close();
    }
}

test("a sandbox without allow-downloads is named when a picture is saved", { skip }, async () => {
    const page = path.basename(writePage(recording));
    for (const [sandbox, says] of /** @type {[string, boolean][]} */ ([["allow-scripts", true], ["allow-scripts allow-downloads allow-same-origin allow-popups", false]])) {
        const host = path.join(folder, "framed.html");
        writeFileSync(host, `<!doctype html><iframe sandbox="${sandbox}" src="${page}" width="1200" height="800"></iframe>`);
        // Files have no common origin; only a server can give page and frame one origin.
        const answer = (/** @type {http.IncomingMessage} */ { url = "" }, /** @type {http.ServerResponse} */ response) =>
            void response.end(url.endsWith(".html") ? readFileSync(path.join(folder, path.basename(url))) : "");
        await withServer(answer, async (tab, address) => {
            await tab.goto(`${address}framed.html`);
            const frame = tab.frames()[1];
            // Not waitForFunction(), because it evaluates text inside the page, whose policy forbids that.
            await until(() => frame.evaluate("Boolean(window.strata && strata.stats)"), "the page in the frame");
            await frame.evaluate("strata.ready");
            const saved = says ? null : tab.waitForEvent("download");
            await frame.evaluate('document.getElementById("save").click()');
            if (says) {
                await frame.locator("#not-saved").waitFor();
                assert.match(await frame.locator("#not-saved").innerText(), /sandbox lacks allow-downloads/);
                const picture = frame.locator("#not-saved img");
                await until(() => picture.evaluate((img) => img instanceof HTMLImageElement && img.naturalWidth > 600), "the picture to copy");
                await frame.locator("#not-saved button").last().click();
                await frame.locator("#not-saved").waitFor({ state: "detached" });
                await frame.evaluate('document.getElementById("list-save").click()');
                assert.match(await frame.locator("#not-saved textarea").inputValue(), /^[^\n]*bytes[\s\S]*attention\.py/i);
                await frame.locator("#not-saved button").last().click();
                await frame.locator("#not-saved").waitFor({ state: "detached" });
            } else {
                await saved;
                assert.equal(await frame.locator("#not-saved").count(), 0);
                const [own] = await Promise.all([tab.context().waitForEvent("page"), frame.locator("#own-tab").click()]);
                await until(() => own.evaluate("Boolean(window.strata && strata.stats)"), "the page in a tab of its own");
                assert.equal(own.url(), frame.url());
                await own.evaluate("strata.ready");
                assert.ok(await own.locator("#own-tab").isHidden());
                await own.close();
            }
        });
    }
});

test("a server's policy without wasm-unsafe-eval is named, not the browser", { skip }, async () => {
    const page = writePage(recording);
    const answer = (/** @type {unknown} */ _, /** @type {http.ServerResponse} */ response) =>
        void response.setHeader("Content-Security-Policy", "script-src 'unsafe-inline'").end(readFileSync(page));
    await withServer(answer, async (tab, address) => {
        await tab.goto(address);
        await tab.locator("#failure").waitFor();
        assert.match(await tab.locator("#failure").innerText(), /its Content-Security-Policy lacks 'wasm-unsafe-eval'/);
    });
    await withPage(page, async (opened) => assert.equal(await opened.locator("#failure").isVisible(), false));
});
