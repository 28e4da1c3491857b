/*
 * Unpacks what scripts/pack.c packed: the page's first WebAssembly module, which templates/unpack.js calls. The browser
 * runs it ten times as fast as the same in JavaScript, which it would interpret for most of that time.
 *
 *     place = room(digits)  -> JavaScript puts the digits there -> file_nbytes = open(digits)
 *     -> more(steps) until it is not 1 -> the file is at place + digits
 *
 * It reads text that anybody may have changed: what is read and written stays in its own memory, and damage is told.
 */
#include <stdbool.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

enum { PAGE_NBYTES = 65536, HEAD_NBYTES = 12, MOST_NBYTES = 1 << 28, STATES = 12 };

/* The probability that a bit is 0, of 2048. */
typedef uint16_t odds;
enum { CERTAIN = 2048 };

static struct {
    odds match[STATES], repeated[STATES], second[STATES], longer[STATES], third[STATES], fourth[STATES];
    odds length[2][2 + 8 + 8 + 256]; /* of a match at a new distance, at a former one */
    odds slot[4][64], far[128], align[16], literal[8][768];
} known;

/* An LZMA stream (lc=3, lp=0, pb=0) that is being read, and its file. */
static struct {
    const uint8_t *next, *end;
    uint8_t *file, *at, *file_end;
    uint32_t range, code, state, back[4];
    bool is_short; /* bytes were asked for after its end */
} from;

extern uint8_t __heap_base[];

static bool memory_reach(uint32_t nbytes) {
    uint32_t wanted = ((uint32_t)(uintptr_t)__heap_base + nbytes) / PAGE_NBYTES + 1;
    uint32_t there = (uint32_t)__builtin_wasm_memory_size(0);
    return wanted <= there || __builtin_wasm_memory_grow(0, wanted - there) != SIZE_MAX;
}

/* The place for so many digits; NULL: no memory. */
uint8_t *EXPORT(room)(uint32_t n_digits) {
    return n_digits < MOST_NBYTES && memory_reach(n_digits) ? __heap_base : 0;
}

static uint32_t u32_at(const uint8_t *bytes) {
    uint32_t value;
    __builtin_memcpy(&value, bytes, sizeof value);
    return value;
}

static uint32_t digit_of(uint8_t letter) {
    return letter - (letter > '<' ? 33u : 32u);
}

/* Digits of base 94 become bytes at the same place, which are fewer. Returns their end. */
static const uint8_t *digits_decode(uint8_t *text, uint32_t n_digits) {
    uint8_t *to = text;
    uint32_t bits = 0, n_bits = 0;
    for (uint32_t at = 0; at < n_digits; at += 2) {
        bool alone = at + 1 == n_digits;
        uint32_t pair = digit_of(text[at]) + (alone ? 0 : 94 * digit_of(text[at + 1]));
        bits |= pair << n_bits;
        n_bits += alone ? 8 - n_bits : (pair & 8191) < 644 ? 14 : 13;
        for (; n_bits > 7; n_bits -= 8, bits >>= 8)
            *to++ = (uint8_t)bits;
    }
    return to;
}

static void byte_read(void) {
    from.is_short |= from.next == from.end;
    from.code = from.code << 8 | (from.is_short ? 0 : *from.next++);
    from.range <<= 8;
}

/* Begins with the digits in the room. Returns the file's bytes; 0: they are damaged, or no memory. */
uint32_t EXPORT(open)(uint32_t n_digits) {
    uint8_t *text = __heap_base;
    const uint8_t *end = digits_decode(text, n_digits);
    uint32_t nbytes = u32_at(text + 4);
    if (end - text <= HEAD_NBYTES || u32_at(text) != (uint32_t)(end - text) || nbytes > MOST_NBYTES ||
        !memory_reach(n_digits + nbytes))
        return 0;
    for (odds *each = (odds *)&known; each != (odds *)(&known + 1); each++)
        *each = CERTAIN / 2;
    from.next = text + HEAD_NBYTES + 1; /* the first byte of a stream is 0 */
    from.end = end;
    from.file = from.at = text + n_digits;
    from.file_end = from.file + nbytes;
    for (int i = 0; i < 4; i++)
        byte_read();
    from.range = UINT32_MAX;
    return nbytes;
}

/* The next bit. After it the range is at least 2^17, so one byte more is always enough. */
static uint32_t bit(odds *zero) {
    uint32_t bound = (from.range >> 11) * *zero;
    bool one = from.code >= bound;
    if (one) {
        from.code -= bound;
        from.range -= bound;
        *zero = (odds)(*zero - (*zero >> 5));
    } else {
        from.range = bound;
        *zero = (odds)(*zero + ((CERTAIN - *zero) >> 5));
    }
    if (from.range < 1u << 24)
        byte_read();
    return one;
}

