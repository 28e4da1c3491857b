#!/usr/bin/env python3
"""Sentences that Strata once printed wrongly. For each, the test has a recording for which it is false; it must not
appear.

    STRATA=path/to/strata claims_test.py
"""

import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import peak_twins  # noqa: E402
from peak_twins import Case  # noqa: E402
from simulator.allocator import MIB  # noqa: E402

STRATA = os.environ.get("STRATA", "strata")
TORCH = "/venv/lib/python3.11/site-packages/torch/"
MODEL = (("/srv/model.py", 61, "forward"), (TORCH + "nn/modules/module.py", 1784, "_call_impl"))
ENGINE = (("??", 0, "torch::autograd::generated::MmBackward0::apply(variable_list&&)"),
          ("??", 0, "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)"))
STEP = ((TORCH + "optim/adamw.py", 232, "step"), (TORCH + "optim/optimizer.py", 516, "wrapper"), ("/srv/train.py", 58, "run"))


class Program:
    """Calls of the allocator by a few lines: frames are (file, line, function), the innermost first."""

    def __init__(self):
        self.events = []

    def new(self, size, *frames):
        self.events.append({"action": "alloc", "addr": len(self.events) << 26, "size": size, "stream": 0,
                            "frames": [{"filename": file, "line": line, "name": name} for file, line, name in frames]})
        return self.events[-1]

    def free(self, *allocations):
        for each in allocations:
            self.events += [{**each, "action": action} for action in ("free_requested", "free_completed")]

    def forward(self, line, layers=6):
        """The activations of a model, called by a line of the program."""
        outer = MODEL + (("/srv/train.py", line, "run"),)
        return [self.new(MIB, ("/srv/layer.py", 12 + each % 2, "forward"), *outer) for each in range(2 * layers)] + [self.new(4 * MIB, *outer)]

    def step(self, line=50):
        """A training step with an optimizer that makes a temporary."""
        saved, gradients = self.forward(line), []
        for activation in reversed(saved):
            gradients.append(self.new(MIB, *ENGINE))
            self.free(activation)
        self.free(self.new(MIB, (TORCH + "optim/adamw.py", 420, "_single_tensor_adamw"), *STEP), *gradients)

    def snapshot(self):
        return {"segments": [], "device_traces": [self.events]}


