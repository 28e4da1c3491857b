// Merges the trees of two recordings: calls that both have, those that are new, and those that are gone.
import { askTree, planted } from "../questions.js";

/** @typedef {{name: string, nodeA: number, nodeB: number, a: number, b: number, level: number, children: Pair[] | null,
 * before: "", aCount: 0, bCount: 0}} Pair a node of both trees, and a row; -1: not in that one */

/** Nodes between two turns of the browser. */
const NODES_AT_ONCE = 1000;

/** A name without its line number: it stays the same if only the line has moved. @param {string} name */
const withoutLine = (name) => name.replace(/:\d+ /, " ");

/** @param {string} name @param {number} level @param {number} nodeA @param {number} nodeB @returns {Pair} */
function makePair(name, level, nodeA, nodeB, a = 0, b = 0) {
    return { name, nodeA, nodeB, a, b, level, children: null, before: "", aCount: 0, bCount: 0 };
}

/**
 * Items by their names; null where several have the same name.
 * @template T
 * @param {T[]} all
 * @param {(one: T) => string} nameOf
 */
function onlyOnes(all, nameOf) {
    /** @type {Map<string, T | null>} */
    const only = new Map();
    for (const one of all) only.set(nameOf(one), only.has(nameOf(one)) ? null : one);
    return only;
}

/** @param {import("./rows.js").End} endA @param {import("./rows.js").End} endB @param {Map<string, string>} renames */
export function makePairs(endA, endB, renames) {
    const [a, b] = [endA.view, endB.view];
    askTree(a, endA.about, "callees");
    askTree(b, endB.about, "callees");
    function* below(/** @type {View} */ view, /** @type {number} */ parent) {
        const { first_child, children } = parent < 0 ? { first_child: 0, children: 0 } : view.c.node(parent);
        const found = [];
        for (let node = first_child; node < first_child + children; node++) {
            const { frame, bytes } = view.c.node(node);
            found.push({ node, name: view.session.siteText(frame), bytes });
            if (found.length % NODES_AT_ONCE === 0) yield;
        }
        return found;
    }
    /** Finds the callees of a node in both trees. @param {Pair} pair @returns {Generator<undefined, Pair[]>} */
    function* open(pair) {
        if (pair.children) return pair.children;
        const [ofA, ofB] = [yield* below(a, pair.nodeA), yield* below(b, pair.nodeB)];
        const level = pair.level + 1;
        const pairs = ofB.map(({ node, name, bytes }) => makePair(name, level, -1, node, 0, bytes));
        const named = new Map(pairs.map((one) => [one.name, one]));
        /** @param {{node: number, bytes: number}} one @param {Pair | null | undefined} found */
        const meet = (one, found) => {
            if (!found || found.nodeA >= 0) return false;
            Object.assign(found, { nodeA: one.node, a: one.bytes });
            return true;
        };
        const left = ofA.filter((one) => !meet(one, named.get(renames.get(one.name) ?? one.name)));
        yield;
        // Of those left, pairs calls from another line of the same function, if the pair is unambiguous.
        const nameOf = (/** @type {{name: string}} */ { name }) => withoutLine(name);
        const open = pairs.filter(({ nodeA }) => nodeA < 0);
        const [ofName, leftOfName] = [onlyOnes(open, nameOf), onlyOnes(left, nameOf)];
        yield;
        const gone = left.filter((one) => !(leftOfName.get(nameOf(one)) && meet(one, ofName.get(nameOf(one)))));
        pair.children = pairs.concat(gone.map(({ node, name, bytes }) => makePair(name, level, node, -1, bytes)));
        return pair.children;
    }
    /** Does the call have callees? @param {Pair} pair */
    const folds = ({ nodeA, nodeB }) =>
        (nodeA >= 0 && a.c.node(nodeA).children > 0) || (nodeB >= 0 && b.c.node(nodeB).children > 0);
    const [rootA, rootB] = [a.c.node(0), b.c.node(0)];
    const { count } = planted;
    return {
        root: makePair("", -1, 0, 0, rootA.bytes, rootB.bytes),
        open,
        folds,
        /** May the views hold other trees by now? */
        isStale: () => planted.count !== count,
    };
}
