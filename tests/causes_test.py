#!/usr/bin/env python3
"""Memory that is older than the recording, and causes of the peak, compared with programs whose truth is known (peak_twins.py).

    STRATA=path/to/strata causes_test.py            five styles, and three more shapes of the model in one style each
    STRATA=path/to/strata causes_test.py all        every shape in every style, and a table of what was named

1. A program with one fault, and the same without it: the finding names the fault and its line, and the peak that it
   promises without the fault is within 5 % of the other program's. The other program has no such finding and no alarm.
2. The front of a complete recording is cut off. Memory made before the cut must get the category that the ledger has. This includes
   frozen weights beside adapters, 32-bit copies in the optimizer, gradients that backward adds to, parameters shared out over
   ranks, and two models trained in turn. An average of the weights, a CUDA graph's pool and the buckets of data parallel ranks
   must be "other", with the reason.
3. Each report says what the peak is made of, and the parts add up to the peak.
"""

import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import peak_twins  # noqa: E402
from simulator.allocator import MIB  # noqa: E402
from peak_twins import CUTS, FAULTS, STYLES, Case  # noqa: E402

STRATA = os.environ.get("STRATA", "strata")
LOUD = ("high", "medium")
SHAPES = (dict(layers=2, width=512), dict(layers=12, width=768), dict(layers=24, width=640), dict(layers=3, width=2048),
          dict(layers=48, width=512, rows=8))
# Findings that are true with and without the fault.
PRICES = {"full buffer": ("optimizer_temporaries",)}


def device_of(snapshot):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "run.pickle")
        path.write_bytes(pickle.dumps(snapshot, protocol=4))
        done = subprocess.run([STRATA, "report", "--json", "--top", "1", str(path)], capture_output=True, timeout=120, check=True)
        return json.loads(done.stdout)["devices"][0]


class Judged:
    """Checks one pair; returns the problems and the row for the table."""

    def __init__(self, case):
        self.case, self.problems, self.row = case, [], collections.Counter(pairs=1)
        (self.faulty, self.with_it), (self.healthy, self.without) = (self.device(faulty) for faulty in (True, False))
        mine = [each for each in self.faulty["findings"] if each["kind"] == self.fault.kind]
        self.judge(mine)
        self.judge_healthy()

    @property
    def fault(self):
        return FAULTS[self.case.fault]

    def problem(self, *words):
        self.problems.append(f"{self.case.words()}: " + " ".join(map(str, words)))

    def device(self, faulty):
        snapshot, curve = peak_twins.recorded(peak_twins.play(self.case, faulty), faulty)
        device = device_of(snapshot)
        if device["peak_bytes"] != max(curve):
            self.problem("peak", device["peak_bytes"], "in truth", max(curve))
        made = device.get("peak_made_of")
        self.row["sentence"] += bool(made) and made["text"].startswith("The peak of ") and (
            sum(part["bytes"] for part in made["parts"]) == device["peak_bytes"])
        return device, max(curve)

    def judge(self, mine):
        self.row["there"] += 1
        if not mine:
            self.problem("missed; found", [each["title"] for each in self.faulty["findings"]])
            return
        finding, site = mine[0], self.fault.site
        self.row["named"] += 1
        if finding["severity"] not in self.fault.severities:
            self.problem("severity", finding["severity"])
        if site and finding["site"] != peak_twins.site_name(site):
            self.problem("site", finding["site"])
        if any(finding[key] != value for key, value in self.fault.fields):
            self.problem("fields", finding)
        if not finding["detail"].endswith(finding.get("action") or ""):
            self.problem("the detail does not end with the action")
        self.judge_figure(finding)
        blamed = [each["title"] for each in self.faulty["findings"] if each["severity"] in LOUD and each not in mine
                  and each["kind"] not in PRICES.get(self.case.fault, ())]
        if blamed:
            self.problem("blamed too", blamed)

    def judge_figure(self, finding):
        """The peak that the finding predicts is that of the other program."""
        if self.fault.kind in ("history_full", "no_history", "fragmentation"):
            return
        said = self.with_it - (finding["saves_peak_bytes"] or 0)
        self.row["figures"] += 1
        self.row["right"] += abs(said - self.without) * 100 <= self.without * 5
        if abs(said - self.without) * 100 > self.without * 5:
            self.problem("figure", said, "in truth", self.without, "recorded", self.with_it)

    def judge_healthy(self):
        wrong = [each["title"] for each in self.healthy["findings"] if each["kind"] not in PRICES.get(self.case.fault, ())
                 and (each["severity"] in LOUD or each["kind"] == self.fault.kind)]
        self.row["quiet"] += not wrong
        if wrong:
            self.problem("alarm", wrong)


