#!/usr/bin/env python3
"""Recordings that no program writes, through every verb: the figures must be right, or the refusal must say why. Never a crash,
never a hang.

Environment: STRATA, path of the program (default: build/release/strata); hostile_test.py CASE... runs some only.
"""

import base64
import csv
import io
import json
import os
import pathlib
import pickle
import random
import re
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests"))
from hostile_snapshots import Maker  # noqa: E402

STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
TIMEOUT_S = 300
# With sanitizers, a tenth of the inputs that once took quadratic time: the code is the same.
LESS = 10 if "asan" in STRATA else 1
MIB = 1 << 20
PIECE_MAX_NBYTES = MIB
STEERING = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

HOSTILE = ("quo\"te'`${x}", "</script><script>p()</script>", "\u202eevil\u2066rtl", "nul\0byte", "\x1b[31;1mred\x1b]0;title\x07", "cr\r\nlf\ttab", "c1\x9b31m\x85nel",
           "a,b;c|d", "=cmd()", "+1", "@x", "long" + "y" * 1_000, "\u2028ls", "|pipe|`code`", "#h1\n## h2", "%s%n", "\x7fdel")

VERBS = (["report"], ["report", "--markdown"], ["report", "--json", "--top=0"], ["png"], ["png", "--color-by=category"],
         ["html"], ["html", "--max-html-size=1MiB"], ["html", "--redact"])


def event(action, address, size, **more):
    frames = [{"name": "forward", "filename": "/home/user/train.py", "line": 41}]
    return {"action": action, "addr": address, "size": size, "stream": 0, "frames": frames, **more}


def snapshot(*traces, segments=()):
    return {"segments": list(segments), "device_traces": [list(trace) for trace in traces]}


def segment(address, blocks, **more):
    """`blocks`: pairs of size and state."""
    rows, at = [], address
    for size, state in blocks:
        rows.append({"address": at, "size": size, "requested_size": size if state != "inactive" else 0, "state": state,
                     "frames": []})
        at += size
    total = sum(size for size, _ in blocks)
    return {"device": 0, "address": address, "total_size": total, "allocated_size": total, "active_size": total,
            "requested_size": total, "stream": 0, "segment_type": "large", "blocks": rows, **more}


def payload_changed(page, of_type, change):
    """The page with `change` applied to the content of its only section of this type (docs/payload.md)."""
    before, payload, after = re.split(rb'(?<=id="payload">)([A-Za-z0-9+/=]*)(?=</script>)', page)
    payload = base64.b64decode(payload)
    n_sections, n_pieces = struct.unpack_from("<II", payload, 8)
    directory, at, pieces = b"", 16 + 16 * n_sections + 8 * n_pieces, []
    for i in range(n_pieces):
        raw, nbytes = struct.unpack_from("<II", payload, 16 + 16 * n_sections + 8 * i)
        pieces.append((raw, payload[at:at + nbytes]))
        at += nbytes
    kept = []
    for i in range(n_sections):
        *section, n_own = struct.unpack_from("<HHIII", payload, 16 + 16 * i)
        own, pieces = pieces[:n_own], pieces[n_own:]
        if section[0] == of_type:
            content = change(b"".join(zlib.decompress(piece) for _, piece in own))
            parts = [content[at:at + PIECE_MAX_NBYTES] for at in range(0, len(content), PIECE_MAX_NBYTES)]
            own = [(len(part), zlib.compress(part)) for part in parts]
        directory += struct.pack("<HHIII", *section, len(own))
        kept += own
    entries = b"".join(struct.pack("<II", raw, len(piece)) for raw, piece in kept)
    head = payload[:8] + struct.pack("<II", n_sections, len(kept))
    return before + base64.b64encode(head + directory + entries + b"".join(piece for _, piece in kept)) + after


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strata-hostile-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, value, name="s.pickle"):
        path = self.folder / name
        path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol=4))
        return path

    def strata(self, *arguments, **options):
        return subprocess.run([STRATA, *map(str, arguments)], capture_output=True, timeout=TIMEOUT_S, cwd=self.folder,
                              **options)

    def assert_steers_nothing(self, text, where):
        self.assertIsNone(STEERING.search(text.replace("\n", " ")), where)

    def every_verb(self, value, name="s.pickle"):
        """Runs all verbs; each must exit with 0, or with 1 and a message. Returns the JSON report; None: it was
        refused."""
        path, codes, report = self.write(value, name), set(), None
        for words in VERBS:
            done = self.strata(*words, path, "-q", "-f", "-o", "out.bin")
            self.assertIn(done.returncode, (0, 1), (words, done.stderr))
            codes.add(done.returncode)
            if done.returncode == 1:
                self.assertRegex(done.stderr, rb'^strata: "', words)
            elif words[1:2] == ["--json"]:
                report = json.loads((self.folder / "out.bin").read_bytes())
            elif words == ["html"]:
                page = self.strata("report", "--json", "out.bin")
                self.assertEqual(page.returncode, 0, page.stderr)
        self.assertEqual(len(codes), 1, "some verbs read it, some do not")
        return report


