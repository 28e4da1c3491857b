#!/usr/bin/env python3
"""Strata must say that a recording cannot be complete or true if it cannot, and must not say so of a sound one.

    STRATA=path/to/strata [STRATA_CORPUS=folder] trust_test.py

This test removes events from simulated recordings; the replay in replay.py finds what Strata has to note.
"""

import dataclasses
import gzip
import json
import os
import pathlib
import pickle
import re
import subprocess
import tempfile
import unittest

import replay
import simulate

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
CORPUS = os.environ.get("STRATA_CORPUS")
SEEDS = range(1, 41)
SEGMENT_ACTIONS = {"segment_alloc", "segment_free", "segment_map", "segment_unmap"}


def simulated(seed, **fields):
    """A complete recording of one device, but for what `fields` leave out."""
    plain = {"n_devices": 1, "ring": simulate.KEEP_ALL, "lost": 0.0, "races": False, "skipped": (), "n_steps": 300}
    return simulate.Simulation(dataclasses.replace(simulate.settings_of(seed), **{**plain, **fields})).snapshot()


class TrustTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "recording.pickle")

    def notes_of_file(self, path):
        done = subprocess.run([STRATA, "report", "--json", str(path)], capture_output=True, timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)
        return {each["code"]: each["message"] for each in json.loads(done.stdout)["diagnostics"]}

    def notes(self, content):
        self.path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content))
        return self.notes_of_file(self.path)

    def control(self, snapshot):
        self.path.write_bytes(pickle.dumps(snapshot))
        return replay.read_devices(self.path)[0]

    def number(self, pattern, message):
        found = re.search(pattern, message)
        self.assertIsNotNone(found, message)
        return int(found[1].replace(",", ""))


class Healthy(TrustTest):
    CODES = {"live_above_reserved", "trailing_bytes", "no_segment_events", "overlapping_older", "unequal_actions"}

    def test_complete_recordings_have_no_notes(self):
        """Also if the buffer was too small or recording began late, which is no contradiction."""
        for seed in SEEDS:
            for fields in ({}, {"ring": 150}, {"record_after": 200}):
                with self.subTest(seed=seed, fields=fields):
                    self.assertEqual(set(), self.CODES & self.notes(simulated(seed, **fields)).keys())

    def test_samples(self):
        for path in sorted((ROOT / "samples").glob("*.pickle")):
            with self.subTest(path.name):
                self.assertEqual(set(), self.CODES & self.notes_of_file(path).keys())


class FewAllocations(TrustTest):
    def test_two_of_one_line_are_no_turns(self):
        """A few allocations are too little to infer a loop."""
        frames = [{"name": "forward", "filename": "train.py", "line": 41}]
        for count in range(8):
            trace = [{"action": "alloc", "addr": 0x7F0000000000 + (i << 32), "size": (64 + i) << 20, "stream": 0, "time_us": i,
                      "frames": frames} for i in range(count)]
            self.path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
            done = subprocess.run([STRATA, "report", "--json", str(self.path)], capture_output=True, timeout=120)
            for device in json.loads(done.stdout)["devices"]:
                self.assertEqual(([], "none"), (device["steps"], device["judged"]["steps_from"]))
                self.assertFalse({"held_over", "leak", "growing_buffer"} & {each["kind"] for each in device["findings"]})


class Trailing(TrustTest):
    def test_bytes_are_counted(self):
        content = pickle.dumps(simulated(1))
        for tail in (b"x", b"\0" * 5000 + b"x", bytes(range(200, 256)) * 5000, b"\nx", b"\n" * 70000 + b"."):
            for form, pack in (("plain", bytes), ("gzip", gzip.compress)):
                with self.subTest(nbytes=len(tail), form=form):
                    message = self.notes(pack(content + tail))["trailing_bytes"]
                    self.assertEqual(len(tail), self.number(r"\(([\d,]+) bytes?\)", message))
                    self.assertIn("Two processes may have written", message)

    def test_a_second_pickle_is_named(self):
        one, other = pickle.dumps(simulated(1)), pickle.dumps(simulated(2))
        for form, content in (("plain", one + other), ("gzip", gzip.compress(one + other)),
                              ("members of gzip", gzip.compress(one) + gzip.compress(other))):
            with self.subTest(form):
                message = self.notes(content)["trailing_bytes"]
                self.assertIn("Another pickle follows", message)
                self.assertEqual(len(other), self.number(r"([\d,]+) bytes\)", message))

    def test_two_writers_of_one_file(self):
        """If two processes write one file, the end of the longer text remains after the shorter one."""
        shorter, longer = sorted((pickle.dumps(simulated(1)), pickle.dumps(simulated(2))), key=len)
        self.assertIn("trailing_bytes", self.notes(shorter + longer[len(shorter):]))

    def test_padding_is_ignored(self):
        for tail in (b"\0", b"\n", b"\r\n", b"\n" * 70000):
            self.assertNotIn("trailing_bytes", self.notes(pickle.dumps(simulated(1)) + tail))


