#!/usr/bin/env python3
"""Compares Strata's findings with runs whose truth is known (twins.py), and prints how many are right.

    STRATA=path/to/strata STATE_DUMP=path/to/state_dump verdicts_test.py          a tenth of the runs
    STRATA=... STATE_DUMP=... verdicts_test.py all                                 all of them
    STRATA=... STATE_DUMP=... verdicts_test.py -v WORD...                          those whose description has all words

1. Pairs: a run with one planted fault, and the same run without it. A finding must name the fault with its site, its
   bytes and the peak without it; the healthy run must have no finding of severity high or medium.
2. Healthy runs of other shapes: no finding of severity high or medium.
3. Labels: the category of every allocation, weighed by its bytes at every event.
"""

import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import twins
from twins import Twin

STRATA, STATE_DUMP = os.environ.get("STRATA", "strata"), os.environ.get("STATE_DUMP", "state_dump")
LOUD = ("high", "medium")
STEPS = (1, 2, 3, 5, 50)

# The kind of finding that names a fault, and the steps that it needs.
KINDS = {
    "zero_grad": (("gradients_kept",), 2),
    "late_zero_grad": (("gradients_kept",), 2),
    "leak": (("leak", "held_over"), 2),
    "leak_small": (("leak", "held_over"), 2),
    "leak_layer": (("leak", "held_over"), 2),
    "leak_forward_only": (("leak",), 3),
    "growing_buffer": (("growing_buffer",), 3),
    "growing_keys": (("growing_buffer",), 3),
    "held_over": (("held_over",), 2),
    "held_graph": (("held_over", "unused_graph"), 2),
    "retry_flush": (("retry_flush",), 1),
    "cache_churn": (("cache_churn",), 3),
    "leak_late": (("leak",), 4),
    "leak_rare": (("leak",), 4),
    "leak_one_of_many": (("leak", "held_over"), 2),
    "two_leaks": (("leak", "held_over"), 2),
}
SITE = {"leak": "outputs", "leak_late": "outputs", "leak_rare": "outputs", "leak_one_of_many": "outputs",
        "two_leaks": "outputs", "leak_small": "losses", "leak_layer": "probe", "leak_forward_only": "history",
        "growing_buffer": "buffer", "growing_keys": "keys", "held_over": "result"}
# Faults that a run may hide, and the kind of check that must not report "clear" then.
REASSURES = {"zero_grad": "gradients_kept", "late_zero_grad": "gradients_kept", "held_over": "held_over", "held_graph": "held_over",
             "retry_flush": "retry_flush"}
EXACT_BYTES = ("leak", "leak_late", "leak_rare", "leak_one_of_many", "leak_small", "leak_layer", "leak_forward_only", "growing_buffer", "growing_keys")
EXACT_SAVING = ("zero_grad", "late_zero_grad", "leak", "leak_late", "leak_one_of_many", "leak_small", "leak_forward_only", "held_over", "held_graph")
# (stacks, paths, annotations)
STYLES = (("mixed", "posix", "profiler"), ("python", "posix", "none"), ("mixed", "windows", "none"),
          ("mixed", "posix", "none"), ("python", "windows", "profiler"), ("mixed", "windows", "optimizer"),
          ("python", "posix", "optimizer"), ("cpp", "posix", "profiler"))
STORY_STYLES = (("mixed", "posix"), ("python", "posix"), ("python", "windows"), ("cpp", "posix"))
SHAPES = ("plain", "accumulation", "sgd", "fused", "two_optimizers", "evaluation", "lengths", "rising_lengths", "ema",
          "bounded_queue", "lazy_caches", "inference", "ends_in_forward", "ends_in_backward", "zero_first", "clip",
          "saturating_cache", "prefetch", "lora")
# Findings that are true with and without the fault, judged separately: a foreach optimizer, a forward without no_grad.
PRICES = ("optimizer_temporaries", "unused_graph")
GRAPHS = ("held_graph",)  # the runs that have an unused graph
# Findings in healthy runs that are true as worded: a cost, or something that a single turn cannot decide.
TOLERATED = {}
# Limits: at least as good as the prototype.
LIMITS = {"missed": 0, "false alarms": 0, "others blamed": 0, "savings wrong": 0, "labels right": 0.97,
          "labels wrong": 0.01}


