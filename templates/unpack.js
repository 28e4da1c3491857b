// What stands packed in an inert element of the page, unpacked: the program and the WebAssembly module.

/** The bytes of an inert element, inflated. @param {string} id @returns {Promise<ArrayBuffer>} */
export function unpack(id) {
    const text = document.getElementById(id)?.textContent ?? "";
    const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
}
