// Calls for scripts: the same names in every page, and the same sentences where one cannot be answered.

/** Scripts' calls that every page has. */
export const NAMES = (
    "devices summary view setView pick allocation rows phases search findings lit groups tree compare picture " +
    "lanes gap blocks stats"
).split(" ");

/** A value as a sentence shows it. @param {unknown} value */
export function valueText(value) {
    try {
        return JSON.stringify(value) ?? String(value);
    } catch {
        return typeof value === "bigint" ? String(value) : Object.prototype.toString.call(value);
    }
}

/**
 * An invalid view changes nothing.
 * @param {Record<string, (value: any, wanted: any) => boolean>} fields what each may be
 * @param {any} wanted
 */
export function checkView(fields, wanted) {
    if (typeof wanted !== "object") throw new RangeError(`A view is an object, not ${valueText(wanted)}.`);
    for (const [name, fits] of Object.entries(fields))
        if (wanted[name] !== undefined && !fits(wanted[name], wanted))
            throw new RangeError(`The view's ${name} cannot be ${valueText(wanted[name])}.`);
}

/**
 * @param {Promise<unknown>} ready
 * @param {string[]} names
 * @param {(name: string) => (...asked: any[]) => unknown} find what answers; it says so where nothing does
 * @returns {any}
 */
export function makeCalls(ready, names, find) {
    const calls = names.map((name) => [
        name,
        // null is as good as nothing.
        (/** @type {unknown[]} */ ...asked) => find(name)(...asked.map((one) => one ?? undefined)),
    ]);
    return { ready, ...Object.fromEntries(calls) };
}
