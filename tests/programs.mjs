// Finds the programs that tests drive.
import { accessSync, constants } from "node:fs";
import path from "node:path";

/** The first of these names that is a program in PATH; a variable may name another. @param {string} variable @param {string[]} names @returns {string | undefined} */
export function findProgram(variable, names) {
    const folders = (process.env.PATH ?? "").split(path.delimiter);
    const wanted = process.env[variable] ? [String(process.env[variable]), ...names] : names;
    return wanted.flatMap((name) => folders.map((folder) => path.resolve(folder, name))).find((candidate) => {
        try {
            accessSync(candidate, constants.X_OK);
            return true;
        } catch {
            return false;
        }
    });
}

const chromium = ["chromium", "chromium-browser", "google-chrome"];

export const findChromium = () => findProgram("STRATA_CHROMIUM", chromium);
export const findShell = () => findProgram("STRATA_CHROMIUM", ["chromium-headless-shell", ...chromium]);
export const findFirefox = () => findProgram("STRATA_FIREFOX", ["firefox-esr", "firefox"]);
