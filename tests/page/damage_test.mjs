// Damaged pages: cut, overwritten, joined from two. Each says in one sentence what to do.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { folder, openContext, run, samples, skip, strata, until, writePage } from "./browser.mjs";
import { changed, DAMAGE, GO_ON } from "./damage.mjs";

const oom = path.join(samples, "oom.pickle");

/** The content of an inert element of a page. @param {string} text of the page @param {string} id */
function contentOf(text, id) {
    let content = "";
    changed(text, id, (own) => (content = own));
    return content;
}

/** Opens a damaged page; returns its message. @param {string} name @param {string} text @param {(page:
 * import("playwright-core").Page) => Promise<void>} [use] */
async function saysOf(name, text, use) {
    const file = path.join(folder, "damaged.html");
    writeFileSync(file, text, "latin1");
    const context = await openContext();
    try {
        const page = await context.newPage();
        await page.goto(pathToFileURL(file).href);
        const how = await page.evaluate("strata.ready.then(() => 'drawn', (error) => (error instanceof Error ? 'refused' : 'no error'))");
        assert.equal(how, "refused", name);
        const failure = page.locator("#failure");
        await until(() => failure.isVisible(), `a sentence: ${name}`);
        for (const id of ["loading", "app"]) assert.equal(await page.locator(`#${id}`).isVisible(), false, `${name}: ${id}`);
        await use?.(page);
        return await failure.innerText();
    } finally {
        await context.close();
    }
}

describe("damaged pages", { skip }, () => {
    const pages = () => {
        const two = path.join(folder, "two.html");
        run(strata, "diff", "-q", "-f", path.join(samples, "train.pickle"), oom, "-o", two);
        return [writePage(oom), two].map((file) => readFileSync(file, "latin1"));
    };

    test("parts of the program that are cut or overwritten", async () => {
        for (const text of pages())
            for (const id of ["style", "markup", "program", "module"])
                for (const [how, change] of /** @type {[string, (content: string) => string][]} */ ([["cut", (own) => own.slice(0, own.length >> 1)], ["overwritten", () => "%%% nothing of it"]]))
                    assert.match(await saysOf(`${id} ${how}`, changed(text, id, change)), GO_ON, `${id} ${how}`);
    });

    test("parts of another page", async () => {
        const [one, two] = pages();
        for (const id of ["style", "program"]) assert.match(await saysOf(id, changed(one, id, () => contentOf(two, id))), GO_ON, id);
    });

    test("the recording, and findings of two pages", async () => {
        const [one, two] = pages();
        const [half, least] = [(/** @type {string} */ own) => own.slice(0, (own.length >> 3) * 4), () => "A"];
        const turned = DAMAGE["with one letter that is another"];
        for (const change of [half, least, turned, () => "%%%"]) {
            assert.match(await saysOf("payload", changed(one, "payload", change)), GO_ON);
            assert.match(await saysOf("payload-b", changed(two, "payload-b", change)), GO_ON);
            assert.match(await saysOf("figures", changed(two, "figures", change)), GO_ON);
        }
    });

    test("scripts get the reason why such a page cannot answer", async () => {
        const [one] = pages();
        await saysOf("payload", changed(one, "payload", () => "%%%"), async (page) => {
            for (const call of ["view()", "setView({ from: 1 })", 'search("a")', "groups()", "picture()"])
                await assert.rejects(page.evaluate(`strata.${call}`), /needs the recording: await strata\.ready first/, call);
        });
    });
});

describe("a page with fewer permissions", { skip }, () => {
    const two = () => {
        const file = path.join(folder, "two_less.html");
        run(strata, "diff", "-q", "-f", path.join(samples, "train.pickle"), oom, "-o", file);
        return file;
    };

    /** Opens a page in a browser that lacks something. @param {string} file @param {() => void} refuse runs before its
     * scripts @param {(page: import("playwright-core").Page) => Promise<void>} use */
    async function withLess(file, refuse, use) {
        const context = await openContext();
        try {
            const page = await context.newPage();
            /** @type {string[]} */ const errors = [];
            page.on("pageerror", (error) => void errors.push(String(error)));
            await page.addInitScript(refuse);
            await page.goto(pathToFileURL(file).href);
            await page.evaluate("strata.ready");
            await use(page);
            assert.deepEqual(errors, []);
        } finally {
            await context.close();
        }
    }

    test("an address that may not be changed", async () => {
        const refuse = () => {
            Object.assign(window, { refused: 0 });
            history.pushState = history.replaceState = () => {
                /** @type {any} */ (window).refused++;
                throw new DOMException("no", "SecurityError");
            };
        };
        await withLess(two(), refuse, async (page) => {
            await page.evaluate("strata.setView({ show: 'difference', from: 100, to: 900 })");
            await until(() => page.evaluate("refused > 0"), "it was tried");
            assert.equal(await page.evaluate("strata.view().show"), "difference");
        });
    });

    test("no quick reader of base64, which browsers have since 2025", async () => {
        const refuse = () => void Reflect.deleteProperty(Uint8Array.prototype, "setFromBase64");
        /** @type {unknown[]} */ const seen = [];
        const note = async (/** @type {import("playwright-core").Page} */ page) => void seen.push(await page.evaluate("strata.groups()"));
        await withLess(writePage(oom), refuse, note);
        await withLess(writePage(oom), () => {}, note);
        assert.deepEqual(seen[0], seen[1]);
    });

    test("no worker", async () => {
        const refuse = () => void Reflect.deleteProperty(window, "Worker");
        await withLess(writePage(oom), refuse, async (page) => {
            await assert.rejects(page.evaluate("strata.search('/attention/')"), /RangeError: The expression cannot be matched in this browser\.\n/);
            await page.locator("#search").fill("/attention/");
            await until(async () => /cannot be matched in this browser/.test(await page.locator("#found").innerText()), "the sentence");
        });
    });
});
