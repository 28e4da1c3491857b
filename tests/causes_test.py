#!/usr/bin/env python3
"""What is older than the recording and what makes a peak, against programs whose truth is known (peak_twins.py).

    STRATA=path/to/strata causes_test.py            five styles, and three more shapes of the model in one style each
    STRATA=path/to/strata causes_test.py all        every shape in every style, and a table of what was named

1. A program with one fault, and the same without it: the fault is named, at its line, and the peak that is said to be
   without it is, within 5 %, the peak of the other program, which has no such finding and no alarm.
2. The front of a complete recording is cut off: what was made before the cut has the category that its ledger says. So it has
   where weights are frozen beside adapters, where the optimizer has them in 32 bits, and where backward adds to gradients; an
   average of the weights and a CUDA graph's pool are other, and why.
3. What the peak is made of is said of each of them, and its parts add up to the peak.
"""

import collections
import concurrent.futures
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
# What is true of a program with and without its fault: a first step that makes the state, a forward without no_grad.
PRICES = {"held in turns": ("unused_graph",), "held in one pass": ("unused_graph",), "full buffer": ("optimizer_temporaries",),
          "old form": ("next_step_peak",)}


def device_of(snapshot):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "run.pickle")
        path.write_bytes(pickle.dumps(snapshot, protocol=4))
        done = subprocess.run([STRATA, "report", "--json", "--top", "1", str(path)], capture_output=True, timeout=120, check=True)
        return json.loads(done.stdout)["devices"][0]


class Judged:
    """Of one pair: problems, and what the table counts."""

    def __init__(self, case):
        self.case, self.problems, self.row = case, [], collections.Counter(pairs=1)
        (self.faulty, self.with_it), (self.healthy, self.without) = (self.device(faulty) for faulty in (True, False))
        mine = [each for each in self.faulty["findings"] if each["kind"] == self.fault.kind]
        if self.is_there():
            self.judge(mine)
        elif mine:
            self.problem("named, and is not there", mine[0]["title"])
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

    def is_there(self):
        return self.fault.kind != "next_step_peak" or self.without * 100 > self.with_it * 101

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
        """What the peak would be, or will be, is that of the other program."""
        if self.fault.kind in ("history_full", "no_history", "cached_free", "fragmentation"):
            return
        saves = finding["saves_peak_bytes"]
        said = finding.get("expected_peak_bytes") or self.with_it - (saves or 0)
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
    """The model is frozen; matrices of a small rank are trained beside its weights."""
    program.adapt()
    whole(program)


def masters(program):
    """Parameters and gradients in 16 bits; the optimizer has the weights and its two states in 32."""
    for _ in range(3):
        program.copies(2, "optimizer_state")
    program.state, program.faulty = {"made": []}, False
    whole(program)


def average(program):
    """An average of the weights is kept: no event tells a fourth copy from another."""
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


SCRIPTS = {"whole": whole, "adapters": adapters, "masters": masters, "average": average, "added": added, "pool": pool}
REASONS = {"average": "copy", "pool": "private_pool"}  # of what stays other


class Cut:
    """Of one cut front: bytes that are right, wrong and not named, and problems."""

    def __init__(self, case, name, script="whole"):
        self.case, self.problems = case, []
        played = peak_twins.play(case, True, SCRIPTS[script])
        at, labels, truth = played.program.marks[name], played.world.labels(), collections.Counter()
        device = device_of(peak_twins.cut(played.snapshot, at))
        peak = device["peak_event"] + at
        for each in played.world.allocations:
            if each.birth < at and (each.death is None or each.death > peak):
                truth[min(labels[each.device, each.birth])] += each.size
        said = {each["category"]: each.get("older_bytes", 0) for each in device["categories_at_peak"] if each.get("older_bytes")}
        nbytes = sum(truth.values())
        right = sum(min(said.get(category, 0), size) for category, size in truth.items())
        wrong = sum(max(0, size - truth[category]) for category, size in said.items() if category != "other")
        self.row = collections.Counter(cuts=1, bytes=nbytes, right=right, wrong=wrong,
                                       named=right * 10 >= nbytes * 9 and wrong * 100 <= nbytes)
        if not self.row["named"]:
            self.problems.append(f"{script}, {name}, {case.words()}: {dict(truth)}, said {said}")
        (other,) = [each for each in device["categories_at_peak"] if each["category"] == "other"] or [{"reason": {}}]
        if script in REASONS and other["reason"].get(REASONS[script], 0) < truth["other"]:
            self.problems.append(f"{script}, {name}, {case.words()}: reason {other['reason']}")


def cuts(shapes):
    """(case, where, what is played) of every cut front."""
    return [(Case("foreach", style, **shape), name, "whole") for shape in shapes for style in STYLES for name in CUTS] + [
        (Case("foreach", style, width=512), name, script) for script in SCRIPTS for style in STYLES for name in CUTS[1:]
        if script != "whole"]


# ---- running ----


def chosen(whole_table):
    """All styles of the first shape; of the others one style each, or all."""
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
        cut = list(pool.map(Cut, *zip(*cuts(({}, *SHAPES) if whole_table else ({},)))))
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
