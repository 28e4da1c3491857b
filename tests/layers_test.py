#!/usr/bin/env python3
"""strata whatif --extrapolate by the number of layers, compared with a run of the simulator with that number."""

import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from png_file import pixels

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "samples"))
from simulator.stacks import CALL, PROJECT, STEP  # noqa: E402
from simulator.stories import Flavour, OutOfMemory, Recording, Shape, Training, World, settings, snapshot  # noqa: E402
from simulator.transformer import FLOAT, HALF  # noqa: E402

STRATA = os.environ["STRATA"]
MIB = 1 << 20


class Model(Training):
    """A transformer's training; `kind` names its peculiarities."""

    def __init__(self, world, shape, kind=()):
        self.kind = kind
        super().__init__(world, shape, unrolled="unrolled" in kind)

    def step(self, number, clip=False):
        rounds = 3 if "accumulate" in self.kind else 1
        for _ in range(rounds):
            self._next_batch()
            self.backward(self.forward())
        if "clip" in self.kind:
            self._clip()
        self.optimize()
        self.zero_grad()
        if "evaluate" in self.kind:
            self.evaluate()
        if "empty_cache" in self.kind:
            self.world.empty_cache(self.world.stacks.empty_cache(STEP))

    def optimize(self):
        if "flat" in self.kind:  # one buffer for all gradients
            stack = self.world.stacks.alloc("cat", ((PROJECT + "main.py", "flatten", 77),) + STEP)
            nbytes = FLOAT * sum(block.requested for block in self.gradients.values())
            self.world.free(self.world.malloc(nbytes, stack), self.world.stacks.free(STEP))
        if "sgd" not in self.kind:
            super().optimize()

    def zero_grad(self):
        if "keep_grads" not in self.kind:
            super().zero_grad()

    def _parameter_gradient(self, layer, name, elements, stack, device):
        if "tied" in self.kind and layer == "head":
            layer = "embedding"
        super()._parameter_gradient(layer, name, elements, stack, device)

    def _load(self):
        super()._load()
        if "tied" in self.kind:
            block = self.parameters.pop(("head", "weight"))
            self.world.free(block, self.world.stacks.free(STEP))

    def after_layer(self, layer, saved):
        """With checkpointing only the layer's input is kept."""
        if "checkpoint" not in self.kind:
            return
        stack = self.world.stacks.free(STEP)
        for name in [name for name in saved if name not in ("sum2", "embedded")]:
            self.world.free(saved.pop(name), stack)

    def _backward_layer(self, layer, gradient):
        if "checkpoint" in self.kind:
            self._again(layer)
        return super()._backward_layer(layer, gradient)

    def _again(self, layer):
        world, loose = self.world, None
        for row in self.rows("forward", layer):
            if row.name == "sum2":
                continue
            block = world.malloc(row.nbytes, row.stack)
            if loose:
                world.free(loose, row.free_stack)
            loose = None if row.kept else block
            if row.kept:
                self.saved[layer][row.name] = block
        if loose:
            world.free(loose, self.world.stacks.free(STEP))


class Alternating(Model):
    """Every second layer is of another type, which keeps one more tensor."""

    def after_layer(self, layer, saved):
        super().after_layer(layer, saved)
        if layer % 2:
            stack = self.world.stacks.alloc("clone", ((PROJECT + "model/window.py", "forward", 12),) + CALL + STEP)
            saved["window"] = self.world.malloc(HALF * self.shape.batch * self.shape.tokens * 96, stack)


def play(layers, kind=(), model=Model, steps=2, batch=2, tokens=256, width=256, late=False, expandable=False, seed=3, **allocator):
    """The recording of a run, and its peaks of live and reserved bytes."""
    recording = Recording(Flavour(), 1, None)
    world = World(seed, recording, 1, expandable=expandable, **allocator)
    older, reserved = {}, 0
    if late:
        recording.blocks_only = True
    training = model(world, Shape(layers=layers, width=width, heads=4, batch=batch, tokens=tokens), kind)
    if late:
        training.step(0)
        recording.blocks_only = False
        older = {block.address: block.requested for block in world.gpus[0].blocks.values() if block.allocated}
        reserved = world.gpus[0].reserved
    for number in range(steps):
        training.step(number)
    return snapshot(world, recording, settings(expandable), 0), peaks(recording.traces[0], older, reserved)


def peaks(trace, live, reserved):
    """Peaks, added up over the events."""
    live, now, most, most_reserved = dict(live), sum(live.values()), sum(live.values()), reserved
    for event in trace:
        if event["action"] == "alloc":
            live[event["addr"]] = event["size"]
            now += event["size"]
        elif event["action"] == "free_completed":
            now -= live.pop(event["addr"])
        elif event["action"] in ("segment_alloc", "segment_map"):
            reserved += event["size"]
        elif event["action"] in ("segment_free", "segment_unmap"):
            reserved -= event["size"]
        most, most_reserved = max(most, now), max(most_reserved, reserved)
    return most, most_reserved


