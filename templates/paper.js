// Paper: one sheet of A4 about the recording, whatever view is open: the picture, its key, Why and Plan.
import { makePicture, pictureLines } from "./picture.js";
import { createPlan, devicePlan } from "./plan_view.js";
import { askFindings } from "./questions.js";
import { momentText, rangeEvents } from "./state.js";
import { deviceName, dotted, formatBytes, formatCount, make, makeSwatch } from "./text.js";
import { atOnce } from "./turns.js";
import { createWhy } from "./why.js";

/** The limit that the process ran into, as text. @param {Page} page */
function limitText({ view }) {
    const last = view.facts.ooms - 1;
    const state = last < 0 ? null : view.c.oom_state(last);
    if (!state?.reserved_known) return "";
    const bytes = state.reserved_bytes + view.c.oom(last).device_free;
    return `${formatBytes(bytes)} is all this process can get (reserved + free)`;
}

function figuresText(/** @type {Page} */ page) {
    const { session, state, view } = page;
    const { events, peak_bytes, peak_event } = view.facts;
    const { first, end } = rangeEvents(page, state);
    const part = `${formatCount(Math.max(0, first))} to ${formatCount(end - 1)} of ${formatCount(events)}`;
    return dotted(
        `Device ${deviceName(session.devices[state.device].ordinal)}`,
        `peak ${formatBytes(peak_bytes)}${events ? ` at ${momentText(page, peak_event)}` : ""}`,
        limitText(page),
        events ? `shown: events ${part}` : "",
        page.ui.trust.textContent,
    );
}

/** Makes the key of colours and lines. @param {Page} page */
function keyOf(page) {
    const lines = pictureLines(page).map(({ color, text, strong }) =>
        make("li", strong ? "paper-strong" : "", color ? makeSwatch(color) : "", text),
    );
    return make("ul", "paper-key", ...lines);
}

function column(/** @type {Page} */ page, /** @type {string} */ title, /** @type {typeof createPlan} */ create) {
    const box = make("section");
    create(page, box).draw();
    box.prepend(make("h2", "", title));
    return box;
}

/** Makes the sheet, which is in the page while it is printed. @param {Page} page */
export function makePaper(page) {
    const { meta, view } = page;
    const [first] = askFindings(view);
    const plan = devicePlan(page) ? column(page, "Plan", createPlan) : "";
    return make(
        "section",
        "paper",
        make("h1", "", `${meta.title || meta.file || "Strata"}${first ? `: ${first.title}` : ""}`),
        make("p", "", figuresText(page)),
        atOnce(makePicture(page, 2, true, false)).canvas,
        keyOf(page),
        make("div", "paper-parts", column(page, "Why", createWhy), plan),
        make("p", "paper-foot", `Strata ${meta.version ?? ""} \u00b7 ${meta.fingerprint ?? meta.sha256 ?? ""}`),
    );
}
