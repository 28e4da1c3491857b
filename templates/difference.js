// The page of a difference: two recordings on one scale, with cursors and windows that move together, and what differs.
import { WHOLE_FILE } from "./api.js";
import {
    carriedText,
    damaged,
    decodeBase64,
    base64Length,
    loadModule,
    loadSession,
    missingFeature,
    nextTurn,
} from "./load.js";
import { View } from "./session.js";
import { COLORINGS, THEMES } from "./state.js";
import {
    element,
    formatBytes,
    formatChange,
    formatCount,
    formatExactBytes,
    formatPlural,
    make,
    press,
    setText,
} from "./text.js";
import { startAddress } from "./two_address.js";
import { align, ALIGNMENTS, annotationsLeftOut, belongs } from "./two_axes.js";
import { createDifference, createTimeline } from "./two_plots.js";
import { createCauses, createRows, createTreePanel, rowsAt, rowsOfFigures } from "./two_side.js";
import { inflate } from "./unpack.js";
import { Matcher, selectWords } from "./words.js";

/** @typedef {import("./two_plots.js").Side} Side */
/** @typedef {import("./two_plots.js").Span} Span */

const SHOWS = ["two", "a", "b", "difference"];

const TABS = ["causes", "sites", "categories", "tree"];

const FRAMES_KEPT = 60;

/** Pictures, what follows the pointer, what stands beside. */
const PIXELS = 1;
const CURSORS = 2;
const PANEL = 4;
const EVERYTHING = 7;

const state = {
    show: "two",
    tab: "causes",
    align: "peak",
    color: "site",
    theme: "auto",
    linked: true,
    /** What the rows are of: the compared moments, or those at the cursors. */
    atCursors: false,
    /** @type {Record<string, Span>} */
    windows: { a: { from: 0, to: 1 }, b: { from: 0, to: 1 } },
    /** Events with fractions. @type {Record<string, number | null>} */
    cursors: { a: null, b: null },
    held: false,
    /** Call site that is highlighted in both, as B calls it. @type {string | null} */
    focus: null,
    filter: "",
    /** Counts the filters so far. */
    filtered: 0,
};

/* ---- start ---- */

/** @param {string} stage @param {number} done 0..1 */
function reportProgress(stage, done) {
    element("progress", HTMLProgressElement).value = done;
    setText(element("stage-name", HTMLParagraphElement), stage);
}

/** What the verb found. @returns {Promise<import("./two_side.js").Figures>} */
async function readFigures() {
    const text = carriedText("figures");
    const bytes = new Uint8Array(base64Length(text));
    decodeBase64(text, bytes, 0);
    try {
        return await inflate(bytes).json();
    } catch {
        throw damaged();
    }
}

/**
 * @param {ModuleExports} module
 * @param {"a" | "b"} letter
 * @param {import("./two_side.js").FigureSide} figures
 * @returns {Promise<Side>}
 */
async function loadSide(module, letter, figures) {
    const begin = letter === "a" ? 0 : 0.48;
    const session = await loadSession(module, carriedText(`payload-${letter}`), (stage, done) =>
        reportProgress(`${stage} of ${letter.toUpperCase()}`, begin + done * 0.48),
    );
    const view = new View(session, session.deviceIndex(figures.device));
    return { letter, view, moment: figures.event, file: figures.file };
}

async function start() {
    const missing = missingFeature();
    if (missing) throw new Error(missing);
    if (!carriedText("payload-a") || !carriedText("payload-b"))
        throw new Error("This page carries no recordings. `strata diff A B -o X.html` makes a page of two.");
    const figures = await readFigures();
    const module = await loadModule();
    const a = await loadSide(module, "a", figures.a);
    const b = await loadSide(module, "b", figures.b);
    reportProgress("Drawing", 0.97);
    await nextTurn();
    element("loading", HTMLDivElement).hidden = true;
    element("app", HTMLDivElement).hidden = false;
    return createPage(a, b, figures);
}

/* ---- the page ---- */

