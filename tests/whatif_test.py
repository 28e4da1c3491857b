#!/usr/bin/env python3
"""The verb whatif: other sizes, sentences, missing memory, its page. allocator_test tests the model itself."""

import pickle
import random
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
from allocator_case import SAMPLES, answer, run, whatif  # noqa: E402
from allocator_control import Program, Run, Settings  # noqa: E402
from simulator.stacks import CALL, PROJECT, STEP  # noqa: E402
from simulator.stories import Flavour, OutOfMemory, Recording, Shape, Training, World, settings, snapshot  # noqa: E402


class Extrapolation(unittest.TestCase):
    """A program whose allocations are constant, linear and quadratic in its size, recorded at 8 and 16, extrapolated to
    48."""

    @staticmethod
    def program(size):
        program = Program(random.Random(5), length=0)
        for turn in range(30):
            kinds = (3 << 20, size * 123_457 + 64, size * size * 20_000, (turn + 1) * size * 7_000)
            program.ops += [("malloc", 4 * turn + i, nbytes, 0, 0) for i, nbytes in enumerate(kinds)]
            program.ops += [("free", 4 * turn + i, None) for i in (0, 2)]
            if turn >= 10:
                program.ops += [("free", 4 * (turn - 10) + i, None) for i in (1, 3)]
        return program

    def recorded(self, folder, size, settings, **run):
        path = Path(folder) / f"{size}.pickle"
        made = Run(self.program(size), settings, **run)
        path.write_bytes(pickle.dumps(made.snapshot()))
        return path, made

    def test_a_size_that_was_not_recorded(self):
        for settings in (Settings(), Settings(expandable=True)):
            with tempfile.TemporaryDirectory() as folder:
                small, _ = self.recorded(folder, 8, settings)
                large, _ = self.recorded(folder, 16, settings)
                _, truth = self.recorded(folder, 48, settings, reuse=False)
                found = answer("whatif", "--json", "--extrapolate", f"{small}=8", f"{large}=16", "--to", "48")
                device = found["devices"][0]
                self.assertIsNone(device["refused"])
                self.assertEqual((30, 60, 30), (device["constant"], device["linear"], device["quadratic"]))
                recorded = device["scenarios"][0]
                self.assertIn(truth.allocator.peak,
                              (recorded["peak_reserved_bytes_min"], recorded["peak_reserved_bytes_max"]))
                self.assertEqual(truth.allocator.reserved, recorded["end_reserved_bytes"])
                text = run("whatif", "--extrapolate", f"{small}=8", f"{large}=16", "--to", "48").stdout.decode()
                self.assertIn("At 48", text)

    def test_programs_that_differ_are_refused(self):
        for names, reason in ((("train", "streams"), "fewer allocations than the other"),
                              (("streams", "train"), "do not differ by layers alone")):
            small, large = (SAMPLES / f"{name}.pickle" for name in names)
            found = answer("whatif", "--json", "--extrapolate", f"{small}=8", f"{large}=16", "--to", "48")
            self.assertIn(reason, found["devices"][0]["refused"])
            self.assertEqual([], found["devices"][0]["scenarios"])

    def test_wrong_words(self):
        train = SAMPLES / "train.pickle"
        for words in (["--extrapolate", f"{train}=8", f"{train}=16"], ["--extrapolate", f"{train}=8", train, "--to", "9"],
                      ["--extrapolate", f"{train}=16", f"{train}=8", "--to", "9"],
                      ["--extrapolate", f"{train}", f"{train}=8", "--to", "9"],
                      ["--extrapolate", f"{train}=8", f"{train}=16", "--to", "many"]):
            self.assertEqual(2, run("whatif", *words).returncode, words)


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
            self.assertIn("Replay check: all 1,302 allocations, all 60 driver allocations", text.replace("\n  ", " "))
            self.assertIn("expandable_segments:True", text)
            for never in ("will fix", "will not OOM", "saves"):
                self.assertNotIn(never, text)

    def test_no_figures_without_a_replay(self):
        device, scenarios = whatif(SAMPLES / "one_event.pickle")
        self.assertEqual(("refused", {}), (device["replay"]["grade"], scenarios))
        self.assertIn("Nothing is said", run("whatif", SAMPLES / "one_event.pickle").stdout.decode())

    def test_a_file_without_devices_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "nothing.pickle"
            path.write_bytes(pickle.dumps({"segments": [], "device_traces": []}))
            for text in (run("whatif", path).stdout.decode(), run("whatif", "--markdown", path).stdout.decode()):
                self.assertIn("shows no device", text)
            self.assertEqual([], answer("whatif", "--json", path)["devices"])

    def test_without_final_segments_reserved_bytes_are_a_lower_bound(self):
        """As in a file that is cut off: 80 MiB are given back, 60 MiB come, and then a request fails."""
        def event(action, at, mib, **more):
            return {"action": action, "addr": 0x7F0000000000 + (at << 32), "size": mib << 20, "stream": 0, "frames": [], **more}
        freed = [event("free_completed", 0, 80), event("segment_free", 0, 80)]
        made = [event(action, at, 30) for at in (1, 2) for action in ("segment_alloc", "alloc")]
        failed = {**event("oom", 0, 90), "device_free": 20 << 20}
        del failed["addr"]
        for trace, least in ((freed + made + [failed], 80), (made + [failed], 60)):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "cut.pickle"
                path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
                device, _ = whatif(path)
                text = " ".join(run("whatif", path).stdout.decode().split())
                planned = answer("plan", "--json", path)["devices"][0]
            self.assertEqual((least << 20, least << 20), (device["recorded"]["peak_reserved_bytes"],
                                                          planned["recorded"]["peak_reserved_bytes"]))
            self.assertEqual({"at_least_bytes": least << 20, "at_most_bytes": None}, device["budget"])
            self.assertIn(f"{least} MiB reserved at least", text)
            self.assertEqual(least == 80, "the only release and the reserved curve" in text and "1 flush of the recording has no stack." in text)

    def test_the_same_bytes_twice(self):
        self.assertEqual(run("whatif", "--json", "--budget", SAMPLES / "oom.pickle").stdout,
                         run("whatif", "--json", "--budget", SAMPLES / "oom.pickle").stdout)


