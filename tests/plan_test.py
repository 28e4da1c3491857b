"""strata plan: what a sample that ran out of memory needs, by figures that its own simulator confirms."""

import json
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
SAMPLES = ROOT / "samples"


def run(*words):
    return subprocess.run([STRATA, "plan", *map(str, words)], capture_output=True)


def answer(*words):
    done = run("--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["devices"]


class Plan(unittest.TestCase):
    def test_out_of_memory(self):
        device, = answer(SAMPLES / "oom.pickle")
        self.assertEqual("no", device["fits"])
        self.assertTrue(device["recorded"]["ended_by_oom"])
        self.assertEqual({4}, {blocks["n"] for blocks in device["blocks"]})
        first = device["plans"][0]
        # The simulator on a device of that size: with one block the same request fails, with two the step runs to its end.
        self.assertEqual(["checkpoint:2"], first["changes"])
        self.assertEqual(("time", "model", "with_retries"), (first["cost"], first["certainty"], first["fits"]))
        self.assertLessEqual(first["live_peak_bytes_max"], device["budget"]["used_bytes"])

    def test_changes(self):
        device, = answer(SAMPLES / "oom.pickle")
        figures = device["as_recorded"]
        for change in device["changes"]:
            if change["certainty"] == "bound":
                self.assertIsNone(change["live_peak_bytes_max"])
                continue
            self.assertLessEqual(change["live_peak_bytes_min"], change["live_peak_bytes_max"])
            self.assertLessEqual(change["peak_reserved_bytes_min"], change["peak_reserved_bytes_max"])
            self.assertEqual(figures["live_peak_bytes_max"] - change["live_peak_bytes_max"], change["saves_peak_bytes"])
        self.assertIn("expandable_segments:True", device["changes"][0]["id"])

    def test_as_recorded_is_what_whatif_says(self):
        for name in ("oom.pickle", "train.pickle", "leak_zero_grad.pickle", "streams.pickle"):
            done = subprocess.run([STRATA, "whatif", "--json", SAMPLES / name], capture_output=True, check=True)
            for plan, whatif in zip(answer(SAMPLES / name), json.loads(done.stdout)["devices"]):
                if plan["refused"] is not None:
                    continue
                scenario = whatif["scenarios"][0]
                self.assertEqual(scenario["peak_reserved_bytes_min"], plan["as_recorded"]["peak_reserved_bytes_min"])
                self.assertEqual(scenario["peak_reserved_bytes_max"], plan["as_recorded"]["peak_reserved_bytes_max"])

    def test_a_large_device_needs_nothing(self):
        device, = answer("--gpu", "80GiB", SAMPLES / "oom.pickle")
        self.assertEqual("yes", device["fits"])
        self.assertEqual(([], None), (device["plans"], device["nearest"]))

    def test_nothing_fits(self):
        device, = answer("--gpu", "1GiB", SAMPLES / "oom.pickle")
        self.assertEqual([], device["plans"])
        self.assertGreater(device["nearest"]["lacking_bytes"], 0)

    def test_left_out(self):
        every = {change["id"].split(":")[0] for change in answer(SAMPLES / "oom.pickle")[0]["changes"]}
        self.assertEqual({"settings", "optimizer", "checkpoint", "state", "offload", "micro_batch"}, every)
        device, = answer("--without", "expandable_segments,fused,checkpoint", "--without=eight_bit", SAMPLES / "oom.pickle")
        self.assertEqual(["offload:state", "micro_batch:2"], [change["id"] for change in device["changes"]])
        self.assertEqual(["offload:state"], device["plans"][0]["changes"])

    def test_what_is_kept_for_others(self):
        used = [answer("--gpu", "8GiB", *more, SAMPLES / "oom.pickle")[0]["budget"]["used_bytes"]
                for more in ((), ("--keep", "0"), ("--keep=10%",), ("--keep", "1GiB"))]
        self.assertEqual([(8 << 30) - (8 << 30) * 2 // 100, 8 << 30, (8 << 30) - (8 << 30) // 10, 7 << 30], used)

    def test_without_retries(self):
        device, = answer(SAMPLES / "oom.pickle")
        plan = device["plans"][0]
        if plan["without_retries"] is not None:
            blocks = int(plan["without_retries"][0].split(":")[1])
            self.assertGreater(blocks, 2)

    def test_what_is_wrong(self):
        self.assertEqual(2, run("--without", "nothing", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--gpu=1GiB", "--keep=1GiB", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--gpu=1GiB", "--keep=100%", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--ranks", "1", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run(SAMPLES / "oom.pickle", "-o", "plan.png").returncode)
        self.assertEqual(1, run(SAMPLES / "missing.pickle").returncode)
        self.assertEqual(0, run(SAMPLES / "one_event.pickle").returncode)

    def test_same_bytes(self):
        self.assertEqual(run("--json", SAMPLES / "oom.pickle").stdout, run("--json", SAMPLES / "oom.pickle").stdout)


if __name__ == "__main__":
    unittest.main()