# ---- cut fronts ----


def whole(program):
    """Three steps of training with marks where a recording may begin."""
    forward, backward = program.forward, program.backward

    def marked_forward():
        program.mark("begin forward")
        return forward()

    def marked_backward(head):
        program.mark("begin backward")
        backward(head)
        program.mark("end backward")

    program.forward, program.backward = marked_forward, marked_backward
    for number in range(3):
        program.train()
        if number == 0:
            program.mark("second step")
        if number == 1:
            program.mark("in forward", (program.marks["begin forward"] + program.marks["begin backward"]) // 2)
            program.mark("in backward", (program.marks["begin backward"] + program.marks["end backward"]) // 2)


def adapters(program):
    """The model is frozen; low-rank matrices are trained beside its weights."""
    program.adapt()
    whole(program)


def masters(program):
    """Parameters and gradients in 16 bits; the optimizer has the weights and its two states in 32."""
    for _ in range(3):
        program.copies(2, "optimizer_state")
    program.state, program.faulty = {"made": []}, False
    whole(program)


def average(program):
    """The program keeps an average of the weights; no event tells this fourth copy from the others."""
    program.copies(1, "other")
    whole(program)


def added(program):
    """Gradients are never None, so backward adds to them in place; no optimizer allocates."""
    program.optimize = program.zero = lambda: None
    whole(program)


def pool(program):
    """A CUDA graph has a pool of its own."""
    own = program.world.gpus[0].private_pool((1, 0))
    with program.world.acting("other"):
        for _ in range(6):
            program.world.malloc(40 * MIB, program.stack("capture"), pool=own)
    whole(program)


def buckets(program):
    """Ranks exchange gradients in buckets of 25 MiB, which are made once."""
    nbytes = sum(block.requested for block in program.parameters.values())
    with program.world.phase("load"), program.world.acting("workspace"):
        for at in range(0, nbytes, 25 * MIB):
            program.world.malloc(min(nbytes - at, 25 * MIB), program.stack("buckets", "empty"))
    whole(program)


def sharded(program):
    """Each of four ranks keeps a quarter of a layer's parameters, as one flat tensor; a layer is gathered while it is needed."""
    world, flat, gathered, shared = program.world, collections.Counter(), [], collections.namedtuple("Shared", "rows loss layer backward")(
        program.rows, program._loss, program._backward_layer, program.backward)
    for (layer, _), block in program.parameters.items():
        flat[layer] += block.requested
        program.drop([block])
    with world.phase("load"), world.acting("parameter"):
        program.parameters = {(layer, "flat"): world.malloc(nbytes // 4, program.stack("shard", "empty")) for layer, nbytes in flat.items()}

    def gather(site, *layers):
        program.drop(gathered)
        with world.acting("parameter"):
            gathered[:] = [world.malloc(flat[layer], program.stack(site, "empty")) for layer in layers]

    def reduce(layer):
        whole_gradient = world.malloc(flat[layer], world.stacks.backward("SplitWithSizesBackward0", "cat"))
        program.gradients[layer, "flat"] = world.malloc(flat[layer] // 4, program.stack("reduce", "empty"))
        world.free(whole_gradient, world.stacks.release("AccumulateGrad"))

    def rows(phase, layer):
        if phase == "forward":
            gather("gather", layer)
        return shared.rows(phase, layer)

    def loss(n_rows):
        gather("gather", "head")
        return shared.loss(n_rows)

    def backward_layer(layer, gradient):
        gather("gather again", layer)
        gradient = shared.layer(layer, gradient)
        reduce(layer)
        return gradient

    def backward(head):
        shared.backward(head)
        reduce("head")
        reduce("embedding")
        gather("gather again")

    program.rows, program._loss, program._backward_layer, program.backward = rows, loss, backward_layer, backward
    program._parameter_gradient = lambda layer, name, elements, stack, device: world.free(
        world.malloc(4 * elements, stack), world.stacks.release("AccumulateGrad"))
    whole(program)


def adversary(program):
    """A second model with an optimizer of its own is trained before each step of the first."""
    world, sizes, states, train = program.world, [4 * MIB + 3584 * k * k for k in range(1, 9)], [], program.train
    with world.phase("load"), world.acting("parameter"):
        for nbytes in sizes:
            world.malloc(nbytes, program.stack("critic", "to"))

    def both(*arguments):
        with world.scope("critic"):
            with world.phase("forward"):
                made = [world.malloc(3 * MIB, program.stack("judge")) for _ in sizes]
            with world.phase("backward"):
                gradients = []
                for nbytes in reversed(sizes):
                    gradients.append(world.malloc(nbytes, world.stacks.backward("AddmmBackward0", "linear")))
                    world.free(made.pop(), world.stacks.release("AddmmBackward0"))
            with world.phase("optimizer"):
                states.extend(world.malloc(nbytes, program.state_stack()) for nbytes in sizes * 2 if len(states) < 2 * len(sizes))
            program.drop(gradients)
        train(*arguments)

    program.train = both
    whole(program)


SCRIPTS = {"whole": whole, "adapters": adapters, "masters": masters, "average": average, "added": added, "pool": pool,
           "buckets": buckets, "sharded": sharded, "adversary": adversary}
RECORDED = ("buckets", "sharded", "adversary")  # judged from their first event on too
REASONS = {"average": "copy", "pool": "private_pool", "buckets": "older"}  # reasons for memory that stays "other"


@functools.lru_cache(1)
def played_once(case, script):
    """The played program and its labels, for all cuts of it; cuts() yields those one after the other."""
    played = peak_twins.play(case, True, SCRIPTS[script])
    return played, played.world.labels()


class Cut:
    """Checks one cut front; returns the right, the wrong and the unnamed bytes, and the problems."""

    def __init__(self, case, name, script="whole"):
        self.case, self.problems = case, []
        played, labels = played_once(case, script)
        at, truth = played.program.marks.get(name, 0), collections.Counter()
        device = device_of(peak_twins.cut(played.snapshot, at))
        peak = device["peak_event"] + at
        for each in played.world.allocations:
            if each.birth < (at or peak + 1) and (each.death is None or each.death > peak):
                role = min(labels[each.device, each.birth])
                truth["other" if at and role == "workspace" else role] += each.size
        said = {each["category"]: each.get("older_bytes" if at else "bytes", 0) for each in device["categories_at_peak"]}
        if script == "sharded":  # what is gathered from all ranks is a copy; the ledger calls it by its purpose
            said["parameter"] = said.get("parameter", 0) + said.pop("weight_copy", 0)
        nbytes = sum(truth.values())
        right = sum(min(said.get(category, 0), size) for category, size in truth.items())
        wrong = sum(max(0, size - truth[category]) for category, size in said.items() if category != "other")
        self.row = collections.Counter(cuts=1, bytes=nbytes, right=right, wrong=wrong,
                                       named=right * 10 >= nbytes * 9 and wrong * 100 <= nbytes)
        if not self.row["named"]:
            self.problems.append(f"{script}, {name}, {case.words()}: {dict(truth)}, said {said}")
        (other,) = [each for each in device["categories_at_peak"] if each["category"] == "other"] or [{"reason": {}}]
        if script in REASONS and at and other["reason"].get(REASONS[script], 0) < truth["other"]:
            self.problems.append(f"{script}, {name}, {case.words()}: reason {other['reason']}")


def cuts(shapes):
    """Yields (case, place of the cut, played program) for every cut front."""
    return [(Case("foreach", style, **shape), name, "whole") for shape in shapes for style in STYLES for name in CUTS] + [
        (Case("foreach", style, width=512), name, script) for script in SCRIPTS for style in STYLES for name in CUTS[1:]
        if script != "whole"] + [(Case("foreach", style, width=512), "start", script) for script in RECORDED for style in STYLES]


# ---- running ----


def chosen(whole_table):
    """The first shape in all styles, each other shape in one style (or in all)."""
    found = peak_twins.cases()
    for number, shape in enumerate(SHAPES):
        found += [case for k, case in enumerate(peak_twins.cases(**shape)) if whole_table or k % 5 == number]
    return found


def table(judged):
    print(f"{'fault':28} {'pairs':>5} {'there':>5} {'named':>5} {'figures':>7} {'right':>5} {'quiet':>5} {'sentence':>8}")
    for fault in (*FAULTS, None):
        row = sum((each.row for each in judged if fault in (None, each.case.fault)), collections.Counter())
        print(f"{fault or 'all':28} {row['pairs']:5} {row['there']:5} {row['named']:5} {row['figures']:7} {row['right']:5} "
              f"{row['quiet']:5} {row['sentence']:8}")


def main(arguments):
    whole_table = arguments == ["all"]
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        judged = list(pool.map(Judged, chosen(whole_table), chunksize=4))
        cut = list(pool.map(Cut, *zip(*cuts(({}, *SHAPES) if whole_table else ({},))), chunksize=len(CUTS)))
    table(judged)
    row = sum((each.row for each in cut), collections.Counter())
    print(f"cut fronts: {row['named']} of {row['cuts']}; {100 * row['right'] / row['bytes']:.1f} % of the bytes right, "
          f"{100 * row['wrong'] / row['bytes']:.2f} % wrong")
    problems = [problem for each in judged + cut for problem in each.problems]
    for problem in problems:
        print(problem[:600])
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
