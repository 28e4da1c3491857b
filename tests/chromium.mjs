// Chromium for a test: the shared one that STRATA_BROWSER names, otherwise one of its own. Each test has contexts of its own,
// which close when it ends. Debian's chromium-headless-shell is preferred if it is installed: it is the same engine without
// the browser around it, and opens a page in half the processor time. V8's slow compilers are off, because they pay only for
// pages that stay open longer. STRATA_WHOLE_BROWSER asks for the browser that people have.
//
//     node tests/chromium.mjs      starts one to share, prints its STRATA_BROWSER, and ends it when the standard input ends
import { fileURLToPath } from "node:url";

import { findChromium, findShell } from "./programs.mjs";

const whole = Boolean(process.env.STRATA_WHOLE_BROWSER);

/** Containers give a browser neither a sandbox nor much shared memory. */
const options = () => ({
    executablePath: whole ? findChromium() : findShell(),
    args: ["--no-sandbox", "--disable-dev-shm-usage", ...(whole ? [] : ["--js-flags=--no-turbofan,--liftoff-only"])],
});

/** @returns {Promise<import("playwright-core").Browser>} */
export async function startChromium() {
    const { chromium } = await import("playwright-core");
    return process.env.STRATA_BROWSER && !whole ? chromium.connect(process.env.STRATA_BROWSER) : chromium.launch(options());
}

/** The bytes of a file that the browser saved; the browser may run on another machine. @param
 * {import("playwright-core").Download} download */
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
