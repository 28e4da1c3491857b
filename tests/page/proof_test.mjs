// Every button of every card shows the set, the moment and the figure of its sentence, and Escape goes back. A second
// reader of the recording is the control. STRATA_PROOF names folders of further recordings (separated by ":").
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, corpus, folder, here, replay, report, run, runsAll, samples, settle, shownTexts, skip, until, withPage, writePage } from "./browser.mjs";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Checks that a text such as "785.3 MiB" is this number of bytes, to half of its last digit. @param {string} text
 * @param {number} bytes @param {string} [unit] */
function checkFigure(text, bytes, unit = "") {
    const [, sign, figure, own] = /([\u2212+<]?)([\d,.]+)\s*([KMGT]?iB|B|bytes)?/.exec(text) ?? [];
    const one = 1024 ** Math.max(0, UNITS.indexOf(unit || own));
    const digits = figure?.split(".")[1]?.length ?? 0;
    const said = Number(figure?.replace(/,/g, "")) * one * (sign === "\u2212" ? -1 : 1);
    assert.ok(sign === "<" ? Math.abs(bytes) < said : Math.abs(said - bytes) <= (0.51 * one) / 10 ** digits, `"${text}" for ${bytes}`);
}

/** @typedef {[birth: number, death: number, bytes: number, site: string]} Life */

const sum = (/** @type {Life[]} */ lives) => lives.reduce((all, [, , bytes]) => all + bytes, 0);

/** Counts a card's set again. @param {any} finding @param {Life[]} lives @param {any} lit */
function checkSet(finding, lives, lit) {
    const { ids, bytes, count, at_event: event, kind, site, title } = finding;
    assert.deepEqual(lit, { ids, count, bytes, event }, title);
    const set = ids.map((/** @type {number} */ id) => lives[id]);
    assert.equal(sum(set), bytes, title);
    assert.equal(set.length, count, title);
    if (kind === "leak" && site && !/ keeps its graph: /.test(title)) checkSites(finding, new Set(set.map((/** @type {Life} */ [, , , own]) => own)));
    for (const [birth, death] of set) {
        assert.ok(birth <= event && death > event, `${title}: ${birth} to ${death}`);
        if (kind !== "leak" || !site) continue;
        assert.equal(death, Math.max(...lives.map(([, death]) => death)), `${title}: is freed`);
    }
}

/** The call sites of a leak's set are those that its title names, "A", "A and B", or "A, B and 3 other call sites", and
 * no more. @param {any} finding @param {Set<string>} owns */
function checkSites({ site, title }, owns) {
    const [, first, second, more] = /^(.*?)(?:(?: and |, )(.*?))?(?: and (\d+) other call sites?)? keeps? /.exec(title) ?? [];
    assert.equal(first, site, title);
    for (const named of [first, second]) assert.ok(!named || owns.has(named), `${title}: ${[...owns]}`);
    assert.equal(owns.size, 1 + (second ? 1 : 0) + Number(more ?? 0), `${title}: ${[...owns]}`);
}

/** The bars of a card match the recording and lead to the card's figure. @param {import("playwright-core").Page} page
 * @param {string} card @param {any} finding @param {Life[]} lives @param {any[]} steps */
async function checkBars(page, card, finding, lives, steps) {
    const values = await shownTexts(page, `${card} .step-value`);
    if (values.length === 0 || finding.kind === "levels_rise") return;
    checkFigure(values[values.length - 1], finding.bytes);
    const names = await shownTexts(page, `${card} .step-name`);
    if (finding.kind !== "leak") return;
    const set = finding.ids.map((/** @type {number} */ id) => lives[id]);
    values.forEach((value, i) => {
        const step = steps.find(({ name }) => `#${/\d+$/.exec(name)?.[0]}` === names[i]);
        if (step) checkFigure(value, sum(set.filter((/** @type {Life} */ [birth]) => birth <= step.to_event)));
    });
}

/** Checks the comparison that a card opens. @param {import("playwright-core").Page} page @param {any} finding @param
 * {Life[]} lives @param {any[]} steps */
async function checkCompare(page, finding, lives, steps) {
    await until(() => page.locator("#compare-rows > .row").first().isVisible(), "rows");
    const [, from, to] = /Compar.*?(\d+).*?(\d+)/.exec(await page.locator("#proof-text").innerText()) ?? [];
    const at = (/** @type {string} */ nth) => steps.find(({ name }) => /\d+$/.exec(name)?.[0] === nth).to_event;
    const alive = (/** @type {number} */ event) => lives.filter(([birth, death, , site]) => site === finding.site && birth <= event && death > event);
    const [a, b] = [sum(alive(at(from))), sum(alive(at(to)))];
    assert.ok(b > a, finding.title);
    if (!/in each of \d/.test(finding.title)) assert.ok(b - a >= 0.9 * (Number(to) - Number(from)) * finding.per.bytes, `${finding.title}: ${b - a}`);
    const row = (await page.locator("#compare-rows > .row").first().innerText()).split("\n").join(" ");
    assert.ok(row.startsWith(finding.site), `${row} instead of ${finding.site}`);
    const unit = /[KMG]iB|bytes/.exec(await page.locator("#panel-compare .list-head").innerText())?.[0] ?? "";
    const figures = row.slice(finding.site.length).trim().split(/\s+/).slice(-3);
    [a, b, b - a].forEach((bytes, i) => checkFigure(figures[i], bytes, unit));
}

