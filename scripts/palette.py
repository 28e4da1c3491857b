#!/usr/bin/env python3
"""Writes render/raster/palette.h: the colours of call sites and the scales of the other colourings.

A call site's colour is one of COUNT, chosen by a hash of its name, so that it never moves. They are as many as keep apart:
any two differ by 8 (OKLab, times 100) under normal sight and by 5 under deuteranopia and protanopia (Machado 2009,
severity 1), and each keeps 3:1 to its ground, also in the paler shade that every other allocation is drawn in. They are
found among a grid of colours of OKLCH as an independent set of the graph of pairs that are too close. Each colour of the
dark theme stands at the place of the light one that it resembles most; neighbours in the table are far apart.

Run: scripts/palette.py > render/raster/palette.h (some 30 s; the same bytes every time)
"""
import math
import random

GROUND = {"light": 0xFFFFFF, "dark": 0x12161C}  # of raster.c's themes
PALER = 26  # of 256: the shade of every other allocation
CONTRAST = 3.0
LIGHTNESS = {"light": range(40, 91, 2), "dark": range(31, 91, 3)}
CHROMAS = range(3, 18, 2)  # with stronger and darker ones 33 keep apart, of which some would shout alarm
APART = (8, 5, 5)  # normal, deuteranopia, protanopia
COUNT = 26
TRIES = 60

DEUTERANOPIA = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
PROTANOPIA = ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))


def linear_of(lightness, chroma, hue):
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    l, m, s = ((lightness + x * a + y * b) ** 3 for x, y in
               ((0.3963377774, 0.2158037573), (-0.1055613458, -0.0638541728), (-0.0894841775, -1.2914855480)))
    return (4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
            -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)


def encoded(c):
    return 12.92 * c if c <= 0.0031308 else 1.055 * max(c, 0) ** (1 / 2.4) - 0.055


def decoded(c):
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def oklab(linear):
    r, g, b = linear
    roots = [max(x, 0) ** (1 / 3) for x in (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b,
                                            0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
                                            0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)]
    rows = ((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660))
    return tuple(100 * sum(x * y for x, y in zip(row, roots)) for row in rows)


def seen_by(matrix, linear):
    return tuple(min(1, max(0, sum(x * y for x, y in zip(row, linear)))) for row in matrix)


def channels(rgb):
    return [rgb >> shift & 255 for shift in (16, 8, 0)]


