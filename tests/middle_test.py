"""Findings on recordings of part of a run: some begin in its middle, as after a full ring buffer, others show something
only once. They are cut from runs whose truth is known (twins.py): one with a fault, and the same run without it."""

import collections
import contextlib
import json
import os
import pathlib
import pickle
import subprocess
import tempfile
import unittest

import twins
from simulator.stacks import PROJECT, STEP
from simulator.world import Flavour, Recording, RecordingEnds, settings, snapshot
from twins import Script, Twin
from twins_ledger import Ledger

STRATA = os.environ.get("STRATA", "strata")
LOADER = ((PROJECT + "data/queue.py", "fetch", 41),) + STEP
HOOK = ((PROJECT + "hooks.py", "save_gradient", 19),) + STEP
NOW_AND_THEN = ((PROJECT + "metrics.py", "keep_now_and_then", 55),) + STEP


class Run(Script):
    """Adds to the twins: a loader that is several batches ahead, copies of gradients, an occasional tensor, and the
    gradient of an activation that lives until backward ends (as that of the first layer's input does with
    checkpointing)."""

    def __init__(self, world, twin, faulty, depth=0, copies=False, keeps_in=(), outlasting=0):
        self.depth, self.copies, self.keeps_in, self.batches = depth, copies, keeps_in, collections.deque()
        self.outlasting = outlasting  # bytes
        super().__init__(world, twin, faulty)

    def take_batch(self):
        if not self.depth:
            return super().take_batch()
        while len(self.batches) <= self.depth:
            self.batches.append(self.world.malloc(5 << 20, self.world.stacks.alloc("clone", LOADER)))
        return (self.batches.popleft(),)

    def when_gradient_is_ready(self, block):
        if self.copies:
            self.world.malloc(block.requested, self.hook_stack())

    def backward(self, head):
        super().backward(head)
        if self.outlasting:
            self.world.free(self.last, self.world.stacks.release("MulBackward0"))

    def _backward_layer(self, layer, gradient):
        if self.outlasting and layer == 0:
            with self.world.acting("temporary"):
                self.last = self.world.malloc(self.outlasting, self.world.stacks.backward("MulBackward0", "add"))
        return super()._backward_layer(layer, gradient)

    def hook_stack(self):
        """The stack of a Python hook in the thread of autograd."""
        stacks = self.world.stacks
        native = stacks.backward("AddmmBackward0", "clone").frames
        return stacks.of_frames("hook", native[:8] + [stacks.frame(*HOOK[0])] + native[8:])

    def habit(self):
        super().habit()
        if self.number in self.keeps_in:
            self.world.malloc(32 << 20, self.world.stacks.alloc("clone", NOW_AND_THEN))


def played(twin, faulty, first=0.0, end=1.0, **more):
    """The snapshot of a part of a run: without the fraction `first` of the events, and with the fraction `end` of the
    last step."""
    recording = Recording(Flavour(), 1)
    world = Ledger(twin.seed, recording, style=(twin.stacks, twin.paths))
    with contextlib.suppress(RecordingEnds):
        script = Run(world, twin, faulty, **more)
        for number in range(twin.steps):
            if number == twin.steps - 1 and end < 1:
                world.limit = world.events + int(end * a_step)
            before = world.events
            script.step(number)
            a_step = world.events - before
    value = twins.annotated(snapshot(world, recording, settings()), twin.annotations)
    trace = value["device_traces"][0]
    value["device_traces"][0] = trace[int(first * len(trace)):]
    return value


def device_of(value):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "run.pickle")
        path.write_bytes(pickle.dumps(value, protocol=4))
        done = subprocess.run([STRATA, "report", "--json", path], capture_output=True, timeout=300, check=True)
    return json.loads(done.stdout)["devices"][0]


def named(device, kind):
    return {finding["site"]: finding for finding in device["findings"] if finding["kind"] == kind}


def state_of(device, kind):
    return next(check["state"] for check in device["judged"]["checks"] if check["kind"] == kind)


def words_of(device, kind):
    return next(check["text"] for check in device["judged"]["checks"] if check["kind"] == kind)