class Sums(Case):
    """Totals are right up to 2^63 bytes; more is refused."""

    def refused(self, value):
        self.assertIsNone(self.every_verb(value))
        self.assertRegex(self.strata("report", "s.pickle").stderr, rb"add up to more than 8 EiB")

    def test_allocations_pass_2_to_64(self):
        self.refused(snapshot([event("alloc", (i + 1) << 32, 1 << 62) for i in range(4)]))

    def test_one_at_a_time_they_pass_it_too(self):
        self.refused(snapshot([event(action, 1 << 32, 1 << 62) for _ in range(4) for action in ("alloc", "free_completed")]))

    def test_blocks_and_segments(self):
        self.refused(snapshot([], segments=[segment(1 << 20, [((1 << 62) + 1, "active_allocated"), (1 << 62, "inactive")])]))

    def test_segment_events(self):
        self.refused(snapshot([event("segment_alloc", (i + 1) << 32, 1 << 62) for i in range(3)]))

    def test_exactly_2_to_63(self):
        report = self.every_verb(snapshot([event("alloc", (i + 1) << 32, 1 << 62) for i in range(2)]))
        device = report["devices"][0]
        self.assertEqual((device["peak_bytes"], device["end_bytes"]), (1 << 63, 1 << 63))
        self.assertEqual([row["share"] for row in device["top_at_peak"]], [1])
        for words in ([], ["--markdown"]):
            self.assertIn(b"8.0 EiB", self.strata("report", "s.pickle", *words).stdout.replace(b"\xc2\xa0", b" "))

    def test_a_small_part_of_2_to_63(self):
        """Strata once divided by zero here."""
        sizes = [(1 << 62), (1 << 62) - 512, 512]
        events = [event("alloc", (i + 1) << 32, size) for i, size in enumerate(sizes)]
        events[2]["frames"] = [{"name": "backward", "filename": "train.py", "line": 9}]
        self.assertEqual(self.every_verb(snapshot(events))["devices"][0]["peak_bytes"], 1 << 63)
        self.assertIn(b"<1 %", self.strata("report", "s.pickle").stdout)

    def test_a_page_that_says_so(self):
        """A page whose sizes were changed by hand: the reader of pages checks sums too."""
        self.write(snapshot([event("alloc", (i + 1) << 32, 0xFF << 32) for i in range(4)]))
        page = self.strata("html", "s.pickle", "-o", "-").stdout

        def shift_left(content):
            self.assertEqual(content[:2], bytes((1, 32)), "width and shift of the sizes")
            return bytes((1, 56)) + content[2:]

        (self.folder / "page.html").write_bytes(payload_changed(page, 35, shift_left))
        for words in VERBS:
            done = self.strata(*words, "page.html", "-o", "out.bin")
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(b"contradicts itself", done.stderr)

    def test_shares_of_2_to_63(self):
        events = [event("alloc", (i + 1) << 32, 1 << 62) for i in range(2)]
        events[1]["frames"] = [{"name": "backward", "filename": "train.py", "line": 9}]
        shares = [row["share"] for row in self.every_verb(snapshot(events))["devices"][0]["top_at_peak"]]
        self.assertEqual(shares, [0.5, 0.5])
        self.assertEqual(self.strata("report", "s.pickle").stdout.count(b"50 %"), 2)


