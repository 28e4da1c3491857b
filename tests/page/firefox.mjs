// Can Firefox ESR be driven over WebDriver BiDi here? STRATA_FIREFOX may name one.
import { existsSync } from "node:fs";
import path from "node:path";

import { findFirefox } from "../programs.mjs";
import { here } from "./browser.mjs";

export const firefox = findFirefox();
/** The reason why Firefox cannot be tested here, or false. */
export const firefoxSkip = !existsSync(path.join(here, "node_modules", "puppeteer-core")) ? "puppeteer-core is missing: npm ci makes it" : firefox ? false : "no Firefox found";
if (firefoxSkip && process.env.STRATA_NEEDS_BROWSER) throw new Error(firefoxSkip);
if (firefoxSkip) console.log(`skipped: the page in Firefox (${firefoxSkip})`);
