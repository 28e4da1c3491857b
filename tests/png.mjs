// A PNG as pixels and text chunks: just enough for the pictures that strata writes (8 bits, RGB or RGBA, not interlaced).
import { inflateSync } from "node:zlib";

const BYTES_PER_PIXEL = { 2: 3, 6: 4 };

/** @param {number} a left @param {number} b above @param {number} c above left */
function paeth(a, b, c) {
    const p = a + b - c;
    const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/** Undoes one row's filter in place. @param {Uint8Array} row @param {Uint8Array} above */
function unfilter(type, row, above, step) {
    for (let i = 0; i < row.length; i++) {
        const left = i < step ? 0 : row[i - step];
        const corner = i < step ? 0 : above[i - step];
        const guess = [0, left, above[i], (left + above[i]) >> 1, paeth(left, above[i], corner)][type];
        row[i] = (row[i] + guess) & 255;
    }
}

function* chunksOf(/** @type {Buffer} */ file) {
    for (let at = 8; at < file.length; ) {
        const nbytes = file.readUInt32BE(at);
        yield { name: file.toString("latin1", at + 4, at + 8), data: file.subarray(at + 8, at + 8 + nbytes) };
        at += nbytes + 12;
    }
}

/** The text of a tEXt, zTXt or iTXt chunk as [keyword, text]. */
function textOf({ name, data }) {
    const end = data.indexOf(0);
    const keyword = data.toString("latin1", 0, end);
    if (name === "tEXt") return [keyword, data.toString("latin1", end + 1)];
    if (name === "zTXt") return [keyword, inflateSync(data.subarray(end + 2)).toString("latin1")];
    const text = data.subarray(data.indexOf(0, data.indexOf(0, end + 3) + 1) + 1);
    return [keyword, (data[end + 1] ? inflateSync(text) : text).toString("utf8")];
}

/** @param {Buffer} file @returns {{width: number, height: number, rgba: Uint8Array, text: Record<string, string>}} */
export function decodePng(file) {
    const chunks = [...chunksOf(file)];
    const header = chunks[0].data;
    const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
    const step = BYTES_PER_PIXEL[header[9]];
    if (header[8] !== 8 || !step || header[12] !== 0) throw new Error("a kind of PNG that strata does not write");
    const raw = inflateSync(Buffer.concat(chunks.filter((chunk) => chunk.name === "IDAT").map((chunk) => chunk.data)));
    const rgba = new Uint8Array(width * height * 4).fill(255);
    let above = new Uint8Array(width * step);
    for (let y = 0; y < height; y++) {
        const at = y * (width * step + 1);
        const row = raw.subarray(at + 1, at + 1 + width * step);
        unfilter(raw[at], row, above, step);
        for (let x = 0; x < width; x++) rgba.set(row.subarray(x * step, x * step + step), (y * width + x) * 4);
        above = row;
    }
    const text = Object.fromEntries(chunks.filter((chunk) => /^(tEXt|zTXt|iTXt)$/.test(chunk.name)).map(textOf));
    return { width, height, rgba, text };
}

/** A rectangle of a picture, as RGBA. @param {{width: number, rgba: Uint8Array}} image */
export function cropPng(image, x, y, width, height) {
    const out = new Uint8Array(width * height * 4);
    for (let row = 0; row < height; row++) {
        const at = ((y + row) * image.width + x) * 4;
        out.set(image.rgba.subarray(at, at + width * 4), row * width * 4);
    }
    return out;
}
