/* Colours of call sites, chosen by hand so that any two can be told apart, also by people who lack a kind of cone, and
 * each has a contrast of 3:1 to its ground. A colour has the same hue in both themes, so that people can speak of "the
 * violet one"; only lightness and chroma differ. tests/palette_test.py measures all of this. The scales go from few to many in even
 * steps of lightness. */
#pragma once

#include <stdint.h>

enum { PALETTE_SITES = 12 }; /* one more colour is shared by all other call sites */

static const uint32_t palette_sites_light[13] = {
    0x5697A4, 0x898BE6, 0xBF5B84, 0x9E973D, 0x2670BB, 0xAD8B77, 0x177468,
    0x976A15, 0x6C7551, 0x63477C, 0x863E0C, 0x754549, 0x858E99,
};

static const uint32_t palette_sites_dark[13] = {
    0x5296AA, 0x9094F1, 0x8E5D7A, 0x959932, 0x1773B3, 0x9E8872, 0x47D9C0,
    0x99630C, 0x5E6E54, 0xD9B7F0, 0xF7AE87, 0xF094A3, 0x68727E,
};

static const uint32_t palette_scale_light[16] = {
    0x678C9F, 0x588896, 0x4A848B, 0x3C7F7E, 0x327A70, 0x2D755F, 0x2E6E4D, 0x346739,
    0x3C5F22, 0x455601, 0x4B4B02, 0x4D4200, 0x4D3901, 0x4B3001, 0x492702, 0x481D00,
};

static const uint32_t palette_scale_dark[16] = {
    0x5F6C91, 0x5C759A, 0x577FA2, 0x5289A8, 0x4C94AB, 0x489EAC, 0x47A8AB, 0x4CB1A7,
    0x58BAA0, 0x6AC198, 0x7FC88E, 0x96CD84, 0xAFD179, 0xC9D370, 0xE3D569, 0xFCD568,
};
