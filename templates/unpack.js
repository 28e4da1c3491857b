// Unpacks inert elements of the page, which hold the program and the WebAssembly module.

/** Decodes text of scripts/pack.c, in base 94. @param {string} text */
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

/** The first probability of each kind of bit, after those of "a match", and the number of all. */
const [REPEATED, SECOND, LONG, THIRD, FOURTH, LENGTH, AGAIN, SLOT, FAR, ALIGN, LITERAL, PROBABILITIES] = [
    12, 24, 36, 48, 60, 72, 346, 620, 876, 1004, 1020, 7164,
];

/** Reads bits of an LZMA stream (lc=3, lp=0, pb=0): `bit` with the probability at `at`, `even` without one. After a bit
 * the range is at least 2 ** 17, so one byte more is always enough.
 * @param {Uint8Array} from */
function bitReader(from) {
    const zero = new Uint16Array(PROBABILITIES).fill(1024);
    let [range, code, next] = [0, 0, 1];
    const fill = () => {
        if (next >= from.length) throw new TypeError("it ends too early");
        code = ((code << 8) | from[next++]) >>> 0;
        range *= 256;
    };
    for (let i = 0; i < 4; i++) fill();
    range = 2 ** 32 - 1;
    /** @param {number} at */
    const bit = (at) => {
        const likely = zero[at];
        const bound = (range >>> 11) * likely;
        let one = 0;
        if (code < bound) {
            range = bound;
            zero[at] = likely + ((2048 - likely) >> 5);
        } else {
            code -= bound;
            range -= bound;
            zero[at] = likely - (likely >> 5);
            one = 1;
        }
        if (range < 2 ** 24) fill();
        return one;
    };
    const even = () => {
        range >>>= 1;
        const one = code < range ? 0 : 1;
        if (one) code -= range;
        if (range < 2 ** 24) fill();
        return one;
    };
    return { bit, even };
}

/** Milliseconds of work at a time, because other work waits: below 50 even on a machine that is half as fast. */
const TURN = 20;

/** Decodes all `to.length` bytes of such a stream, in turns with the browser.
 * @param {Uint8Array} from @param {Uint8Array} to */
async function decode(from, to) {
    const { bit, even } = bitReader(from);
    let until = performance.now() + TURN;
    /** @param {number} at @param {number} count */
    const tree = (at, count) => {
        let number = 1;
        for (let i = 0; i < count; i++) number = number * 2 + bit(at + number);
        return number - (1 << count);
    };
    /** Reads bits, the lowest first. @param {number} at @param {number} count */
    const reversed = (at, count) => {
        let [number, node] = [0, 1];
        for (let i = 0; i < count; i++) {
            const one = bit(at + node);
            node = node * 2 + one;
            number += one << i;
        }
        return number;
    };
    /** @param {number} at */
    const length = (at) => (!bit(at) ? tree(at + 2, 3) : !bit(at + 1) ? 8 + tree(at + 10, 3) : 16 + tree(at + 18, 8));
    /** @param {number} count of bytes copied */
    const distance = (count) => {
        const slot = tree(SLOT + 64 * Math.min(count, 3), 6);
        if (slot < 4) return slot;
        let rest = (slot >> 1) - 1;
        let far = 2 + (slot & 1);
        if (slot < 14) return (far << rest) + reversed(FAR + (far << rest) - slot, rest);
        for (; rest > 4; rest--) far = far * 2 + even();
        return far * 16 + reversed(ALIGN, 4);
    };
    const back = [0, 0, 0, 0];
    for (let [at, state, steps] = [0, 0, 0]; at < to.length; steps++) {
        if (!(steps & 4095) && performance.now() > until) {
            await new Promise((resolve) => setTimeout(resolve));
            until = performance.now() + TURN;
        }
        if (!bit(state)) {
            const base = LITERAL + 768 * (to[at - 1] >> 5);
            let node = 1;
            for (let like = state > 6 ? to[at - back[0] - 1] + 256 : 0; like && node < 256;) {
                like *= 2;
                node = node * 2 + bit(base + (like & 256) + 256 + node);
                if (((like >> 8) ^ node) & 1) like = 0;
            }
            while (node < 256) node = node * 2 + bit(base + node);
            to[at++] = node;
            state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
            continue;
        }
        const repeated = bit(REPEATED + state);
        let count = 1;
        if (repeated) {
            const which = !bit(SECOND + state) ? 0 : !bit(THIRD + state) ? 1 : 2 + bit(FOURTH + state);
            const short = !which && !bit(LONG + state);
            back.unshift(...back.splice(which, 1));
            if (!short) count = 2 + length(AGAIN);
            state = state > 6 ? 11 : short ? 9 : 8;
        } else {
            count = 2 + length(LENGTH);
            back.unshift(distance(count - 2));
            back.pop();
            state = state < 7 ? 7 : 10;
        }
        for (; count > 0 && at < to.length; count--, at++) to[at] = to[at - back[0] - 1];
    }
}

/** Adler-32. @param {Uint8Array} bytes */
function checksum(bytes) {
    let [low, high] = [1, 0];
    for (let at = 0; at < bytes.length;) {
        for (const end = Math.min(at + 4096, bytes.length); at < end; at++) high += low += bytes[at];
        low %= 65521;
        high %= 65521;
    }
    return high * 65536 + low;
}

/** Decodes the bytes that an inert element holds. @param {string} text */
async function unpacked(text) {
    const packed = bytesOf(text);
    const head = new DataView(packed.buffer);
    if (head.getUint32(0, true) !== packed.length) throw new TypeError("it is cut or has too much");
    const bytes = new Uint8Array(head.getUint32(4, true));
    await decode(packed.subarray(12), bytes);
    if (checksum(bytes) !== head.getUint32(8, true)) throw new TypeError("it was changed");
    return bytes;
}

/** Unpacks an inert element, in a task of its own. @param {string} id @returns {Promise<Uint8Array<ArrayBuffer>>} */
export async function unpack(id) {
    await new Promise((resolve) => setTimeout(resolve));
    try {
        return await unpacked(document.getElementById(id)?.textContent ?? "");
    } catch {
        throw new TypeError(`its ${id} does not unpack`); // one sentence in every browser
    }
}