def contrast(a, b):
    bright, dim = sorted((sum(w * decoded(c / 255) for w, c in zip((0.2126, 0.7152, 0.0722), color)) for color in (a, b)),
                         reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def paler(rgb, ground):
    return [(a * (256 - PALER) + b * PALER) >> 8 for a, b in zip(rgb, ground)]


class Color:
    """8-bit channels, and where it lies for three kinds of sight."""

    def __init__(self, rgb):
        linear = [decoded(c / 255) for c in rgb]
        self.rgb = rgb
        self.seen = (oklab(linear), oklab(seen_by(DEUTERANOPIA, linear)), oklab(seen_by(PROTANOPIA, linear)))

    def apart(self, other):
        """At least 1: far enough for everybody."""
        return min(math.dist(a, b) / least for a, b, least in zip(self.seen, other.seen, APART))


def candidates(theme):
    ground = channels(GROUND[theme])
    for lightness in LIGHTNESS[theme]:
        for chroma in CHROMAS:
            for hue in range(0, 360, 9):
                linear = linear_of(lightness / 100, chroma / 100, math.radians(hue))
                if any(not 0 <= c <= 1 for c in linear):
                    continue
                rgb = [round(encoded(c) * 255) for c in linear]
                if contrast(paler(rgb, ground), ground) >= CONTRAST:
                    yield Color(rgb)


def too_close(colors):
    """For each colour a bit mask of those that it cannot stand beside."""
    masks = [0] * len(colors)
    for i, a in enumerate(colors):
        for j in range(i):
            if a.apart(colors[j]) < 1:
                masks[i] |= 1 << j
                masks[j] |= 1 << i
    return masks


def independent(masks, dice, noise):
    """Takes whoever stands in the way of fewest, again and again."""
    alive, chosen = (1 << len(masks)) - 1, []
    while alive:
        _, best = min((bin(masks[i] & alive).count("1") + dice.random() * noise, i)
                      for i in range(len(masks)) if alive >> i & 1)
        chosen.append(best)
        alive &= ~(masks[best] | 1 << best)
    return chosen


def found(theme):
    colors = list(candidates(theme))
    masks, dice = too_close(colors), random.Random(1)
    for attempt in range(TRIES):
        chosen = independent(masks, dice, 0.3 * attempt)
        if len(chosen) >= COUNT:
            return [colors[i] for i in chosen][:COUNT]
    raise SystemExit(f"{theme}: fewer than {COUNT} colours keep apart")


def unlike(a, b, ranks):
    """How little a colour of one theme looks like one of the other: by hue and colourfulness, then by its rank of lightness."""
    return math.dist(a.seen[0][1:], b.seen[0][1:]) + 0.2 * abs(ranks[id(a)] - ranks[id(b)])


def matched(light, dark):
    ranks = {id(color): rank for colors in (light, dark)
             for rank, color in enumerate(sorted(colors, key=lambda color: color.seen[0][0]))}
    better = True
    while better:
        better = False
        for i in range(COUNT):
            for j in range(i):
                now = unlike(light[i], dark[i], ranks) + unlike(light[j], dark[j], ranks)
                if unlike(light[i], dark[j], ranks) + unlike(light[j], dark[i], ranks) < now - 1e-9:
                    dark[i], dark[j], better = dark[j], dark[i], True
    return list(zip(light, dark))


def spread(pairs):
    """Each is as far as can be from the four before it; a blue one begins."""
    first = min(pairs, key=lambda pair: (abs(math.atan2(*pair[0].seen[0][:0:-1]) + 1.9), pair[0].rgb))
    order, rest = [first], [pair for pair in pairs if pair is not first]
    while rest:
        best = max(rest, key=lambda pair: min(min(pair[0].apart(other[0]), pair[1].apart(other[1]))
                                              for other in order[-4:]))
        order.append(best)
        rest.remove(best)
    return order


def hex_of(rgb):
    return "0x" + "".join(f"{c:02X}" for c in rgb)


def scale_color(lightness, chroma, hue):
    while True:
        linear = linear_of(lightness, chroma, math.radians(hue))
        if all(-1e-4 <= encoded(c) <= 1 + 1e-4 for c in linear) or chroma < 0.001:
            return hex_of([min(255, max(0, round(encoded(c) * 255))) for c in linear])
        chroma -= 0.002


def table(name, colors):
    print(f"static const uint32_t {name}[{len(colors)}] = {{")
    for i in range(0, len(colors), 8):
        print("    " + ", ".join(colors[i:i + 8]) + ",")
    print("};\n")


def main():
    print("/* Written by scripts/palette.py, which also says why; do not edit. */\n#pragma once\n\n#include <stdint.h>\n")
    print(f"enum {{ PALETTE_SITES = {COUNT} }};\n")
    pairs = spread(matched(found("light"), found("dark")))
    table("palette_sites_light", [hex_of(light.rgb) for light, _ in pairs])
    table("palette_sites_dark", [hex_of(dark.rgb) for _, dark in pairs])
    # Scales go from light to strong on light ground and from dim to bright on dark ground, at 3:1 to it, in the paler shade too.
    table("palette_scale_light", [scale_color(0.62 - 0.022 * i, 0.05 + 0.006 * i, 230 - 12 * i) for i in range(16)])
    table("palette_scale_dark", [scale_color(0.535 + 0.0234 * i, 0.06 + 0.005 * i, 270 - 12 * i) for i in range(16)])


main()
