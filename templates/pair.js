// The page of a difference: two pages of one recording each, which move together, with the differences beside them.
import { followAddress, formAddress, hashOfState, leaveFault, readHash, scheduleHash, setDevice } from "./address.js";
import { checkView, valueText } from "./calls.js";
import { setFilter } from "./filter.js";
import { pressKey } from "./keys.js";
import {
    base64Length,
    carriedText,
    damaged,
    decodeBase64,
    loadModule,
    loadSession,
    prepareFirst,
    reportProgress,
    startFaults,
} from "./load.js";
import { createPage, openPage, startPage } from "./page.js";
import { align, ALIGNMENTS, annotationsLeftOut } from "./pair/axes.js";
import { createCurve } from "./pair/curve.js";
import { createLink } from "./pair/link.js";
import { createDifference, makeDifferencePaper, ROWS } from "./pair/panel.js";
import { leaveProof } from "./proof.js";
import { rowsAt } from "./pair/rows.js";
import { callsOf, makeApi } from "./scripts.js";
import { View } from "./session.js";
import { speakSoon, startSpoken } from "./spoken.js";
import {
    capacityBytes,
    change,
    drawFirst,
    EVERYTHING,
    flush,
    heldMoment,
    invalidate,
    OVERLAY,
    TIMELINE,
} from "./state.js";
import { fitWindow, panWindow, zoomWindow } from "./window.js";
import { nameCards } from "./why.js";
import { element, make, makeBox, makeButton, makeChoices, setAll, setText } from "./text.js";
import { atOnce, nextTurn } from "./turns.js";

/** @typedef {import("./pair/rows.js").Figures} Figures */

/** The forms that the page can have, as the address spells them; the first is the default. */
const CHOICES = /** @type {Record<"show" | "align" | "rows" | "at", string[]>} */ ({
    show: ["two", "a", "b", "difference"],
    align: ALIGNMENTS,
    rows: Object.keys(ROWS),
    at: ["compared", "held"],
});

const SHOW_TEXTS = ["Two", "A", "B", "B \u2212 A"];

/** Reads what the verb found. @returns {Promise<Figures>} */
async function readFigures() {
    const text = carriedText("figures");
    const bytes = new Uint8Array(base64Length(text));
    decodeBase64(text, bytes, 0);
    try {
        const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
        return await new Response(inflated).json(); // fails if a bit has changed, because it has a checksum
    } catch {
        throw damaged();
    }
}

/** @param {ModuleExports} module @param {"a" | "b"} letter @param {number} device its number */
async function loadView(module, letter, device) {
    const begin = letter === "a" ? 0 : 0.48;
    const report = (/** @type {string} */ stage, /** @type {number} */ done) =>
        reportProgress(`${stage} of ${letter.toUpperCase()}`, begin + done * 0.48);
    const session = await loadSession(module, carriedText(`payload-${letter}`), report);
    await prepareFirst(session, true, report);
    return new View(session, session.deviceIndex(device));
}

const IDS = ["id", "for", "aria-controls", "aria-labelledby", "aria-describedby"];

/** Copies the elements for a second page, with other ids. @param {string} suffix */
function copyElements(suffix) {
    for (const one of document.querySelectorAll("#spoken, #app, #app ~ dialog")) {
        const copy = /** @type {HTMLElement} */ (one.cloneNode(true));
        for (const part of [copy, ...copy.querySelectorAll("*")])
            for (const name of IDS) {
                const words = part.getAttribute(name);
                if (words) part.setAttribute(name, words.replace(/\S+/g, `$&${suffix}`));
            }
        document.body.append(copy);
    }
}

/** Adds a page's letter and the tab of the differences. @param {Page} page @param {string} letter */
function addElements(page, letter) {
    const app = page.ui.app;
    app.dataset.letter = letter;
    app.querySelector(".file")?.before(make("b", `letter letter-${letter.toLowerCase()}`, letter));
    // A document has only one banner and one main part.
    if (page.suffix) {
        for (const part of app.querySelectorAll("header, .main")) part.setAttribute("role", "group");
        setAll(app, { role: "region", "aria-label": letter });
    }
    app.querySelector(".stage")?.setAttribute("aria-label", `Timeline of ${letter}`);
    const [tabs, first] = [app.querySelector(".tabs"), app.querySelector(".panel")];
    const ids = { tab: `tab-difference${page.suffix}`, panel: `panel-difference${page.suffix}` };
    const named = { id: ids.tab, role: "tab", "aria-controls": ids.panel, title: "What differs, and why (1)" };
    const tab = make("button", "", "Difference", named);
    const panel = make("div", "panel", { id: ids.panel, role: "tabpanel", "aria-labelledby": ids.tab });
    for (const other of tabs?.children ?? [])
        if (other instanceof HTMLElement)
            other.title = other.title.replace(/\((\d)\)/, (_, nth) => `(${Number(nth) + 1})`);
    tabs?.prepend(tab);
    first?.before(panel);
}