/** @param {Side} a @param {Side} b @param {import("./two_side.js").Figures} figures */
async function createPage(a, b, figures) {
    const sides = { a, b };
    const renames = new Map(figures.matches.map(({ a_site, site }) => [a_site, site]));
    const top = Math.max(a.view.c.headroom(-1, a.view.facts.events, 0), b.view.c.headroom(-1, b.view.facts.events, 0));
    const matchers = { a: new Matcher(a.view.session), b: new Matcher(b.view.session) };
    /** @type {number[]} */
    const frameMs = [];
    let alignment = align(a.view, b.view, ALIGNMENTS[0]);
    state.align = alignment.by;

    const isDark = () =>
        state.theme === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : state.theme === "dark";

    /* drawing, at most once a frame */
    let [parts, request] = [0, 0];
    let changed = () => {};
    const invalidate = (/** @type {number} */ more) => {
        parts |= more;
        if (request === 0) request = requestAnimationFrame(flush);
    };
    const flush = () => {
        const now = parts;
        cancelAnimationFrame(request);
        [parts, request] = [0, 0];
        if (now) draw(now);
        if (now) changed();
    };

    /* where the windows are */
    const other = (/** @type {string} */ letter) => (letter === "a" ? "b" : "a");
    const mapped = (/** @type {string} */ letter, /** @type {number} */ event) =>
        belongs(alignment.anchors, event, letter === "a" ? 0 : 1);
    /** Both runs, in events of one side. @param {"a" | "b"} letter */
    const wholeOf = (letter) => {
        const own = sides[letter].view.c.whole(0);
        if (!state.linked) return own;
        const its = sides[other(letter)].view.c.whole(0);
        const [from, to] = [its.from, its.to].map((event) => mapped(other(letter), event));
        return { from: Math.min(own.from, from), to: Math.max(own.to, to) };
    };
    /** @param {"a" | "b"} letter @param {number} from @param {number} to */
    const setWindow = (letter, from, to) => {
        const whole = wholeOf(letter);
        const width = Math.min(Math.max(to - from, Math.min(2, whole.to - whole.from)), whole.to - whole.from);
        const middle = (from + to) / 2;
        const first = Math.min(Math.max(middle - width / 2, whole.from), whole.to - width);
        if (!Number.isFinite(first + width)) return;
        state.windows[letter] = { from: first, to: first + width };
        if (state.linked)
            state.windows[other(letter)] = { from: mapped(letter, first), to: mapped(letter, first + width) };
        invalidate(PIXELS | CURSORS);
    };
    const fit = () => {
        for (const letter of /** @type {const} */ (["b", "a"])) {
            const { from, to } = wholeOf(letter);
            setWindow(letter, from, to);
        }
    };
    const zoom = (/** @type {"a" | "b"} */ letter, /** @type {number} */ factor, /** @type {number} */ at) => {
        const { from, to } = state.windows[letter];
        const [middle, width] = [from + (to - from) * at, (to - from) / factor];
        setWindow(letter, middle - width * at, middle + width * (1 - at));
    };
    const pan = (/** @type {"a" | "b"} */ letter, /** @type {number} */ share) => {
        const { from, to } = state.windows[letter];
        setWindow(letter, from + (to - from) * share, to + (to - from) * share);
    };

    /* cursors */
    /** @param {"a" | "b"} letter @param {number | null} event */
    const setCursor = (letter, event) => {
        state.cursors[letter] = event;
        if (state.linked || event === null)
            state.cursors[other(letter)] = event === null ? null : mapped(letter, event);
        invalidate(CURSORS);
        if (state.atCursors) schedulePanel();
    };
    let panelTimer = 0;
    /** Rows follow the pointer, but their sums must not slow it down. */
    const schedulePanel = () => {
        if (panelTimer === 0)
            panelTimer = setTimeout(() => {
                panelTimer = 0;
                invalidate(PANEL);
            }, 60);
    };
    const eventAt = (/** @type {"a" | "b"} */ letter) => {
        const place = state.cursors[letter];
        return place === null ? sides[letter].moment : timelines[letter].eventOf(place);
    };

    /* what is highlighted */
    /** First frame of every call site's name. @type {Record<string, Map<string, number> | null>} */
    const keys = { a: null, b: null };
    const keysOf = (/** @type {"a" | "b"} */ letter) => {
        const known = keys[letter];
        if (known) return known;
        const { view } = sides[letter];
        /** @type {Map<string, number>} */
        const made = new Map();
        for (const site of [...new Set(view.sitesOfStacks())].sort((x, y) => x - y)) {
            const name = view.session.siteText(site);
            if (!made.has(name)) made.set(name, site);
        }
        keys[letter] = made;
        return made;
    };
    const nameInA = new Map(figures.matches.map(({ a_site, site }) => [site, a_site]));
    /** Whether either has the call site; of a page made smaller it may be in the table alone. */
    const isKnown = (/** @type {string | null} */ name) =>
        name === null ||
        keysOf("a").has(name) ||
        keysOf("b").has(name) ||
        figures.sites.some(({ site }) => site === name);
    const setFocus = (/** @type {string | null} */ name) => {
        state.focus = name;
        for (const letter of /** @type {const} */ (["a", "b"])) {
            const { view } = sides[letter];
            const key =
                name === null ? undefined : keysOf(letter).get(letter === "a" ? (nameInA.get(name) ?? name) : name);
            if (key === undefined) view.c.light_off();
            else view.c.light(0, key);
        }
        invalidate(EVERYTHING);
    };
    /** @param {"a" | "b"} letter @param {number} event @param {number | null} allocation */
    const choose = (letter, event, allocation) => {
        setCursor(letter, event);
        state.held = true;
        const { view } = sides[letter];
        const site = allocation === null ? 0 : view.c.stack_site(view.c.allocation(allocation).stack);
        const name = site === 0 ? null : view.session.siteText(site);
        setFocus(name !== null && letter === "a" ? (renames.get(name) ?? name) : name);
    };
    const colorOf = (/** @type {string} */ name) => {
        const [ofB, ofA] = [keysOf("b").get(name), keysOf("a").get(nameInA.get(name) ?? name)];
        if (ofB !== undefined) return b.view.siteColor(ofB, isDark());
        return ofA === undefined ? "" : a.view.siteColor(ofA, isDark());
    };

    /* parts */
    const hands = (/** @type {"a" | "b"} */ letter) => ({
        zoom: (/** @type {number} */ factor, /** @type {number} */ at) => zoom(letter, factor, at),
        pan: (/** @type {number} */ share) => pan(letter, share),
        hover: (/** @type {number | null} */ event) => !state.held && setCursor(letter, event),
        choose: (/** @type {number} */ event, /** @type {number | null} */ allocation) =>
            choose(letter, event, allocation),
        fit,
    });
    const timelines = { a: createTimeline(a, hands("a")), b: createTimeline(b, hands("b")) };
    const difference = createDifference(a.view, b.view, hands("a"));
    const stage = element("stage", HTMLElement);
    const foot = element("stage-foot", HTMLParagraphElement);
    for (const part of [timelines.a, timelines.b, difference]) stage.insertBefore(part.box, foot);
    const shared = {
        focus: () => (state.focus === null ? null : { name: state.focus }),
        setFocus,
        color: colorOf,
        renames,
    };
    const panels = {
        causes: createCauses(figures, shared),
        sites: createRows("two-sites", "Call site", shared, true),
        categories: createRows("two-categories", "Category", shared, false),
        tree: createTreePanel(shared),
    };
    const panel = element("panel", HTMLDivElement);
    for (const name of TABS) panel.append(panels[/** @type {keyof typeof panels} */ (name)].box);

    /* drawing */
    const drawPictures = (/** @type {boolean} */ pixels) => {
        const begin = performance.now();
        for (const letter of /** @type {const} */ (["a", "b"])) {
            if (timelines[letter].box.hidden) continue;
            timelines[letter].draw(
                {
                    top,
                    dark: isDark(),
                    color: state.color,
                    window: state.windows[letter],
                    cursor: state.cursors[letter],
                    held: state.held,
                },
                pixels,
            );
        }
        if (!difference.box.hidden)
            difference.draw(state.windows.a, alignment.anchors, state.filter !== "", state.cursors.a, pixels);
        if (!pixels) return;
        frameMs.push(performance.now() - begin);
        if (frameMs.length > FRAMES_KEPT) frameMs.shift();
    };
    let asked = "";
    const drawPanel = () => {
        const moments = state.atCursors ? [eventAt("a"), eventAt("b")] : [a.moment, b.moment];
        const now = JSON.stringify([state.tab, moments, state.filtered, isDark()]);
        const asFound = !state.atCursors && state.filter === (figures.filter ?? "");
        const rows = (/** @type {"site" | "category"} */ by) =>
            asFound
                ? rowsOfFigures(by === "site" ? figures.sites : figures.categories)
                : rowsAt(a.view, moments[0], b.view, moments[1], by, renames);
        if (asked !== now) {
            asked = now;
            if (state.tab === "sites") panels.sites.set(rows("site"));
            if (state.tab === "categories") panels.categories.set(rows("category"));
            if (state.tab === "tree") panels.tree.set(a.view, moments[0], b.view, moments[1], rows("site"));
        }
        panels[/** @type {keyof typeof panels} */ (state.tab)].draw();
        const words = (/** @type {number} */ event) => (event < 0 ? "start" : formatCount(event));
        setText(element("when-says", HTMLSpanElement), `A at ${words(moments[0])}, B at ${words(moments[1])}`);
    };
    const drawFrame = () => {
        const dark = isDark();
        document.documentElement.dataset.theme = dark ? "dark" : "light";
        setText(element("theme", HTMLButtonElement), `Theme: ${state.theme}`);
        for (const name of SHOWS) press(`show-${name}`, state.show === name);
        press("link", state.linked);
        setText(element("link", HTMLButtonElement), state.linked ? "Linked" : "Not linked");
        timelines.a.box.hidden = state.show !== "two" && state.show !== "a";
        timelines.b.box.hidden = state.show !== "two" && state.show !== "b";
        difference.box.hidden = state.show !== "difference";
        for (const name of TABS) {
            element(`tab-${name}`, HTMLButtonElement).setAttribute("aria-selected", String(state.tab === name));
            panels[/** @type {keyof typeof panels} */ (name)].box.hidden = state.tab !== name;
        }
        element("when", HTMLDivElement).hidden = state.tab === "causes";
        press("when-compared", !state.atCursors);
        press("when-cursors", state.atCursors);
        element("align", HTMLSelectElement).value = state.align;
        element("color", HTMLSelectElement).value = state.color;
        const how =
            alignment.count > 0
                ? `at the same place of the same ${state.align} (` +
                  `${formatPlural(alignment.count, state.align)} in common)`
                : `as many events from the ${state.align}`;
        setText(
            foot,
            `One scale for both. ${state.linked ? `The cursors stand ${how}` : "The cursors are not linked"}.`,
        );
    };
    const draw = (/** @type {number} */ now) => {
        if (now & PANEL) drawFrame();
        if (now & (PIXELS | CURSORS)) drawPictures((now & PIXELS) !== 0);
        if (now & PANEL) drawPanel();
    };

    /* the filter */
    const setFilter = async (/** @type {string} */ text) => {
        const version = ++state.filtered;
        state.filter = text.trim();
        const input = element("filter", HTMLInputElement);
        if (input.value.trim() !== state.filter) input.value = state.filter;
        let wrong = "";
        for (const letter of /** @type {const} */ (["a", "b"])) {
            if (state.filter === "") sides[letter].view.c.filter_off();
            else
                await selectWords(
                    sides[letter].view,
                    matchers[letter],
                    0,
                    state.filter,
                    () => state.filtered === version,
                    (error) => (wrong ||= error),
                );
            if (state.filtered !== version) return;
        }
        const [keptA, keptB] = [a.view.c.kept().allocations, b.view.c.kept().allocations];
        const says = element("filter-says", HTMLSpanElement);
        input.setAttribute("aria-invalid", String(wrong !== ""));
        setText(
            says,
            wrong ||
                (state.filter === "" ? "" : `A ${formatCount(keptA)} \u00b7 B ${formatPlural(keptB, "allocation")}`),
        );
        says.title = says.textContent ?? "";
        state.filtered++;
        invalidate(EVERYTHING);
    };

    /* what is asked for */
    /** @param {Partial<typeof state>} fields */
    const change = (fields) => {
        Object.assign(state, fields);
        invalidate(EVERYTHING);
    };
    const setAlign = (/** @type {string} */ by) => {
        alignment = align(a.view, b.view, by);
        state.align = alignment.by;
        fit();
        invalidate(EVERYTHING);
    };
    const setLinked = (/** @type {boolean} */ linked) => {
        state.linked = linked;
        if (linked) setWindow("a", state.windows.a.from, state.windows.a.to);
        invalidate(EVERYTHING);
    };
    const clear = () => {
        state.held = false;
        setCursor("a", null);
        setFocus(null);
    };
    startToolbar({ change, setAlign, setLinked, setFilter, fit, invalidate: () => invalidate(EVERYTHING) });
    for (const option of element("align", HTMLSelectElement).options)
        option.disabled = align(a.view, b.view, option.value).by !== option.value;
    startKeys({
        change,
        setLinked,
        clear,
        fit,
        zoom: (factor) => zoom("a", factor, 0.5),
        pan: (share) => pan("a", share),
    });
    fillHeader(sides, figures);
    new ResizeObserver(() => {
        invalidate(PIXELS | CURSORS);
        flush();
    }).observe(stage);
    fit();
    if (figures.filter) await setFilter(figures.filter);
    invalidate(EVERYTHING);
    flush();

    const view = () => ({
        show: state.show,
        tab: state.tab,
        align: state.align,
        linked: state.linked,
        windows: structuredClone(state.windows),
        cursors: { ...state.cursors },
        focus: state.focus,
        filter: state.filter,
        top,
    });
    const methods = {
        difference: () => figures,
        view,
        /**
         * @param {{show?: string, tab?: string, align?: string, color?: string, linked?: boolean, theme?: string,
         * from?: number, to?: number, cursor?: number | null, focus?: string | null, filter?: string, atCursors?:
         * boolean}} wanted from, to and cursor are events of A
         */
        async setView(wanted) {
            const { show, tab, align: by, color, linked, theme, from, to, cursor, focus, filter, atCursors } = wanted;
            if (show !== undefined && SHOWS.includes(show)) change({ show });
            if (tab !== undefined && TABS.includes(tab)) change({ tab });
            if (theme !== undefined && THEMES.includes(theme)) change({ theme });
            if (color !== undefined && COLORINGS.includes(color)) change({ color });
            if (atCursors !== undefined) change({ atCursors });
            if (by !== undefined && ALIGNMENTS.includes(by)) setAlign(by);
            if (linked !== undefined) setLinked(linked);
            if (from !== undefined && to !== undefined) setWindow("a", from, to);
            if (cursor !== undefined) setCursor("a", cursor);
            if (focus !== undefined) setFocus(focus);
            if (filter !== undefined) await setFilter(filter);
            flush();
            return view();
        },
        /**
         * @param {{a?: number, b?: number, by?: "site" | "category"}} question events; without: the compared moments
         */
        compare({ a: eventA = a.moment, b: eventB = b.moment, by = "site" } = {}) {
            const rows = rowsAt(a.view, eventA, b.view, eventB, by, renames);
            return rows.map(({ name, a: bytesA, b: bytesB, aCount, bCount }) => ({
                name,
                a_bytes: bytesA,
                b_bytes: bytesB,
                delta_bytes: bytesB - bytesA,
                a_count: aCount,
                b_count: bCount,
            }));
        },
        /** Where an event of one lies in the other. @param {"a" | "b"} letter @param {number} event */
        belongs: (letter, event) => mapped(letter, event),
        summary: () => ({ a: a.view.facts, b: b.view.facts }),
        stats: () => ({ frameMs: [...frameMs], memoryBytes: a.view.module.memory.buffer.byteLength }),
    };
    const shown = () => ({
        ...view(),
        color: state.color,
        atCursors: state.atCursors,
        from: state.windows.a.from,
        to: state.windows.a.to,
        cursor: state.held ? state.cursors.a : null,
    });
    changed = await startAddress(
        shown,
        async (wanted) => {
            state.held = wanted.cursor !== null;
            const focus = isKnown(wanted.focus) ? wanted.focus : null;
            await methods.setView({
                ...wanted,
                focus,
                filter: wanted.filter === state.filter ? undefined : wanted.filter,
            });
        },
        (sentence) => {
            const note = element("note", HTMLParagraphElement);
            setText(note, sentence);
            note.hidden = sentence === "";
            invalidate(PIXELS | CURSORS);
        },
    );
    return methods;
}

