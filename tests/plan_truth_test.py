#!/usr/bin/env python3
"""strata plan, compared with the truth: trainings of random shapes are simulated with and without each change, and each plan is
carried out on a device of the planned size.

    plan_truth_test.py --table     prints the table of docs/plan.md
"""

import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "samples"))
from simulator.stacks import STEP  # noqa: E402
from simulator.stories import Flavour, OutOfMemory, Recording, Shape, Training, World, settings, snapshot  # noqa: E402

STRATA = os.environ.get("STRATA", str(HERE.parent / "build" / "release" / "strata"))
SHAPES, SEED = 32, 27
GRANULE = 20 << 20
FRACTIONS = (96, 93, 90, 85, 80, 65)  # percent of the reserved peak, for the plans that are carried out
SETTINGS = "expandable_segments,max_split_size_mb,roundup_power2_divisions"
WITHOUT = ((), ("--without", "fused,expandable_segments"), ("--without", f"fused,{SETTINGS}"))


class Changed(Training):
    """A training of the simulator; `how` lists the changes made in it, by their ids."""

    def __init__(self, world, shape, unrolled, sgd, how=(), whole=False):
        self.how, self.sgd, self.whole = set(how), sgd, whole
        self.n_blocks = max((int(each.split(":")[1]) for each in how if each.startswith("checkpoint:")), default=0)
        self.outputs = []
        super().__init__(world, shape, unrolled=unrolled)

    def after_layer(self, layer, saved):
        """With checkpointing only the layer's input is kept."""
        if layer >= self.n_blocks:
            return
        stack = self.world.stacks.free(STEP)
        for name in [name for name in saved if name not in ("sum2", "embedded")]:
            self.world.free(saved.pop(name), stack)

    def _backward_layer(self, layer, gradient):
        again = self._again(layer) if layer < self.n_blocks else None
        gradient = super()._backward_layer(layer, gradient)
        if again:
            self.world.free(again, self.world.stacks.free(STEP))
        return gradient

    def _again(self, layer):
        """Makes a layer again: all of it, with its output, or up to the last tensor that backward needs. Returns the
        blocks that are freed with the layer."""
        world, loose, output = self.world, None, None
        rows = self.rows("forward", layer)
        for row in rows if self.whole else rows[:-2]:
            block = world.malloc(row.nbytes, row.stack)
            if loose:
                world.free(loose, row.free_stack)
            loose = None if row.kept else block
            if row.name == "sum2":
                output = block
            elif row.kept:
                self.saved[layer][row.name] = block
        if loose:
            world.free(loose, world.stacks.free(STEP))
        return output

    def optimize(self):
        if self.sgd:
            return
        if not self.how & {"fused", "foreach=False", "offload:state"}:
            super().optimize()
            return
        if not self.state and "offload:state" not in self.how:
            self._state()
        if "fused" in self.how:
            return
        stack, free = self._stacks()
        before = []
        for block in self.parameters.values():  # made and dropped one by one, as by a loop over the parameters
            before.append(self.world.malloc(block.requested, stack))
            if "foreach=False" in self.how and len(before) == 2:
                self.world.free(before.pop(0), free)
        for block in before:
            self.world.free(block, free)

    def _state(self):
        """Makes two moments for each parameter, and no temporaries."""
        stack = self.world.stacks.alloc("zeros_like", STEP)
        for key, block in self.parameters.items():
            self.state[key] = [self.world.malloc(block.requested, stack) for _ in range(2)]

    def _stacks(self):
        return self.world.stacks.alloc("foreach_sqrt", STEP), self.world.stacks.free(STEP)


def shape_by_chance(dice):
    return {"layers": dice.choice((2, 3, 4, 6, 8)), "width": dice.choice((256, 384, 512, 768)), "batch": dice.randint(1, 4),
            "tokens": dice.choice((128, 256, 384, 512)), "unrolled": dice.random() < 0.3, "sgd": dice.random() < 0.2,
            "expandable": dice.random() < 0.3, "seed": dice.randint(1, 99)}


def play(case, how=(), whole=False, expandable=None, capacity=1 << 40):
    """The snapshot, and peaks added up over the events; None: memory ran out."""
    expandable = case["expandable"] if expandable is None else expandable
    recording = Recording(Flavour(), 1, None)
    world = World(case["seed"], recording, 1, expandable=expandable, capacity=capacity)
    shape = Shape(case["layers"], case["width"], 4, case["batch"], case["tokens"])
    try:
        training = Changed(world, shape, case["unrolled"], case["sgd"], how, whole)
        for number in range(2):
            training.step(number)
        if case.get("more"):
            training.forward()
    except OutOfMemory:
        return None
    return snapshot(world, recording, settings(expandable), 0), peaks(recording.traces[0])


def peaks(trace):
    live = reserved = most = most_reserved = 0
    for event in trace:
        live += {"alloc": event["size"], "free_completed": -event["size"]}.get(event["action"], 0)
        reserved += {"segment_alloc": event["size"], "segment_map": event["size"], "segment_free": -event["size"],
                     "segment_unmap": -event["size"]}.get(event["action"], 0)
        most, most_reserved = max(most, live), max(most_reserved, reserved)
    return most, most_reserved


def plan(path, *words):
    done = subprocess.run([STRATA, "plan", "--json", *words, path], capture_output=True, check=True)
    return json.loads(done.stdout)["devices"][0]


