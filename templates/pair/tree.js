// The trees of two recordings as one: calls that both have, those that are new, and those that are gone.
import { askTree } from "../questions.js";

/** @typedef {import("../session.js").View} View */
/**
 * @typedef {{name: string, nodeA: number, nodeB: number, a: number, b: number, level: number, children: Pair[] | null}}
 * Pair a node of both trees; -1: not in that one
 */

/** A name without its line: what stays where only the line has moved. @param {string} name */
function withoutLine(name) {
    return name.replace(/:\d+ /, " ");
}

/**
 * @param {import("./rows.js").End} endA
 * @param {import("./rows.js").End} endB
 * @param {Map<string, string>} renames
 */
export function makePairs(endA, endB, renames) {
    const [a, b] = [endA.view, endB.view];
    askTree(a, endA.about, "callees");
    askTree(b, endB.about, "callees");
    const child = (/** @type {View} */ view, /** @type {number} */ parent) => {
        if (parent < 0) return [];
        const { first_child, children } = view.c.node(parent);
        return Array.from({ length: children }, (_, i) => {
            const { frame, bytes } = view.c.node(first_child + i);
            return { node: first_child + i, name: view.session.siteText(frame), bytes };
        });
    };
    /** @param {Pair} pair */
    const childrenOf = (pair) => {
        if (pair.children) return pair.children;
        const [ofA, ofB] = [child(a, pair.nodeA), child(b, pair.nodeB)];
        const pairs = ofB.map(({ node, name, bytes }) => ({
            name,
            nodeA: -1,
            nodeB: node,
            a: 0,
            b: bytes,
            level: pair.level + 1,
            children: null,
        }));
        /** @type {Map<string, Pair>} */
        const open = new Map(pairs.map((one) => [one.name, one]));
        const meet = (/** @type {{node: number, bytes: number}} */ one, /** @type {string} */ name) => {
            const found = open.get(name);
            if (!found || found.nodeA >= 0) return false;
            Object.assign(found, { nodeA: one.node, a: one.bytes });
            return true;
        };
        let left = ofA.filter((one) => !meet(one, renames.get(one.name) ?? one.name));
        // Of what is left, calls from another line of the same function, where there is no doubt which.
        const names = pairs.filter(({ nodeA }) => nodeA < 0).map(({ name }) => withoutLine(name));
        const once = (/** @type {string[]} */ list, /** @type {string} */ name) =>
            list.filter((one) => one === name).length === 1;
        const leftNames = left.map(({ name }) => withoutLine(name));
        left = left.filter((one) => {
            const name = withoutLine(one.name);
            const found =
                once(names, name) && once(leftNames, name)
                    ? pairs.find((pair) => pair.nodeA < 0 && withoutLine(pair.name) === name)
                    : undefined;
            return !found || !meet(one, found.name);
        });
        const gone = left.map(({ node, name, bytes }) => ({
            name,
            nodeA: node,
            nodeB: -1,
            a: bytes,
            b: 0,
            level: pair.level + 1,
            children: null,
        }));
        pair.children = [...pairs, ...gone];
        return pair.children;
    };
    const [rootA, rootB] = [a.c.node(0), b.c.node(0)];
    /** @type {Pair} */
    const root = { name: "", nodeA: 0, nodeB: 0, a: rootA.bytes, b: rootB.bytes, level: -1, children: null };
    return { root, childrenOf };
}