class OutOfMemory(Case):
    """A run that fails and tries again many times: the report once took quadratic time in the events."""

    def test_a_quarter_of_a_million(self):
        n, where = 250_000 // LESS, [{"name": "forward", "filename": "train.py", "line": 41}]
        trace, live, pending, wanted = [], 0, 0, []
        for i in range(n):
            # Each allocation is freed at once, but the free completes only three events later.
            trace.append({"action": "alloc", "addr": i << 12, "size": 4096 + i, "stream": 0, "frames": where})
            live += 4096 + i
            if i % 3 == 0:
                trace.append({"action": "free_requested", "addr": i << 12, "size": 4096 + i, "stream": 0, "frames": where})
                pending += 4096 + i
            wanted.append((len(trace), live, pending))
            trace.append({"action": "oom", "size": 1 << 30, "device_free": i, "stream": 0, "frames": where})
            if i % 3 == 2:
                first = i - 2
                trace.append({"action": "free_completed", "addr": first << 12, "size": 4096 + first, "stream": 0,
                              "frames": where})
                live, pending = live - 4096 - first, pending - 4096 - first
        path = self.write(snapshot(trace, segments=[segment(1 << 60, [(1 << 40, "inactive")])]))
        device = json.loads(self.strata("report", "--json", path).stdout)["devices"][0]
        self.assertEqual([(each["event"], each["device_free_bytes"]) for each in device["oom"]],
                         [(wanted[i][0], i) for i in range(n)])
        self.assertEqual([(each["event"], each["live_bytes"], each["pending_bytes"]) for each in device["oom_details"]], wanted)
        self.assertTrue(all(each["advice"] for each in device["oom_details"]))
        told = [i for i, each in enumerate(device["oom_details"]) if "holes" in each]
        self.assertEqual(told, [0, 1, 2, 3, 4, n - 1])
        text = self.strata("report", "--full", path).stdout.decode()
        self.assertEqual(text.count("Out of memory after event"), 6)
        self.assertIn(f"Not listed: {n - 6:,} more out-of-memory events before the last one", text)
        for words in (["png"], ["html"]):
            self.assertEqual(self.strata(*words, path, "-f", "-o", "out.bin").returncode, 0)


class Overlaps(Case):
    """Segments that overlap: Strata once compared each with every piece below it."""

    def test_segments(self):
        n = 150_000 // LESS
        segments = [segment((i + 1) << 9, [(1 << 30, "active_allocated")]) for i in range(n)]
        path = self.write(snapshot([event("alloc", (i + 1) << 9, 512) for i in range(1000)], segments=segments))
        report = json.loads(self.strata("report", "--json", path).stdout)["devices"][0]
        self.assertEqual(report["reserved_peak_bytes"], n << 30)
        self.assertEqual(self.strata("plan", "--json", path).returncode, 0)

    def test_events(self):
        n = 150_000 // LESS
        events = [event(action, (i + 1) << 9, 1 << 30) for action in ("segment_alloc", "segment_free") for i in range(n)]
        path = self.write(snapshot(events))
        report = json.loads(self.strata("report", "--json", path).stdout)["devices"][0]
        self.assertEqual(report["reserved_peak_bytes"], n << 30)


class ManyAnnotations(Case):
    """Hundreds of thousands of phases and steps: code that takes quadratic time would not end within the test."""

    def test_nested_and_short_steps(self):
        n_nested, n_steps, where = 50_000 // LESS, 100_000 // LESS, [{"name": "forward", "filename": "train.py", "line": 41}]
        annotations, trace, time_us = [], [], 1_700_000_000_000_000

        def annotate(stage, name, at_us):
            annotations.append({"stage": stage, "name": name, "device": 0, "time_us": at_us})

        for i in range(n_nested):  # each inside of the one before
            annotate("START", f"outer {i}", time_us + i)
        time_us += n_nested
        for i in range(n_steps):
            annotate("START", f"ProfilerStep#{i}", time_us)
            for action, size in (("alloc", 4096 + i), ("free_requested", 4096 + i), ("free_completed", 4096 + i)):
                trace.append({"action": action, "addr": 1 << 32, "size": size, "stream": 0, "frames": where, "time_us": time_us})
                time_us += 1
            annotate("END", f"ProfilerStep#{i}", time_us)
        for i in reversed(range(n_nested)):
            annotate("END", f"outer {i}", time_us)
            time_us += 1
        path = self.write({**snapshot(trace), "external_annotations": annotations})
        report = json.loads(self.strata("report", "--json", path).stdout)["devices"][0]
        self.assertEqual(report["peak_bytes"], 4096 + n_steps - 1)
        self.assertEqual([step["peak_bytes"] for step in report["steps"]], [4096 + i for i in range(n_steps)])
        for words in (["report"], ["png"], ["png", "--color-by=category"], ["html"]):
            done = self.strata(*words, path, "-q", "-f", "-o", "out.bin")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_steps_of_three_events_by_repetition(self):
        n, trace = 333_000 // LESS, []
        frames = [[{"name": name, "filename": "train.py", "line": line}, {"name": "main", "filename": "train.py", "line": 90}]
                  for name, line in (("forward", 41), ("loss", 42))]
        for i in range(n):  # each output lives until the next one was made
            trace.append({"action": "alloc", "addr": (i & 1) + 1 << 32, "size": 1 << 20, "stream": 0, "frames": frames[0]})
            trace.append({"action": "free_requested", "addr": (i & 1 ^ 1) + 1 << 32, "size": 1 << 20, "stream": 0,
                          "frames": frames[1]})
            trace.append({"action": "free_completed", "addr": (i & 1 ^ 1) + 1 << 32, "size": 1 << 20, "stream": 0,
                          "frames": frames[1]})
        path = self.write(snapshot(trace))
        report = json.loads(self.strata("report", "--json", path).stdout)["devices"][0]
        self.assertEqual((report["events"], report["peak_bytes"]), (3 * n, 2 << 20))
        for words in (["report"], ["png"], ["html"]):
            done = self.strata(*words, path, "-q", "-f", "-o", "out.bin")
            self.assertEqual(done.returncode, 0, done.stderr)