class Claims(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_report(self, path, form="--full"):
        return subprocess.run([STRATA, "report", form, str(path)], capture_output=True, timeout=120, check=True).stdout.decode()

    def read(self, content):
        """(text, device) of a snapshot, or of a profiler's trace."""
        path = self.folder / "recording"
        path.write_bytes(json.dumps(content).encode() if "traceEvents" in content else pickle.dumps(content, protocol=4))
        return " ".join(self.run_report(path).split()), json.loads(self.run_report(path, "--json"))["devices"][0]

    def played(self, fault, script=None, **fields):
        played = peak_twins.play(Case(fault, peak_twins.STYLES[0], **fields), True, script)
        return self.read(peak_twins.recorded(played, True)[0])

    @staticmethod
    def categories(device):
        return {each["category"]: each["bytes"] for each in device["categories_at_peak"]}

    @staticmethod
    def segment(blocks):
        total = sum(block["size"] for block in blocks)
        return {"device": 0, "address": 0x7F00000000, "total_size": total, "allocated_size": total, "active_size": total, "requested_size": total,
                "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": blocks}

    @staticmethod
    def block(number, size, state="active_allocated", frames=()):
        return {"address": 0x7F00000000 + number * 64 * MIB, "size": size, "requested_size": size, "state": state, "frames": list(frames)}

    def test_a_running_total_is_no_allocation(self):
        """A profile knows older memory only as a sum, which is neither one allocation nor parameters."""
        events = [{"ph": "X", "cat": "python_function", "name": "model.py(3): forward", "pid": 1, "tid": 1, "ts": 0, "dur": 1000,
                   "args": {"Python id": 1, "Python parent id": None}}]
        total = 900 * MIB
        for number in range(6):
            for size in (4 * MIB, -4 * MIB):
                total += size
                events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 10 + 20 * number + (size < 0), "args": {
                    "Device Type": 1, "Device Id": 0, "Addr": 4096 * (number + 1), "Bytes": size, "Total Allocated": total, "Total Reserved": 4000 * MIB}})
        text, device = self.read({"traceEvents": events})
        self.assertIn("900.0 MiB", text.replace("900 MiB", "900.0 MiB"))
        self.assertNotIn("in 1 allocation", text)
        self.assertNotIn("strata plan says", text)
        self.assertNotIn("parameter", self.categories(device))

    def test_a_cache_of_keys_and_values_is_no_parameter(self):
        frames = [{"filename": "/srv/serve/cache_engine.py", "line": line, "name": name}
                  for line, name in ((83, "_allocate_kv_cache"), (64, "__init__"), (12, "<module>"))]
        weights = [{"filename": "/srv/serve/model.py", "line": 9, "name": "__init__"}]
        _, device = self.read({"segments": [self.segment([self.block(0, 32 * MIB, frames=frames), self.block(1, 8 * MIB, frames=weights)])],
                               "device_traces": [[]]})
        self.assertEqual({"other": 32 * MIB, "parameter": 8 * MIB}, self.categories(device))
        (other,) = [each for each in device["categories_at_peak"] if each["category"] == "other"]
        self.assertEqual({"kv_cache": 32 * MIB}, other["reason"])

    def test_a_state_shows_no_graph(self):
        """In a file without events, blocks that wait for another stream cannot be called activations."""
        blocks = [self.block(number, MIB, "active_pending_free") for number in range(12)]
        _, device = self.read({"segments": [self.segment(blocks)], "device_traces": [[]]})
        self.assertEqual({"other"}, set(self.categories(device)))

    def test_unknown_reserved_memory(self):
        """More is in use than the segments hold, so fragmentation is "not judged"."""
        frames = [{"filename": "/srv/a.py", "line": 1, "name": "forward"}]
        events = [{"action": "alloc", "addr": 1 << 40 | number << 30, "size": 512 * MIB, "stream": 0, "frames": frames, "time_us": number} for number in range(4)]
        text, device = self.read({"segments": [self.segment([self.block(0, 8 * MIB)])], "device_traces": [events]})
        (check,) = [each for each in device["judged"]["checks"] if each["kind"] == "fragmentation"]
        self.assertEqual("not_judged", check["state"])
        self.assertNotIn("were in use at once", text)

    def test_a_saving_of_nothing(self):
        """The peak is in the optimizer, and is as high without the gradients that were kept during forward."""
        _, device = self.read(peak_twins.twins.record(peak_twins.twins.Twin(fault="late_zero_grad", steps=3, rows=64, layers=6), True).snapshot)
        self.assertNotIn("gradients_kept", {each["kind"] for each in device["findings"]})
        (check,) = [each for each in device["judged"]["checks"] if each["kind"] == "gradients_kept"]
        self.assertIn("of gradients survive into the next forward, but the peak would be as high without them", check["text"])

    def test_giving_back_is_not_the_end(self):
        """A flush that sufficed does not tell how much more could have been freed."""
        with_flush = [each for each in (peak_twins.twins.pair(peak_twins.twins.Twin(fault="retry_flush", steps=3, seed=seed))[1] for seed in range(1, 4)) if each]
        text, device = self.read(with_flush[0].snapshot)
        self.assertIn("retry_flush", {each["kind"] for each in device["findings"]})
        self.assertNotIn("little more", text)

    def test_keys_and_values_are_no_graph(self):
        """Each layer of a decoder replaces its keys, which live from step to step as a held graph does."""
        for steps, faulty in ((1, True), (3, False), (3, True)):
            played = peak_twins.twins.record(peak_twins.twins.Twin(fault="growing_keys", steps=steps, layers=24, annotations="none"), faulty)
            _, device = self.read(played.snapshot)
            self.assertNotIn("unused_graph", {each["kind"] for each in device["findings"]})

    def test_a_full_buffer_keeps_no_limit(self):
        """Earlier events are lost, so no limit counts as held. For the first 10,000 events of the same run it does."""
        case = next(each for each in peak_twins.cases() if each.fault == "full buffer")
        for faulty, status in ((True, "untrusted"), (False, "held")):
            path = self.folder / f"{status}.pickle"
            path.write_bytes(pickle.dumps(peak_twins.recorded(peak_twins.play(case, faulty), faulty)[0], protocol=4))
            rules = ["--rule", "peak < 100GiB", "--rule", "growth = none", "--rule", "category.optimizer_state < 100GiB"]
            done = subprocess.run([STRATA, "check", str(path), "--format", "json", *rules], capture_output=True, timeout=120)
            (file,) = json.loads(done.stdout)["files"]
            self.assertEqual((3 if faulty else 0, {status}), (done.returncode, {rule["status"] for rule in file["rules"]}))

    def test_a_size_beyond_63_bits_is_no_size_of_zero(self):
        """It counted as 0 bytes, and the peak was that of the other allocations; now the sum is refused."""
        path = self.folder / "huge.pickle"
        event = lambda address, size: {"action": "alloc", "addr": address, "size": size, "stream": 0}  # noqa: E731
        for size in (1 << 63, (1 << 64) - 1):
            trace = [event(1 << 21, 4096), event(1 << 22, size)]
            path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}, protocol=4))
            done = subprocess.run([STRATA, "report", "--full", path], capture_output=True)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(b"add up to more than 8 EiB", done.stderr)

    def test_what_only_evaluation_keeps_is_kept(self):
        """Training frees what the same code makes. "No call site keeps more" was said of a list of all results."""
        for keeps in (True, False):
            program = Program()
            for number in range(6):
                program.step()
                if number % 2:
                    *inner, result = program.forward(70)
                    program.free(*inner, *(() if keeps else (result,)))
            program.step()
            text, device = self.read(program.snapshot())
            leaks = [(each["site"], each["per"]) for each in device["findings"] if each["kind"] == "leak"]
            each = {"unit": "step", "bytes": 4 * MIB, "n": 3}
            self.assertEqual([("model.py:61 forward", each)] if keeps else [], leaks)
            self.assertEqual(not keeps, "no call site keeps more from one " in text)

    def test_layers_that_are_made_are_no_turns(self):
        """A recording of loading alone: each layer's parameters were called a leak, certain and high."""
        program = Program()
        for _ in range(8):
            for line in (20, 21, 22):
                program.new(line * MIB, (TORCH + "nn/modules/linear.py", 106, "__init__"), ("/srv/model.py", line, "__init__"), ("/srv/train.py", 9, "run"))
        _, device = self.read(program.snapshot())
        self.assertEqual((0, "too_short", {"parameter"}), (device["judged"]["steps"], device["judged"]["growth"], set(self.categories(device))))
        self.assertNotIn("leak", {each["kind"] for each in device["findings"]})

    def test_temporaries_are_no_state_where_memory_runs_out(self):
        """The first step fails: what it had made so far, temporaries too, was called the state of the next step."""
        for made in (7, 12):  # moments of 12 parameters when the request fails: all, or only a part
            program = Program()
            program.step()
            program.events.clear()
            for activation in reversed(program.forward(50)):
                program.new(MIB, *ENGINE)
                program.free(activation)
            for _ in range(made):
                program.new(2 * MIB, (TORCH + "optim/adamw.py", 176, "_init_group"), *STEP)
            for _ in range(9 if made == 12 else 0):
                program.new(3 * MIB, (TORCH + "optim/adamw.py", 640, "_multi_tensor_adamw"), *STEP)
            program.events.append({"action": "oom", "size": 3 * MIB, "stream": 0, "device_free": 0, "frames": program.events[-1]["frames"]})
            _, device = self.read(program.snapshot())
            categories = self.categories(device)
            self.assertEqual((made * 2 * MIB, 27 * MIB if made == 12 else 0), (categories["optimizer_state"], categories.get("temporary", 0)))
            kinds = {each["kind"] for each in device["findings"]}
            self.assertEqual(made == 12, "optimizer_temporaries" in kinds)

    def test_copies_of_weights_are_not_kept_by_layers(self):
        """Autocast's cache lives until its region ends, after backward, which needs it: no finding."""
        program = Program()
        weights = [program.new(8 * MIB, (TORCH + "nn/modules/linear.py", 106, "__init__"), ("/srv/train.py", 9, "run")) for _ in range(6)]
        outer, saved, copies = MODEL + (("/srv/train.py", 50, "run"),), [], []
        for weight in weights:
            copies.append(program.new(weight["size"] // 2, ("??", 0, "at::autocast::cached_cast(c10::ScalarType)"), *outer))
            saved += [program.new(MIB, ("/srv/layer.py", line, "forward"), *outer) for line in (12, 13, 14)]
        for activation in reversed(saved):
            program.new(MIB, *ENGINE)
            program.free(activation)
        program.free(*copies)
        _, device = self.read(program.snapshot())
        self.assertEqual(set(), {each["kind"] for each in device["findings"]} - {"stops_at_peak"})


if __name__ == "__main__":
    unittest.main()
