// The address of a page of a difference: what is shown stands in it, and brings it back.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";

import { ask, eventually, folder, run, samples, setView, skip, strata, texts, withPage } from "./browser.mjs";

const page = path.join(folder, "difference_address.html");

function makePage(/** @type {string[]} */ ...files) {
    run(strata, "diff", "-q", "-f", ...files, "-o", page);
    return page;
}

/** What the address brings back. @param {any} view */
const kept = ({ show, tab, align, linked, windows, cursors, focus, filter }) => ({ show, tab, align, linked, windows, cursors, focus, filter });

test("what is shown stands in the address and comes back from it", { skip }, async () => {
    makePage(path.join(samples, "leak_zero_grad.pickle"), path.join(samples, "leak_zero_grad_healthy.pickle"));
    let hash = "";
    /** @type {any} */
    let before;
    await withPage(page, async (tab) => {
        assert.equal(await tab.evaluate(() => location.hash), "", "as it is at first the address is bare");
        await setView(tab, { align: "step", show: "difference", tab: "sites", from: 400, to: 700, filter: "size:>1MiB" });
        await setView(tab, { focus: (await ask(tab, "strata.compare()"))[0].name });
        before = kept(await ask(tab, "strata.view()"));
        assert.equal(before.filter, "size:>1MiB");
        assert.equal(await tab.locator("#filter").inputValue(), "size:>1MiB", "what a script sets can be seen");
        hash = await eventually(async () => {
            const address = await tab.evaluate(() => location.hash);
            for (const part of ["show=difference", "tab=sites", "from=400", "to=700", "align=step", "focus=", "filter="]) assert.ok(address.includes(part), address);
            return address;
        });
    });
    await withPage(page, async (tab) => {
        assert.deepEqual(kept(await ask(tab, "strata.view()")), before);
        assert.equal(await tab.locator("#filter").inputValue(), "size:>1MiB");
        // Back to what it was at first, by the address.
        await tab.evaluate(() => (location.hash = "#tab=tree&at=cursors&cursor=120&linked=0"));
        await eventually(async () => {
            const view = await ask(tab, "strata.view()");
            assert.deepEqual([view.show, view.tab, view.filter, view.focus, view.linked, view.cursors.a], ["two", "tree", "", null, false, 120]);
            assert.ok(await tab.locator("#note").isHidden(), "all of it is understood");
        });
    }, { hash });
    // Nothing that somebody writes there does harm, and what is not understood is named.
    for (const [wrong, names] of [
        ["#show=nothing&tab=x&align=y&color=z&from=9e9&to=1&cursor=abc", "show, tab, align, color, from, to, cursor"],
        ["#from=5&to=2&focus=nobody", "from, to, focus"],
        ["#filter=%F0&linked=2&__proto__=1&tab=causes", "linked, __proto__"],
        ["#from=-999999999999&to=999999999999&at=peak", "at"],
    ])
        await withPage(page, async (tab) => {
            const view = await ask(tab, "strata.view()");
            assert.deepEqual([view.show, view.tab], ["two", "causes"], wrong);
            assert.ok(Number.isFinite(view.windows.a.from) && view.windows.a.to > view.windows.a.from, wrong);
            assert.equal(await tab.locator("#note").innerText(), `Not understood of this address: ${names}.`);
            await setView(tab, { tab: "tree" });
            await eventually(async () => assert.ok(await tab.locator("#note").isHidden(), "it goes with the address"));
        }, { hash: wrong });
});

test("annotations that are too many to be paired are said", { skip }, async () => {
    const many = path.join(folder, "many_annotations.pickle");
    const script = `import pickle, sys
snapshot = pickle.load(open(sys.argv[1], "rb"))
first = snapshot["device_traces"][0][0]["time_us"]
snapshot["external_annotations"] = [{"name": f"part {i}", "stage": stage, "device": 0, "time_us": first + i} for i in range(20010) for stage in ("START", "END")]
pickle.dump(snapshot, open(sys.argv[2], "wb"), 4)`;
    run("python3", "-c", script, path.join(samples, "train.pickle"), many);
    makePage(many, path.join(samples, "train.pickle"));
    await withPage(page, async (tab) => {
        const notes = await texts(tab, "#trust-body li");
        assert.ok(notes.some((note) => note.includes("only the first 20,000 of 20,010")), notes.join("; "));
    });
});
