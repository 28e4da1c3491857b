#!/usr/bin/env python3
"""The report's sections against an independent replay, and reports and pictures against golden files.

    STRATA=path/to/strata report_test.py             runs the tests
    STRATA=path/to/strata report_test.py --refresh   writes tests/golden/ anew; look at what changed before you commit it
"""

import collections
import json
import os
import pathlib
import pickle
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import replay
import simulate

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
GOLDEN = HERE / "golden"
STRATA = os.environ.get("STRATA", "strata")
CORPUS = os.environ.get("STRATA_CORPUS")
OOM_FILE = "oom_expandable_4dev.pickle"  # its device 1 ran out of memory
OOM_SEEDS = 150  # simulated runs, of which about a third run out of memory

# Small pictures of what a picture can show: name -> (sample, options)
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


def run(*words, check=True):
    done = subprocess.run([STRATA, *map(str, words)], capture_output=True, timeout=300)
    if check and done.returncode != 0:
        raise AssertionError(f"{words} exits {done.returncode}: {done.stderr.decode(errors='replace')[-1000:]}")
    return done


def report(path, *words):
    return json.loads(run("report", "--json", *words, path).stdout)


def samples():
    return sorted(SAMPLES.glob("*.pickle"))


def logs():
    return sorted(SAMPLES.glob("log_*.log"))


# ---- PNG, as far as ours go: 8 bits, RGB or RGBA or a palette, not interlaced ----


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


def pictures_differ(golden, got):
    """A sentence, or None."""
    if (golden.width, golden.height, golden.plot()) != (got.width, got.height, got.plot()):
        return f"size or plot: {golden.width}x{golden.height} {golden.plot()}, {got.width}x{got.height} {got.plot()}"
    x, y, width, height = golden.plot()
    text_pixels = text_differs = 0
    for row, (want, have) in enumerate(zip(golden.rows, got.rows)):
        inside = y <= row < y + height
        if inside and want[3 * x : 3 * (x + width)] != have[3 * x : 3 * (x + width)]:
            return f"the plot, row {row - y}"
        if inside:
            want, have = want[: 3 * x] + want[3 * (x + width) :], have[: 3 * x] + have[3 * (x + width) :]
        text_pixels += len(want) // 3
        if want != have:
            text_differs += sum(abs(a - b) > TEXT_TOLERANCE for a, b in zip(want, have))
    return f"{text_differs} values of the text" if text_differs > text_pixels * TEXT_DIFFERS else None


# ---- golden files ----


def draw(sample, options):
    # Letters differ from one version of FreeType to the next: they are not compared within the plot.
    return run("png", "--no-names", *PICTURE_SIZE, *options, "-q", SAMPLES / f"{sample}.pickle", "-o", "-").stdout


def refresh():
    GOLDEN.mkdir(exist_ok=True)
    for path in samples() + logs():
        (GOLDEN / f"{path.stem}.txt").write_bytes(run("report", path).stdout)
        (GOLDEN / f"{path.stem}.md").write_bytes(run("report", "--markdown", path).stdout)
    for name, (sample, options) in PICTURES.items():
        (GOLDEN / f"{name}.png").write_bytes(draw(sample, options))
    print(f"{len(list(GOLDEN.iterdir()))} files in {GOLDEN}")


class GoldenFiles(unittest.TestCase):
    maxDiff = 4000

    def test_reports(self):
        for path in samples() + logs():
            for ending, words in ((".txt", ()), (".md", ("--markdown",))):
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
    """A recording in which everything changes at once: no two columns of its picture have much in common."""
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
            for live, colors in ((40, None), (800, 256)):
                path.write_bytes(churn(live, 60_000))
                for theme in ("light", "dark"):
                    data = run("png", "--width", "1600", "--height", "900", "--theme", theme, path, "-o", "-").stdout
                    picture = Picture(data)
                    self.assertLess(len(data), 1_000_000)
                    self.assertEqual(colors, picture.palette and len(picture.palette))
                    # what is written around the plot is still there: its ground, and ink far from it
                    ground, middle = picture.rows[0][:3], picture.rows[30]
                    self.assertEqual(theme == "dark", ground[0] < 128)
                    self.assertGreater(max(abs(value - ground[0]) for value in middle), 100)


