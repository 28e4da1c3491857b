#!/usr/bin/env python3
"""The 12 colours of call sites in both themes: their contrast to the background and to the better of two inks, and that no two look
alike, for colour-blind people too. CIEDE2000 is implemented here from its paper."""

import itertools
import math
import pathlib
import re
import unittest

HEADER = (pathlib.Path(__file__).resolve().parent.parent / "render" / "raster" / "palette.h").read_text("utf-8")
GROUND = {"light": 0xFFFFFF, "dark": 0x14181E}
INKS = (0xFFFFFF, 0x0B0E12)
# Machado, Oliveira, Fernandes 2009, severity 1, in linear sRGB; and the least difference required of each.
EYES = {
    "all cones": (((1, 0, 0), (0, 1, 0), (0, 0, 1)), 17),
    "protanopia": (((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)), 11),
    "deuteranopia": (((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)), 11),
}


def linear(color):
    parts = [(color >> shift & 255) / 255 for shift in (16, 8, 0)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one, other):
    low, high = sorted(sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(color))) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(color, matrix):
    rgb = [min(1, max(0, sum(a * b for a, b in zip(row, linear(color))))) for row in matrix]
    to_xyz = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
    xyz = [sum(a * b for a, b in zip(row, rgb)) / white for row, white in zip(to_xyz, (0.95047, 1, 1.08883))]
    x, y, z = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(first, second):
    """The formula of Sharma, Wu, Dalal 2005."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean7 = ((math.hypot(a1, b1) + math.hypot(a2, b2)) / 2) ** 7
    g = 1.5 - 0.5 * math.sqrt(mean7 / (mean7 + 25**7))
    c1, c2 = math.hypot(a1 * g, b1), math.hypot(a2 * g, b2)
    h1, h2 = (math.degrees(math.atan2(b, a * g)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0
    hue = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    l, c = (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 + sum(share * math.cos(math.radians(times * hue + shift)) for share, times, shift in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63)))
    dl = (l2 - l1) / (1 + 0.015 * (l - 50) ** 2 / math.sqrt(20 + (l - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * c)
    dh = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * c * t)
    bend = math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2)))) * 2 * math.sqrt(c**7 / (c**7 + 25**7))
    return math.sqrt(dl * dl + dc * dc + dh * dh - bend * dc * dh)


def sites(theme):
    return [int(text, 16) for text in re.findall("0x([0-9A-F]{6})", re.search(f"palette_sites_{theme}.*?;", HEADER, re.S)[0])]


class Palette(unittest.TestCase):
    def test_the_formula(self):
        """Compares with pairs of the paper's table."""
        for first, second, wanted in (((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425), ((50, 2.5, 0), (73, 25, -18), 27.1492),
                                      ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082)):
            self.assertAlmostEqual(ciede2000(first, second), wanted, 4)

    def test_contrast(self):
        for theme, ground in GROUND.items():
            for color in sites(theme):
                self.assertGreaterEqual(contrast(color, ground), 3, f"{theme} {color:06x}")
                self.assertGreaterEqual(max(contrast(color, ink) for ink in INKS), 4.5, f"{theme} {color:06x}")

    def test_one_hue_in_both_themes(self):
        """The 13th, shared by all others, is grey."""
        plain = EYES["all cones"][0]
        for light, dark in list(zip(sites("light"), sites("dark")))[:12]:
            hues = [math.degrees(math.atan2(b, a)) for _, a, b in (lab(light, plain), lab(dark, plain))]
            self.assertLess(abs((hues[1] - hues[0] + 180) % 360 - 180), 16, f"{light:06x} {dark:06x}")

    def test_no_two_alike(self):
        for theme in GROUND:
            self.assertEqual(len(sites(theme)), 13)  # 12 sites and the rest
            for eyes, (matrix, least) in EYES.items():
                for one, other in itertools.combinations(sites(theme)[:12], 2):
                    apart = ciede2000(lab(one, matrix), lab(other, matrix))
                    self.assertGreaterEqual(apart, least, f"{theme}, {eyes}: {one:06x} and {other:06x}")


if __name__ == "__main__":
    unittest.main()
