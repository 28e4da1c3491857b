// What stands packed in an inert element of the page, unpacked: the program and the WebAssembly module.

/** What scripts/pack.c wrote in base 94. @param {string} text @returns {Uint8Array<ArrayBuffer>} */
function bytesOf(text) {
    /** @param {number} at */
    const digit = (at) => text.charCodeAt(at) - (text.charCodeAt(at) > 60 ? 33 : 32);
    const bytes = new Uint8Array((text.length * 7) / 8 + 1);
    let nBytes = 0;
    for (let at = 0, bits = 0, nBits = 0; at < text.length; at += 2) {
        const alone = at + 1 === text.length;
        const pair = digit(at) + (alone ? 0 : 94 * digit(at + 1));
        bits |= pair << nBits;
        nBits += alone ? 8 - nBits : (pair & 8191) < 644 ? 14 : 13;
        for (; nBits > 7; nBits -= 8, bits >>= 8) bytes[nBytes++] = bits;
    }
    return bytes.subarray(0, nBytes);
}

/**
 * What was deflated with a checksum: reading the answer fails where a bit of it has changed.
 * @param {Uint8Array<ArrayBuffer>} packed
 */
export function inflate(packed) {
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")));
}

/** The bytes of an inert element, inflated. @param {string} id @returns {Promise<ArrayBuffer>} */
export function unpack(id) {
    return inflate(bytesOf(document.getElementById(id)?.textContent ?? ""))
        .arrayBuffer()
        .catch(() => {
            // The browser's own words for it are "Failed to fetch".
            throw new TypeError(`its ${id} does not unpack`);
        });
}