class Readme(unittest.TestCase):
    """What it shows is what the program makes today."""

    def test_the_excerpt(self):
        readme = (HERE.parent / "README.md").read_text("utf-8").split("\n")
        first = readme.index("    OOM")
        excerpt = [line[4:] for line in readme[first : readme.index("", first + 18)] if line]
        golden = iter((GOLDEN / "oom.txt").read_text("utf-8").split("\n"))
        for line in excerpt:  # in this order; what is too wide for the README is cut off
            self.assertTrue(any(each.startswith(line) for each in golden), line)
        self.assertGreater(len(excerpt), 10)

    def test_the_picture(self):
        (line,) = [line for line in (HERE.parent / "scripts" / "pictures").read_text().split("\n") if "samples/oom" in line]
        words = line.split()
        options = words[words.index("samples/oom.pickle") + 1 : words.index("-o")]
        shown = Picture((HERE.parent / "docs" / "images" / "picture.png").read_bytes())
        self.assertIsNone(pictures_differ(shown, Picture(draw("oom", options))))


# ---- sections against the replay ----


def oom_truth(device, event):
    moment = event + 1
    alive = device.alive_at(moment)
    return {
        "live_bytes": device.curve[moment],
        "reserved_bytes": device.reserved[moment],
        "pending_bytes": sum(life.size for life, _ in alive if life.pending(moment)),
    }


def is_small(segment):
    return segment.get("segment_type") == "small"


def holes_truth(segments):
    """(reserved, free, holes, largest, rounding) of segments."""
    blocks = [block for segment in segments for block in segment["blocks"]]
    free = [block["size"] for block in blocks if block["state"] == "inactive"]
    used = [block for block in blocks if block["state"] != "inactive"]
    rounding = sum(block["size"] - block.get("requested_size", block["size"]) for block in used)
    return sum(s["total_size"] for s in segments), sum(free), len(free), max(free, default=0), rounding


def holes_reported(holes):
    return tuple(holes[f"{name}"] for name in ("reserved_bytes", "hole_bytes", "holes", "largest_hole_bytes", "rounding_bytes"))


class Piece:
    """Reserved memory, as it was at some moment."""

    def __init__(self, first, end, pool, stream, small, expandable):
        self.first, self.end, self.pool, self.stream = first, end, pool, stream
        self.small, self.expandable = small, expandable

    def without(self, first, end):
        """What an interval leaves of it."""
        kept = ((self.first, min(self.end, first)), (max(self.first, end), self.end))
        kept = [(a, b) for a, b in kept if a < b] if first < self.end and self.first < end else [(self.first, self.end)]
        return [Piece(a, b, self.pool, self.stream, self.small, self.expandable) for a, b in kept]

    def joins(self, other):
        return self.expandable and other.expandable and self.stream == other.stream and self.end == other.first


def pieces_at(device, event):
    """The segments after an event: the final ones, and the events behind it undone from the last to the first."""
    pieces = []
    for each in device.segments:
        address, pool = replay.unsigned(each["address"]), tuple(each.get("segment_pool_id", (0, 0)))
        pieces.append(Piece(address, address + each["total_size"], pool, each.get("stream", 0), is_small(each),
                            each.get("is_expandable", False)))  # fmt: skip
    for each in reversed(device.events[event + 1 :]):
        first = replay.unsigned(each.get("addr", 0))
        end = first + each.get("size", 0)
        if each["action"] in ("segment_alloc", "segment_map"):
            pieces = [left for piece in pieces for left in piece.without(first, end)]
        elif each["action"] in ("segment_free", "segment_unmap"):
            small = end - first <= 2 << 20
            pieces.append(Piece(first, end, None, each.get("stream", 0), small, each["action"] == "segment_unmap"))
    joined = []
    for piece in sorted(pieces, key=lambda piece: piece.first):
        if joined and joined[-1].joins(piece):
            joined[-1].end = piece.end
            if joined[-1].pool is None:
                joined[-1].pool, joined[-1].small = piece.pool, piece.small
        else:
            joined.append(piece)
    return joined


