#!/usr/bin/env python3
"""Series: several dumps of one process as one recording, compared with a plain replay of the union of their events.

    STRATA=path/to/strata series_test.py
"""

import copy
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

import replay

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
TIMEOUT_S = 120
FIGURES = ("events", "allocations", "preexisting", "start_bytes", "peak_bytes", "peak_event", "end_bytes", "live_at_peak")


def snapshot_of(name):
    return pickle.loads((SAMPLES / f"{name}.pickle").read_bytes())


def live_at(snapshot, event):
    """{address: (bytes, frames)} in use after `event` events of device 0, from a plain replay."""
    device = replay.devices_of(snapshot)[0]
    return {allocation.address: (allocation.size, allocation.frames) for allocation in device.allocations if allocation.birth <= event < allocation.death}


def dump_at(snapshot, event, window):
    """The dump that would have been written after `event` events with a buffer of `window` entries. Its segments are
    made from the blocks in use then."""
    trace = snapshot["device_traces"][0]
    if event == len(trace):
        segments = copy.deepcopy(snapshot["segments"])
    else:
        segments = []
        for address, (size, frames) in sorted(live_at(snapshot, event).items()):
            block = {"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": frames}
            segments.append({"device": 0, "address": address, "total_size": size, "allocated_size": size, "active_size": size,
                             "requested_size": size, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
                             "is_expandable": False, "frames": [], "blocks": [block]})
    return {"segments": segments, "device_traces": [trace[max(0, event - window):event]], "allocator_settings": {},
            "external_annotations": []}


