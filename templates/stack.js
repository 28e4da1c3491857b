// A stack as a list: the user's own frames, with folds for the frames between them.
import { FRAME_LIBRARY, FRAME_NATIVE, FRAME_NOISE, FRAME_USER } from "page_api";
import { change } from "./state.js";
import { baseName, formatCount, formatPlural, frameText, make, makeButton } from "./text.js";

/** How many frames and folds of a stack are made at once; the rest of a deeper stack is one more fold. */
const FRAMES_MOST = 200;

/** Joins repeats of the same frame to runs. @param {number[]} frames @returns {{id: number, times: number}[]} */
function elideRepeats(frames) {
    /** @type {{id: number, times: number}[]} */
    const runs = [];
    for (const id of frames) {
        const last = runs[runs.length - 1];
        if (last?.id === id) last.times++;
        else runs.push({ id, times: 1 });
    }
    return runs;
}

/** @param {Page} page @param {{id: number, times: number}} run @param {number} site */
function makeFrame(page, run, site) {
    const { session, state, view } = page;
    const { file, line, name } = session.frame(run.id);
    const user = view.c.frame_kind(run.id) === FRAME_USER;
    const item = make("li", `frame${user ? " frame-user" : ""}${run.id === site ? " frame-site" : ""}`);
    const isLit = () => state.focus?.by === "frame" && state.focus.id === run.id;
    const light = () => change(page, { focus: isLit() ? null : { by: "frame", id: run.id } });
    const pressed = { title: "Highlight everything that goes through this frame", "aria-pressed": isLit() };
    const place = makeButton("frame-place", line ? `${baseName(file)}:${line}` : baseName(file), light, pressed);
    const head = make("p", "frame-head", ...(place.textContent ? [place, " "] : []), make("span", "frame-name", name));
    if (run.times > 1) head.append(make("span", "frame-times", ` \u00d7 ${run.times}`));
    item.append(head);
    const folder = file.slice(0, file.length - baseName(file).length);
    if (folder && user) item.append(make("p", "frame-folder", folder));
    const fx = session.frameFx(run.id);
    if (fx?.text) item.append(make("p", "frame-fx", fx.text));
    if (fx?.original) item.append(make("pre", "frame-fx", fx.original));
    item.title = frameText({ file, line, name });
    return item;
}

function foldLabel(/** @type {Page} */ page, /** @type {{id: number, times: number}[]} */ runs) {
    const count = runs.reduce((sum, run) => sum + run.times, 0);
    const kinds = new Set(runs.map((run) => page.view.c.frame_kind(run.id)));
    const names = [
        kinds.has(FRAME_NATIVE) ? "C++" : "",
        kinds.has(FRAME_LIBRARY) ? "library" : "",
        kinds.has(FRAME_NOISE) ? "interpreter" : "",
    ].filter(Boolean);
    // The user's own frames are folded only if a stack is very deep.
    const which = kinds.has(FRAME_USER) ? "further" : names.join(", ");
    return `${formatCount(count)} ${which} frame${count === 1 ? "" : "s"}`;
}

/** Makes a fold of frames, closed at first. @param {{id: number, times: number}[]} runs @param {number} site */
function makeFold(/** @type {Page} */ page, runs, site) {
    const frames = make("ol", "frames");
    const details = make("details", "", make("summary", "", foldLabel(page, runs)), frames);
    // The frames are made when they are first shown, because a stack can have hundreds.
    details.addEventListener("toggle", () => {
        if (!frames.firstChild) frames.append(...runs.map((run) => makeFrame(page, run, site)));
    });
    return make("li", "fold", details);
}

/** Makes a stack of which the first of the user's own frames are shown. @param {Page} page @param {number} stack
 * @param {number} [most] of them */
export function makeStack(page, stack, most = FRAMES_MOST) {
    const { session, view } = page;
    const site = view.c.stack_site(stack) >>> 0;
    const list = make("ol", "frames");
    /** @type {{id: number, times: number}[]} */
    let folded = [];
    let own = 0;
    const flush = () => {
        if (folded.length) list.append(makeFold(page, folded, site));
        folded = [];
    };
    for (const run of elideRepeats(session.stackFrames(stack))) {
        const shown = run.id === site || view.c.frame_kind(run.id) === FRAME_USER;
        if (!shown || own >= most || list.childElementCount >= FRAMES_MOST) {
            folded.push(run);
            continue;
        }
        flush();
        own++;
        list.append(makeFrame(page, run, site));
    }
    flush();
    return list;
}

/** A stack as text, one frame a line, innermost first: Python's frames, or if there are none those of C++ without the
 * interpreter's; with `all`, every frame. @param {Page} page @param {number} stack @param {boolean} [all] */
export function stackAsText({ session, view }, stack, all = false) {
    const frames = session.stackFrames(stack);
    const above = (/** @type {number} */ kind) => frames.filter((id) => view.c.frame_kind(id) > kind);
    const told = all ? [] : ([above(FRAME_NATIVE), above(FRAME_NOISE)].find(({ length }) => length) ?? []);
    const lines = (told.length ? told : frames).map((id) => {
        const fx = session.frameFx(id);
        return `${frameText(session.frame(id))}${fx?.text ? ` [${fx.text}]` : ""}`.trim();
    });
    const left = frames.length - lines.length;
    return [...lines, ...(left ? [`(${formatPlural(left, "frame")} left out)`] : [])].join("\n");
}
