// What the allocator holds at a moment, summed up: in use, and in holes between what is in use.

/** @typedef {import("./session.js").View} View */

/** Bytes that are reserved, in use (or waiting), and free inside of it; the largest hole and how many there are. @param {View} view @param {number} event */
export function deviceParts(view, event) {
    const held = view.c.blocks(event);
    const parts = { reserved: 0, used: 0, holes: 0, largest: 0, count: 0 };
    for (let i = 0; i < held.segments; i++) parts.reserved += view.c.segment(i).bytes;
    for (let i = 0; i < held.blocks; i++) {
        const { bytes, allocation } = view.c.block(i);
        if (allocation >= 0) {
            parts.used += bytes;
            continue;
        }
        parts.holes += bytes;
        parts.largest = Math.max(parts.largest, bytes);
        parts.count++;
    }
    return parts;
}
