// A recording with all features, for the test files that look at it; simulated before their first test.
import path from "node:path";
import { before } from "node:test";

import { folder, here, run, skip } from "./browser.mjs";

/** Its arguments: two devices, frees that wait for another stream, reused addresses. */
const SIMULATED = [
    "n_steps=900", "n_devices=2", "cross_stream=0.2", 'form="pickle4"', "ring=null", "record_after=60", "skipped=[]",
    "lost=0", "races=false", "time=true", 'context="all"', "high_addresses=false",
]; // prettier-ignore

/** @type {string} */ export let recording;

before(() => {
    if (skip) return;
    recording = path.join(folder, "simulated.pickle");
    run("python3", path.join(here, "simulate.py"), 11, recording, ...SIMULATED);
});
