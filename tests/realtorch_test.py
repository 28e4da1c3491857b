#!/usr/bin/env python3
"""What Strata says of recordings of the real PyTorch, against their truth (realtorch/README.md)."""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "realtorch"
sys.path.insert(0, str(FOLDER))
import judge  # noqa: E402
import record  # noqa: E402


class RealTorchTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.result = judge.judge(os.environ["STRATA"], FOLDER / "recordings")

    def test_all_recordings_are_judged(self):
        self.assertGreaterEqual(len({name for name, _ in self.result}), 60)

    def test_what_does_not_hold_is_in_open_tsv_and_nothing_else(self):
        wrong = {key: words for key, (holds, words) in self.result.items() if not holds}
        known = judge.known()
        self.assertEqual({k: w for k, w in wrong.items() if k not in known}, {}, "does not hold")
        self.assertEqual([k for k in known if k not in wrong], [], "holds now: remove the line from open.tsv")

    def test_what_a_loop_keeps_breaks_a_limit_of_growth(self):
        """Whatever the finding: a list of outputs, graphs that are carried on, graphs that exceptions hold."""
        for name, grows in (("outputs_kept", True), ("carried_state", True), ("tracebacks", True), ("outputs_kept_fixed", False),
                            ("carried_state_fixed", False), ("deep_queue", False)):
            with self.subTest(name):
                done = subprocess.run([os.environ["STRATA"], "check", "--rule", "growth < 1MiB", str(FOLDER / "recordings" / f"{name}.pickle.xz")],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 3 if grows else 0, done.stdout)

    def report(self, name, *words):
        done = subprocess.run([os.environ["STRATA"], "report", *words, str(FOLDER / "recordings" / f"{name}.pickle.xz")],
                              capture_output=True, text=True, check=True)
        return done.stdout

    def test_turns_of_a_loop_around_the_model_are_no_layers(self):
        """Steps of sampling, of decoding, of beam search. The blocks of a GPT that is called in such a loop are layers."""
        for name in ("diffusion", "generate", "generate_fixed", "beam", "beam_fixed", "sum_losses"):
            with self.subTest(name):
                self.assertNotRegex(self.report(name, "--full"), r"\d layers of ")
        for name in ("decode_in_loop", "val_grad"):
            with self.subTest(name):
                self.assertRegex(self.report(name, "--full"), r"[36] layers of [^:]*model\.py:64 forward")

    def test_what_is_made_behind_the_last_forward_is_outside_of_it(self):
        device = json.loads(self.report("val_concat", "--format", "json"))["devices"][0]
        phases = [p for p in device["phases"] if p["peak_bytes"] == device["peak_bytes"] and p["kind"] != "annotation"]
        self.assertEqual([p["kind"] for p in phases], ["other"])

    def test_what_decoding_holds_is_neither_a_fault_nor_cleared(self):
        text = " ".join(self.report("beam_fixed", "--full").split())
        self.assertNotIn("retain_graph", text)
        self.assertNotIn("Next to nothing that a turn made is held", text)
        self.assertIn("[not judged] Results that are held: many lines hold something, no backward follows", text)

    def test_each_recording_has_a_row_a_truth_and_is_small(self):
        names = {row["name"] for row in record.suite()}
        files = sorted((FOLDER / "recordings").glob("*.pickle.xz"))
        for path in files:
            name = path.name.removesuffix(".pickle.xz")
            if name == "gpt_zeroed":
                continue  # the gallery's alone
            self.assertIn(name, names)
            self.assertTrue((FOLDER / "recordings" / f"{name}.truth.json").exists(), name)
            self.assertLessEqual(path.stat().st_size, 300_000, name)
        self.assertLessEqual(sum(p.stat().st_size for p in (FOLDER / "recordings").glob("*")), 8_000_000)


if __name__ == "__main__":
    unittest.main(verbosity=1)