def changed_since(device, event):
    """Are other allocations alive at the end, or has a segment come or gone?"""
    moves = any(each["action"] in replay.RESERVED_SIGN for each in device.events[event + 1 :])
    return moves or any(life.alive(event + 1) != life.alive(device.n_events) for life in device.lives)


def gaps_truth(device, event):
    """(pool, small) and figures of each group of pieces: what lies between the requests that were alive."""
    taken = sorted((life.address, life.address + -(-life.size // 512) * 512) for life, _ in device.alive_at(event + 1))
    groups = collections.defaultdict(list)
    for piece in pieces_at(device, event):
        at, gaps = piece.first, []
        for first, end in taken:
            if piece.first <= first < piece.end:
                gaps.append(first - at)
                at = max(at, min(end, piece.end))
        gaps.append(piece.end - at)
        key = piece.pool, piece.stream, piece.small
        groups[key].append((piece.end - piece.first, [gap for gap in gaps if gap >= 512]))
    found = []
    for (pool, _, small), each in groups.items():
        gaps = [gap for _, more in each for gap in more]
        found.append(((pool or (), small), (sum(size for size, _ in each), sum(gaps), len(gaps), max(gaps, default=0))))
    return sorted(found)


class Sections(unittest.TestCase):
    def check_ooms(self, device, got):
        wanted = [each["event"] for each in device.ooms()]
        self.assertEqual(wanted, [each["event"] for each in got["oom_details"]])
        for plain, detail in zip(device.ooms(), got["oom_details"]):
            self.assertEqual(plain, {key: detail[key] for key in plain})
            truth = oom_truth(device, plain["event"])
            self.assertEqual(truth, {key: detail[key] for key in truth})
            if "largest_hole_bytes" in detail:
                truth = holes_truth(device.segments)
                self.assertEqual((truth[1], truth[3]), (detail["hole_bytes"], detail["largest_hole_bytes"]))
            self.check_oom_holes(device, plain["event"], detail)
            self.check_advice(detail)

    def check_oom_holes(self, device, event, detail):
        """The final holes where nothing has changed since, else the gaps between what was alive."""
        if "holes" not in detail:
            return
        got = [((tuple(each["pool"] or ()), each["small"]), holes_reported(each)) for each in detail["holes"]["groups"]]
        if detail["holes"]["exact"]:
            self.assertEqual(self.final_groups(device), sorted(got))
        else:
            self.assertEqual(gaps_truth(device, event), sorted((key, figures[:4]) for key, figures in got))
        self.assertEqual(changed_since(device, event), not detail["holes"]["exact"])
        self.assertEqual("largest_hole_bytes" in detail, detail["holes"]["exact"])

    def check_advice(self, detail):
        """The verdict is the first sentence, and it follows from the figures."""
        unused = max(0, detail["reserved_bytes"] - detail["live_bytes"])
        asked, free = detail["requested_bytes"], detail["device_free_bytes"]
        wanted = "memory_in_use" if unused + free < asked else "fragmented" if unused >= asked else "not_in_one_piece"
        self.assertEqual(wanted, detail["advice"][0]["code"])

    def final_groups(self, device):
        groups = collections.defaultdict(list)
        for segment in device.segments:
            pool = tuple(segment.get("segment_pool_id", (0, 0)))
            groups[pool, segment.get("stream", 0), is_small(segment)].append(segment)
        return sorted(((pool, small), holes_truth(each)) for (pool, _, small), each in groups.items())

    def check_holes(self, device, got):
        fragmentation = got["fragmentation"]
        self.assertEqual(holes_truth(device.segments), holes_reported(fragmentation["all"]))
        wanted = self.final_groups(device)
        have = sorted(((tuple(each["pool"] or (0, 0)), each["small"]), holes_reported(each)) for each in fragmentation["groups"])
        self.assertEqual(wanted, have)
        sizes = fragmentation["hole_sizes"]
        self.assertEqual(fragmentation["all"]["hole_bytes"], sum(each["bytes"] for each in sizes))

    def check_file(self, path):
        devices = replay.read_devices(path)
        for device, got in zip(devices, report(path)["devices"]):
            self.assertEqual(device.ordinal, got["device"])
            self.check_ooms(device, got)
            self.check_holes(device, got)
            self.assertEqual(got["peak_bytes"], sum(each["bytes"] for each in got["categories_at_peak"]))
            self.check_steps(device, got["growth"])

    def check_steps(self, device, growth):
        """Peaks and carried bytes are values of the curve, the peaks at the events that are named."""
        for step in growth["steps"]:
            self.assertEqual(device.curve[step["peak_event"] + 1], step["peak_bytes"])
            self.assertIn(step["carried_bytes"], device.curve)
            self.assertLessEqual(step["carried_bytes"], max(device.curve))

    def test_samples(self):
        for path in samples():
            with self.subTest(path.name):
                self.check_file(path)

    @unittest.skipUnless(CORPUS, "skipped: STRATA_CORPUS is not set")
    def test_a_real_oom(self):
        path = pathlib.Path(CORPUS, OOM_FILE)
        self.check_file(path)
        device = next(each for each in report(path)["devices"] if each["device"] == 1)
        self.assertEqual(1, len(device["oom_details"]))
        # No advice where nothing justifies it: the memory was in use, and expandable segments are on already.
        self.assertEqual(["memory_in_use"], [each["code"] for each in device["oom_details"][0]["advice"]])

    def test_simulated_ooms(self):
        """The replay's holes, and no fewer, no less and no smaller ones than there really were."""
        compared = {True: 0, False: 0}
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(OOM_SEEDS):
                simulation = simulate.Simulation(simulate.settings_of(seed))
                if not any(each["action"] == "oom" for device in simulation.devices for each in device.events):
                    continue
                path = pathlib.Path(folder, f"seed{seed}")
                path.write_bytes(simulation.dump())
                with self.subTest(seed=seed):
                    self.check_simulated(simulation, path, compared)
        self.assertGreater(min(compared.values()), 3)

    def check_simulated(self, simulation, path, compared):
        truths = {device.ordinal: device for device in simulation.devices}
        for device, got in zip(replay.read_devices(path), report(path)["devices"]):
            self.check_ooms(device, got)
            real = truths[device.ordinal]
            details = got["oom_details"]
            holes = real.oom_holes[len(real.oom_holes) - len(details) :]
            for detail, (total, largest, number) in zip(details, holes):
                if "holes" not in detail or not real.knows_reserved():
                    continue
                all_ = detail["holes"]["all"]
                reported = all_["hole_bytes"], all_["largest_hole_bytes"], all_["holes"]
                compared[detail["holes"]["exact"]] += 1
                if detail["holes"]["exact"]:
                    self.assertEqual((total, largest, number), reported)
                self.assertTrue(all(a <= b for a, b in zip((total, largest, number), reported)), (holes, reported))

    @unittest.skipUnless(CORPUS, "skipped: STRATA_CORPUS is not set")
    def test_the_device_that_ran_out_is_shown(self):
        done = run("png", pathlib.Path(CORPUS, OOM_FILE), "-o", "-")
        self.assertIn(b"device 1 is shown, which ran out of memory", done.stderr)

    def test_leaks_of_the_samples(self):
        leaks = {"leak_graph": "attention.py", "leak_two_per_layer": "probe.py"}
        for path in samples():
            for device in report(path)["devices"]:
                growth = device["growth"]
                rising = [site for site in growth["sites"] if site["kind"] == "rises"] if growth["judged"] else []
                files = {site["site"].split(":")[0] for site in rising}
                if path.stem in leaks:
                    self.assertIn(leaks[path.stem], files)
                else:
                    self.assertEqual(set(), files, path.name)
        sites = {s["site"]: s for s in report(SAMPLES / "leak_two_per_layer.pickle")["devices"][0]["growth"]["sites"]}
        # Three layers keep a tensor of 4 * 1024 rows and 1024 halves in every step.
        self.assertEqual(3 * 4 * 1024 * 1024 * 2, sites["probe.py:27 keep_hidden"]["slope_bytes"])


# ---- options ----


def own_frames(life):
    """"train.py:41 step" of each frame that is not torch's or Python's, innermost first."""
    return [f"{frame['filename'].rsplit('/', 1)[-1]}:{frame['line']} {frame['name']}" for frame in life.frames
            if frame["filename"].endswith(".py") and "/torch/" not in frame["filename"]
            and "/lib/python3" not in frame["filename"]]


class CallSites(unittest.TestCase):
    """Who calls a site, with shares, against a plain sum over every allocation that is alive at the peak."""

    def check_callers(self, path, nodes, lives, whole):
        seen = 0
        for node in nodes:
            way = [*path, node["site"]]
            mine = [life for life in lives if own_frames(life)[:len(way)] == way]
            self.assertEqual((node["bytes"], node["count"]), (sum(life.size for life in mine), len(mine)), way)
            self.assertAlmostEqual(node["share"], node["bytes"] / whole, places=5)
            seen += 1 + self.check_callers(way, node.get("callers", ()), lives, whole)
        self.assertEqual([node["bytes"] for node in nodes], sorted((node["bytes"] for node in nodes), reverse=True))
        return seen

    def test_callers_and_categories(self):
        seen = 0
        for path in samples():
            if path.stem == "hostile_names":
                continue
            for device, got in zip(replay.read_devices(path), report(path)["devices"]):
                lives = [life for life in device.lives if life.alive(got["peak_event"] + 1)]
                for group in got["top_at_peak"]:
                    with self.subTest(f"{path.name} {group['site']}"):
                        for figure in ("bytes", "count"):
                            self.assertEqual(sum(each[figure] for each in group["categories"]), group[figure])
                        seen += self.check_callers([group["site"]], group.get("callers", ()), lives, group["bytes"])
        self.assertGreater(seen, 100)

    def test_state_and_temporaries_of_an_optimizer_are_apart(self):
        frames = [{"filename": "/home/u/adam.py", "line": 9, "name": "step"}]
        inner = [{"filename": "/x/site-packages/torch/optim/adam.py", "line": 77, "name": "_init_group"}]
        torch_step = [{"filename": "/x/site-packages/torch/optim/optimizer.py", "line": 5, "name": "wrapper"}]
        model = [{"filename": "/home/u/model.py", "line": 3, "name": "forward"}]
        outer = [{"filename": "/home/u/train.py", "line": 20, "name": "run"}]
        trace, address = [], 0x7f0000000000

        def add(action, at, size, stack):
            trace.append({"action": action, "addr": address + (at << 24), "size": size, "stream": 0, "frames": stack})

        for turn in range(2):
            add("alloc", 1, 1 << 20, model + outer)
            if turn == 0:
                add("alloc", 2, 4 << 20, inner + torch_step + frames + outer)
            add("alloc", 3, 8 << 20, torch_step + frames + outer)
            for action in ("free_requested", "free_completed"):
                add(action, 3, 8 << 20, torch_step + frames + outer)
            for action in ("free_requested", "free_completed"):
                add(action, 1, 1 << 20, model + outer)
        add("alloc", 1, 1 << 20, model + outer)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "adam.pickle")
            path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}, protocol=4))
            text = run("report", path).stdout.decode()
            group = report(path)["devices"][0]["top_at_peak"][0]
        rows = [line.split("adam.py:9 step")[0].split() + [line.split("adam.py:9 step")[1].strip()]
                for line in text.splitlines() if "adam.py:9 step" in line]
        self.assertEqual(rows[0], ["8,192.0", "KiB", "62", "%", "1", "(optimizer temporaries)  train.py:20 run"])
        self.assertEqual([row[0] for row in rows if "(optimizer state)" in row[-1]][:1], ["4,096.0"])
        self.assertEqual((group["site"], group["bytes"]), ("adam.py:9 step", 12 << 20))
        self.assertEqual([(each["category"], each["bytes"]) for each in group["categories"]],
                         [("temporary", 8 << 20), ("optimizer_state", 4 << 20)])


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

    def test_the_first_rule_wins(self):
        plain = self.categories()
        rules = self.folder / "rules"
        rules.write_text("# mine\ninput file /train/main\\.py$\nother function .\n")
        self.assertEqual({"input": sum(plain.values()) - plain["temporary"], "other": plain["temporary"]},
                         self.categories("--rules", rules))
        rules.write_text("other function .\ninput file /train/main\\.py$\n")
        self.assertEqual({"other": sum(plain.values())}, self.categories("--rules", rules))
        rules.write_text("input metadata .\n")
        self.assertEqual(plain, self.categories("--rules", rules))

    def test_skipped_devices_are_named(self):
        sample = SAMPLES / "two_devices.pickle"
        events = {each["device"]: each["events"] for each in report(sample)["devices"]}
        text = " ".join(run("report", "-d", "0", sample).stdout.decode().split())
        self.assertIn(f"Skipped, because another device was asked for: device 1 ({events[1]:,} events).", text)
        self.assertNotIn("Skipped", run("report", sample).stdout.decode())

    def test_all_verbs_take_rules(self):
        sample, rules, page = SAMPLES / "train.pickle", self.folder / "my_rules", self.folder / "page.html"
        rules.write_text("input file /train/main\\.py$\nother function .\n")
        wanted = self.categories("--rules", rules)
        self.assertEqual({"input", "other"}, set(wanted))
        run("html", "--rules", rules, "-o", page, sample)
        device = report(page)["devices"][0]  # what the page carries
        self.assertEqual(wanted, {each["category"]: each["bytes"] for each in device["categories_at_peak"]})
        self.assertFalse(device["categories_inferred"])
        run("batch", "--rules", rules, "-o", self.folder / "batch", sample)
        sidecar = json.loads((self.folder / "batch" / "train.strata.json").read_text())
        self.assertEqual(device["categories_at_peak"], sidecar["devices"][0]["categories_at_peak"])
        plain = draw("train", ("--color-by", "category"))
        ruled = draw("train", ("--color-by", "category", "--rules", str(rules)))
        self.assertTrue(Picture(ruled).texts["strata:flags"].endswith("--color-by category --rules my_rules"))
        self.assertIsNotNone(pictures_differ(Picture(plain), Picture(ruled)))

    def test_a_redacted_page_keeps_what_rules_on_paths_said(self):
        rules, page = self.folder / "rules", self.folder / "page.html"
        rules.write_text("input file ^/home/\n")
        run("html", "--rules", rules, "--redact", "-o", page, SAMPLES / "user_metadata_annotate.pickle")
        device = report(page)["devices"][0]
        self.assertIn("input", {each["category"] for each in device["categories_at_peak"]})

    @unittest.skipUnless(CORPUS, "skipped: STRATA_CORPUS is not set")
    def test_a_profiler_may_not_know_either(self):
        path = pathlib.Path(CORPUS, "memory_timeline_adam.raw.json.gz")
        self.assertIn("unknown", {each["category"] for each in report(path)["devices"][0]["categories_at_peak"]})
        self.assertIn(" unknown\n", run("report", path).stdout.decode())

    def test_wrong_rules_are_refused(self):
        rules = self.folder / "rules"
        for text, words in (("weights file x", b"no category"), ("input path x", b"no field"), ("input file", b"expression"),
                            ("input file (", b"expression")):
            rules.write_text("\n" + text + "\n")
            done = run("report", "--rules", rules, SAMPLES / "train.pickle", check=False)
            self.assertEqual(1, done.returncode)
            self.assertIn(b"line 2: no ", done.stderr)
            self.assertIn(words, done.stderr)

    def test_internal_is_left_out(self):
        """As in the picture and the page: what no line of the user's own code allocated is not there."""
        sample = SAMPLES / "hostile_names.pickle"
        plain, hidden, internal = (report(sample, "--top", "0", *words)["devices"][0] for words in
                                   ((), ("--hide-internal",), ("--filter", "own:no")))
        sites = lambda device: {each["site"]: each["bytes"] for each in device["top_at_peak"]}  # noqa: E731
        self.assertEqual(sites(plain), sites(hidden) | sites(internal))
        self.assertEqual(set(), set(sites(hidden)) & set(sites(internal)))
        self.assertEqual((plain["peak_bytes"], "own:yes"), (hidden["peak_bytes"], hidden["filter"]))
        self.assertIn("Filter", run("report", "--hide-internal", sample).stdout.decode())

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
        again = json.dumps(report(page, "--top", "0"))  # what the page carries
        self.assertNotIn("/home/", again)
        self.assertIn("site-packages/torch/nn/modules/module.py", again)

    def test_what_the_legend_can_list(self):
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