/** @param {import("playwright-core").Page} page @param {any} finding @param {number} nth @param {Life[]} lives @param {any[]} steps */
async function checkCard(page, finding, nth, lives, steps) {
    const card = page.locator(`[data-finding="${nth}"]`);
    assert.equal(await card.count(), 1);
    if ((await card.getAttribute("open")) === null) await card.locator("summary").first().click();
    await checkBars(page, `[data-finding="${nth}"]`, finding, lives, steps);
    if (finding.action) await until(() => card.locator(".do").first().isVisible(), `${finding.title}: what to do`);
    assert.ok((await card.locator(".do").count()) <= 1, `${finding.title}: one green line`);
    const figure = await card.locator(".card-figure").innerText();
    if (/^\+.* a /.test(figure)) assert.ok(finding.kind === "levels_rise" || !/in each of \d/.test(finding.title), `${figure}: ${finding.title}`);
    for (const button of await card.locator("button").all()) {
        const [label, action] = [await button.innerText(), await button.getAttribute("data-action")];
        if (action === "stack" || action === "copy" || action === "code") continue;
        assert.ok(!["Show", "Go", "Map"].includes(label), label);
        const where = () => ask(page, "({ view: strata.view(), lit: strata.lit(), address: location.hash })");
        await page.waitForTimeout(350); // the address follows
        const before = await where();
        await button.click();
        const lit = await ask(page, "strata.lit()");
        const strip = page.locator("#proof");
        assert.ok(await strip.isVisible(), `${label}: the strip`);
        const said = await strip.innerText();
        if (action === "show" && finding.ids === null) assert.equal(lit, null, label);
        else if (action === "show") {
            checkSet(finding, lives, lit);
            const moment = finding.at_event < 0 ? "before the first event" : `at event ${finding.at_event.toLocaleString("en-US")}`;
            assert.match(said, new RegExp(`the ${finding.count.toLocaleString("en-US")} .* ${moment}`));
            checkFigure(said.split(" \u00b7 ")[1] ?? "", finding.bytes);
        } else if (action === "compare") await checkCompare(page, finding, lives, steps);
        else if (lit) checkFigure(label.split(" ").slice(-2).join(" "), lit.bytes);
        await page.keyboard.press("Escape");
        await settle(page);
        assert.deepEqual(await where(), before, `${label}: Escape`);
        assert.ok(await strip.isHidden(), label);
        assert.ok(await button.evaluate((button) => button === document.activeElement), `${label}: the focus is back`);
    }
}

/** Checks every card of every device. @param {string} file */
async function checkFile(file) {
    const { devices } = report(file);
    await withPage(writePage(file), async (page) => {
        for (const { device, steps } of devices.slice(0, 3)) {
            await ask(page, `strata.setView({ device: ${device} })`);
            await page.locator("#tab-why").click();
            const findings = await ask(page, "strata.findings()");
            const needed = findings.some((/** @type {any} */ { ids }) => ids !== null);
            const lives = needed ? replay("--allocations", file, device) : [];
            for (let i = 0; i < findings.length; i++) await checkCard(page, findings[i], i, lives, steps);
        }
    });
}

/** The pickles in a folder; the second reader reads only those. @param {string} from */
const pickles = (from) => readdirSync(from).filter((name) => /\.(pickle|pkl)$/.test(name)).map((name) => path.join(from, name));

const LOGS = ["log_oom_new", "log_megatron"].map((name) => path.join(samples, `${name}.log`));
const FEW = [
    ...["oom", "leak_two_per_layer", "leak_zero_grad", "held_over", "kept_per_layer", "private_pools", "one_event"].map((name) => path.join(samples, `${name}.pickle`)),
    ...LOGS,
];

const further = (process.env.STRATA_PROOF ?? "").split(":").filter(Boolean);

describe("every button of every card", { skip }, () => {
    const known = runsAll ? [...LOGS, ...pickles(samples), ...(corpus("") ? pickles(corpus("")) : [])] : [...FEW, corpus("npu_expandable.pkl"), corpus("gradients_not_at_the_peak.pickle")];
    for (const file of [...known.filter(Boolean), ...further.flatMap(pickles)]) test(path.basename(file), () => checkFile(file));
});

describe("planted faults", { skip }, () => {
    // Two leaks, the smaller of which is not the first row; and a leak that only some steps add to.
    for (const fault of runsAll ? ["leak", "two_leaks", "leak_rare", "leak_late", "leak_layer", "zero_grad", "growing_buffer", "held_over", "cache_churn"] : ["two_leaks", "leak_rare"])
        test(fault, async () => {
            const file = path.join(folder, `${fault}.pickle`);
            run("python3", path.join(here, "twins.py"), fault, file, "steps=6");
            await checkFile(file);
        });

    // A full buffer has lost the first steps, so the first one that is left is not number 0.
    test("a leak in the later steps", async () => {
        const file = path.join(folder, "later.pickle");
        run("python3", path.join(here, "twins.py"), "leak", file, "steps=6");
        const cut = "import pickle, sys; a = pickle.load(open(sys.argv[1], 'rb')); t = a['device_traces'][0]; del t[: len(t) // 3]; pickle.dump(a, open(sys.argv[1], 'wb'))";
        run("python3", "-c", cut, file);
        assert.notEqual(report(file).devices[0].steps[0].name, "ProfilerStep#0");
        await checkFile(file);
    });
});
