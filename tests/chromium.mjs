// Chromium for a test: the one that STRATA_BROWSER names, which many tests share, or else one of its own. Contexts keep apart
// what tests do; a test's contexts close when it ends.
//
//     node tests/chromium.mjs      starts one to share, prints its STRATA_BROWSER, and ends it when the standard input ends
import { fileURLToPath } from "node:url";

import { findChromium } from "./programs.mjs";

/** Containers give a browser neither a sandbox nor much shared memory. */
const options = () => ({ executablePath: findChromium(), args: ["--no-sandbox", "--disable-dev-shm-usage"] });

/** @returns {Promise<import("playwright-core").Browser>} */
export async function startChromium() {
    const { chromium } = await import("playwright-core");
    return process.env.STRATA_BROWSER ? chromium.connect(process.env.STRATA_BROWSER) : chromium.launch(options());
}

/** What a browser saved, which may run elsewhere. @param {import("playwright-core").Download} download */
export async function downloaded(download) {
    const parts = [];
    for await (const part of await download.createReadStream()) parts.push(part);
    return Buffer.concat(parts);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const { chromium } = await import("playwright-core");
    const server = await chromium.launchServer(options());
    console.log(server.wsEndpoint());
    process.stdin.on("end", () => server.close()).resume();
}