def run(*words, code=0):
    done = subprocess.run([STRATA, "whatif", *map(str, words)], capture_output=True, check=False)
    if done.returncode != code:
        raise AssertionError((done.returncode, done.stderr.decode()))
    return done


def recorded(folder, *plays):
    """Writes recordings of (layers, how); returns them as PATH=LAYERS."""
    named = []
    for layers, how in plays:
        path = Path(folder) / f"{layers}.pickle"
        path.write_bytes(pickle.dumps(play(layers, **how)[0]))
        named.append(f"{path}={layers}")
    return named


def extrapolate(folder, small, large, to, how, *words, other=None):
    """Strata's prediction for `to` layers; `other`: how the larger recording differs from the smaller one."""
    named = recorded(folder, (small, how), (large, how if other is None else other))
    return run("--extrapolate", *named, "--to", to, *words).stdout.decode()


def device_of(folder, *arguments, **named):
    return json.loads(extrapolate(folder, *arguments, "--json", **named))["devices"][0]


class AtTheNumberThatIsAskedFor(unittest.TestCase):
    """Cases (layers, layers, requested layers, options); the truth is the simulator's run with the requested layers."""

    SHAPES = (
        (2, 4, 8, {}),
        (2, 4, 16, {"steps": 3}),
        (2, 4, 4, {}),  # predicts one of the recordings
        (2, 4, 2, {}),
        (2, 4, 3, {}),
        (2, 3, 7, {}),
        (3, 5, 12, {"kind": ("sgd",)}),
        (2, 4, 9, {"kind": ("tied",)}),
        (2, 4, 8, {"kind": ("checkpoint",)}),
        (2, 4, 12, {"kind": ("checkpoint", "tied", "sgd")}),
        (2, 4, 8, {"kind": ("accumulate",), "steps": 3}),
        (2, 4, 8, {"kind": ("clip", "evaluate"), "steps": 3}),
        (2, 4, 8, {"kind": ("empty_cache",), "steps": 3}),
        (2, 4, 8, {"kind": ("keep_grads",), "steps": 3}),
        (2, 4, 11, {"kind": ("flat",)}),
        (2, 4, 10, {"batch": 16, "tokens": 128, "steps": 1}),
        (2, 4, 10, {"batch": 1, "tokens": 512, "width": 128}),
        (2, 4, 24, {"width": 512, "tokens": 512, "steps": 1}),
        (2, 4, 8, {"expandable": True}),
        (2, 6, 11, {"kind": ("accumulate", "checkpoint"), "expandable": True}),
        (4, 8, 14, {"model": Alternating}),
        (4, 6, 10, {"model": Alternating}),
    )

    def test_peaks_are_those_of_a_run(self):
        for small, large, to, how in self.SHAPES:
            with self.subTest(small=small, large=large, to=to, how=how), tempfile.TemporaryDirectory() as folder:
                device = device_of(folder, small, large, to, how)
                self.assertIsNone(device["refused"])
                live, reserved = play(to, **how)[1]
                recorded = device["scenarios"][0]
                print(f"{small}, {large} -> {to} layers {how}: in use {live / MIB:.1f} MiB, told "
                      f"{device['bounds']['requested_peak_bytes'] / MIB:.1f}; reserved {reserved / MIB:.0f}, told "
                      f"{recorded['peak_reserved_bytes_min'] / MIB:.0f} to {recorded['peak_reserved_bytes_max'] / MIB:.0f}")
                self.assertEqual(live, device["bounds"]["requested_peak_bytes"])
                self.assertLessEqual(recorded["peak_reserved_bytes_min"], reserved)
                self.assertLessEqual(reserved, recorded["peak_reserved_bytes_max"])

    def test_other_settings_are_those_of_a_run_with_them(self):
        for kind in ((), ("checkpoint",), ("sgd", "accumulate")):
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as folder:
                scenarios = {scenario["name"]: scenario for scenario in
                             device_of(folder, 2, 4, 12, {"kind": kind})["scenarios"]}
                reserved = play(12, kind=kind, expandable=True)[1][1]
                found = scenarios["expandable_segments:True"]
                self.assertLessEqual(found["peak_reserved_bytes_min"], reserved)
                self.assertLessEqual(reserved, found["peak_reserved_bytes_max"])

    def test_whether_it_fits(self):
        """Strata's verdict on a budget equals the outcome of a run on a device of that size."""
        def fits(capacity, **how):
            try:
                play(12, capacity=capacity, **how)
            except OutOfMemory:
                return False
            return True

        seen = set()
        for expandable in (False, True):
            live, reserved = play(12, expandable=expandable)[1]
            with tempfile.TemporaryDirectory() as folder:
                named = recorded(folder, (2, {"expandable": expandable}), (4, {"expandable": expandable}))
                for capacity in (reserved, reserved - 4 * MIB, (reserved + live) // 2, live + 20 * MIB, live - 2 * MIB):
                    words = ("--json", "--gpu", capacity, "--extrapolate", *named, "--to", 12)
                    scenario = json.loads(run(*words).stdout)["devices"][0]["scenarios"][0]
                    truth = fits(capacity, expandable=expandable)
                    seen.add(truth)
                    self.assertEqual(truth, scenario["oom"] is None, (expandable, capacity))
        self.assertEqual({True, False}, seen)

    def test_parameters_that_are_older_than_the_recordings(self):
        """Their addresses are unknown, so only the bytes in use can be predicted exactly."""
        for kind in ((), ("sgd", "checkpoint")):
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as folder:
                device = device_of(folder, 2, 4, 9, {"late": True, "kind": kind})
                self.assertIsNone(device["refused"])
                self.assertEqual(play(9, late=True, kind=kind)[1][0], device["bounds"]["requested_peak_bytes"])

    def test_the_allocations_of_a_layer(self):
        with tempfile.TemporaryDirectory() as folder:
            device = device_of(folder, 2, 4, 9, {})
            four, five = (sum(event["action"] == "alloc" for event in play(layers)[0]["device_traces"][0])
                          for layers in (4, 5))
        self.assertEqual((1, five - four), (device["layers"]["each"], device["layers"]["allocations"]))
        self.assertGreaterEqual(device["layers"]["places"], 5)  # model, forward, backward, state, optimizer
        with tempfile.TemporaryDirectory() as folder:
            device = device_of(folder, 2, 4, 9, {"kind": ("flat",)})
        self.assertEqual(2, device["linear"])
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(2, device_of(folder, 4, 8, 12, {"model": Alternating})["layers"]["each"])


class Refusals(unittest.TestCase):
    def refused(self, small, large, to, how, **named):
        with tempfile.TemporaryDirectory() as folder:
            device = device_of(folder, small, large, to, how, **named)
            text = extrapolate(folder, small, large, to, how, **named)
        self.assertEqual([], device["scenarios"])
        self.assertIn("Refused: " + device["refused"], " ".join(text.split()))
        return device["refused"]

    def test_programs_that_differ_otherwise(self):
        for other in ({"kind": ("sgd",)}, {"kind": ("checkpoint",)}, {"kind": ("accumulate",)}, {"batch": 4},
                      {"kind": ("unrolled",)}):
            with self.subTest(other=other):
                self.assertRegex(self.refused(2, 4, 8, {}, other=other), "layers alone|fewer allocations")

    def test_layers_that_have_lines_of_their_own(self):
        self.assertIn("layers alone", self.refused(2, 4, 8, {"kind": ("unrolled",)}))

    def test_half_a_turn(self):
        self.assertIn("different layers alternate", self.refused(4, 6, 9, {"model": Alternating}))

    def test_a_single_layer(self):
        self.assertIn("a single layer", self.refused(1, 2, 6, {}))

    def test_fewer_than_were_recorded(self):
        self.assertIn("smaller recording", self.refused(2, 4, 1, {}))

    def test_impossible_numbers(self):
        self.assertIn("too many layers", self.refused(2, 4, 1_000_000, {}))
        self.assertIn("more requests than can be modelled", self.refused(2, 4, 99_999, {"steps": 12}))


class Words(unittest.TestCase):
    def test_text_and_markdown(self):
        with tempfile.TemporaryDirectory() as folder:
            for words in ((), ("--markdown",)):
                text = " ".join(extrapolate(folder, 2, 4, 48, {}, *words).split())
                self.assertIn("At 48 layers, modelled from the same sequence of requests with more repeats", text)
                self.assertIn("At 2 layers: Replay check: ", text)
                self.assertRegex(text, r"at \d+ places of the sequence it repeats what is there; each layer makes \d+ allocations there")

    def test_picture(self):
        """The picture has two themes and is the same each time. A page is refused, because it shows a recording and
        none of this size exists."""
        with tempfile.TemporaryDirectory() as folder:
            words = ("--extrapolate", *recorded(folder, (2, {}), (4, {})), "--to", 9)
            folder = Path(folder)
            for theme in ("dark", "light"):
                run(*words, "--theme", theme, "-o", folder / f"{theme}.png")
                run(*words, "--theme", theme, "-o", folder / "again.png", "--force")
                self.assertEqual((folder / f"{theme}.png").read_bytes(), (folder / "again.png").read_bytes())
            self.assertNotEqual(pixels((folder / "dark.png").read_bytes()), pixels((folder / "light.png").read_bytes()))
            done = run(*words, "-o", folder / "page.html", code=2)
            self.assertIn(b"which --extrapolate does not write: name a text, Markdown, JSON or PNG file", done.stderr)
            self.assertFalse((folder / "page.html").exists())

    def test_a_refusal_draws_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("--extrapolate", *recorded(folder, (1, {}), (2, {})), "--to", 9)
            folder = Path(folder)
            done = run(*words, "-o", folder / "x.png", code=1)
            self.assertIn(b"there is nothing to draw: the smaller recording has a single layer", done.stderr)
            self.assertFalse((folder / "x.png").exists())
            self.assertIn("Refused: the smaller recording has a single layer", run(*words).stdout.decode())


if __name__ == "__main__":
    unittest.main()
