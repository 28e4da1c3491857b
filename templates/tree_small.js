// Joins many small rows of a tree to one, named by the frame through which all of them are reached.

/** The share of the small rows' bytes that a frame must explain. */
const EXPLAINED = 0.9;

/** The most levels that are followed down from a row. */
const LEVELS_MOST = 40;

/** The frames that a node's bytes come through, one after the other, while there is only one way.
 * @param {(index: number) => record_node} node @param {number} index */
function wayFrom(node, index) {
    /** @type {number[]} */
    const frames = [];
    for (let at = node(index); at.children === 1 && at.self_bytes === 0 && frames.length < LEVELS_MOST;) {
        at = node(at.first_child);
        frames.push(at.frame);
    }
    return frames;
}

/** The innermost frame that explains nearly all small rows but not the large ones too, as the program's entry does.
 * @param {(index: number) => record_node} node @param {number[]} small @param {number[]} large siblings of them
 * @returns {{frame: number, small: number[]} | null} null : there is none */
export function commonFrame(node, small, large) {
    /** @type {Map<number, {bytes: number, place: number, small: number[]}>} */
    const through = new Map();
    let whole = 0;
    for (const index of small) {
        const { bytes } = node(index);
        whole += bytes;
        [...new Set(wayFrom(node, index))].forEach((frame, place) => {
            const of = through.get(frame) ?? { bytes: 0, place: 0, small: [] };
            through.set(frame, of);
            of.bytes += bytes;
            of.place += place;
            of.small.push(index);
        });
    }
    for (const index of large) for (const frame of wayFrom(node, index)) through.delete(frame);
    const found = [...through].filter(([, { bytes, small: own }]) => own.length > 1 && bytes >= whole * EXPLAINED);
    const [first] = found.sort(([, a], [, b]) => a.place / a.small.length - b.place / b.small.length);
    return first ? { frame: first[0], small: first[1].small } : null;
}