/* The next bit, which has no odds. */
static uint32_t even_bit(void) {
    from.range >>= 1;
    bool one = from.code >= from.range;
    if (one)
        from.code -= from.range;
    if (from.range < 1u << 24)
        byte_read();
    return one;
}

static uint32_t tree(odds *zero, uint32_t n_bits) {
    uint32_t node = 1;
    for (uint32_t i = 0; i < n_bits; i++)
        node = node * 2 + bit(zero + node);
    return node - (1u << n_bits);
}

/* The same, the lowest bit first. */
static uint32_t reversed(odds *zero, uint32_t n_bits) {
    uint32_t number = 0, node = 1;
    for (uint32_t i = 0; i < n_bits; i++) {
        uint32_t one = bit(zero + node);
        node = node * 2 + one;
        number += one << i;
    }
    return number;
}

static uint32_t length(odds *zero) {
    return !bit(zero) ? tree(zero + 2, 3) : !bit(zero + 1) ? 8 + tree(zero + 10, 3) : 16 + tree(zero + 18, 8);
}

/* The distance of a match of so many bytes, less 1. */
static uint32_t distance(uint32_t nbytes) {
    uint32_t slot = tree(known.slot[nbytes < 5 ? nbytes - 2 : 3], 6);
    if (slot < 4)
        return slot;
    uint32_t rest = (slot >> 1) - 1, far = 2 + (slot & 1);
    if (slot < 14)
        return (far << rest) + reversed(known.far + (far << rest) - slot, rest);
    for (; rest > 4; rest--)
        far = far * 2 + even_bit();
    return far * 16 + reversed(known.align, 4);
}

/* A byte of its own. After a match it is likely to be another than would have gone on with the match. */
static void literal_read(void) {
    odds *zero = known.literal[from.at == from.file ? 0 : from.at[-1] >> 5];
    uint32_t node = 1;
    if (from.state > 6)
        for (uint32_t like = *(from.at - from.back[0] - 1) + 256u; like != 0 && node < 256;) {
            like *= 2;
            node = node * 2 + bit(zero + (like & 256) + 256 + node);
            if (((like >> 8) ^ node) & 1)
                like = 0;
        }
    while (node < 256)
        node = node * 2 + bit(zero + node);
    *from.at++ = (uint8_t)node;
    from.state = from.state < 4 ? 0 : from.state < 10 ? from.state - 3 : from.state - 6;
}

/* Bytes that came before. False: before the file's first byte. */
static bool match_read(void) {
    uint32_t nbytes = 1, which = 3, far;
    if (bit(known.repeated + from.state)) {
        which = !bit(known.second + from.state)  ? 0
                : !bit(known.third + from.state) ? 1
                                                 : 2 + bit(known.fourth + from.state);
        bool is_one = which == 0 && !bit(known.longer + from.state);
        far = from.back[which];
        if (!is_one)
            nbytes = 2 + length(known.length[1]);
        from.state = from.state > 6 ? 11 : is_one ? 9 : 8;
    } else {
        nbytes = 2 + length(known.length[0]);
        far = distance(nbytes);
        from.state = from.state < 7 ? 7 : 10;
    }
    for (; which > 0; which--)
        from.back[which] = from.back[which - 1];
    from.back[0] = far;
    if (far >= (uint32_t)(from.at - from.file))
        return false;
    for (; nbytes > 0 && from.at != from.file_end; nbytes--, from.at++)
        *from.at = *(from.at - far - 1);
    return true;
}

/* Adler-32 */
static uint32_t checksum(const uint8_t *bytes, const uint8_t *end) {
    uint32_t low = 1, high = 0;
    while (bytes != end) {
        for (const uint8_t *stop = end - bytes > 4096 ? bytes + 4096 : end; bytes != stop;)
            high += low += *bytes++;
        low %= 65521;
        high %= 65521;
    }
    return high << 16 | low;
}

/* Decodes so many bytes and matches. 0: that is all; 1: call it again; -1: they are damaged. */
int32_t EXPORT(more)(uint32_t steps) {
    for (; from.at != from.file_end; steps--) {
        if (steps == 0)
            return 1;
        if (!bit(known.match + from.state))
            literal_read();
        else if (!match_read())
            return -1;
    }
    bool is_whole = !from.is_short && checksum(from.file, from.file_end) == u32_at(__heap_base + 8);
    return is_whole ? 0 : -1;
}