/* ---- toolbar, keys, header ---- */

/**
 * @param {{change: (fields: Partial<typeof state>) => void, setAlign: (by: string) => void, setLinked: (linked:
 * boolean) => void, setFilter: (text: string) => Promise<void>, fit: () => void, invalidate: () => void}} use
 */
function startToolbar({ change, setAlign, setLinked, setFilter, fit, invalidate }) {
    const button = (/** @type {string} */ id, /** @type {() => void} */ act) =>
        element(id, HTMLButtonElement).addEventListener("click", act);
    for (const show of SHOWS) button(`show-${show}`, () => change({ show }));
    for (const tab of TABS) button(`tab-${tab}`, () => change({ tab }));
    button("when-compared", () => change({ atCursors: false }));
    button("when-cursors", () => change({ atCursors: true }));
    button("link", () => setLinked(!state.linked));
    button("fit", fit);
    button("theme", () => change({ theme: THEMES[(THEMES.indexOf(state.theme) + 1) % THEMES.length] }));
    button("help", () => element("keys-dialog", HTMLDialogElement).showModal());
    button("trust", () => element("trust-dialog", HTMLDialogElement).showModal());
    const select = (/** @type {string} */ id, /** @type {(value: string) => void} */ act) => {
        const field = element(id, HTMLSelectElement);
        field.addEventListener("change", () => act(field.value));
    };
    select("align", setAlign);
    select("color", (color) => COLORINGS.includes(color) && change({ color }));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", invalidate);
    const filter = element("filter", HTMLInputElement);
    let timer = 0;
    filter.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(() => setFilter(filter.value), 200);
    });
    filter.addEventListener("keydown", (event) => {
        if (event.key !== "Escape") return;
        filter.value = "";
        setFilter("");
        filter.blur();
    });
    element("filter-form", HTMLFormElement).addEventListener("submit", (event) => event.preventDefault());
}

