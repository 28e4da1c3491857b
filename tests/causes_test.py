#!/usr/bin/env python3
"""What is older than the recording and what makes a peak, against runs whose truth is known (twins.py).

    STRATA=path/to/strata causes_test.py

1. The front of a complete recording is cut off: what was made before the cut has the category that its ledger says.
2. The optimizer's temporaries: the peak without them is that of the same events without them.
3. The next step's peak, said of one step, is that of the second step of the same program.
4. A full buffer is told from a recording that is complete; `strata check` then trusts no limit on the peak.
"""

import collections
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import twins  # noqa: E402
from twins import Twin  # noqa: E402

STRATA = os.environ.get("STRATA", "strata")
STYLES = (("mixed", "posix", "profiler"), ("python", "posix", "none"), ("mixed", "windows", "none"), ("python", "windows", "profiler"))


def device_of(snapshot):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "run.pickle")
        path.write_bytes(pickle.dumps(snapshot, protocol=4))
        done = subprocess.run([STRATA, "report", "--json", "--top", "1", str(path)], capture_output=True, timeout=120, check=True)
        return json.loads(done.stdout)["devices"][0]


def cut(snapshot, events):
    """As if recording had begun after so many events: what was made before it has no stack."""
    segments = [{**segment, "blocks": [{**block, "frames": []} for block in segment["blocks"]]} for segment in snapshot["segments"]]
    return {**snapshot, "segments": segments, "device_traces": [trace[events:] for trace in snapshot["device_traces"]]}


def plays(shape="plain", steps=3):
    for number, (stacks, paths, annotations) in enumerate(STYLES):
        yield twins.record(Twin(shape=shape, steps=steps, stacks=stacks, paths=paths, annotations=annotations,
                                layers=(2, 6)[number % 2], rows=(2, 16)[number // 2], seed=number + 5), False)


def found(device, kind):
    return next((each for each in device["findings"] if each["kind"] == kind), None)


class Older(unittest.TestCase):
    def check(self, played, at):
        device, labels = device_of(cut(played.snapshot, at)), played.world.labels()
        peak = device["peak_event"] + at
        truth = collections.Counter()
        for each in played.world.allocations:
            if each.birth < at and (each.death is None or each.death > peak):
                truth[min(labels[each.device, each.birth])] += each.size
        said = {each["category"]: each["older_bytes"] for each in device["categories_at_peak"] if each["older_bytes"]}
        whole = sum(truth.values())
        right = sum(min(said.get(category, 0), nbytes) for category, nbytes in truth.items())
        wrong = sum(max(0, nbytes - truth[category]) for category, nbytes in said.items() if category != "other")
        self.assertEqual(sum(said.values()), whole)
        self.assertGreaterEqual(right, whole * 0.9, (said, truth))
        self.assertLessEqual(wrong, whole * 0.01, (said, truth))
        return device

    def test_cut_fronts(self):
        for played in plays():
            starts = [phase.begin for phase in played.world.phases if phase.kind == "data"]
            for at in (starts[1], starts[2]):  # between two steps
                with self.subTest(played.twin.words(), at=at):
                    device = self.check(played, at)
                    self.assertEqual(device["older"]["source"], "gradients")
                    self.assertEqual(device["older"]["copies"], 3)
                    self.assertEqual(sum(part["bytes"] for part in device["peak_made_of"]["parts"]), device["peak_bytes"])


class Peaks(unittest.TestCase):
    def test_the_optimizers_temporaries(self):
        named = 0
        for played in plays():
            finding, labels = found(device_of(played.snapshot), "optimizer_temporaries"), played.world.labels()
            curve, change = list(played.curve), [0] * (len(played.curve) + 1)
            for each in played.world.allocations:
                if each.phase.kind == "optimizer" and labels[each.device, each.birth] == {"temporary"}:
                    change[each.birth] -= each.size
                    change[each.death + 1] += each.size
            without, now = [], 0
            for live, delta in zip(curve, change):
                now += delta
                without.append(live + now)
            saves = max(curve) - max(without)
            with self.subTest(played.twin.words()):
                if saves * 100 < max(curve) * 3:
                    self.assertIsNone(finding)
                    continue
                named += 1
                self.assertEqual(finding["implementation"], "foreach")
                self.assertLessEqual(abs(finding["saves_peak_bytes"] - saves), saves // 50)
                self.assertTrue(finding["detail"].endswith(finding["action"]))
        self.assertGreater(named, 0)

    def test_the_next_step(self):
        for one, two in zip(plays(steps=1), plays(steps=2)):
            device = device_of(one.snapshot)
            truth = max(two.curve)
            with self.subTest(one.twin.words()):
                finding = found(device, "next_step_peak")
                if truth * 100 <= max(one.curve) * 101:
                    self.assertIsNone(finding)
                    continue
                self.assertLessEqual(abs(finding["expected_peak_bytes"] - truth), truth // 50)
                self.assertIsNone(finding["saves_peak_bytes"])
            self.assertIsNone(found(device_of(two.snapshot), "next_step_peak"))

    def test_a_full_buffer(self):
        played = next(plays(steps=40))
        trace = played.snapshot["device_traces"][0]
        self.assertGreater(len(trace), 10000)
        full = device_of(cut(played.snapshot, len(trace) - 10000))
        self.assertEqual(found(full, "history_full")["max_entries"], 10000)
        self.assertEqual(found(full, "history_full")["bytes"], -1)
        for snapshot in (cut(played.snapshot, len(trace) - 10001), {**played.snapshot, "device_traces": [trace[:10000]]}):
            self.assertIsNone(found(device_of(snapshot), "history_full"))


if __name__ == "__main__":
    unittest.main()
