// What stands packed in an inert element of the page, unpacked: the program and the WebAssembly module.

/** What scripts/pack.c wrote in base 85. @param {string} text @returns {Uint8Array<ArrayBuffer>} */
function bytesOf(text) {
    const words = new DataView(new ArrayBuffer(4 * Math.ceil(text.length / 5)));
    const whole = text.padEnd((words.byteLength / 4) * 5, "|");
    for (let at = 0, i = 0; at < words.byteLength; at += 4) {
        let word = 0;
        for (const end = i + 5; i < end; i++) {
            const code = whole.charCodeAt(i);
            word = word * 85 + (code === 125 ? 20 : code - 40);
        }
        words.setUint32(at, word);
    }
    return new Uint8Array(words.buffer, 0, Math.floor((text.length * 4) / 5));
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