class UnequalActions(TrustTest):
    def test_completions_without_requests(self):
        """Completions for allocations of the recording; the test counts them in CPython's dicts."""
        for seed in SEEDS[:10]:
            snapshot = simulated(seed)
            events = snapshot["device_traces"][0]
            born = {}
            for index, event in enumerate(events):
                if event["action"] == "alloc":
                    born[event["addr"]] = index
            gone = [i for i, event in enumerate(events) if event["action"] == "free_requested"][::7]
            snapshot["device_traces"][0] = kept = [event for i, event in enumerate(events) if i not in set(gone)]
            alive, requested, wanted = set(), set(), 0
            for event in kept:
                address = event.get("addr")
                if event["action"] == "alloc":
                    alive.add(address)
                    requested.discard(address)
                elif event["action"] == "free_requested":
                    requested.add(address)
                elif event["action"] == "free_completed":
                    wanted += address in alive and address not in requested
                    alive.discard(address)
            with self.subTest(seed=seed):
                notes = self.notes(snapshot)
                self.assertEqual(wanted != 0, "unequal_actions" in notes)
                if wanted:
                    self.assertEqual(wanted, self.number(r"^([\d,]+) frees? completed without", notes["unequal_actions"]))

    def test_one_action_left_out(self):
        for skipped, words in (("free_completed", "none completed"), ("free_requested", "none requested")):
            for seed in SEEDS[:10]:
                snapshot = simulated(seed, skipped=(skipped,))
                actions = [event["action"] for event in snapshot["device_traces"][0]]
                pending = sum(block.pending for block in self.control(snapshot).blocks)
                freed = len(set(("free_completed", "free_requested")) & set(actions)) == 1 and sum(
                    action.startswith("free_") for action in actions) > pending
                with self.subTest(seed=seed, skipped=skipped):
                    if freed:
                        self.assertIn(words, self.notes(snapshot)["unequal_actions"])


class NoSegmentEvents(TrustTest):
    def test_allocations_outside_of_segments_are_counted(self):
        n_noted = 0
        for seed in SEEDS:
            snapshot = simulated(seed, skipped=tuple(SEGMENT_ACTIONS))
            device = self.control(snapshot)
            ranges = [(replay.unsigned(segment["address"]), segment["total_size"]) for segment in snapshot["segments"]]
            outside = [allocation for allocation in device.allocations
                       if not any(start <= allocation.address < start + size for start, size in ranges)]
            above = any(live > reserved for live, reserved in zip(device.curve, device.reserved))
            wanted = bool(ranges and device.events and (outside or above))
            with self.subTest(seed=seed):
                notes = self.notes(snapshot)
                self.assertEqual(wanted, "no_segment_events" in notes)
                if wanted and outside:
                    self.assertEqual(len(outside), self.number(r"but ([\d,]+) alloc", notes["no_segment_events"]))
            n_noted += wanted
        self.assertGreater(n_noted, len(SEEDS) // 4)

    @unittest.skipUnless(CORPUS, "STRATA_CORPUS is not set")
    def test_a_real_recording(self):
        notes = self.notes_of_file(pathlib.Path(CORPUS, "streams_compile_context.pickle"))
        self.assertIn("no_segment_events", notes)
        self.assertIn("none requested", notes["unequal_actions"])


class LiveAboveReserved(TrustTest):
    def test_moment_and_amount(self):
        """Segments whose beginning is not recorded. The replay's curves show where live exceeds reserved most."""
        n_noted = 0
        for seed in SEEDS:
            snapshot = simulated(seed)
            events = snapshot["device_traces"][0]
            grown = [i for i, event in enumerate(events) if event["action"] in ("segment_free", "segment_unmap")]
            gone = set(grown[::2])
            snapshot["device_traces"][0] = [event for i, event in enumerate(events) if i not in gone]
            device = self.control(snapshot)
            excess = [live - reserved for live, reserved in zip(device.curve, device.reserved)]
            wanted = bool(device.segments) and max(excess) > 0 and any(
                event["action"] in SEGMENT_ACTIONS for event in device.events)
            with self.subTest(seed=seed):
                notes = self.notes(snapshot)
                self.assertEqual(wanted, "live_above_reserved" in notes)
                moment = excess.index(max(excess))
                if wanted and moment:
                    self.assertEqual(moment - 1, self.number(r"^After event ([\d,]+) ", notes["live_above_reserved"]))
                    self.assertEqual(max(excess), self.number(r"\(([\d,]+) bytes\)", notes["live_above_reserved"]))
                elif wanted:
                    self.assertIn("Before the first event", notes["live_above_reserved"])
            n_noted += wanted
        self.assertGreater(n_noted, 2)


class OverlappingOlder(TrustTest):
    def wanted(self, device):
        """[do older allocations overlap, how many later ones overlap an older one], by a look at every pair."""
        older = [allocation for allocation in device.allocations if allocation.birth == 0 and allocation.size]
        later = [allocation for allocation in device.allocations if allocation.birth and allocation.size]

        def overlap(a, b):
            return a.address < b.address + b.size and b.address < a.address + a.size

        return (any(overlap(a, b) for i, a in enumerate(older) for b in older[:i]),
                sum(any(overlap(a, b) and a.death > b.birth for a in older) for b in later))

    def test_allocations_that_are_not_recorded(self):
        n_noted = n_counted = 0
        for seed in SEEDS:
            for every in (2, 5, 60):
                snapshot = simulated(seed, record_after=50)
                n_alloc = 0
                kept = []
                for event in snapshot["device_traces"][0]:
                    n_alloc += event["action"] == "alloc"
                    if event["action"] != "alloc" or n_alloc % every:
                        kept.append(event)
                snapshot["device_traces"][0] = kept
                among, later = self.wanted(self.control(snapshot))
                with self.subTest(seed=seed, every=every):
                    message = self.notes(snapshot).get("overlapping_older")
                    self.assertEqual(among or later > 0, message is not None)
                    if message:
                        self.assertEqual(among, ": 0 older" not in message)
                        n_noted += 1
                    if message and not among:
                        self.assertEqual(later, self.number(r"and ([\d,]+) allocations? made in the recording", message))
                        n_counted += 1
        self.assertGreater(n_noted, len(SEEDS))
        self.assertGreater(n_counted, 3)


if __name__ == "__main__":
    unittest.main()
