// A page in a frame, or served under another's policy: what is forbidden is said, with the word that is lacking.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { test } from "node:test";

import { folder, openContext, samples, skip, withPage, writePage } from "./browser.mjs";

const recording = path.join(samples, "train.pickle");

test("a sandbox without allow-downloads is named when a picture is saved", { skip }, async () => {
    const page = path.basename(writePage(recording));
    for (const [sandbox, says] of /** @type {[string, boolean][]} */ ([["allow-scripts", true], ["allow-scripts allow-downloads allow-same-origin", false]])) {
        const host = path.join(folder, "framed.html");
        writeFileSync(host, `<!doctype html><iframe sandbox="${sandbox}" src="${page}" width="1200" height="800"></iframe>`);
        // The frame's own address is a file's: only a server can give both one origin.
        const server = http.createServer(({ url = "" }, response) => response.end(url.endsWith(".html") ? readFileSync(path.join(folder, path.basename(url))) : ""));
        await new Promise((done) => void server.listen(0, "127.0.0.1", () => done(true)));
        const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
        const context = await openContext({});
        const tab = await context.newPage();
        await tab.goto(`http://127.0.0.1:${port}/framed.html`);
        const frame = tab.frames()[1];
        await frame.waitForFunction("window.strata && strata.stats");
        await frame.evaluate("strata.ready");
        const saved = says ? null : tab.waitForEvent("download");
        await frame.evaluate('document.getElementById("save").click()');
        if (says) {
            await frame.locator("#not-saved").waitFor();
            assert.match(await frame.locator("#not-saved").innerText(), /sandbox lacks allow-downloads/);
            await frame.locator("#not-saved button").click();
        } else {
            await saved;
        }
        assert.equal(await frame.locator("#not-saved").count(), 0);
        await context.close();
        server.close();
    }
});

test("a server's policy without wasm-unsafe-eval is named, not the browser", { skip }, async () => {
    const page = writePage(recording);
    const server = http.createServer((_, response) => response.setHeader("Content-Security-Policy", "script-src 'unsafe-inline'").end(readFileSync(page)));
    await new Promise((done) => void server.listen(0, "127.0.0.1", () => done(true)));
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    const context = await openContext({});
    const tab = await context.newPage();
    await tab.goto(`http://127.0.0.1:${port}/`);
    await tab.locator("#failure").waitFor();
    assert.match(await tab.locator("#failure").innerText(), /Content-Security-Policy of the server lacks 'wasm-unsafe-eval'/);
    await context.close();
    server.close();
    await withPage(page, async (opened) => assert.equal(await opened.locator("#failure").isVisible(), false));
});