/** @typedef {ReturnType<typeof createPair>} Pair */

function createPair(/** @type {View} */ viewA, /** @type {View} */ viewB, /** @type {Figures} */ figures) {
    const beside = { views: [viewA, viewB], whole: (/** @type {Page} */ page) => page.view.c.whole(0), top: 0 };
    const [a, b] = [createPage(viewA, "", beside), createPage(viewB, "-b", beside)];
    const pages = [a, b];
    const link = createLink(a, b, figures.matches, beside);
    const tops = pages.map((page) => page.view.c.headroom(-1, page.view.facts.events, capacityBytes(page)));
    beside.top = Math.max(...tops);
    const rows = figures.group && figures.group in ROWS ? figures.group : "causes";
    const shown = { show: "two", align: link.link.alignment.by, rows, at: "compared", linked: true };
    const usual = { ...shown };
    const moments = [figures.a.event, figures.b.event];
    /** Is its device the one that the program compared? @param {Page} page @param {number} i */
    const isCompared = ({ session, state }, i) =>
        session.devices[state.device].ordinal === [figures.a, figures.b][i].device;
    const pair = {
        ...{ a, b, pages, figures, moments, link, shown, usual },
        /** The page that keys and the side act on. */
        inHand: a,
        renames: new Map(figures.matches.map(({ a_site, site }) => [a_site, site])),
        /** The moments that the rows compare.
         * @returns {[import("./pair/rows.js").End, import("./pair/rows.js").End]} */
        ends: () => {
            const [endA, endB] = pages.map((page, i) => ({
                view: page.view,
                about: { at: shown.at === "held" || !isCompared(page, i) ? heldMoment(page) : moments[i] },
            }));
            return [endA, endB];
        },
        /** Are the rows those that the verb found? */
        asFound: () =>
            shown.at === "compared" &&
            pages.every(isCompared) &&
            pages.every(({ kept }) => kept.active === !!figures.filter),
        /** The call site that is highlighted, as B calls it. */
        litSite: () => {
            const [ofA, ofB] = pages.map(({ state, session }) =>
                state.focus?.by === "site" ? session.siteText(state.focus.id) : null,
            );
            return ofB ?? (ofA === null ? null : link.nameOf(a, ofA));
        },
        /** @param {string} name */
        toggleSite: (name) => link.lightSite(pair.litSite() === name ? null : name),
        /** @param {string} name @param {boolean} dark */
        siteColor: (name, dark) => {
            const ofB = b.view.siteOfText(name);
            const ofA = ofB < 0 ? a.view.siteOfText(link.nameOf(b, name)) : -1;
            return ofB >= 0 ? b.view.siteColor(ofB, dark) : ofA >= 0 ? a.view.siteColor(ofA, dark) : "";
        },
        /** @param {Partial<typeof shown>} fields */
        change: (fields) => {
            Object.assign(shown, fields);
            if (fields.align !== undefined) {
                link.alignBy(fields.align, pair.inHand);
                shown.align = link.link.alignment.by;
                for (const page of pages) fitWindow(page);
            }
            if (fields.linked !== undefined) link.setLinked(fields.linked, pair.inHand);
            for (const page of pages) invalidate(page, EVERYTHING);
            scheduleHash(a);
        },
    };
    for (const page of pages) {
        page.first.push(["difference", createDifference(pair), "Difference: what differs, and why"]);
        formAddress(page, () => hashOfPair(pair));
    }
    return pair;
}

/* ---- the strip above the timelines ---- */

function createStrip(/** @type {Pair} */ pair) {
    const { a, b, shown } = pair;
    const strip = makeBox("region", "pair-strip", "Both recordings");
    const [show, foot] = [makeBox("group", "segmented", "Show"), make("span", "pane-dim")];
    /** @type {[string, string][]} */
    const forms = CHOICES.show.map((name, i) => [name, SHOW_TEXTS[i]]);
    const shows = (/** @type {string} */ name) => pair.change({ show: name });
    const press = makeChoices(show, forms, shows, (name) => `show-${name}`);
    const ways = ALIGNMENTS.map((by) =>
        make("option", "", `align by ${by}`, { value: by, disabled: align(a.view, b.view, by).by !== by }),
    );
    const select = make("select", "", { id: "align", "aria-label": "Align by" }, ...ways);
    select.addEventListener("change", () => pair.change({ align: select.value }));
    const named = { id: "linked", title: "Windows and cursors of both move together" };
    const linked = makeButton("quiet", "", () => pair.change({ linked: !shown.linked }), named);
    strip.append(show, select, linked, foot);
    a.ui.app.before(strip);
    return () => {
        document.body.dataset.show = shown.show;
        press(shown.show);
        select.value = shown.align;
        linked.setAttribute("aria-pressed", String(shown.linked));
        setText(linked, shown.linked ? "Linked" : "Not linked");
        const place =
            pair.link.link.alignment.count > 0 ? "at the same place of the same" : "the same number of events from the";
        const how = `${place} ${shown.align}`;
        const says = shown.linked ? `One scale for both. The cursors stand ${how}.` : "One scale for both.";
        setText(foot, [says, ...annotationsLeftOut(a.view, b.view)].join(" "));
    };
}