def ways(case, changes):
    """Every way to make these changes in the simulator, as arguments of `play`; empty: they cannot be simulated."""
    expandable, hows, wholes = case["expandable"], [()], (False,)
    for each in changes:
        if each.startswith("settings:expandable_segments:") and each.count(":") == 2:
            expandable = each.endswith("True")
        elif each.startswith("checkpoint:"):
            hows, wholes = [(*how, each) for how in hows], (False, True)
        elif each == "optimizer:fused":
            hows = [(*how, way) for how in hows for way in ("fused", "foreach=False")]
        else:
            return []
    return [(how, whole, expandable) for how in hows for whole in wholes]


def compare(rows, kind, case, changes, figures):
    """Compares the simulator's needs in each of these ways with the prediction."""
    for way in ways(case, changes):
        live, held = play(case, *way)[1]
        row = rows.setdefault(kind, [0, 0, 0, 0])
        row[0] += 1
        row[1] += figures["live_peak_bytes_min"] <= live <= figures["live_peak_bytes_max"]
        row[2] += figures["peak_reserved_bytes_min"] <= held <= figures["peak_reserved_bytes_max"]
        row[3] += held > figures["peak_reserved_bytes_max"] + GRANULE


def kind_of(chosen):
    """A row of the table: checkpointing alone, or several changes."""
    return "some blocks" if len(chosen["changes"]) == 1 and chosen["changes"][0].startswith("checkpoint:") else \
        "several changes" if len(chosen["changes"]) > 1 else "one of the above, as a plan"


def measure(n_shapes=SHAPES):
    """Rows of kind -> [pairs, in use within, reserved within, reserved told too low by more than a granule]."""
    dice, rows, plans = random.Random(SEED), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(n_shapes):
            case = shape_by_chance(dice)
            made, (_, reserved) = play(case)
            path = Path(folder) / "case.pickle"
            path.write_bytes(pickle.dumps(made))
            device = plan(path)
            assert device["refused"] is None, device["refused"]
            for change in device["changes"]:
                compare(rows, change["id"].split(":")[0], case, [change["id"]], change)
            told = set()
            for percent in FRACTIONS:
                size = reserved * percent // 100
                for more in WITHOUT:
                    for chosen in plan(path, "--gpu", f"{size}B", "--keep", "0", *more)["plans"]:
                        if tuple(chosen["changes"]) not in told:
                            compare(rows, kind_of(chosen), case, chosen["changes"], chosen)
                        told.add(tuple(chosen["changes"]))
                        tried = [play(case, *way, capacity=size) is not None for way in ways(case, chosen["changes"])]
                        if tried:
                            row = plans.setdefault(chosen["cost"], [0, 0])
                            row[0] += 1
                            row[1] += all(tried)
    return rows, plans


class Truth(unittest.TestCase):
    def test_predictions_and_plans(self):
        rows, plans = measure()
        self.assertGreater(rows["checkpoint"][0], SHAPES // 2)  # those that save something by themselves
        self.assertGreater(rows["some blocks"][0], SHAPES // 2)
        self.assertGreater(rows["several changes"][0], SHAPES // 2)
        for kind, (pairs, live, held, low) in rows.items():
            with self.subTest(kind):
                self.assertEqual(pairs, live, "in use lies within what was told")
                self.assertGreaterEqual(held, pairs * 9 // 10)
                self.assertLessEqual(low, 1)
        total, through = (sum(row[i] for row in plans.values()) for i in (0, 1))
        self.assertGreater(total, 20)
        self.assertGreaterEqual(through, total * 95 // 100)

    def test_a_last_forward_without_its_backward(self):
        """The plan offers checkpointing and says that the recomputed memory there is not recorded; for whole steps it
        does not say so."""
        case = {"layers": 4, "width": 512, "batch": 4, "tokens": 512, "unrolled": False, "sgd": True, "expandable": True, "seed": 3}
        sentence = "The last forward has no backward, so the recording does not show what making its blocks again takes."
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "case.pickle"
            for more in (True, False):
                made, (live, _) = play({**case, "more": more})
                path.write_bytes(pickle.dumps(made))
                done = subprocess.run([STRATA, "plan", "--gpu", f"{live * 95 // 100}B", "--keep", "0", path], capture_output=True, check=True)
                said = " ".join(done.stdout.decode().split())
                self.assertRegex(said, "To fit: .*checkpoint ([1-3] of|all) 4 blocks")
                self.assertEqual(more, sentence in said, said)

    def test_a_finding_saves_what_the_report_says(self):
        """Also where memory is kept over several turns, whose intervals overlap: no saving counts twice."""
        case = {"layers": 8, "width": 384, "batch": 2, "tokens": 128, "unrolled": False, "sgd": True, "expandable": False, "seed": 83}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "case.pickle"
            # Without annotations, so that turns are backward passes.
            made = {**play(case, ["checkpoint:4"])[0], "external_annotations": []}
            path.write_bytes(pickle.dumps(made))
            done = subprocess.run([STRATA, "report", "--json", path], capture_output=True, check=True)
            told = {f"finding:{one['kind']}:{one['site']}": one["saves_peak_bytes"] for one in json.loads(done.stdout)["devices"][0]["findings"]}
            found = [one for one in plan(path)["changes"] if one["id"].startswith("finding:")]
        self.assertEqual(1, len(found))
        self.assertEqual(told[found[0]["id"]], found[0]["saves_peak_bytes"])

def table():
    rows, plans = measure()
    print("| change | pairs | in use within | reserved within | reserved too low |\n|---|---|---|---|---|")
    for kind, row in sorted(rows.items()):
        print(f"| {kind} |", " | ".join(map(str, row)), "|")
    print("\n| cost of the plan | plans | get through |\n|---|---|---|")
    for cost, row in plans.items():
        print(f"| {cost} |", " | ".join(map(str, row)), "|")


if __name__ == "__main__":
    if "--table" in sys.argv:
        table()
    else:
        unittest.main()
