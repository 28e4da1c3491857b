#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void group_encode(uint8_t *to, uint32_t bits) {
    to[0] = (uint8_t)alphabet[bits >> 18];
    to[1] = (uint8_t)alphabet[bits >> 12 & 63];
    to[2] = (uint8_t)alphabet[bits >> 6 & 63];
    to[3] = (uint8_t)alphabet[bits & 63];
}

void base64_encode(uint8_t *to, const uint8_t *bytes, size_t nbytes) {
    for (; nbytes >= 3; nbytes -= 3, bytes += 3, to += 4)
        group_encode(to, (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2]);
    if (nbytes == 0)
        return;
    group_encode(to, (uint32_t)bytes[0] << 16 | (nbytes == 2 ? (uint32_t)bytes[1] << 8 : 0));
    to[3] = '=';
    if (nbytes == 1)
        to[2] = '=';
}