function createDifferenceStage(/** @type {Pair} */ pair) {
    const { a, b } = pair;
    const hands = {
        zoom: (/** @type {number} */ factor, /** @type {number} */ at) => zoomWindow(a, factor, at),
        pan: (/** @type {number} */ share) => panWindow(a, share),
        hover: (/** @type {number | null} */ event) => {
            curve.cursor = event;
            invalidate(a, OVERLAY);
        },
        choose: () => {},
        fit: () => fitWindow(a),
    };
    const curve = { ...createCurve(a.view, b.view, hands), cursor: /** @type {number | null} */ (null) };
    a.ui.app.before(curve.box);
    return (/** @type {number} */ parts) => {
        if (pair.shown.show !== "difference") return;
        const { anchors } = pair.link.link.alignment;
        curve.draw(a.state, anchors, a.kept.active, curve.cursor, (parts & TIMELINE) !== 0);
    };
}

/** Selects the page that keys and the side act on. @param {Pair} pair @param {Page} page */
function takeInHand(pair, page) {
    const app = page.ui.app;
    if (app.classList.contains("in-hand")) return;
    pair.inHand = page;
    for (const one of pair.pages) {
        one.ui.app.classList.toggle("in-hand", one === page);
        nameCards(one);
    }
    invalidate(page, EVERYTHING);
}

/* ---- the address ---- */

function hashOfPair(/** @type {Pair} */ { a, b, shown, usual, inHand }) {
    const hash = new URLSearchParams(hashOfState(a).slice(1));
    for (const name of /** @type {(keyof typeof CHOICES)[]} */ (Object.keys(CHOICES)))
        if (shown[name] !== usual[name]) hash.set(name === "at" ? "when" : name, shown[name]);
    if (inHand === b) hash.set("hand", "b");
    // If the pages are not linked, each has its own part of the address.
    if (!shown.linked) hash.set("other", hashOfState(b).slice(1));
    return `#${hash}`;
}