class DeepStacks(Case):
    """A page stores each stack as its parent and one frame, so a few bytes can describe stacks with 100,000 frames."""
    STACKS = 200000 // LESS

    def chain(self, content):
        """Changes section 6: each stack becomes a child of the one before, not of none."""
        width = content[0]
        return content[:4] + bytes(width * self.STACKS) + content[4 + width * self.STACKS:]

    def test_one_below_the_other(self):
        """Every verb is linear in the stacks; two pages as one series once took the square of them."""
        self.write(snapshot([event("alloc", (i + 1) << 20, 512, time_us=i, frames=[
            {"filename": "deep.py", "name": f"f{i}", "line": i}]) for i in range(self.STACKS)]))
        self.assertEqual(self.strata("html", "-q", "s.pickle", "-o", "page.html").returncode, 0)
        page = payload_changed((self.folder / "page.html").read_bytes(), 6, self.chain)
        self.write(page, "deep.html")
        for words, output in ((["report"], "a.txt"), (["report", "--json", "--top=0"], "a.json"), (["png"], "a.png"),
                              (["html"], "a.html"), (["plan"], "a.txt"), (["diff", "deep.html"], "a.txt"),
                              (["report", "deep.html"], "a.txt")):
            done = self.strata(*words, "deep.html", "-q", "-f", "-o", output)
            self.assertEqual(done.returncode, 0, (words, done.stderr))
            # Outputs have a line for each stack, with a readable part of it: their size is not quadratic.
            self.assertLess((self.folder / output).stat().st_size, 1 << 29, words)
        self.assertEqual(json.loads(self.strata("report", "--json", "deep.html").stdout)["devices"][0]["allocations"], self.STACKS)


