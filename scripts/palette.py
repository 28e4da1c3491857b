#!/usr/bin/env python3
"""Writes render/raster/palette.h: the colours of call sites and the scales of the other colourings.

Colours are chosen in OKLCH, where equal steps look equal: 64 hues in an order that puts far-apart hues side by side,
each in four lightnesses, so that two sites which a colour-blind reader cannot tell apart by hue mostly differ in
lightness. Chroma is lowered where sRGB cannot show it. Run: scripts/palette.py > render/raster/palette.h
"""
import math

# Lightness and chroma: every colour keeps 3:1 to its ground, also in the paler shade of every other allocation. The
# lightest are the least colourful: at full chroma they would outshout the rest.
LIGHT = ((0.42, 0.115), (0.49, 0.125), (0.555, 0.12), (0.62, 0.115))
DARK = ((0.55, 0.11), (0.635, 0.115), (0.72, 0.11), (0.80, 0.09))


def srgb(lightness, chroma, hue):
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    l, m, s = ((lightness + x * a + y * b) ** 3 for x, y in
               ((0.3963377774, 0.2158037573), (-0.1055613458, -0.0638541728), (-0.0894841775, -1.2914855480)))
    linear = (4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
              -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
              -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)
    return [12.92 * c if c <= 0.0031308 else 1.055 * max(c, 0) ** (1 / 2.4) - 0.055 for c in linear]


def hex_color(lightness, chroma, hue):
    while True:
        rgb = srgb(lightness, chroma, math.radians(hue))
        if all(-1e-4 <= c <= 1 + 1e-4 for c in rgb) or chroma < 0.001:
            break
        chroma -= 0.002
    return "0x" + "".join(f"{min(255, max(0, round(c * 255))):02x}" for c in rgb)


def table(name, colors):
    print(f"static const uint32_t {name}[{len(colors)}] = {{")
    for i in range(0, len(colors), 8):
        print("    " + ", ".join(colors[i:i + 8]) + ",")
    print("};\n")


def main():
    print("/* Written by scripts/palette.py, which also says why; do not edit. */\n#ifndef STRATA_RENDER_PALETTE_H\n"
          "#define STRATA_RENDER_PALETTE_H\n\n#include <stdint.h>\n")
    hues = [(i * 360 / 64 + 20) % 360 for i in range(64)]
    for name, levels in (("palette_sites_light", LIGHT), ("palette_sites_dark", DARK)):
        table(name, [hex_color(level, chroma, hue) for hue in hues for level, chroma in levels])
    # Scales go from pale to strong on light ground and from dim to bright on dark ground.
    table("palette_scale_light", [hex_color(0.93 - 0.036 * i, 0.05 + 0.006 * i, 230 - 12 * i) for i in range(16)])
    table("palette_scale_dark", [hex_color(0.34 + 0.034 * i, 0.06 + 0.005 * i, 270 - 12 * i) for i in range(16)])
    print("#endif")


main()
