#!/usr/bin/env python3
"""Recordings that nobody's program writes, and what every verb makes of them: figures that are right, or a refusal that
says why. Never a crash, never a hang.

Environment: STRATA, path of the program (default: build/release/strata); hostile_test.py CASE... runs some only.
"""

import base64
import json
import os
import pathlib
import pickle
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
TIMEOUT_S = 60
MIB = 1 << 20

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
    """The page with `change` applied to what the one-piece section of this type says (docs/payload.md)."""
    before, payload, after = re.split(rb'(?<=id="payload">)([A-Za-z0-9+/=]*)(?=</script>)', page)
    payload = base64.b64decode(payload)
    n_sections, n_pieces = struct.unpack_from("<II", payload, 8)
    sections = [struct.unpack_from("<HHIII", payload, 16 + 16 * i) for i in range(n_sections)]
    pieces = [struct.unpack_from("<II", payload, 16 + 16 * n_sections + 8 * i) for i in range(n_pieces)]
    at, wanted, first = 16 + 16 * n_sections + 8 * n_pieces, None, 0
    head, packed = payload[:16 + 16 * n_sections], []
    for section in sections:
        wanted = first if section[0] == of_type else wanted
        first += section[4]
    for number, (_, nbytes) in enumerate(pieces):
        packed.append(payload[at:at + nbytes])
        at += nbytes
        if number == wanted:
            packed[-1] = zlib.compress(change(zlib.decompress(packed[-1])))
    entries = b"".join(struct.pack("<II", raw, len(piece)) for (raw, _), piece in zip(pieces, packed))
    return before + base64.b64encode(head + entries + b"".join(packed)) + after


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

    def every_verb(self, value, name="s.pickle"):
        """Runs all verbs; each answers 0, or 1 with a message. Answers what the JSON report says; None: refused."""
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
            self.assertIn(b"8 EiB", self.strata("report", "s.pickle", *words).stdout.replace(b"\xc2\xa0", b" "))

    def test_a_small_part_of_2_to_63(self):
        """Once a division by zero."""
        sizes = [(1 << 62), (1 << 62) - 512, 512]
        events = [event("alloc", (i + 1) << 32, size) for i, size in enumerate(sizes)]
        events[2]["frames"] = [{"name": "backward", "filename": "train.py", "line": 9}]
        self.assertEqual(self.every_verb(snapshot(events))["devices"][0]["peak_bytes"], 1 << 63)
        self.assertIn(b"<1 %", self.strata("report", "s.pickle").stdout)

    def test_a_page_that_says_so(self):
        """A page of sizes that fit, changed by hand: who reads a page checks them as well."""
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
    """A run that tries again and again: the report once took time by the square of the events."""

    def test_a_quarter_of_a_million(self):
        n, where = 250_000, [{"name": "forward", "filename": "train.py", "line": 41}]
        trace, live, pending, wanted = [], 0, 0, []
        for i in range(n):
            # Every allocation is freed at once, and completes three events later: it waits meanwhile.
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
        text = self.strata("report", path).stdout.decode()
        self.assertEqual(text.count("Out of memory after event"), 6)
        self.assertIn("Not listed: 249,994 more out-of-memory events before the last one", text)
        for words in (["png"], ["html"]):
            self.assertEqual(self.strata(*words, path, "-f", "-o", "out.bin").returncode, 0)


if __name__ == "__main__":
    unittest.main()