class Lacking(unittest.TestCase):
    """A loop that keeps two tensors of every layer in every step, until a request fails."""

    CAPACITY = 2 << 30
    STEPS = 60

    def recorded(self, folder, leaks):
        """The recording, and whether it ran out of memory."""
        class Loop(Training):
            def after_layer(self, layer, saved):
                if leaks:
                    stack = self.world.stacks.alloc("clone", ((PROJECT + "model/probe.py", "keep_hidden", 27),
                                                              (PROJECT + "model/block.py", "forward", 37)) + CALL + STEP)
                    rows = self.shape.batch * self.shape.tokens
                    self.retained.append(self.world.malloc(8 * rows * self.shape.width, stack))
        recording = Recording(Flavour(), 1, None)
        world = World(7, recording, 1, capacity=self.CAPACITY)
        failed = False
        try:
            training = Loop(world, Shape(layers=3, width=512, batch=4, tokens=512))
            for number in range(self.STEPS):
                training.step(number)
        except OutOfMemory:
            failed = True
        path = Path(folder) / "run.pickle"
        path.write_bytes(pickle.dumps(snapshot(world, recording, settings(False), 0)))
        return path, failed

    def test_how_much_must_go_and_what_would_free_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path, failed = self.recorded(folder, leaks=True)
            self.assertTrue(failed)
            gpu = ("--gpu", self.CAPACITY // 8 * 7)
            device, scenarios = whatif(path, 0, *gpu)
            lacking = device["lacking"]
            _, budgets = whatif(path, 0, "--budget", *gpu)
            findings = [finding for finding in answer("report", "--json", path)["devices"][0]["findings"]
                        if finding["saves_peak_bytes"]]
            text = run("whatif", path, *gpu).stdout.decode().replace("\n    ", " ")
            served, _ = whatif(path, 0, "--gpu", lacking["budget_bytes"] + lacking["bytes"])
            # Without the leak the same steps fit.
            self.assertFalse(self.recorded(folder, leaks=False)[1])
        self.assertTrue(all(scenario["oom"] for scenario in scenarios.values()))
        self.assertEqual(self.CAPACITY // 8 * 7, lacking["budget_bytes"])
        # Each search ends within 2 MiB, at a point that depends on its start.
        least = min(scenario["smallest_budget_bytes"] for scenario in budgets.values())
        self.assertLessEqual(abs(lacking["budget_bytes"] + lacking["bytes"] - least), 4 << 20)
        self.assertTrue(any(not scenario["oom"] for scenario in served["scenarios"]))
        self.assertIsNone(served["lacking"])
        self.assertEqual(max(0, device["bounds"]["rounded_peak_bytes"] - lacking["budget_bytes"]),
                         lacking["at_least_bytes"])
        self.assertLessEqual(lacking["at_least_bytes"], lacking["bytes"])
        self.assertEqual(sorted(((finding["title"], finding["saves_peak_bytes"]) for finding in findings),
                                key=lambda pair: -pair[1]),
                         [(finding["title"], finding["saves_peak_bytes"]) for finding in lacking["findings"]])
        self.assertIn("held_over", [finding["kind"] for finding in lacking["findings"] if finding["enough"]])
        for finding in lacking["findings"]:
            self.assertEqual(finding["enough"], finding["saves_peak_bytes"] >= lacking["bytes"])
        title = lacking["findings"][0]["title"]
        self.assertIn(f"{title}: without it the peak in use would be", text)
        self.assertIn("which is as much as is lacking", text)
        self.assertNotRegex(text, r"fixes|will not OOM|\bsaves\b")

    def test_nothing_is_lacking_if_nothing_failed(self):
        self.assertIsNone(whatif(SAMPLES / "train.pickle")[0]["lacking"])
        self.assertIsNone(whatif(SAMPLES / "oom.pickle", 0, "--gpu", "80GiB")[0]["lacking"])
        lacking = whatif(SAMPLES / "oom.pickle")[0]["lacking"]
        self.assertEqual([], lacking["findings"])
        self.assertIn("No finding of the report would lower the peak", run("whatif", SAMPLES / "oom.pickle").stdout.decode())


class Page(unittest.TestCase):
    """-o X.html writes the page of the recording; plan_test tests the rest of it."""

    def page(self, *words, name="page.html"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            done = run("whatif", *words, "-o", path)
            self.assertEqual((0, b""), (done.returncode, done.stdout), done.stderr)
            return path.read_text()

    def test_hostile_names_are_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "<img src=x onerror=alert(1)>&\u202e'\".pickle"
            path.write_bytes((SAMPLES / "oom.pickle").read_bytes())
            page = self.page(path)
        self.assertNotIn("<img src=x", page)
        self.assertNotIn("\u202e", page)
        self.assertIn("&lt;img src=x onerror=alert(1)&gt;&amp;\ufffd&#39;&quot;", page)

    def test_redacted(self):
        page = self.page("--redact", SAMPLES / "oom.pickle")
        self.assertNotIn("/home/", page)
        self.assertEqual(self.page("--redact", SAMPLES / "oom.pickle"), page)

    def test_the_same_bytes_twice(self):
        self.assertEqual(self.page(SAMPLES / "oom.pickle"), self.page(SAMPLES / "oom.pickle"))

    def test_endings(self):
        train = SAMPLES / "one_event.pickle"
        with tempfile.TemporaryDirectory() as folder:
            def written(name, *words, verb="whatif", inputs=(train,)):
                path = Path(folder) / name
                done = run(verb, *words, *inputs, "-o", path)
                return done, path.read_bytes() if path.is_file() else None
            for name, start in (("a.txt", b"What if"), ("a.md", b"## What if"), ("a.json", b"{"),
                                ("a.png", b"\x89PNG"), ("a.html", b"<!doctype html>"), ("none", b"What if")):
                done, found = written(name)
                self.assertEqual(0, done.returncode, done.stderr)
                self.assertTrue(found.startswith(start), (name, found[:20]))
            for verb, inputs in (("whatif", (train,)), ("diff", (train, train))):
                for name, says in (("a.htm", b".txt, .md, .json, .png and .html do"), ("a.svg", b"an SVG picture"),
                                   ("a.pdf", b"a PDF document"), ("a.HTML", b".txt, .md, .json, .png and .html do")):
                    done, found = written(name, verb=verb, inputs=inputs)
                    self.assertEqual((2, None), (done.returncode, found), name)
                    self.assertIn(says, done.stderr)
            self.assertEqual(0, written("a.data", "--json")[0].returncode)
            for name in ("b.png", "b.html"):
                self.assertEqual(2, written(name, "--json")[0].returncode)
            named = Path(folder) / "run.v2"
            named.mkdir()
            self.assertEqual(0, run("whatif", train, "-o", named).returncode)
            self.assertTrue((named / "one_event.whatif.txt").is_file())


if __name__ == "__main__":
    unittest.main()
