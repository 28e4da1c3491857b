// The page of one recording.
import { followAddress, leaveFault, readHash, scheduleHash, writeHash } from "./address.js";
import { pressKey } from "./keys.js";
import { knownOpening, loadPage, prepareFirst, reportProgress, startFaults } from "./load.js";
import { nextTurn } from "./turns.js";
import { createPage, openPage, startPage } from "./page.js";
import { leaveProof } from "./proof.js";
import { makeApi } from "./scripts.js";
import { View } from "./session.js";
import { speakSoon, startSpoken } from "./spoken.js";
import { AXES, drawFirst, HEADER, invalidate, LIST, OVERLAY } from "./state.js";
import { element } from "./text.js";

/** The open page; null until the recording is read. @type {Page | null} */
let shown = null;

async function start() {
    const loaded = await loadPage(reportProgress);
    const opening = knownOpening();
    await prepareFirst(loaded, !opening, reportProgress);
    if (loaded.devices.length === 0) throw new Error("The file holds no device: no segments, no blocks and no events.");
    const page = createPage(new View(loaded, 0), "", null);
    page.opening = opening;
    reportProgress("Drawing", 0.95);
    await nextTurn();
    shown = page;
    openPage(page, () => scheduleHash(page));
    element("loading", HTMLDivElement).hidden = true;
    element("still", HTMLDivElement).remove();
    readHash(page, location.hash || String(page.meta.view ?? ""));
    startPage(page);
    document.addEventListener("keydown", (event) => pressKey(page, event));
    addEventListener("popstate", () => {
        leaveProof(page);
        followAddress(page);
        speakSoon(page, true);
    });
    await drawFirst(page);
    if (opening) {
        await prepareFirst(loaded, true, () => {});
        page.opening = null;
        invalidate(page, HEADER | LIST | OVERLAY | AXES);
        await drawFirst(page);
    }
    writeHash(page);
    startSpoken(page);
}

startFaults(() => shown, leaveFault);

const ready = start();

// boot.js reports the failure.
ready.catch(() => {});

window.strata = makeApi(ready, () => shown);
