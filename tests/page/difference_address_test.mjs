// The address of a difference's page holds everything that is shown, and brings it back.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";

import { ask, eventually, folder, run, samples, setView, settle, skip, strata, texts, withPage } from "./browser.mjs";

const page = path.join(folder, "difference_address.html");

function makePage(/** @type {string[]} */ ...files) {
    run(strata, "diff", "-q", "-f", ...files, "-o", page);
    return page;
}

/** The state that the address brings back. @param {import("playwright-core").Page} tab */
const kept = async (tab) => ({ view: await ask(tab, "strata.view()"), a: await ask(tab, "strata.a.view()"), b: await ask(tab, "strata.b.view()"), lit: await ask(tab, "strata.b.lit()") });

test("the view is in the address and comes back from it", { skip }, async () => {
    makePage(path.join(samples, "leak_zero_grad.pickle"), path.join(samples, "leak_zero_grad_healthy.pickle"));
    let hash = "";
    /** @type {any} */
    let before;
    await withPage(page, async (tab) => {
        await setView(tab, { align: "step", show: "b", from: 400, to: 700, filter: { words: "size:>1MiB" } });
        await tab.locator("#panel-difference [data-choice=site]").click();
        await tab.locator("#pair-rows > .row").first().click();
        await settle(tab);
        before = await kept(tab);
        assert.ok(before.lit, "a call site is highlighted in both");
        hash = await eventually(async () => {
            const address = await tab.evaluate(() => location.hash);
            for (const part of ["show=b", "rows=site", "window=400_700", "align=step", "focus=", "filter="]) assert.ok(address.includes(part), address);
            return address;
        });
    });
    await withPage(page, async (tab) => {
        assert.deepEqual(await kept(tab), before);
        await tab.evaluate(() => (location.hash = "#device=0&tab=tree&hand=b"));
        await eventually(async () => {
            const view = await ask(tab, "strata.view()");
            assert.deepEqual([view.show, view.inHand, view.filter.words], ["two", "b", ""]);
            assert.ok(await tab.locator("#panel-tree-b").isVisible());
        });
        await setView(tab, { linked: false, from: 100, to: 200 });
        const alone = await kept(tab);
        await eventually(async () => assert.match(await tab.evaluate(() => location.hash), /other=/));
        hash = await tab.evaluate(() => location.hash);
        await withPage(page, async (other) => assert.deepEqual((await kept(other)).b, alone.b), { hash });
    }, { hash });
    // No address does harm, and the page names the words that it does not understand.
    for (const [wrong, names] of [
        ["#show=nothing&tab=x&align=y&color=z&rows=a&when=b&hand=c", ["show", "tab", "align", "color", "rows", "when", "hand"]],
        ["#window=5_2&focus=nobody&__proto__=1", ["window", "focus", "__proto__"]],
        ["#other=%F0%25&filter=%F0", []],
    ])
        await withPage(page, async (tab) => {
            const view = await ask(tab, "strata.view()");
            assert.equal(view.show, "two", String(wrong));
            assert.ok(Number.isFinite(view.from) && view.to > view.from, String(wrong));
            const note = names.length ? await tab.locator("#note").innerText() : "";
            for (const name of names) assert.ok(note.includes(name), `${name}: ${note}`);
        }, { hash: String(wrong) });
});

test("a line says if there are too many annotations to pair", { skip }, async () => {
    const many = path.join(folder, "many_annotations.pickle");
    const script = `import pickle, sys
snapshot = pickle.load(open(sys.argv[1], "rb"))
first = snapshot["device_traces"][0][0]["time_us"]
snapshot["external_annotations"] = [{"name": f"part {i}", "stage": stage, "device": 0, "time_us": first + i} for i in range(20010) for stage in ("START", "END")]
pickle.dump(snapshot, open(sys.argv[2], "wb"), 4)`;
    run("python3", "-c", script, path.join(samples, "train.pickle"), many);
    makePage(many, path.join(samples, "train.pickle"));
    await withPage(page, async (tab) => {
        const notes = await texts(tab, ".pair-strip");
        assert.ok(notes.some((note) => note.includes("only the first 20,000 of 20,010")), notes.join("; "));
    });
});