def check(value, rule):
    """The status of one rule of strata check."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "run.pickle")
        path.write_bytes(pickle.dumps(value, protocol=4))
        done = subprocess.run([STRATA, "check", "--format", "json", "--rule", rule, path], capture_output=True, timeout=300)
    return json.loads(done.stdout)["files"][0]["rules"][0]


class Rules(unittest.TestCase):
    """strata check passes no rule on something that the report found or could not judge."""

    def test_growth_where_a_step_has_several_backwards(self):
        twin = {"fault": "leak", "shape": "accumulation", "steps": 6, "annotations": "none"}
        faulty = played(Twin(**twin), True)
        leak = named(device_of(faulty), "leak")[twins.site_name("outputs")]
        rule = check(faulty, "growth = 0 per step")
        self.assertEqual((rule["status"], rule["actual"]), ("broken", leak["per"]["bytes"]))
        self.assertEqual(check(played(Twin(**twin), False), "growth = 0 per step")["status"], "held")

    def test_growth_of_two_steps(self):
        value = played(Twin(fault="leak", steps=2), True)
        self.assertEqual(named(device_of(value), "leak")[twins.site_name("outputs")]["confidence"], "possible")
        self.assertEqual(check(value, "growth = 0 per step")["status"], "untrusted")

    def test_gradients_that_nothing_shows(self):
        for faulty, status in ((True, "untrusted"), (False, "held")):
            twin = Twin(fault="zero_grad", steps=8, stacks="python", layers=6)
            value = played(twin, faulty, first=0.4)
            self.assertEqual(check(value, "finding.gradients_kept = none")["status"], status)


class Queue(unittest.TestCase):
    """A queue frees what it holds, so it is no leak, even if the recording shows fewer steps than the queue has
    places."""

    def check(self, **run):
        for depth in (1, 3, 5):
            for steps in (3, 4, 6):
                with self.subTest(depth=depth, steps=steps, **run):
                    healthy = device_of(played(Twin(fault="leak", steps=steps), False, depth=depth, **run))
                    self.assertEqual(named(healthy, "leak"), {})
                    faulty = device_of(played(Twin(fault="leak", steps=steps), True, depth=depth, **run))
                    self.assertEqual(list(named(faulty, "leak")), [twins.site_name("outputs")])

    def test_from_the_beginning(self):
        self.check()

    def test_from_the_middle(self):
        self.check(first=0.3)


class Gradients(unittest.TestCase):
    """Backward adds to gradients that are older than the recording, so its own allocations are freed at once."""

    def device(self, stacks, faulty):
        twin = Twin(fault="zero_grad", steps=8, stacks=stacks, layers=6, rows=64)
        return device_of(played(twin, faulty, first=0.4))

    def test_their_blocks_have_stacks(self):
        faulty = self.device("mixed", True)
        finding = next(iter(named(faulty, "gradients_kept").values()))
        trained = 2 + 12 * 6  # parameters: embedding, head, and twelve in each layer
        self.assertEqual(finding["count"], trained)
        healthy = self.device("mixed", False)
        self.assertEqual(finding["saves_peak_bytes"], faulty["peak_bytes"] - healthy["peak_bytes"])
        self.assertEqual(state_of(healthy, "gradients_kept"), "clear")

    def test_without_stacks(self):
        self.assertEqual(state_of(self.device("python", True), "gradients_kept"), "not_judged")
        self.assertEqual(state_of(self.device("python", False), "gradients_kept"), "clear")

    def test_one_that_outlasts_backward_is_no_parameters(self):
        """A gradient that outlasts backward is made and freed in each step, whether or not zero_grad is called."""
        for outlasting in (1 << 20, 5 << 20, 90 << 20):  # bytes; the first is the size of some parameters
            for steps, first in ((4, 0.4), (8, 0.4), (8, 0.7)):
                for faulty, state in ((True, "not_judged"), (False, "clear")):
                    with self.subTest(outlasting=outlasting, steps=steps, first=first, faulty=faulty):
                        twin = Twin(fault="zero_grad", steps=steps, stacks="python", layers=6, rows=64)
                        device = device_of(played(twin, faulty, first=first, outlasting=outlasting))
                        self.assertEqual(state_of(device, "gradients_kept"), state)
                        self.assertEqual("older than the recording" in words_of(device, "gradients_kept"), faulty)

    def test_no_gradients_at_the_peak_are_no_finding(self):
        device = device_of(played(Twin(fault="late_zero_grad", steps=2, rows=64, layers=6), True))
        self.assertEqual({}, named(device, "gradients_kept"))
        self.assertNotEqual("clear", state_of(device, "gradients_kept"))

    def test_copies_that_a_hook_keeps_are_a_leak_and_no_gradients(self):
        device = device_of(played(Twin(steps=5), False, copies=True))
        self.assertEqual(list(named(device, "leak")), ["hooks.py:19 save_gradient"])
        self.assertEqual(named(device, "gradients_kept"), {})


class NowAndThen(unittest.TestCase):
    """An allocation that was made once and stayed is no leak, but the report does not claim that nothing stays."""

    def text(self, keeps_in):
        device = device_of(played(Twin(steps=6), False, keeps_in=keeps_in))
        self.assertEqual(named(device, "leak"), {})
        return device["judged"]["text"]

    def test_once(self):
        self.assertIn("what is alive when one begins differs by 32 MiB", self.text((3,)))

    def test_never(self):
        self.assertIn("no call site keeps more from one step to the next.", self.text(()))


if __name__ == "__main__":
    unittest.main()
