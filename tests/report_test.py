#!/usr/bin/env python3
"""Compares reports and pictures with golden files, and tests the report's options.

    STRATA=path/to/strata report_test.py             runs the tests
    STRATA=path/to/strata report_test.py --refresh   writes tests/golden/ anew; look at what changed before you commit it
"""

import json
import pathlib
import pickle
import random
import re
import struct
import sys
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True
from report_case import CORPUS, HERE, SAMPLES, report, run, samples  # noqa: E402

GOLDEN = HERE / "golden"

# Small pictures of all that a picture can show: {name: (sample, options)}
PICTURES = {
    "train": ("train", ()),
    "oom_dark": ("oom", ("--theme", "dark", "--at", "oom", "--capacity", "8GiB")),
    "streams_time": ("streams", ("--axis", "time", "--scale", "2", "--width", "500", "--height", "320")),
    "overflow_category": ("overflow", ("--color-by", "category")),
    "internal": ("leak_graph", ("--hide-internal", "--from", "peak-600", "--to", "peak+99")),
}
PICTURE_SIZE = ("--width", "800", "--height", "450")
TEXT_TOLERANCE = 24  # of 255 and of each channel: another version of FreeType rounds a little differently
TEXT_DIFFERS = 0.01  # share of the pixels outside of the plot that may differ by more


def logs():
    return sorted(SAMPLES.glob("log_*.log"))


# ---- a reader of our PNGs: 8 bits, RGB, RGBA or a palette, not interlaced ----


