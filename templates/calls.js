// Calls for scripts: every page has the same names, and says the same where it cannot answer.

/** The calls for scripts that every page has. */
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

/** Refuses a view with an invalid field, so that it changes nothing.
 * @param {Record<string, (value: any, wanted: any) => boolean>} fields what each may be @param {any} wanted */
export function checkView(fields, wanted) {
    if (typeof wanted !== "object") throw new RangeError(`A view is an object, not ${valueText(wanted)}.`);
    for (const [name, fits] of Object.entries(fields))
        if (wanted[name] !== undefined && !fits(wanted[name], wanted))
            throw new RangeError(`The view's ${name} cannot be ${valueText(wanted[name])}.`);
}

/** Errors that a call told its script, which are no faults of the page. @type {WeakSet<object>} */
export const toldErrors = new WeakSet();

/** @param {unknown} error @returns {never} */
function tell(error) {
    if (error instanceof Error && !(error instanceof WebAssembly.RuntimeError)) toldErrors.add(error);
    throw error;
}

/** @param {Promise<unknown>} ready @param {string[]} names @param {(name: string) => (...asked: any[]) => unknown} find
 * what answers; it says so where nothing does @returns {any} */
export function makeCalls(ready, names, find) {
    const calls = names.map((name) => [
        name,
        (/** @type {unknown[]} */ ...asked) => {
            try {
                // null counts as undefined.
                const answer = find(name)(...asked.map((one) => one ?? undefined));
                return answer instanceof Promise ? answer.catch(tell) : answer;
            } catch (error) {
                return tell(error);
            }
        },
    ]);
    return { ready, ...Object.fromEntries(calls) };
}
