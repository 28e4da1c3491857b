#!/usr/bin/env python3
"""Strata's figures on real snapshots and on the samples.

    STRATA=path/to/strata [STRATA_CORPUS=folder with MANIFEST.json] corpus_test.py

The manifest of the corpus holds figures from an independent reader; samples are compared with replay.py.
"""

import gzip
import json
import os
import pathlib
import pickle
import subprocess
import sys
import unittest

import replay

SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "samples"
MANIFEST_NAMES = {
    "reserved_start": "reserved_start_bytes",
    "reserved_peak": "reserved_peak_bytes",
    "reserved_end": "reserved_end_bytes",
}
CORPUS = os.environ.get("STRATA_CORPUS")


def report(path):
    command = [os.environ["STRATA"], "report", "--json", "--top", "0", str(path)]
    done = subprocess.run(command, capture_output=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"strata report exits {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    return json.loads(done.stdout)


class FigureTest(unittest.TestCase):
    maxDiff = 2000

    def check(self, wanted, got):
        """Compares every figure of `wanted` with a device's object in the report."""
        self.assertEqual(wanted, {name: got.get(name) for name in wanted})

    def check_replay(self, path):
        devices = replay.read_devices(path)
        got = report(path)["devices"]
        self.assertEqual([device.ordinal for device in devices], [device["device"] for device in got])
        for device, figures in zip(devices, got):
            with self.subTest(device=device.ordinal):
                self.check(device.figures(), figures)
                self.assertEqual(device.ooms(), figures["oom"])
                self.assertEqual(figures["peak_bytes"], sum(group["bytes"] for group in figures["top_at_peak"]))
                self.assertEqual(figures["live_at_peak"], sum(group["count"] for group in figures["top_at_peak"]))


@unittest.skipUnless(CORPUS, "STRATA_CORPUS is not set")
class CorpusTest(FigureTest):
    def test_figures_of_the_manifest(self):
        manifest = json.loads(pathlib.Path(CORPUS, "MANIFEST.json").read_text())
        checked = 0
        for entry in manifest:
            if "devices" not in entry:
                continue
            with self.subTest(file=entry["file"]):
                path = pathlib.Path(CORPUS, entry["file"])
                got = {device["device"]: device for device in report(path)["devices"]}
                for device in entry["devices"]:
                    wanted = {MANIFEST_NAMES.get(name, name): value for name, value in device.items()}
                    self.check(wanted, got[device["device"]])
                    checked += 1
                self.check_replay(path)
        self.assertGreaterEqual(checked, 19)

    def test_segments_without_a_trace(self):
        """A snapshot whose root is a list, as torch 1.13 and torch.cuda.memory_snapshot() return it."""
        self.check_replay(pathlib.Path(CORPUS, "segments_list_root.pkl"))


def is_snapshot(path):
    """Can the plain reader read the file? Other tests cover samples of other kinds and broken ones."""
    try:
        snapshot = replay.read_snapshot(path)
        return "traceEvents" not in snapshot and isinstance(snapshot.get("device_traces", []), list)
    except (pickle.UnpicklingError, gzip.BadGzipFile, EOFError, ValueError, KeyError, IndexError, AttributeError, TypeError):
        return False


class SampleTest(FigureTest):
    def test_samples_equal_the_replay(self):
        samples = [path for path in sorted(SAMPLES.iterdir()) if path.suffix != ".py" and path.is_file()]
        snapshots = [path for path in samples if is_snapshot(path)]
        self.assertGreaterEqual(len(snapshots), 5, "samples/ has lost its snapshots")
        for path in snapshots:
            with self.subTest(sample=path.name):
                self.check_replay(path)


if __name__ == "__main__":
    if not CORPUS:
        print("skipped: the corpus (STRATA_CORPUS is not set)", file=sys.stderr)
    unittest.main()
