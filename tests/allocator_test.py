#!/usr/bin/env python3
"""The allocator's replay and strata whatif against figures of an earlier, independent implementation and of PyTorch's own."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
STRATA = os.environ["STRATA"]
CORPUS = Path(os.environ.get("STRATA_CORPUS", ""))
GIB = 1 << 30


def run(*words):
    return subprocess.run([STRATA, *map(str, words)], capture_output=True, check=False)


def answer(*words):
    done = run(*words)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return json.loads(done.stdout)


def whatif(path, device=0, *words):
    found = answer("whatif", "--json", "-d", device, *words, path)["devices"]
    assert len(found) == 1
    return found[0], {scenario["name"]: scenario for scenario in found[0]["scenarios"]}


@unittest.skipUnless(os.environ.get("STRATA_CORPUS"), "skipped: no corpus")
class Corpus(unittest.TestCase):
    # (file, device): most reserved in GiB, driver allocations and releases; None: any
    RECORDED = {
        ("compile_context_annotations.pickle", 0): (1.768, None, None),
        ("octree_unet.pickle", 0): (22.734, None, None),
        ("oom_expandable_4dev.pickle", 0): (7.955, None, None),
        ("oom_expandable_4dev.pickle", 1): (78.420, None, None),
        ("oom_expandable_4dev.pickle", 2): (20.381, None, None),
        ("pytorch_blog_resnet50.pickle", 0): (0.549, None, None),
        ("ring_buffer_full_10000.pickle", 0): (19.254, None, None),
        ("ten_streams_no_time_us.pickle", 0): (20.973, None, 579),
        ("torch2.11_training.pickle", 0): (6.738, None, None),
        ("train_51gib_unmatched_frees.pickle", 0): (62.465, 678, 0),
        ("train_segment_free.pickle", 0): (56.914, 782, 430),
    }
    # peaks in GiB
    MODELLED = {
        ("train_51gib_unmatched_frees.pickle", 0): {
            "expandable_segments:True": 52.988, "default": 62.465, "roundup_power2_divisions:4": 68.363,
            "roundup_power2_divisions:8": 64.252, "large_segment_size_mb:64": 58.293, "max_split_size_mb:128": 62.465,
            "expandable_segments:True,roundup_power2_divisions:8": 54.824},
        ("compile_context_annotations.pickle", 0): {"expandable_segments:True": 1.686, "max_split_size_mb:128": 1.893},
        ("oom_expandable_4dev.pickle", 0): {"default": 8.617, "recorded": 7.955, "max_split_size_mb:128": 10.475},
        ("octree_unet.pickle", 0): {"expandable_segments:True": 22.287, "large_segment_size_mb:64": 22.734},
        ("ten_streams_no_time_us.pickle", 0): {"expandable_segments:True": 20.629, "max_split_size_mb:128": 22.941},
    }
    BOUNDS = {
        ("train_51gib_unmatched_frees.pickle", 0): (51.324, 51.352),
        ("octree_unet.pickle", 0): (15.167, 15.169),
        ("ten_streams_no_time_us.pickle", 0): (19.374, 19.375),
        ("compile_context_annotations.pickle", 0): (1.661, 1.685),
        ("oom_expandable_4dev.pickle", 0): (7.876, 7.879),
    }

    def test_every_recording_is_exact_or_refused_with_its_reason(self):
        refused = {"streams_compile_context.pickle": "outside of the recording's segments"}
        for path in sorted(CORPUS.iterdir()):
            done = run("report", "--json", path)
            if path.name == "MANIFEST.json" or done.returncode != 0:
                continue
            report = json.loads(done.stdout)
            for device in report["devices"]:
                with self.subTest(path=path.name, device=device["device"]):
                    replay = device["replay"]
                    if report["kind"] != "snapshot":
                        self.assertIn("profiler", replay["reason"])
                    elif replay["allocations"] == 0:
                        self.assertIn("no allocation", replay["reason"])
                    elif path.name in refused:
                        self.assertIn(refused[path.name], replay["reason"])
                    else:
                        self.assertEqual(("exact", None), (replay["grade"], replay["reason"]))
                        for name in ("allocations", "driver_events", "releases"):
                            self.assertEqual(replay[name], replay[name + "_exact"])
                        self.assertEqual(0, replay["reserved_max_error_bytes"])

    def test_recorded_figures(self):
        for (name, ordinal), (peak, driver_events, releases) in self.RECORDED.items():
            with self.subTest(name=name, device=ordinal):
                device, _ = whatif(CORPUS / name, ordinal)
                self.assertEqual("exact", device["replay"]["grade"])
                self.assertAlmostEqual(peak, device["recorded"]["peak_reserved_bytes"] / GIB, places=3)
                if driver_events is not None:
                    self.assertEqual(driver_events, device["replay"]["driver_events"])
                if releases is not None:
                    self.assertEqual(releases, device["replay"]["releases_exact"])

    def test_modelled_figures(self):
        for (name, ordinal), peaks in self.MODELLED.items():
            device, scenarios = whatif(CORPUS / name, ordinal)
            for scenario, peak in peaks.items():
                with self.subTest(name=name, device=ordinal, scenario=scenario):
                    low, high = (scenarios[scenario][f"peak_reserved_bytes_{which}"] / GIB for which in ("min", "max"))
                    self.assertLessEqual(low, peak + 0.0006)
                    self.assertGreaterEqual(high, peak - 0.0006)
                    self.assertLess(high - low, 0.01 * peak)
            for scenario in scenarios.values():
                self.assertLessEqual(device["bounds"]["rounded_peak_bytes"], scenario["peak_reserved_bytes_min"])

    def test_bounds(self):
        for (name, ordinal), (rounded, packed) in self.BOUNDS.items():
            with self.subTest(name=name, device=ordinal):
                bounds = whatif(CORPUS / name, ordinal)[0]["bounds"]
                self.assertAlmostEqual(rounded, bounds["rounded_peak_bytes"] / GIB, places=3)
                self.assertAlmostEqual(packed, bounds["packed_bytes"] / GIB, delta=0.006 * packed)
                self.assertLessEqual(bounds["requested_peak_bytes"], bounds["rounded_peak_bytes"])
                self.assertLessEqual(bounds["rounded_peak_bytes"], bounds["packed_bytes"])

    def test_what_would_have_fitted(self):
        device, scenarios = whatif(CORPUS / "oom_expandable_4dev.pickle", 1, "--budget")
        budget = device["budget"]
        self.assertAlmostEqual(78.420, budget["at_least_bytes"] / GIB, places=3)
        self.assertAlmostEqual(78.509, budget["at_most_bytes"] / GIB, places=3)
        self.assertAlmostEqual(83.23, device["bounds"]["rounded_peak_bytes"] / GIB, places=2)
        recorded, default = scenarios["recorded"]["oom"], scenarios["default"]["oom"]
        self.assertAlmostEqual(4.944, recorded["requested_bytes"] / GIB, places=3)
        self.assertAlmostEqual(78.420, recorded["reserved_bytes"] / GIB, places=3)
        self.assertAlmostEqual(78.290, recorded["active_bytes"] / GIB, places=3)
        self.assertAlmostEqual(70.130, default["active_bytes"] / GIB, places=2)
        self.assertLess(default["request_index"], recorded["request_index"])
        for name, smallest in (("recorded", 83.36), ("default", 88.32)):
            self.assertAlmostEqual(smallest, scenarios[name]["smallest_budget_bytes"] / GIB, delta=0.01)

    def test_the_same_program_without_its_setting(self):
        """The program of this recording was also recorded without expandable segments: it had 632 MiB reserved."""
        on, scenarios = whatif(CORPUS / "npu_multi_device.pkl", 0)
        MIB = 1 << 20
        self.assertEqual(614 * MIB, on["recorded"]["peak_reserved_bytes"])
        self.assertEqual(614 * MIB, scenarios["recorded"]["peak_reserved_bytes_max"])
        self.assertEqual(468 * MIB, scenarios["recorded"]["end_reserved_bytes"])
        self.assertEqual(632 * MIB, scenarios["expandable_segments:False"]["peak_reserved_bytes_min"])
        self.assertLessEqual(scenarios["expandable_segments:False"]["peak_reserved_bytes_max"], 636 * MIB)


class Gap(unittest.TestCase):
    """What is reserved and not in use has causes that add up to it."""

    def check(self, path):
        for device in answer("report", "--json", path)["devices"]:
            for gap in device["fragmentation_at"]:
                with self.subTest(path=path.name, device=device["device"], event=gap["event"]):
                    self.assertEqual(gap["gap_bytes"], gap["reserved_bytes"] - gap["live_bytes"])
                    self.assertEqual(gap["gap_bytes"], sum(gap["causes"].values()))
                    if device["replay"] and device["replay"]["grade"] == "exact" and path.name not in self.CONTRADICT:
                        self.assertTrue(gap["exact"])
                        self.assertEqual(0, gap["causes"]["contradictions"])
                        self.assertTrue(all(bytes >= 0 for bytes in gap["causes"].values()))

    CONTRADICT = {"segments_mismatch_trace.pickle"}

    def test_samples(self):
        for path in sorted(SAMPLES.glob("*.pickle")):
            self.check(path)

    @unittest.skipUnless(os.environ.get("STRATA_CORPUS"), "skipped: no corpus")
    def test_corpus(self):
        for path in sorted(CORPUS.iterdir()):
            if path.name != "MANIFEST.json" and run("report", "--json", path).returncode == 0:
                self.check(path)

    def test_one_block_s_rest_is_no_rounding(self):
        end = answer("report", "--json", SAMPLES / "oom.pickle")["devices"][0]["fragmentation_at"][-1]
        self.assertEqual((0, 752 << 10), (end["causes"]["rounding"], end["causes"]["unsplit_tails"]))


class CommandLine(unittest.TestCase):
    def test_settings_of_ones_own_are_one_scenario(self):
        _, scenarios = whatif(SAMPLES / "train.pickle", 0, "--set", "roundup_power2_divisions=8", "--set",
                              "expandable_segments:True", "--gpu", "8GiB")
        self.assertEqual(list(scenarios)[:2], ["recorded", "default"])
        self.assertIn("garbage_collection_threshold:0.8", scenarios)
        own = scenarios["expandable_segments:True,roundup_power2_divisions:8"]
        self.assertEqual(own["settings"], "expandable_segments:True,roundup_power2_divisions:8")
        self.assertIsNotNone(own["retries"])

    def test_settings_that_pytorch_refuses(self):
        for value in ("expandable_segments=maybe", "max_split_size_mb=5", "expandable_segment=True", ""):
            done = run("whatif", "--set", value, SAMPLES / "train.pickle")
            self.assertEqual(2, done.returncode)
            self.assertIn(b"--set", done.stderr)

    def test_text_begins_with_the_check(self):
        for words in ([], ["--markdown"]):
            text = run("whatif", *words, SAMPLES / "oom.pickle").stdout.decode()
            self.assertIn("Replay check: 1,302 of 1,302 allocations, 60 of 60 driver allocations", text.replace("\n  ", " "))
            self.assertIn("expandable_segments:True", text)
            for never in ("will fix", "will not OOM", "saves"):
                self.assertNotIn(never, text)

    def test_nothing_is_said_where_nothing_was_replayed(self):
        device, scenarios = whatif(SAMPLES / "one_event.pickle")
        self.assertEqual(("refused", {}), (device["replay"]["grade"], scenarios))
        self.assertIn("Nothing is said", run("whatif", SAMPLES / "one_event.pickle").stdout.decode())

    def test_the_same_bytes_twice(self):
        self.assertEqual(run("whatif", "--json", "--budget", SAMPLES / "oom.pickle").stdout,
                         run("whatif", "--json", "--budget", SAMPLES / "oom.pickle").stdout)


if __name__ == "__main__":
    sys.argv = sys.argv[:1] + [word for word in sys.argv[1:] if not word.isdigit()]
    unittest.main()