class Sidecars(Case):
    """A directory of a batch may contain sidecars that anybody wrote."""

    def setUp(self):
        super().setUp()
        self.write(snapshot([event("alloc", (i + 1) << 32, MIB) for i in range(3)]), "rank0.pickle")
        self.assertEqual(self.strata("batch", "rank0.pickle", "-o", "out", "--pages", "none").returncode, 0)
        self.sidecar = json.loads((self.folder / "out" / "rank0.strata.json").read_text())

    def put(self, rank, change):
        sidecar = json.loads(json.dumps(self.sidecar))
        path = self.folder / f"rank{rank}.pickle"
        path.write_bytes(b"\x80\x04")
        sidecar["batch"].update(input=path.name, rank=rank, size=2, mtime_ns=str(path.stat().st_mtime_ns))
        change(sidecar)
        (self.folder / "out" / f"rank{rank}.strata.json").write_text(json.dumps(sidecar))

    def index(self, code=0, memory="256MiB"):
        """Runs with little memory, and converts nothing whose sidecar is there; returns the summary and standard error."""
        limit = 2 << 30 if "asan" not in STRATA else resource.RLIM_INFINITY
        inputs = sorted(path.name for path in self.folder.glob("rank*.pickle"))
        done = self.strata("batch", *inputs, "-o", "out", "--pages", "none", "--resume", "--max-memory", memory,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads((self.folder / "out" / "summary.json").read_text()), done.stderr

    def test_a_pipe_is_not_waited_for(self):
        for rank in range(1, 4):
            shutil.copy(self.folder / "rank0.pickle", self.folder / f"rank{rank}.pickle")
        os.mkfifo(self.folder / "out" / "rank1.strata.json")
        os.mkdir(self.folder / "out" / "rank2.strata.json")
        os.symlink("/dev/zero", self.folder / "out" / "rank3.strata.json")
        os.mkfifo(self.folder / "out" / "shards" / "outputs-2-of-2.txt")
        summary, told = self.index(4)
        self.assertEqual([row["rank"] for row in summary["rows"]], [0])
        for rank in (1, 2, 3):
            self.assertIn(f"rank{rank}.strata.json exists already and is not Strata's".encode(), told)

    # What a number may be: too large for 64 bits, negative, broken, or no number; "gone" leaves the member out.
    WRONG = ("1e102", "-1", "1e300", "-1e300", "18446744073709551616", "9223372036854775807", "-9223372036854775808", "1.5",
             "-0.0", "null", '"9"', "[]", "{}", "true", "[[[]]]", "0", "4294967296", "gone")

    def leaves(self, value, lists, path=()):
        """The paths of all members and elements that are no objects or lists, and of all lists if wanted."""
        if isinstance(value, (dict, list)):
            if isinstance(value, list) and lists:
                yield path
            for key, own in value.items() if isinstance(value, dict) else enumerate(value):
                yield from self.leaves(own, lists, (*path, key))
        else:
            yield path

    def put_wrong(self, rank, changes):
        """Writes a sidecar in which paths have other values; these are JSON, not Python's."""
        marks = {}

        def change(sidecar):
            for number, (path, text) in enumerate(changes):
                owner = sidecar
                try:
                    for key in path[:-1]:
                        owner = owner[key]
                    if text == "gone":
                        del owner[path[-1]]
                    else:
                        owner[path[-1]] = f"@{number}@"
                        marks[f'"@{number}@"'] = text
                except (KeyError, IndexError, TypeError):
                    continue  # an earlier change took the place away

        self.put(rank, change)
        path = self.folder / "out" / f"rank{rank}.strata.json"
        text = path.read_text()
        for mark, value in marks.items():
            text = text.replace(mark, value)
        path.write_text(text)

    def judge(self):
        """Makes the index of what is there: no sidecar may break it, and its figures are ones that readers of JSON take."""
        inputs = sorted(path.name for path in self.folder.glob("rank*.pickle"))
        done = self.strata("batch", *inputs, "-o", "out", "--pages", "none", "--resume")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        summary = json.loads((self.folder / "out" / "summary.json").read_text())
        self.assertGreater(len(summary["rows"]), 1)
        for row in summary["rows"]:
            for name in ("peak_bytes", "end_bytes", "events", "input_bytes", "reserved_peak_bytes", "steps", "oom"):
                self.assertTrue(0 <= row[name] <= 1 << 60, (row["input"], name, row[name]))
            self.assertLess(abs(row["growth_bytes"]), 1 << 62)
        for column in summary["columns"]:
            self.assertTrue(abs(column["median"]) < 1 << 62 and 0 <= column["mad"] < 1 << 62, column)
        page = (self.folder / "out" / "index.html").read_text()
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
        for row in data["rows"]:
            for step in row["steps_at"]:
                self.assertTrue(all(0 <= share <= 65535 for share in step[2:]), step)
        return summary

    def test_numbers_of_every_member(self):
        """Each kind of wrong number in all members at once, but for those that tell whose sidecar it is."""
        kept = ("schema", "kind", "input", "rank", "step", "size", "mtime_ns", "flags", "version", "device")
        paths = [path for path in self.leaves(self.sidecar, False) if path[-1] not in kept]
        self.assertGreater(len(paths), 100)
        for rank, text in enumerate(self.WRONG, start=1):
            self.put_wrong(rank, [(path, text) for path in reversed(paths)])
        self.assertEqual(len(self.judge()["rows"]), 1 + len(self.WRONG))

    def test_random_numbers(self):
        dice = random.Random(47)
        paths = list(self.leaves(self.sidecar, True))
        for rank in range(1, 60):
            self.put_wrong(rank, [(dice.choice(paths), dice.choice(self.WRONG)) for _ in range(dice.randint(1, 40))])
        self.judge()

    def test_figures_at_their_bounds(self):
        """Steps, tables and growth as large as they may be: the sums and differences of a few stay within 64 bits."""
        most = 1 << 62
        for rank in range(1, 9):
            def change(sidecar, rank=rank):
                device = sidecar["batch"]["devices"][0]
                sign = most if rank % 2 else 0
                device["steps"] = [[i, 1, sign, most - sign, sign if i % 2 else 0, most, sign, 0, i, i + 1, i] for i in range(300)]
                device["calls"] = [[i, f"a.py:{i} f"] for i in range(600)]
                device["tables"] = [[i, at, most, *(sign + k if k % 2 else k // 2 for k in range(60))]
                                    for i in range(100) for at in range(6)]
                sidecar["devices"][0].update(peak_bytes=most - rank, end_bytes=sign, events=most)
            self.put(rank, change)
        self.judge()

    def test_older_sidecars_are_not_read(self):
        for rank, schema in enumerate((1, 2, 4, "3", None), start=1):
            self.put(rank, lambda sidecar, schema=schema: sidecar.update(schema=schema))
        summary, told = self.index(4)
        self.assertEqual([row["rank"] for row in summary["rows"]], [0])
        self.assertEqual(told.count(b"is not Strata's"), 5)

    def test_millions_of_sites(self):
        """11 MB once took 47 seconds, because the time was quadratic in the sites."""
        for rank in range(1, 41):
            def change(sidecar, rank=rank):
                sidecar["batch"]["devices"][0]["calls"] = [[i + 1, f"rank{rank}.py:{i} f"] for i in range(9000)]
                sidecar["batch"]["devices"][0]["tables"] = [[-1, at, 1 << 30, *range(18000)] for at in (0, 4)]
                sidecar["devices"][0]["peak_bytes"] = (1 << 40) if rank % 3 == 0 else rank
            self.put(rank, change)
        summary, _ = self.index()
        self.assertEqual(len(summary["rows"]), 41)

    def test_a_tree_larger_than_memory(self):
        for rank, text in ((1, "[" + "0," * (20 << 20) + "0]"), (2, "[" * 900_000), (3, '{"batch":' * 1000)):
            shutil.copy(self.folder / "rank0.pickle", self.folder / f"rank{rank}.pickle")
            (self.folder / "out" / f"rank{rank}.strata.json").write_text(text)
        summary, told = self.index(4, "64MiB")
        self.assertEqual(len(summary["rows"]), 1)
        self.assertEqual(told.count(b"is not Strata's"), 3)


class Made(Case):
    """Generated recordings with impossible values, in every verb: a readable answer or a refusal."""

    verbs = [["report", "--json", "--top=0"], ["report"], ["png", "--width=400", "--height=300"],
             ["png", "--color-by=category", "--width=400", "--height=300"], ["html", "--max-html-size=1MiB"],
             ["plan", "--json", "--gpu", "1GiB"], ["report", "--markdown", "--filter", "size:>1KiB alive:peak"],
             ["check", "--format=json", "--rule", "peak < 1GiB", "--rule", "growth < 1MiB per step"]]

    def test_made(self):
        read, before = 0, None
        for seed in range(int(os.environ.get("HOSTILE_SEEDS", 40))):
            path = self.write(Maker(seed).snapshot(), f"{seed % 2}.pickle")
            diff = [["diff", "--json", path, before]] if before else []
            for words in [[*words, path] for words in self.verbs] + diff:
                with self.subTest(seed=seed, words=words[:2]):
                    to_file = words[0] in ("png", "html")
                    done = self.strata(*words, *(["-f", "-o", "out.bin"] if to_file else []))
                    self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                    self.assertTrue(done.returncode != 1 or done.stderr.startswith(b"strata: "), done.stderr)
                    read += done.returncode == 0
                    if done.returncode == 0 and any("json" in str(word) for word in words):
                        json.loads(done.stdout)
            before = path
        self.assertGreater(read, 100)


class Words(Case):
    """Hostile words in the command line, and hostile files beside a recording."""

    grown = ("((a{1,255}){1,255}){1,255}", "(" * 12 + "a" + ")+" * 12, "(a{200}){2,}{9}", "(a|b)\\1", "(" * 300 + ")" * 300)
    fine = ("x{2,5}|t[r]ain", "[]a-z]+\\.py", "(forward|x{1,255})+", "f{1}", "[[:alpha:]]{3,7}\\.py", "^$", "trai\\d*n|(z{3}){4}")

    def limited(self):
        if "asan" not in STRATA:  # sanitizers reserve more than any limit
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    def test_expressions_that_grow(self):
        path = self.write(snapshot([event("alloc", 4096, 512)]))
        for text in self.grown:
            for words, code in ((["report", f"--filter=/{text}/"], 2), (["batch", "-o", "out", f"--rank-regex=(?P<rank>{text})"], 1)):
                with self.subTest(text=text[:40], words=words[0]):
                    done = self.strata(*words, path, preexec_fn=self.limited)
                    self.assertIn(done.returncode, (code, 2), done.stderr)
                    self.assertRegex(done.stderr, rb"^strata: ")

    def test_expressions_that_do_not(self):
        names = ("train.py", "txain.py", "xxx.py", "]a.py", "forward.c", "zzzzzzzzzzzz.py", "")
        events = [{**event("alloc", 4096 * (i + 1), 512), "frames": [{"name": "", "filename": name, "line": 0}]}
                  for i, name in enumerate(names)]
        path = self.write(snapshot(events))
        for text in self.fine:
            done = self.strata("report", "--json", "--top=0", f"--filter=/{text}/c", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            got = sum(row["count"] for row in json.loads(done.stdout)["devices"][0]["top_at_peak"])
            expression = text.replace("[]a-z]", "[\\]a-z]").replace("[[:alpha:]]", "[A-Za-z]").replace("\\d*", "d*")
            self.assertEqual(got, sum(re.search(expression, f"{name} ") is not None for name in names), text)

    def test_characters_that_control_a_terminal(self):
        path = self.write(snapshot([event("alloc", 4096, 512)]))
        for text in ("\u202e", "\u2066x", "\u061c", "\u200f", "\x1b[31m", "\x7f", "\x9b1m", "\u2028", "\udcff", "\udce2\udc80"):
            for words in (["report", text], [text], ["png", f"--from={text}"], ["html", f"--own={text}"], ["report", f"--filter=size:{text}"],
                          ["check", "--rule", f"category.{text} < 5MiB"], ["check", "--rule", text], ["batch", "-o", "b", "--shard", text],
                          ["plan", f"--set={text}"], ["diff", f"{path}#{text}"], ["html", "-f", "-o", text]):
                with self.subTest(text=ascii(text), words=words[:2]):
                    done = self.strata(*words, path)
                    self.assertIn(done.returncode, (0, 1, 2), done.stderr)
                    said = (done.stdout + done.stderr).decode()  # valid UTF-8
                    self.assertIsNone(STEERING.search(said), said)

    def test_names_and_texts_of_a_file(self):
        """Reports, differences and pages are valid UTF-8 without characters that control a terminal."""
        text = "\x1b[31m\u061c\u200e\u200f\u202e\u2066\x85\u2028\ufeffx"
        frames = [{"name": text, "filename": text + ".py", "line": 1}]
        value = pickle.dumps({**snapshot([{**event("alloc", 4096, 512), "frames": frames}]), "title": text}, 4)
        for name in ("\x1b\n\x9b\u061c\u200f\u202ea", "\udcff\udcfe<b>&"):
            path = self.write(value, f"{name}.pickle")
            for words in (["report"], ["report", "--markdown"], ["report", "--json"], ["plan"], ["plan", "--markdown"],
                          ["html", "-o", "-"], ["diff", path], ["diff", "--markdown", path], ["check", "--rule", "peak < 1GiB"],
                          ["check", "--format=junit", "--rule", "peak < 1MiB"], ["check", "--format=github", "--rule", "peak < 1MiB"]):
                with self.subTest(name=ascii(name), words=words[:2]):
                    done = self.strata(*words, path)
                    self.assertIn(done.returncode, (0, 3), done.stderr)
                    self.assertIsNone(STEERING.search(re.sub("\n *", " ", (done.stdout + done.stderr).decode())))
            for page, words in (("d.html", ["diff", path]), ("w.html", ["plan"])):
                self.strata(*words, path, "-f", "-o", page)
                self.assert_steers_nothing((self.folder / page).read_text(), page)

    def planted(self):
        """A run that runs out of memory and in which every text is hostile."""
        value = pickle.loads((ROOT / "samples" / "oom.pickle").read_bytes())
        for trace in value["device_traces"]:
            for i, row in enumerate(trace):
                row["user_metadata"], row["category"] = HOSTILE[i % len(HOSTILE)], HOSTILE[(i + 1) % len(HOSTILE)]
                row["frames"] = [{**frame, "name": frame["name"] + HOSTILE[len(frame["name"]) % len(HOSTILE)], "filename": HOSTILE[i % len(HOSTILE)] + "/" + frame["filename"]}
                                 for frame in row["frames"]]
        return self.write(value, "planted.pickle")

    def test_every_text_is_hostile(self):
        """Plans, exports and quotations of logs; each format is read by a reader of its own."""
        path = self.planted()
        for words in (["report"], ["report", "--markdown"], ["plan"], ["plan", "--markdown"], ["plan", "--json"], ["plan", "-o", "p.html"],
                      ["batch", "-o", "b"]):
            done = self.strata(*words, path)
            self.assertEqual(0, done.returncode, (words, done.stderr))
            self.assert_steers_nothing((done.stdout + done.stderr).decode(), words)
        for page in (self.folder / "p.html", self.folder / "b" / "index.html"):
            self.assert_steers_nothing(page.read_text(), page)
        for kind in ("csv", "sqlite", "folded", "pprof", "perfetto"):
            done = self.strata("export", "--to", kind, "-f", "-o", f"out.{kind}", path)
            self.assertEqual(0, done.returncode, (kind, done.stderr))
        rows = list(csv.reader(io.StringIO((self.folder / "out.csv").read_bytes().decode(), newline="")))
        for cell in (cell for row in rows for cell in row):
            self.assert_steers_nothing(cell, cell)
            self.assertNotRegex(cell, r"\A[=+@]")  # a spreadsheet would evaluate it as a formula
        for line in (self.folder / "out.folded").read_text().splitlines():
            self.assertRegex(line, r"\A[^\0-\x1f\x7f]+ \d+\Z")
        base = sqlite3.connect(self.folder / "out.sqlite")
        self.addCleanup(base.close)
        self.assertEqual([("ok",)], base.execute("pragma integrity_check").fetchall())

    def test_every_line_is_hostile(self):
        """Names of hosts, and quotations of logs."""
        lines = [line for i, text in enumerate(HOSTILE) for line in (
            f"{text} [rank{i}]: step: {i} memory: {10 + i}.5GiB(50.00%)", f'  File "/x/{text}.py", line 3, in {text}', f"{text}: Killed process {i} ({text}) anon-rss:{i}5678kB",
            f"{text} torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU {i} has a total capacity of 79.15 GiB of which 1.1 GiB is free. {text}")]
        path = self.write("\n".join(lines).encode(), "a.log")
        for words in (["report"], ["report", "--markdown"], ["report", "--json"], ["check", "--rule", "peak < 1MiB"], ["html", "-o", "l.html"]):
            done = self.strata(*words, path)
            self.assertIn(done.returncode, (0, 3), (words, done.stderr))
            self.assert_steers_nothing((done.stdout + done.stderr).decode(), words)
        self.assert_steers_nothing((self.folder / "l.html").read_text(), "the page of a log")

    def test_standard_input_twice(self):
        value = pickle.dumps(snapshot([event("alloc", 4096, 512)]), 4)
        for words in (["diff", "-", "-"], ["check", "--rule", "peak < 1GiB", "-", "-"], ["report", "-", "-", "-o", "x"]):
            done = self.strata(*words, input=value)
            self.assertEqual((done.returncode, b"standard input can be read only once" in done.stderr), (2, True), done.stderr)

    def test_too_few_files(self):
        """The process may open as many files as the dynamic linker needs, and one fewer than the reader needs."""
        path = self.write(snapshot([event("alloc", 4096, 512)]))
        done = self.strata("report", path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot read: Too many open files", done.stderr)

    def test_a_batch_with_too_few_files(self):
        """Every message names the lack of files or stays true despite it, and existing files stay complete."""
        self.folder.joinpath("in").mkdir()
        for rank in range(2):
            self.write(snapshot([event("alloc", 4096, 512)]), f"in/rank{rank}.pickle")
        named = ["in/rank0.pickle", "in/rank1.pickle"]
        self.assertEqual(self.strata("batch", "in", "-o", "good").returncode, 0)
        for most in range(4, 13):
            for words in (["in"], ["in", "-f"], ["in", "-f", "-j1"], named, [*named, "-f"], [*named, "--resume"]):
                for there in (False, True):
                    with self.subTest(most=most, words=words, there=there):
                        shutil.rmtree(self.folder / "out", ignore_errors=True)
                        if there:
                            shutil.copytree(self.folder / "good", self.folder / "out")
                        done = self.strata("batch", *words, "-o", "out",
                                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
                        told = done.stderr.decode()
                        self.assertIn(done.returncode, (0, 1, 4), told)
                        self.assertEqual(done.returncode != 0, "Too many open files" in told, told)
                        self.assertNotIn("is not Strata's", told)
                        self.assertNotRegex(told, "other files? (was|were) seen")
                        self.whole_or_absent()

    def whole_or_absent(self):
        out = self.folder / "out"
        for path in out.rglob("*") if out.exists() else ():
            self.assertFalse(path.name.startswith("."), path)
            if path.suffix == ".json":
                json.loads(path.read_text())
            elif path.is_file():
                text = path.read_text()
                self.assertTrue(text.rstrip().endswith("</html>") if path.suffix == ".html" else text.endswith("\n"), path)

    def test_a_batch_replaces_foreign_files_if_forced(self):
        """--force replaces foreign files among the results, records included, as the message of the refusal says."""
        path = self.write(snapshot([event("alloc", 4096, 512)]))
        for name in ("index.html", "summary.json"):
            with self.subTest(name):
                (self.folder / "out" / "shards").mkdir(parents=True, exist_ok=True)
                (self.folder / "out" / name).write_text("mine")
                done = self.strata("batch", path, "-o", "out")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(b"is not Strata's; -f replaces it", done.stderr)
                self.assertEqual((self.folder / "out" / name).read_text(), "mine")
                self.assertEqual(self.strata("batch", path, "-o", "out", "-f").returncode, 0)
                self.assertNotEqual((self.folder / "out" / name).read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
