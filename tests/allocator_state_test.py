#!/usr/bin/env python3
"""Segments and blocks at random events: compared with a plain replay of the file, and checked for what holds in every
state."""

import os
import random
import re
import subprocess
import unittest
from pathlib import Path

import replay
from allocator_test import CORPUS, answer, planned, run

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
STATE_DUMP = os.environ["STATE_DUMP"]
CHOSEN = 12  # events that are looked at for each device
LARGEST = 8 << 20  # bytes; larger files of the corpus are left out

# Files that contradict themselves, according to their manifest.
CONTRADICT = {"segments_mismatch_trace.pickle", "streams_compile_context.pickle"}


def states(path, ordinal, events):
    """{event: (segments, blocks)} from strata, both in order of address."""
    dump = subprocess.run([STATE_DUMP, "--blocks", path, str(ordinal), *map(str, events)], capture_output=True)
    if dump.returncode != 0:
        raise AssertionError(dump.stderr.decode())
    found = {}
    for line in dump.stdout.decode().splitlines():
        kind, *rest = line.split()
        if kind == "event":
            segments, blocks = found.setdefault(int(rest[0]), ([], []))
        elif kind == "segment":
            segments.append((int(rest[0]), int(rest[1])))
        else:
            blocks.append((int(rest[0]), int(rest[1]), rest[2], int(rest[3])))
    return found


class States(unittest.TestCase):
    def check_tiling(self, segments, blocks):
        """Blocks cover their segments and nothing else; no two free ones stand side by side."""
        at = 0
        for address, size in segments:
            reached, was_free = address, False
            while at < len(blocks) and blocks[at][0] < address + size:
                self.assertEqual(reached, blocks[at][0])
                self.assertGreater(blocks[at][1], 0)
                free = blocks[at][2] == "free"
                self.assertFalse(free and was_free, f"two free blocks at {reached:#x}")
                reached, was_free, at = reached + blocks[at][1], free, at + 1
            self.assertEqual(address + size, reached)
        self.assertEqual(len(blocks), at)
        self.assertEqual(segments, sorted(segments))
        for (address, size), (other, _) in zip(segments, segments[1:]):
            self.assertLessEqual(address + size, other)

    def check_file(self, path):
        """Checks the file at random events; returns how many states it checked."""
        refused = {device["device"] for device in answer("report", "--json", path)["devices"]
                   if not device["fragmentation_at"]}
        count = 0
        for device in replay.read_devices(path):
            if device.ordinal in refused or device.n_events == 0:
                continue
            events = sorted({random.Random(f"{path.name}{i}").randrange(device.n_events) for i in range(CHOSEN)})
            for event, (segments, blocks) in states(path, device.ordinal, events).items():
                with self.subTest(path=path.name, device=device.ordinal, event=event):
                    self.check_tiling(segments, blocks)
                    self.assertEqual(device.reserved[event + 1], sum(size for _, size in segments))
                    used = [(address, requested) for address, _, kind, requested in blocks if kind != "free"]
                    alive = sorted((allocation.address, allocation.size) for allocation, _ in device.alive_at(event + 1))
                    self.assertEqual(alive, used)
                    self.assertLessEqual(sum(requested for _, requested in used),
                                         sum(size for _, size, kind, _ in blocks if kind != "free"))
                    count += 1
        return count

    def test_samples(self):
        self.assertGreater(sum(self.check_file(path) for path in sorted(SAMPLES.glob("*.pickle"))), 200)

    @unittest.skipUnless(os.environ.get("STRATA_CORPUS"), "skipped: no corpus")
    def test_corpus(self):
        count = 0
        for path in sorted(CORPUS.iterdir()):
            if path.suffix not in (".pickle", ".pkl") or path.name in CONTRADICT or path.stat().st_size > LARGEST:
                continue
            try:
                replay.read_devices(path)
            except Exception:  # other tests cover files that CPython's unpickler cannot read
                continue
            count += self.check_file(path)
        self.assertGreater(count, 200)


@unittest.skipUnless(os.environ.get("STRATA_CORPUS"), "skipped: no corpus")
class Retries(unittest.TestCase):
    """Given only the budget in bytes, the model retries where the recording did."""

    def test_a_recorded_retry_happens_within_its_bounds_and_not_above(self):
        path = CORPUS / "flush_before_request.pickle"
        device, _ = planned(path)
        low, high = device["budget"]["at_least_bytes"], device["budget"]["at_most_bytes"]
        self.assertEqual(("with_retries", 1, low), (device["fits"], device["as_recorded"]["retries"], device["budget"]["bytes"]))
        for budget, retries in ((low, 1), ((low + high) // 2, 1), (high, 1), (high + 1, 0)):
            recorded = planned(path, 0, "--gpu", budget, "--keep", 0)[1]["recorded"]
            self.assertEqual((retries, "with_retries" if retries else "yes"), (recorded["retries"], recorded["fits"]), budget)

    def test_a_recorded_failure_is_predicted_at_both_bounds(self):
        path = CORPUS / "oom_expandable_4dev.pickle"
        device, _ = planned(path, 1)
        for budget in ("at_least_bytes", "at_most_bytes"):
            self.assertEqual("no", planned(path, 1, "--gpu", device["budget"][budget], "--keep", 0)[0]["fits"])


if __name__ == "__main__":
    unittest.main()