class Picture:
    def __init__(self, data):
        self.texts, packed, self.palette = {}, b"", None
        at = 8
        while at < len(data):
            (length,) = struct.unpack_from(">I", data, at)
            kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
            at += 12 + length
            if kind == b"IHDR":
                self.width, self.height, self.depth, self.color = struct.unpack_from(">IIBB", body)
            elif kind == b"PLTE":
                self.palette = [body[i : i + 3] for i in range(0, length, 3)]
            elif kind == b"IDAT":
                packed += body
            elif kind == b"tEXt":
                key, value = body.split(b"\0", 1)
                self.texts[key.decode("latin-1")] = value.decode("latin-1")
        self.rows = self.unfilter(zlib.decompress(packed))

    def unfilter(self, raw):
        channels = {0: 1, 2: 3, 3: 1, 6: 4}[self.color]
        step, rows, at = max(1, channels * self.depth // 8), [], 0
        stride = (self.width * channels * self.depth + 7) // 8
        before = bytearray(stride)
        for _ in range(self.height):
            kind, row = raw[at], bytearray(raw[at + 1 : at + 1 + stride])
            at += 1 + stride
            for i in range(stride if kind else 0):
                left, up = row[i - step] if i >= step else 0, before[i]
                corner = before[i - step] if i >= step else 0
                row[i] = (row[i] + self.predict(kind, left, up, corner)) & 255
            rows.append(self.pixels(row))
            before = row
        return rows

    @staticmethod
    def predict(kind, left, up, corner):
        if kind < 4:
            return (0, left, up, (left + up) // 2)[kind]
        guess = left + up - corner
        return min((left, up, corner), key=lambda value: abs(guess - value))

    def pixels(self, row):
        """Three bytes per pixel."""
        if self.color == 3:
            per = 8 // self.depth
            codes = (row[x // per] >> (8 - self.depth * (x % per + 1)) & (1 << self.depth) - 1 for x in range(self.width))
            return b"".join(self.palette[code] for code in codes)
        if self.color == 6:
            return bytes(byte for i, byte in enumerate(row) if i % 4 != 3)
        return bytes(row)

    def plot(self):
        return tuple(map(int, self.texts["strata:plot"].split()))


def pictures_differ(golden, got, named=False):
    """The difference as a sentence, or None. A plot with names in it is compared with the tolerance for text."""
    if (golden.width, golden.height, golden.plot()) != (got.width, got.height, got.plot()):
        return f"size or plot: {golden.width}x{golden.height} {golden.plot()}, {got.width}x{got.height} {got.plot()}"
    x, y, width, height = golden.plot()
    text_pixels = text_differs = 0
    for row, (want, have) in enumerate(zip(golden.rows, got.rows)):
        inside = y <= row < y + height and not named
        if inside and want[3 * x : 3 * (x + width)] != have[3 * x : 3 * (x + width)]:
            return f"the plot, row {row - y}"
        if inside:
            want, have = want[: 3 * x] + want[3 * (x + width) :], have[: 3 * x] + have[3 * (x + width) :]
        text_pixels += len(want) // 3
        if want != have:
            text_differs += sum(abs(a - b) > TEXT_TOLERANCE for a, b in zip(want, have))
    return f"{text_differs} values of the text" if text_differs > text_pixels * TEXT_DIFFERS else None


# ---- golden files ----


def draw(sample, options, names=False):
    """Golden plots have no names, because letters differ between versions of FreeType."""
    return run("png", *([] if names else ["--no-names"]), *PICTURE_SIZE, *options, "-q", SAMPLES / f"{sample}.pickle", "-o", "-").stdout


def forms(path):
    """The screen, Markdown (the screen and all sections), and the full text of a few, whose words are Markdown's."""
    full = {".full.txt": ["--full"]} if path.stem in ("oom", "two_devices", "hostile_names", "log_verl") else {}
    return {".txt": [], ".md": ["--markdown"], **full}.items()


def refresh():
    GOLDEN.mkdir(exist_ok=True)
    for path in samples() + logs():
        for ending, words in forms(path):
            (GOLDEN / f"{path.stem}{ending}").write_bytes(run("report", *words, path).stdout)
    for name, (sample, options) in PICTURES.items():
        (GOLDEN / f"{name}.png").write_bytes(draw(sample, options))
    print(f"{len(list(GOLDEN.iterdir()))} files in {GOLDEN}")


class GoldenFiles(unittest.TestCase):
    maxDiff = 4000

    def test_reports(self):
        for path in samples() + logs():
            for ending, words in forms(path):
                with self.subTest(path.stem + ending):
                    want = (GOLDEN / (path.stem + ending)).read_text("utf-8")
                    self.assertEqual(want, run("report", *words, path).stdout.decode("utf-8"))

    def test_pictures(self):
        for name, (sample, options) in PICTURES.items():
            with self.subTest(name):
                golden = Picture((GOLDEN / f"{name}.png").read_bytes())
                self.assertIsNone(pictures_differ(golden, Picture(draw(sample, options))))

    def test_names_on_bands_change_nothing_but_the_plot(self):
        named, plain = (Picture(run("png", *words, "-q", SAMPLES / "oom.pickle", "-o", "-").stdout) for words in ((), ("--no-names",)))
        x, y, width, height = named.plot()
        changed = 0
        for number, (row, other) in enumerate(zip(named.rows, plain.rows)):
            differs = [i // 3 for i in range(0, len(row), 3) if row[i : i + 3] != other[i : i + 3]]
            self.assertTrue(not differs or (y <= number < y + height and x <= differs[0] and differs[-1] < x + width), number)
            changed += len(differs)
        self.assertGreater(changed, 500)

    def test_the_comparison_sees_differences(self):
        golden = Picture((GOLDEN / "train.png").read_bytes())
        x, y, _, _ = golden.plot()
        for row, column in ((y + 5, x + 5), (2, 2)):
            other = Picture((GOLDEN / "train.png").read_bytes())
            changed = bytearray(other.rows[row])
            changed[3 * column] ^= 128
            other.rows[row] = bytes(changed)
            self.assertEqual(pictures_differ(golden, other) is not None, row > y)


def churn(live, allocations):
    """A recording in which everything changes at each event, so that no two columns of its picture are alike."""
    dice = random.Random(1)
    sites = [[{"filename": f"/home/u/bucket_{i}.py", "name": "insert", "line": i}] for i in range(1000)]
    events, alive = [], []
    for address in range(allocations):
        if len(alive) >= live:
            at = dice.randrange(len(alive))
            alive[at], alive[-1] = alive[-1], alive[at]
            events.append({"action": "free_completed", **alive.pop()})
        alive.append({"addr": address << 30, "size": dice.randrange(512, 800_000), "stream": 0})
        events.append({"action": "alloc", "frames": dice.choice(sites), **alive[-1]})
    return pickle.dumps({"segments": [], "device_traces": [events]}, protocol=4)


class LargePictures(unittest.TestCase):
    def test_noise_stays_below_a_megabyte(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "churn.pickle"
            for live, colors, options in ((40, None, []), (800, 256, ["--color-by", "age"])):
                path.write_bytes(churn(live, 60_000))
                for theme in ("light", "dark"):
                    data = run("png", "--width", "1600", "--height", "900", "--theme", theme, *options, path, "-o", "-").stdout
                    picture = Picture(data)
                    self.assertLess(len(data), 1_000_000)
                    self.assertEqual(colors, picture.palette and len(picture.palette))
                    # the labels around the plot still exist: their ground, and ink that differs from it
                    ground, middle = picture.rows[0][:3], picture.rows[30]
                    self.assertEqual(theme == "dark", ground[0] < 128)
                    self.assertGreater(max(abs(value - ground[0]) for value in middle), 100)


class Readme(unittest.TestCase):
    """The README shows what the program prints today."""

    def test_the_excerpt(self):
        self.assertIn((GOLDEN / "oom.txt").read_text("utf-8"), (HERE.parent / "README.md").read_text("utf-8"))

    def test_the_picture(self):
        (line,) = [line for line in (HERE.parent / "scripts" / "pictures").read_text().split("\n") if "samples/oom" in line]
        words = line.split()
        options = words[words.index("samples/oom.pickle") + 1 : words.index("-o")]
        shown = Picture((HERE.parent / "docs" / "images" / "picture.png").read_bytes())
        self.assertIsNone(pictures_differ(shown, Picture(draw("oom", options, names=True)), named=True))


class Options(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def categories(self, *words):
        device = report(SAMPLES / "train.pickle", *words)["devices"][0]
        return {each["category"]: each["bytes"] for each in device["categories_at_peak"]}

    def test_categories_are_inferred(self):
        plain = self.categories()
        device = report(SAMPLES / "train.pickle", "--top", "0")["devices"][0]
        of_site = {each["site"]: each["bytes"] for each in device["top_at_peak"]}
        self.assertEqual(of_site["main.py:47 build_model"], plain["parameter"])
        self.assertEqual(of_site["main.py:88 train_step"], plain["optimizer_state"])
        self.assertEqual(2 * plain["parameter"], plain["optimizer_state"])
        self.assertEqual(device["peak_bytes"], sum(plain.values()))

    def test_skipped_devices_are_named(self):
        sample = SAMPLES / "two_devices.pickle"
        events = {each["device"]: each["events"] for each in report(sample)["devices"]}
        text = " ".join(run("report", "--full", "-d", "0", sample).stdout.decode().split())
        self.assertIn(f"Left out, because -d names another device: device 1 ({events[1]:,} events).", text)
        self.assertNotIn("Skipped", run("report", "--full", sample).stdout.decode())

    @unittest.skipUnless(CORPUS, "skipped: STRATA_CORPUS is not set")
    def test_a_profiler_s_unknown_stays(self):
        path = pathlib.Path(CORPUS, "memory_timeline_adam.raw.json.gz")
        self.assertIn("unknown", {each["category"] for each in report(path)["devices"][0]["categories_at_peak"]})
        self.assertIn(" unknown\n", run("report", "--full", path).stdout.decode())

    def test_internal_is_left_out(self):
        """As in the picture and the page: what no line of the user's own code allocated is not there."""
        sample = SAMPLES / "hostile_names.pickle"
        plain, hidden, internal = (report(sample, "--top", "0", *words)["devices"][0] for words in
                                   ((), ("--hide-internal",), ("--filter", "own:no")))
        sites = lambda device: {each["site"]: each["bytes"] for each in device["top_at_peak"]}  # noqa: E731
        self.assertEqual(sites(plain), sites(hidden) | sites(internal))
        self.assertEqual(set(), set(sites(hidden)) & set(sites(internal)))
        self.assertEqual((plain["peak_bytes"], "own:yes"), (hidden["peak_bytes"], hidden["filter"]))
        self.assertIn("Filter", run("report", "--full", "--hide-internal", sample).stdout.decode())

    def test_names_are_no_links(self):
        """GitHub and GitLab look for links in the finished text of Markdown: names outside of code begin none."""
        snapshot = pickle.loads((SAMPLES / "leak_two_per_layer.pickle").read_bytes())
        own = [frame for trace in snapshot["device_traces"] for event in trace for frame in event.get("frames") or []
               if frame["filename"].endswith(".py") and "/torch/" not in frame["filename"]]
        path = self.folder / "s.pickle"
        for name in ("https://evil.example/x", "owner/repo#12", "WWW.evil.example", "@team", "gh-12", "#123"):
            for frame in own:
                frame["name"] = name
            path.write_bytes(pickle.dumps(snapshot))
            text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", run("report", "--markdown", path).stdout.decode())  # without code
            self.assertIn(name, text.replace("\u200b", "").replace("\\", ""))
            self.assertEqual([], re.findall(r"(?i).*(?://|www\.|[#@](?!N\b)|gh-)\w.*", text), name)

    def test_redacted(self):
        sample = SAMPLES / "user_metadata_annotate.pickle"
        plain, redacted = report(sample, "--top", "0"), report(sample, "--top", "0", "--redact")
        sites = [[each["site"] for each in r["devices"][0]["top_at_peak"]] for r in (plain, redacted)]
        self.assertEqual(*sites)
        self.assertIn("/home/user", json.dumps(plain))
        for text in (json.dumps(redacted), run("report", "--redact", "--markdown", sample).stdout.decode()):
            self.assertNotIn("/home/", text)
        page = self.folder / "page.html"
        run("html", "--redact", "-o", page, sample)
        again = json.dumps(report(page, "--top", "0"))  # the texts that the page stores
        self.assertNotIn("/home/", again)
        self.assertIn("site-packages/torch/nn/modules/module.py", again)

    def test_the_legend_s_contents(self):
        for by in ("size", "age", "stream", "pool", "category"):
            picture = Picture(draw("streams", ("--color-by", by)))
            self.assertEqual(800, picture.width)
        self.assertIn(b"no out-of-memory event",
                      run("png", "--at", "oom", SAMPLES / "train.pickle", "-o", "-", check=False).stderr)

    def test_lines_and_patterns_grow_with_the_scale(self):
        """Where only the reserved line is drawn, twice the scale gives twice as many dark pixels in a column."""
        def thickness(scale):
            picture = Picture(draw("train", ("--scale", scale)))
            x, y, width, _ = picture.plot()
            column = 3 * (x + width - 2)
            return sum(sum(picture.rows[y + row][column : column + 3]) < 150 for row in range(50 * scale))
        self.assertEqual([thickness(1) * scale for scale in (1, 2, 3)], [thickness(scale) for scale in (1, 2, 3)])


if __name__ == "__main__":
    if sys.argv[1:] == ["--refresh"]:
        refresh()
    else:
        unittest.main()