/**
 * @param {{change: (fields: Partial<typeof state>) => void, setLinked: (linked: boolean) => void, clear: () => void,
 * fit: () => void, zoom: (factor: number) => void, pan: (share: number) => void}} use
 */
function startKeys({ change, setLinked, clear, fit, zoom, pan }) {
    /** @type {Record<string, () => void>} */
    const keys = {
        w: () => zoom(1.4),
        ArrowUp: () => zoom(1.4),
        s: () => zoom(1 / 1.4),
        ArrowDown: () => zoom(1 / 1.4),
        a: () => pan(-0.15),
        ArrowLeft: () => pan(-0.15),
        d: () => pan(0.15),
        ArrowRight: () => pan(0.15),
        0: fit,
        l: () => setLinked(!state.linked),
        c: () => change({ atCursors: !state.atCursors }),
        Escape: clear,
        v: () => change({ show: SHOWS[(SHOWS.indexOf(state.show) + 1) % SHOWS.length] }),
        "/": () => element("filter", HTMLInputElement).focus(),
        "?": () => element("keys-dialog", HTMLDialogElement).showModal(),
    };
    TABS.forEach((tab, i) => (keys[i + 1] = () => change({ tab })));
    document.addEventListener("keydown", (event) => {
        const inField = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
        if (
            inField ||
            event.ctrlKey ||
            event.metaKey ||
            event.altKey ||
            document.querySelector("dialog[open]") ||
            !(event.key in keys)
        )
            return;
        event.preventDefault();
        keys[event.key]();
    });
}