def all_pairs():
    """Yields (twin, is it in the tenth that every test run plays?)."""
    found = []
    for f, fault in enumerate(KINDS):
        for s, steps in enumerate(STEPS):
            for turn in range(4):
                number = len(found)
                stacks, paths, annotations = STYLES[(f + 3 * s + 2 * turn) % len(STYLES)]
                layers = 24 if turn == 3 and steps < 50 else 6 if turn == 1 and steps < 50 else 2
                shape = "sgd" if "zero_grad" in fault and turn % 2 == 0 else "plain"
                found.append(Twin(fault=fault, shape=shape, steps=steps, stacks=stacks, paths=paths, annotations=annotations,
                                  layers=layers, rows=16 if (number // 2 + f) % 2 else 2,
                                  seed=number + 1))
    return found


def all_healthy():
    found = []
    for h, shape in enumerate(SHAPES):
        for s, steps in enumerate((2, 3, 5, 20)):
            stacks, paths, annotations = STYLES[(h + s) % len(STYLES)]
            found.append(Twin(shape=shape, steps=steps, stacks=stacks, paths=paths, annotations=annotations,
                              layers=(2, 6, 24)[(h + s) % 3], rows=(2, 16)[s % 2], seed=1000 + len(found)))
    return found


def is_judgeable(twin):
    """Does the recording show enough to see the fault?"""
    least = KINDS[twin.fault][1]
    if twin.fault in ("leak", "leak_small", "leak_one_of_many", "two_leaks") and twin.annotations != "profiler":
        least = 3  # the fault happens between two steps, and three steps show two whole intervals
    if twin.fault == "leak_layer" and twin.layers < 3:
        least = 2  # two occurrences in two steps are not a pattern
    if twin.fault == "retry_flush" and twin.stacks == "python":
        return False  # backward has no Python stack, so the site of the request is unknown
    if twin.stacks == "cpp":  # forward, optimizer and loading cannot be told apart
        if twin.fault == "leak_layer":
            least = 3
        if twin.fault in ("zero_grad", "late_zero_grad") and twin.annotations == "none":
            return False
        if twin.fault in ("growing_keys", "held_graph", "leak_forward_only"):
            return False
    return twin.steps >= least


# ---- what Strata says ----


def report(path, *words):
    done = subprocess.run([STRATA, "report", *words, str(path)], capture_output=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"strata report exits {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout.decode("utf-8")


def device_of(path):
    return json.loads(report(path, "--json", "--top", "1"))["devices"][0]


@dataclasses.dataclass
class Outcome:
    twin: Twin
    named: bool = None  # None: too little was recorded
    wrong_site: bool = False
    bytes_right: bool = None
    saving_right: bool = None
    false_alarms: list = dataclasses.field(default_factory=list)
    blamed: list = dataclasses.field(default_factory=list)
    problems: list = dataclasses.field(default_factory=list)
    labels: list = dataclasses.field(default_factory=list)


def short(finding):
    return (f"{finding['kind']} {finding['severity']}/{finding['confidence']} {finding.get('site')} "
            f"bytes={finding['bytes']} saves={finding['saves_peak_bytes']}: {finding['title']}")


def belongs(finding, twin):
    """Is it the planted fault? If a leak has several sites, each of them is."""
    kinds = KINDS[twin.fault][0]
    if twin.fault == "held_over" and twin.steps == 2 and finding["confidence"] == "possible":
        kinds += ("leak",)  # both results are live when the last allocation is made
    if finding["kind"] not in kinds:
        return False
    if twin.fault not in SITE or twin.stacks == "cpp":
        return True
    return finding["site"] == twins.site_name(SITE[twin.fault])


def consequences(twin):
    """Kinds that the planted fault may truly cause besides its own."""
    return {"two_leaks": ("leak", "held_over"), "retry_flush": ("fragmentation",),
            "cache_churn": ("fragmentation",)}.get(twin.fault, ())


def judge_faulty(outcome, healthy, faulty, device):
    twin, findings = outcome.twin, device["findings"]
    mine = [finding for finding in findings if belongs(finding, twin)]
    outcome.blamed = [short(each) for each in findings if each not in mine and each["severity"] in LOUD
                      and each["kind"] not in consequences(twin) + PRICES]
    clear = [check["kind"] for check in device["judged"]["checks"] if check["state"] == "clear"]
    if not mine and REASSURES.get(twin.fault) in clear and (twin.fault != "leak_layer" or twin.layers >= 3):
        outcome.problems.append(f"reassures: {REASSURES[twin.fault]} is called clear")
    if not is_judgeable(twin):
        return
    saves = faulty.peak() - healthy.peak()
    if not mine and saves * 90 < faulty.peak() and (twin.fault not in KINDS["leak"][0] or saves < twin.steps * faulty.peak() // 10000):
        return  # what saves nothing at the peak is no finding, nor what keeps less than a ten thousandth of it in a step
    outcome.named = bool(mine)
    if not mine:
        outcome.problems.append("missed; found " + "; ".join(map(short, findings)) + f"; judged {device['judged']}")
        return
    best = mine[0]
    if twin.fault in EXACT_BYTES and twin.stacks != "cpp":
        at = best["at_event"] if best["at_event"] >= 0 else device["peak_event"]
        truth = faulty.planted_at(at)
        outcome.bytes_right = (best["bytes"], best["count"]) == truth
        if not outcome.bytes_right:
            outcome.problems.append(f"bytes: planted {truth} at event {at}: {short(best)} count={best['count']}")
    if twin.fault in EXACT_SAVING:
        truth = faulty.peak() - healthy.peak()
        said = best["saves_peak_bytes"]
        # what no backward uses would be gone at once under no_grad, which the healthy twin does not run
        outcome.saving_right = best["kind"] == "unused_graph" or said is not None and abs(said - truth) * 50 <= max(truth, 1)
        if not outcome.saving_right:
            outcome.problems.append(f"saving: {truth} is true: {short(best)}")


def judge_healthy(outcome, device):
    tolerated = TOLERATED.get(outcome.twin.shape, ()) if not outcome.twin.fault else ()
    if outcome.twin.shape == "bounded_queue" and outcome.twin.steps <= 3:
        tolerated += ("leak",)  # a queue of three that is not full yet
    if outcome.twin.shape == "prefetch" and outcome.twin.steps == 2 and outcome.twin.stacks == "cpp":
        tolerated += ("leak",)  # two batches, and no stack shows that they are input
    outcome.false_alarms = [short(each) for each in device["findings"]
                            if each["severity"] in LOUD and each["kind"] not in tolerated + PRICES]


def price(device, kind):
    return next((each for each in device["findings"] if each["kind"] == kind), None)


def saving_of_temporaries(played):
    """By how much the peak would be lower without the optimizer's temporaries, according to the ledger."""
    labels, without = played.world.labels(), list(played.curve)
    for each in played.world.allocations:
        if each.phase.kind == "optimizer" and labels[each.device, each.birth] == {"temporary"}:
            for event in range(each.birth, each.death + 1):
                without[event] -= each.size
    return played.peak() - max(without)


def judge_prices(outcome, played, device):
    """These findings must appear exactly where they are true, with the figure of the same run without them."""
    twin, peak = played.twin, played.peak()
    said = {kind: price(device, kind) for kind in PRICES}
    if said["unused_graph"] and twin.fault not in GRAPHS:
        outcome.problems.append("no graph is unused: " + short(said["unused_graph"]))
    saves = saving_of_temporaries(played)
    if said["optimizer_temporaries"] and abs(said["optimizer_temporaries"]["saves_peak_bytes"] - saves) * 20 > peak:
        outcome.problems.append(f"without temporaries {saves} less: " + short(said["optimizer_temporaries"]))
    if not said["optimizer_temporaries"] and saves * 25 > peak and twin.stacks != "cpp":
        outcome.problems.append(f"the optimizer's temporaries are {saves} of {peak}, and nothing is said")


def judge_words(outcome, device, path):
    """If growth was not judged, the report must not call it clear."""
    if device["judged"]["growth"] == "judged":
        return
    text = report(path).lower()
    for sentence in ("nothing leaks", "no leak", "no sign of a leak"):
        if sentence in text:
            outcome.problems.append(f"says '{sentence}' and has not judged: {device['judged']}")


# ---- labels ----


def categories_of(path, ordinal):
    """{birth event: category} of recorded allocations."""
    done = subprocess.run([STATE_DUMP, "--categories", str(path), str(ordinal)], capture_output=True, text=True,
                          timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"state_dump: {done.stderr[-500:]}")
    rows = (line.split() for line in done.stdout.splitlines())
    return {int(birth): category for birth, _, _, category in rows if int(birth) >= 0}


def judge_labels(world, snapshot_, path):
    """[(right, wrong, other, unsaid) in bytes summed over events, least share right, largest share wrong] per device."""
    labels, found = world.labels(), []
    for device, trace in enumerate(snapshot_["device_traces"]):
        allocations = [allocation for allocation in world.allocations if allocation.device == device]
        if allocations:
            found.append(judge_device_labels(allocations, labels, categories_of(path, device), len(trace)))
    return found


def judge_device_labels(allocations, labels, categories, n_events):
    change = [[0] * 3 for _ in range(n_events + 1)]
    confusion = collections.Counter()
    for allocation in allocations:
        truth, said = labels[allocation.device, allocation.birth], categories.get(allocation.birth)
        if truth is None or not 0 <= allocation.birth < n_events:
            continue
        which = 0 if said in truth else 2 if said in ("other", None) else 1
        if which:
            confusion["|".join(sorted(truth)), said] += allocation.size
        death = n_events if allocation.death is None else min(allocation.death, n_events)
        change[allocation.birth][which] += allocation.size
        change[death][which] -= allocation.size
    sums, now, least, most = [0] * 3, [0] * 3, 1.0, 0.0
    for delta in change[:-1]:
        now = [a + b for a, b in zip(now, delta)]
        sums = [a + b for a, b in zip(sums, now)]
        if sum(now):
            least, most = min(least, now[0] / sum(now)), max(most, now[1] / sum(now))
    return sums, least, most, confusion


# ---- running ----


def run_pair(twin):
    outcome = Outcome(twin)
    healthy, faulty = twins.pair(twin)
    if faulty is None:
        return None  # no capacity makes this run flush and still succeed
    with tempfile.TemporaryDirectory() as folder:
        for name, played in (("healthy", healthy), ("faulty", faulty)):
            path = pathlib.Path(folder, name + ".pickle")
            played.write(path)
            device = device_of(path)
            if device["peak_bytes"] != played.peak():
                outcome.problems.append(f"{name}: peak {device['peak_bytes']}, in truth {played.peak()}")
            if name == "faulty":
                judge_faulty(outcome, healthy, faulty, device)
            else:
                judge_healthy(outcome, device)
            judge_prices(outcome, played, device)
            if twin.steps <= 2:
                judge_words(outcome, device, path)
            if twin.stacks != "none":
                outcome.labels += judge_labels(played.world, played.snapshot, path)
    return outcome


def run_healthy(twin):
    outcome = Outcome(twin)
    played = twins.record(twin, False)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "healthy.pickle")
        played.write(path)
        device = device_of(path)
        judge_healthy(outcome, device)
        judge_prices(outcome, played, device)
        outcome.labels += judge_labels(played.world, played.snapshot, path)
    return outcome


def run_story(task):
    name, style = task
    snapshot_, world = twins.record_story(name, style)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name + ".pickle")
        path.write_bytes(pickle.dumps(snapshot_, protocol=4))
        return judge_labels(world, snapshot_, path)


# ---- tables ----


def share(part, whole):
    return f"{100 * part / whole:.2f} %" if whole else "-"


def pair_table(outcomes):
    print(f"{'fault':18} {'pairs':>5} {'named':>6} {'missed':>6} {'too few':>7} {'alarms':>6} {'blamed':>6} "
          f"{'bytes':>7} {'savings':>7}")
    total = collections.Counter()
    for fault in KINDS:
        mine = [each for each in outcomes if each.twin.fault == fault]
        if not mine:
            continue
        row = collections.Counter(pairs=len(mine))
        for each in mine:
            row["named"] += each.named is True
            row["missed"] += each.named is False
            row["too few"] += each.named is None
            row["alarms"] += bool(each.false_alarms)
            row["blamed"] += bool(each.blamed)
            for name, value in (("bytes", each.bytes_right), ("savings", each.saving_right)):
                row[name + " of"] += value is not None
                row[name] += value is True
        total.update(row)
        pair_row(fault, row)
    pair_row("all", total)
    return total


def pair_row(name, row):
    exact = [f"{row[key]}/{row[key + ' of']}" for key in ("bytes", "savings")]
    print(f"{name:18} {row['pairs']:5} {row['named']:6} {row['missed']:6} {row['too few']:7} {row['alarms']:6} "
          f"{row['blamed']:6} {exact[0]:>7} {exact[1]:>7}")


def label_table(rows):
    """rows: {name: [(sums, least, most, confusion)]}. Returns (share right, largest share wrong) over all."""
    print(f"\n{'labels of':24} {'traces':>6} {'right':>9} {'wrong':>8} {'other':>8} {'worst moment':>13} {'wrong there':>11}")
    all_sums, confusion = [0] * 3, collections.Counter()
    for name, found in rows.items():
        sums = [sum(column) for column in zip(*(each[0] for each in found))]
        all_sums = [a + b for a, b in zip(all_sums, sums)]
        for each in found:
            confusion.update(each[3])
        whole = sum(sums)
        print(f"{name:24} {len(found):6} {share(sums[0], whole):>9} {share(sums[1], whole):>8} {share(sums[2], whole):>8} "
              f"{min(each[1] for each in found):13.4f} {max(each[2] for each in found):11.4f}")
    whole = sum(all_sums)
    print(f"{'all':24} {sum(map(len, rows.values())):6} {share(all_sums[0], whole):>9} {share(all_sums[1], whole):>8} "
          f"{share(all_sums[2], whole):>8}")
    for (truth, said), nbytes in confusion.most_common(8):
        print(f"    {truth} was called {said}: {nbytes / 2**20:,.0f} MiB")
    return all_sums[0] / whole, all_sums[1] / whole


def main(arguments):
    words = arguments[1:] if arguments[:1] == ["-v"] else []
    whole = arguments == ["all"] or words
    pairs, healthy = all_pairs(), all_healthy()
    if words:
        pairs = [twin for twin in pairs if all(word in twin.words().split() or word == twin.fault for word in words)]
        healthy = [twin for twin in healthy if all(word in twin.words().split() for word in words)]
    elif not whole:
        pairs = [twin for number, twin in enumerate(pairs) if (number + number // 20) % 10 == 9]
        healthy = healthy[2::9]
    failed, passed = [], 0
    told = [] if words else [(name, style) for name in twins.STORY_NAMES for style in STORY_STYLES]
    told = told if whole else told[::10]
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        judged = [each for each in pool.map(run_pair, pairs, chunksize=2) if each]
        quiet = list(pool.map(run_healthy, healthy, chunksize=2))
        labelled = list(pool.map(run_story, told))
    for each in judged + quiet:
        problems = each.problems + ["false alarm: " + alarm for alarm in each.false_alarms] + [
            "blamed: " + blamed for blamed in each.blamed]
        for problem in problems:
            print(f"{each.twin.words()}: {problem}")
        failed += problems[:1]
        passed += not problems
    if judged:
        pair_table(judged)
    print(f"healthy runs of other shapes: {len(quiet)}, {sum(bool(each.false_alarms) for each in quiet)} with an alarm")
    rows = collections.defaultdict(list)
    for each in judged + quiet:
        rows[f"{each.twin.fault and 'twins' or each.twin.shape}, {each.twin.stacks}"] += each.labels
    for (name, style), found in zip(told, labelled):
        rows[f"story {name}" if style[0] != "cpp" else "stories, cpp"] += found
    right, wrong = label_table({key: rows[key] for key in sorted(rows) if rows[key]})
    if right < LIMITS["labels right"] or wrong > LIMITS["labels wrong"]:
        failed.append("labels")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
