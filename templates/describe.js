// Streams, pools, phases and lifetimes in words.
import { groupLabel } from "./questions.js";
import { momentText } from "./state.js";
import { formatCount, formatDuration, formatPlural } from "./text.js";

/** "default stream", "stream 7". @param {Page} page @param {number} stream index */
export const streamText = (page, stream) => groupLabel(page.view, "stream", stream);

/** "default pool", "private pool (1, 0)". @param {Page} page @param {number} pool index @param {View} [shown] */
export const poolText = (page, pool, shown = page.view) => groupLabel(shown, "pool", pool);

/** A phase's name for people: without control characters and the two signs that torch puts around it.
 * @param {string} name */
export const phaseText = (name) =>
    name.replace(/^## (.*) ##$/s, "$1").replace(/[\u0000-\u001f\u007f]/g, " ") || "(no name)";

/** The most phases around an event that are named: the outermost ones, and the innermost one. */
const PHASES_NAMED = 12;

/** Names of the program's phases around an event, the outermost first. @param {Page} page @param {number} event */
export function phasesOfEvent({ session, view }, event) {
    if (event < 0 || !view.facts.has_time) return [];
    const us = view.c.event_us(event);
    const names = Array.from({ length: view.facts.phases }, (_, id) => view.c.phase(id))
        .filter((phase) => !phase.internal && phase.start_us <= us && (phase.end_us > us || phase.end_us < 0))
        .map((phase) => session.string(phase.name));
    const more = names.length - PHASES_NAMED;
    return more < 2
        ? names
        : [...names.slice(0, PHASES_NAMED - 1), `${formatCount(more)} more`, names[names.length - 1]];
}

/** "1,234 events (12.3 ms)", with notes on unusual ends.
 * @param {Page} page @param {{birth: number, death: number}} allocation @param {View} [shown] */
export function lifetimeText(page, { birth, death }, shown = page.view) {
    const { events, has_time } = shown.facts;
    if (birth < 0 && death >= events) return "alive in the whole recording";
    if (birth < 0) return `older than the recording, freed at ${momentText(page, death, shown)}`;
    if (death >= events) return `from ${momentText(page, birth, shown)} to the end`;
    const time = has_time ? ` (${formatDuration(shown.c.event_us(death) - shown.c.event_us(birth))})` : "";
    return `lived ${formatPlural(death - birth, "event")}${time}`;
}