/** What a reader should know of one of them. @param {Side} side */
function notesOf({ view, letter }) {
    const { ordinal } = view.session.devices[view.device];
    return view.session
        .diagnostics()
        .filter(({ device }) => device === WHOLE_FILE || device === ordinal)
        .map(({ message }) => `${letter.toUpperCase()}: ${message}`);
}

/** @param {{a: Side, b: Side}} sides @param {import("./two_side.js").Figures} figures */
function fillHeader({ a, b }, figures) {
    for (const { letter, file } of [a, b]) {
        const name = element(`file-${letter}`, HTMLSpanElement);
        setText(name, file);
        name.title = file;
    }
    const line = element("figures-line", HTMLParagraphElement);
    const pair = (/** @type {string} */ what, /** @type {number} */ before, /** @type {number} */ after) => {
        const part = make("span", "two-figure", `${what} `);
        part.append(make("b", "", `${formatBytes(before)} \u2192 ${formatBytes(after)}`));
        part.title = `${formatExactBytes(before)}, ${formatExactBytes(after)}`;
        return part;
    };
    line.append(pair("Peak", a.view.facts.peak_bytes, b.view.facts.peak_bytes));
    if (a.view.facts.reserved_peak > 0 && b.view.facts.reserved_peak > 0)
        line.append(pair("Reserved", a.view.facts.reserved_peak, b.view.facts.reserved_peak));
    const notes = [...notesOf(a), ...notesOf(b), ...annotationsLeftOut(a.view, b.view)];
    const trust = element("trust", HTMLButtonElement);
    setText(trust, notes.length === 0 ? "\u2713 Both complete" : `! ${formatPlural(notes.length, "note")}`);
    trust.classList.toggle("badge-noted", notes.length > 0);
    const list = make("ul", "notes");
    list.append(...notes.map((note) => make("li", "", note)));
    if (notes.length === 0) list.append(make("li", "", "Nothing in either file speaks against the pictures."));
    element("trust-body", HTMLDivElement).append(list);

    const how =
        {
            step: "at the peak of the same step",
            annotation: "at the peak of the same annotation",
            event: "at the moments that were asked for",
        }[figures.aligned_by] ?? "at the peaks";
    const verdict = element("verdict", HTMLDivElement);
    const { delta_bytes: delta } = figures;
    const figure = make("b", `two-delta ${delta > 0 ? "more" : delta < 0 ? "less" : ""}`, formatChange(delta));
    figure.title = formatExactBytes(delta);
    const what = make(
        "p",
        "",
        `${how}: ${formatBytes(figures.a_bytes)} \u2192 ${formatBytes(figures.b_bytes)}` +
            `${figures.filter ? ` of what passes \u201c${figures.filter}\u201d` : ""}. ` +
            `${formatPlural(figures.causes.length, "cause")}.`,
    );
    verdict.append(figure, what);
    setText(
        element("when-compared", HTMLButtonElement),
        how
            .replace(/^./, (first) => first.toUpperCase())
            .replace(" that were asked for", " asked for")
            .replace("peak of the same", "same"),
    );
}

const page = start();

/** Methods are there when `ready` has resolved. */
const offered = /** @type {any} */ ({ ready: page.then((methods) => void Object.assign(offered, methods)) });

window.strata = offered;