class SeriesTest(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, dumps):
        paths = [self.folder / f"dump{i}.pickle" for i in range(len(dumps))]
        for path, dump in zip(paths, dumps):
            path.write_bytes(pickle.dumps(dump, 4))
        return paths

    def run_strata(self, *words, code=0):
        done = subprocess.run([STRATA, *map(str, words)], capture_output=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, code, done.stderr.decode(errors="replace"))
        return done

    def report(self, paths, *words):
        return json.loads(self.run_strata("report", "--json", *words, *paths, "-o", "-").stdout)

    def assert_union(self, found, union):
        device, path = found["devices"][0], self.folder / "union.pickle"
        path.write_bytes(pickle.dumps(union, 4))
        wanted = json.loads(self.run_strata("report", "--json", path).stdout)["devices"][0]
        plain = replay.devices_of(union)[0].figures()
        for key in FIGURES:
            self.assertEqual(device[key], wanted[key], key)
            if key in plain:
                self.assertEqual(device[key], plain[key], key)
        self.assertEqual([device[key] for key in ("reserved_peak_bytes", "reserved_end_bytes")],
                         [wanted[key] for key in ("reserved_peak_bytes", "reserved_end_bytes")])
        self.assertEqual({(g["site"], g["bytes"], g["count"]) for g in device["top_at_peak"]},
                         {(g["site"], g["bytes"], g["count"]) for g in wanted["top_at_peak"]})

    def assert_series(self, found, snapshot, events):
        """Compares the bytes that stayed, came and went with plain states."""
        states = [{(a, size) for a, (size, _) in live_at(snapshot, e).items()} for e in events]
        rows = found["devices"][0]["series"]
        for i, row in enumerate(rows):
            self.assertEqual(row["file"], f"dump{i}.pickle")
            self.assertEqual(row["live_bytes"], sum(size for _, size in states[i]))
            if i == 0:
                self.assertIsNone(row["stayed_bytes"])
                continue
            self.assertEqual(row["stayed_bytes"] + row["new_bytes"], row["live_bytes"])
            self.assertEqual(row["stayed_bytes"] + row["gone_bytes"], rows[i - 1]["live_bytes"])

    def test_windows_that_overlap_are_one_run(self):
        for name in ("train", "oom", "leak_graph", "streams"):
            snapshot = snapshot_of(name)
            n = len(snapshot["device_traces"][0])
            for window in (n // 2, n // 3 + 7, n):
                events = sorted({n // 3, n * 2 // 3, n})
                with self.subTest(name, window=window):
                    found = self.report(self.write([dump_at(snapshot, e, window) for e in events]))
                    union = dump_at(snapshot, n, n - max(0, events[0] - window))
                    self.assertEqual(found["kind"], "series")
                    self.assertIn("series_joined", {d["code"] for d in found["diagnostics"]})
                    self.assert_union(found, union)
                    self.assert_series(found, snapshot, events)

    def test_the_same_dump_twice_is_one(self):
        snapshot = snapshot_of("train")
        whole = dump_at(snapshot, len(snapshot["device_traces"][0]), 10**9)
        found = self.report(self.write([whole, whole]))
        self.assert_union(found, whole)
        self.assertEqual([found["devices"][0]["series"][1][k] for k in ("new_bytes", "gone_bytes")], [0, 0])

    def test_windows_with_a_gap_are_separate(self):
        snapshot = snapshot_of("train")
        n, window = len(snapshot["device_traces"][0]), 400
        events = [700, 1500, n]
        found = self.report(self.write([dump_at(snapshot, e, window) for e in events]))
        self.assertIn("series_gaps", {d["code"] for d in found["diagnostics"]})
        self.assert_series(found, snapshot, events)
        wanted = [sum(size for size, _ in live_at(snapshot, m).values()) for e in events for m in range(max(0, e - window), e + 1)]
        self.assertEqual(found["devices"][0]["peak_bytes"], max(wanted))
        self.assertEqual(found["devices"][0]["end_bytes"], wanted[-1])
        self.assertEqual(found["devices"][0]["start_bytes"], wanted[0])

    def test_states_without_history(self):
        snapshot = snapshot_of("train")
        n = len(snapshot["device_traces"][0])
        events = [700, 1500, n]
        dumps = [dump_at(snapshot, e, 0) for e in events]
        for traces in ([[]], []):  # include_traces=False leaves out the traces
            for dump in dumps:
                dump["device_traces"] = traces
            found = self.report(self.write(dumps))
            self.assert_series(found, snapshot, events)
        states = [{(a, size) for a, (size, _) in live_at(snapshot, e).items()} for e in events]
        for i in (1, 2):
            row = found["devices"][0]["series"][i]
            self.assertEqual(row["stayed_bytes"], sum(size for _, size in states[i] & states[i - 1]))
        text = self.run_strata("report", "--full", *self.write(dumps), "-o", "-").stdout.decode()
        self.assertIn("events missing", text)
        self.assertIn("New in dump1.pickle", text)

    def test_page_and_picture(self):
        snapshot = snapshot_of("train")
        n = len(snapshot["device_traces"][0])
        paths = self.write([dump_at(snapshot, e, 400) for e in (700, 1000, n)])
        page, picture = self.folder / "x.html", self.folder / "x.png"
        self.run_strata("html", *paths, "-o", page)
        self.run_strata("png", *paths, "-o", picture)
        again = json.loads(self.run_strata("report", "--json", page).stdout)
        found = self.report(paths)
        self.assertEqual(again["kind"], "series")
        self.assertEqual(again["devices"], found["devices"])

    def test_dumps_that_cannot_belong_together_are_refused(self):
        train, two = SAMPLES / "train.pickle", self.folder / "other.pickle"
        other = snapshot_of("train")
        other["device_traces"] = [[], [], other["device_traces"][0]]
        for segment in other["segments"]:
            segment["device"] = 2
        two.write_bytes(pickle.dumps(other, 4))
        for paths, words in (((train, two), b"no device in common"), ((train, SAMPLES / "log_oom_old.log"), b"not a memory snapshot"),
                             ((train, SAMPLES / "cpu_train.trace.json.gz"), b"not a memory snapshot")):
            self.assertIn(words, self.run_strata("report", *paths, "-o", "-", code=1).stderr)
        snapshot = snapshot_of("train")
        early, late = self.write([dump_at(snapshot, 500, 100), dump_at(snapshot, 900, 100)])
        self.assertIn(b"oldest first", self.run_strata("report", late, early, "-o", "-", code=1).stderr)
        self.assertIn(b"-o", self.run_strata("report", early, late, code=2).stderr)
        self.run_strata("report", early, self.folder / "missing.pickle", "-o", "-", code=1)


if __name__ == "__main__":
    unittest.main()