function readPair(/** @type {Pair} */ pair, /** @type {string} */ text) {
    const hash = new URLSearchParams(text.replace(/^#/, ""));
    const { a, b, usual, shown } = pair;
    const misread = [];
    const fields = { ...usual, linked: !hash.has("other") };
    for (const name of /** @type {(keyof typeof CHOICES)[]} */ (Object.keys(CHOICES))) {
        const word = name === "at" ? "when" : name;
        const value = hash.get(word);
        if (value !== null && CHOICES[name].includes(value)) fields[name] = value;
        else if (value !== null) misread.push(word);
        hash.delete(word);
    }
    const [other, hand] = [hash.get("other"), hash.get("hand")];
    if (hand !== null && hand !== "a" && hand !== "b") misread.push("hand");
    for (const name of ["other", "hand"]) hash.delete(name);
    Object.assign(shown, fields);
    pair.link.link.alignment = align(a.view, b.view, fields.align);
    shown.align = pair.link.link.alignment.by;
    pair.link.link.linked = fields.linked;
    readHash(a, `#${hash}`);
    // Two runs are compared, so neither opens at its own end.
    if (String(hash) === "") {
        change(a, { moment: null });
        fitWindow(a);
    }
    a.state.misread.push(...misread);
    if (other !== null) readHash(b, `#${other}`);
    else pair.link.follow(a);
    takeInHand(pair, hand === "b" ? b : a);
}

/** The open pair; null until it is read. @type {Pair | null} */
let shown = null;

/** @returns {Promise<Pair>} */
async function loadPair() {
    if (!carriedText("payload-a") || !carriedText("payload-b"))
        throw new Error("This page carries no recordings. `strata diff A B -o X.html` makes a page of two.");
    const figures = await readFigures();
    const module = await loadModule();
    const a = await loadView(module, "a", figures.a.device);
    const b = await loadView(module, "b", figures.b.device);
    reportProgress("Drawing", 0.97);
    await nextTurn();
    copyElements("-b");
    return createPair(a, b, figures);
}

async function start() {
    const pair = await loadPair();
    const { a, pages, figures } = pair;
    document.body.classList.add("pair");
    pages.forEach((page, i) => addElements(page, "AB"[i]));
    const drawStrip = createStrip(pair);
    const drawDifference = createDifferenceStage(pair);
    for (const page of pages) {
        openPage(
            page,
            () => {
                pair.link.follow(page);
                scheduleHash(a);
            },
            (parts) => {
                if (parts & OVERLAY) pair.link.point(page);
                if (page === a) drawStrip();
                if (page === a) drawDifference(parts);
            },
        );
        setText(page.ui.file, figures[page === a ? "a" : "b"].file);
        for (const type of ["pointerdown", "focusin"]) page.ui.app.addEventListener(type, () => takeInHand(pair, page));
    }
    element("loading", HTMLDivElement).hidden = true;
    element("still", HTMLDivElement).remove();
    shown = pair;
    for (const page of pages) setDevice(page, page.view.device);
    readPair(pair, location.hash);
    addEventListener("beforeprint", () => document.body.append(makeDifferencePaper(pair)));
    for (const page of pages) startPage(page);
    if (figures.filter && !location.hash) setFilter(a, { words: figures.filter });
    document.addEventListener("keydown", (event) => pressKey(pair.inHand, event));
    addEventListener("popstate", () => {
        pages.forEach(leaveProof);
        followAddress(a, (_, text) => readPair(pair, text));
        speakSoon(pair.inHand, true);
    });
    for (const page of pages) await drawFirst(page);
    startSpoken(a);
}

startFaults(
    () => shown?.inHand ?? null,
    () => shown && leaveFault(shown.a, (_, text) => shown && readPair(shown, text)),
);

const ready = start();

// boot.js reports the failure.
ready.catch(() => {});

/** The fields of a view that concern both pages, with the values that are allowed. @param {Pair} pair */
const viewOfBoth = ({ shown: { show, align: by, linked }, inHand, a }) => {
    return { show, align: by, linked, inHand: inHand === a ? "a" : "b" };
};

/** @type {Record<string, (value: unknown) => boolean>} */
const FIELDS = {
    show: (show) => CHOICES.show.includes(String(show)),
    align: (by) => ALIGNMENTS.includes(String(by)),
    linked: (linked) => typeof linked === "boolean",
    inHand: (letter) => letter === "a" || letter === "b",
};

const callsOfPair = (/** @type {Pair} */ pair) => ({
    /** The findings of `strata diff`. */
    difference: () => pair.figures,
    /** The place of an event of one recording in the other. @param {"a" | "b"} letter @param {number} event */
    belongs(letter, event) {
        if (!FIELDS.inHand(letter) || !Number.isFinite(event))
            throw new RangeError(`There is no event ${valueText(event)} of ${valueText(letter)}.`);
        return pair.link.mapped(pair[letter], event);
    },
    view: () => ({ ...callsOf(pair.inHand).view(), ...viewOfBoth(pair) }),
    /** @param {any} wanted */
    async setView(wanted = {}) {
        checkView(FIELDS, wanted);
        const { show, align: by, linked, inHand, ...rest } = wanted;
        const back = hashOfPair(pair);
        if (inHand !== undefined) takeInHand(pair, pair[/** @type {"a" | "b"} */ (inHand)]);
        if (show !== undefined) pair.change({ show });
        if (by !== undefined) pair.change({ align: by });
        if (linked !== undefined) pair.change({ linked });
        const view = await callsOf(pair.inHand)
            .setView(rest)
            .catch((error) => {
                readPair(pair, back);
                throw error;
            });
        for (const { kept } of pair.pages) await kept.done;
        for (const page of pair.pages) flush(page);
        return { ...view, ...viewOfBoth(pair) };
    },
    /** The memory of A and B, at the compared moments unless the question names other ones. @param {any} question */
    compare({ a, b, by = "site" } = {}) {
        const [endA, endB] = pair.moments.map((at, i) => ({ view: pair.pages[i].view, about: [a, b][i] ?? { at } }));
        const found = atOnce(rowsAt(endA, endB, by, pair.renames));
        const rows = found.map(({ name, a: ofA, b: ofB, aCount: a_count, bCount: b_count }) => {
            return { name, a_bytes: ofA, b_bytes: ofB, delta_bytes: ofB - ofA, a_count, b_count };
        });
        const sum = (/** @type {"a_bytes" | "b_bytes"} */ side) => rows.reduce((all, row) => all + row[side], 0);
        return { a_bytes: sum("a_bytes"), b_bytes: sum("b_bytes"), rows };
    },
});

window.strata = Object.assign(
    makeApi(
        ready,
        () => shown?.inHand ?? null,
        ["difference", "belongs"],
        () => (shown ? callsOfPair(shown) : {}),
    ),
    { a: makeApi(ready, () => shown?.a ?? null), b: makeApi(ready, () => shown?.b ?? null) },
);
