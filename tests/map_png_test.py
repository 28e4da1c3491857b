"""strata png --map: the pictures show what their legends say.

    STRATA=path/to/strata python3 tests/map_png_test.py
"""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
import zlib

STRATA = os.environ.get("STRATA", "strata")
SAMPLES = pathlib.Path(__file__).parent.parent / "samples"


def run(*words):
    return subprocess.run([STRATA, *map(str, words)], capture_output=True)


def decode(data):
    """(width, height, rows of (r, g, b), texts) of a PNG with 8 bits, true colour or palette, by the test's own
    reader."""
    at, packed, texts, palette = 8, b"", {}, None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
        elif kind == b"PLTE":
            palette = [tuple(body[i:i + 3]) for i in range(0, len(body), 3)]
        elif kind == b"IDAT":
            packed += body
        elif kind == b"tEXt":
            name, text = body.split(b"\0", 1)
            texts[name.decode()] = text.decode("latin-1")
    assert depth == 8 and color in (2, 3, 6), (depth, color)
    step = {2: 3, 3: 1, 6: 4}[color]
    raw, rows, before = zlib.decompress(packed), [], bytearray(width * step)
    for y in range(height):
        begin = y * (width * step + 1)
        row, filter_kind = bytearray(raw[begin + 1:begin + 1 + width * step]), raw[begin]
        for i in range(len(row)):
            left = row[i - step] if i >= step else 0
            above, corner = before[i], before[i - step] if i >= step else 0
            if filter_kind == 1:
                row[i] = (row[i] + left) & 255
            elif filter_kind == 2:
                row[i] = (row[i] + above) & 255
            elif filter_kind == 3:
                row[i] = (row[i] + (left + above) // 2) & 255
            elif filter_kind == 4:
                guess = left + above - corner
                row[i] = (row[i] + min((left, above, corner), key=lambda v: abs(guess - v))) & 255
        rows.append([palette[v] for v in row] if color == 3 else [tuple(row[i:i + 3]) for i in range(0, len(row), step)])
        before = row
    return width, height, rows, texts


HATCH = (0xC9, 0x8F, 0x35)


class Map(unittest.TestCase):
    def picture(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.png"
            done = run(*words, "-o", path)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            return decode(path.read_bytes())

    def test_free_blocks_take_their_share_of_the_map(self):
        """Free blocks are 15 % of the reserved bytes at the OOM. Hatching covers 2 of 7 of their pixels; labels hide a
        few."""
        width, height, rows, texts = self.picture("png", "--map", "--at", "oom", SAMPLES / "oom.pickle")
        x, y, _, plot_height = map(int, texts["strata:plot"].split())
        self.assertEqual((width, height), (1600, 900))
        self.assertIn("--map", texts["strata:flags"])
        below = [pixel for row in rows[y + plot_height + 60:] for pixel in row[:1000]]
        hatched = sum(pixel == HATCH for pixel in below)
        self.assertGreater(hatched, 1500)
        plain = self.picture("png", "--at", "oom", SAMPLES / "oom.pickle")
        self.assertFalse(any(pixel == HATCH for row in plain[2] for pixel in row))
        self.assertGreater(int(plain[3]["strata:plot"].split()[3]), plot_height)

    def test_small_and_narrow_pictures_have_no_room_and_do_not_fail(self):
        for size in ((320, 400), (600, 900), (3840, 400)):
            done = self.picture("png", "--map", "--width", size[0], "--height", size[1], SAMPLES / "private_pools.pickle")
            self.assertEqual(done[:2], size)

    def test_a_recording_without_segments_says_why(self):
        _, _, rows, _ = self.picture("png", "--map", SAMPLES / "cpu_train.raw.json.gz")
        self.assertFalse(any(pixel == HATCH for row in rows for pixel in row))

    def test_the_same_bytes_twice(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / name for name in ("a.png", "b.png")]
            for path in paths:
                self.assertEqual(run("png", "--map", SAMPLES / "oom.pickle", "-o", path).returncode, 0)
            self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())


if __name__ == "__main__":
    unittest.main()
