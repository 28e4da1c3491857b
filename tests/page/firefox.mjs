// Where Firefox ESR is, for the tests that drive it over WebDriver BiDi (STRATA_FIREFOX may name one).
import { accessSync, constants, existsSync } from "node:fs";
import path from "node:path";

import { here } from "./browser.mjs";

/** @returns {string | undefined} */
export function findFirefox() {
    const names = [process.env.STRATA_FIREFOX, "firefox-esr", "firefox"].filter(Boolean);
    const folders = (process.env.PATH ?? "").split(path.delimiter);
    return names.flatMap((name) => folders.map((one) => path.resolve(one, String(name)))).find((candidate) => {
        try {
            accessSync(candidate, constants.X_OK);
            return true;
        } catch {
            return false;
        }
    });
}

const firefox = findFirefox();
/** Why there is nothing to test in Firefox, or false. */
export const firefoxSkip = !existsSync(path.join(here, "node_modules", "puppeteer-core")) ? "puppeteer-core is missing: npm ci makes it" : firefox ? false : "no Firefox found";
if (firefoxSkip && process.env.STRATA_NEEDS_BROWSER) throw new Error(firefoxSkip);
if (firefoxSkip) console.log(`skipped: the page in Firefox (${firefoxSkip})`);
