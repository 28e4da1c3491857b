#!/usr/bin/env python3
"""Compares Strata's conclusions about real recordings with what a person read in their stacks.

    STRATA=path/to/strata STATE_DUMP=path/to/state_dump STRATA_CORPUS=folder corpus_truth_test.py [WORD]

TRUTH is written by hand. The test also plants leaks in real recordings: it removes the frees of one call site of the
forward, and only that site must be named.
"""

import collections
import dataclasses
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

import replay

CORPUS = os.environ.get("STRATA_CORPUS")
LOUD = ("high", "medium")
MIB = 1 << 20


@dataclasses.dataclass
class Truth:
    """What is true of one device; None is not compared."""

    steps: tuple = None  # possible numbers of turns
    growth: str = None
    loud: dict = dataclasses.field(default_factory=dict)  # kind of high or medium severity -> (site or None, facts)
    said: dict = dataclasses.field(default_factory=dict)  # the same, of any severity
    may: tuple = ()  # kinds that are true too, whatever their severity
    at_peak: dict = None  # category -> (least, most) MiB at the peak
    born: dict = None  # (part of the stack, category) -> how many allocations of the recording, (least, most)
    wrong: str = None  # known errors of Strata; the table is right, and the entry goes when Strata is right


def facts(**wanted):
    return wanted


TRUTH = {
    # Adam's exp_avg and exp_avg_sq are made once and never freed; the recording ends right after optimizer.step().
    "adam_state_recording_ends_after_step.pickle": {0: Truth(
        steps=(0, 1), growth="too_short", at_peak={"optimizer_state": (3228, 3229), "gradient": (1614, 1615)},
        born={("_init_group", "optimizer_state"): (438, 438)},
        # torch.optim.AdamW by foreach: _multi_tensor_adamw makes temporaries for all parameters at once
        loud={"optimizer_temporaries": ("benchmark.py:34 profile_memory", facts(saves=(1550 * MIB, 1700 * MIB)))})},
    # 100 forward and backward passes of one attention layer
    "attention_100_steps.pickle": {0: Truth(steps=(100,), growth="judged")},
    "attention_forward_only.pickle": {0: Truth(steps=(100,), growth="judged", may=("held_over",))},
    "compile_context_annotations.pickle": {0: Truth()},
    # 7.6 GiB of segments are given back inside of a malloc
    "flush_before_request.pickle": {0: Truth(loud={"retry_flush": (None, {})}, may=("held_over", "fragmentation"))},
    # the graph of the pass before is held while the next one is built
    "forward_10_times_12_layers.pickle": {0: Truth(
        # the script has no no_grad: each forward keeps a graph that no backward uses, and that the next one finds
        steps=(10,), loud={"unused_graph": ("benchmark.py:115 benchmark", facts(saves=(590 * MIB, 640 * MIB)))})},
    # the previous output lies in the peak, but dropping it saves only 11 MiB
    "forward_20_times_output_held.pickle": {0: Truth(steps=(25,))},
    # one step; its gradients are in the picture but not at the peak
    "gradients_not_at_the_peak.pickle": {0: Truth(steps=(0, 1), growth="too_short",
                                                  # zero_grad is called after the forward
                                                  loud={"gradients_kept": (None, facts(saves=(3500 * MIB, 3700 * MIB)))},
                                                  # 327 allocations, and the loss's, which waits for them
                                                  born={("", "gradient"): (327, 329)})},
    # one forward pass of 24 layers
    "library_lines_einops.pickle": {0: Truth(steps=(0,), growth="too_short")},
    "npu_expandable.pkl": {0: Truth(
        steps=(3,), growth="judged", loud={"leak": ("memory_leaks_demo.py:12 train_one_step",
                                                    facts(bytes=120 * MIB, count=3, per=40 * MIB))},
        may=("held_over", "gradients_kept", "cache_churn"))},
    # the same demo on two devices: the first leaks, the second is the repaired version
    "npu_multi_device.pkl": {
        0: Truth(steps=(3,), growth="judged", loud={"leak": ("memory_leaks_demo.py:11 train_one_step",
                                                             facts(bytes=120 * MIB, count=3, per=40 * MIB))},
                 may=("held_over", "gradients_kept", "cache_churn")),
        1: Truth(steps=(3,), growth="judged", may=("cache_churn",))},
    # one inference: five calls of one model, each from a line of its own and at a higher resolution
    "octree_unet.pickle": {0: Truth(steps=(0, 1, 5))},
    "one_event_gigabytes_live.pickle": {0: Truth(steps=(0,), growth=None)},
    # one forward on each device; the recording ends inside of it
    "oom_expandable_4dev.pickle": {
        0: Truth(steps=(0,), growth="too_short"),
        1: Truth(steps=(0,), growth="too_short", loud={"out_of_memory": (None, {})}, may=("retry_flush", "fragmentation")),
        2: Truth(steps=(0,), growth="too_short")},  # 3 iterations of 4 layers in one forward are not turns
    "private_pools_empty_trace.pickle": {0: Truth(steps=(0,), may=("fragmentation",))},
    # one step; backward has no stack, since only Python frames were recorded
    "python_stacks_only.pickle": {0: Truth(steps=(0, 1), growth="too_short")},
    # 159 of the 318 allocations at cudnn_convolution_backward_weight are gradients, the others cuDNN's workspaces
    "pytorch_blog_resnet50.pickle": {0: Truth(
        steps=(3,), growth="judged", may=("held_over",),
        born={("cudnn_convolution_backward_weight", "gradient"): (159, 159),
              ("cudnn_convolution_backward_weight", "workspace"): (159, 159)})},
    # a part of one optimizer step: per parameter, not per step
    "ring_buffer_full_10000.pickle": {0: Truth(
        steps=(0, 1), growth="too_short", born={("optimizer.py", "optimizer_state"): (476, 476)})},
    "segments_mismatch_trace.pickle": {0: Truth(steps=(0,))},
    "streams_compile_context.pickle": {0: Truth(steps=(0,))},
    # two forwards of a model whose layers are loaded one by one
    "ten_streams_no_time_us.pickle": {0: Truth(steps=(0, 1, 2), may=("cache_churn", "retry_flush", "held_over"))},
    # one step each: forward, backward, and an optimizer of the user's own class
    "torch2.11_training.pickle": {0: Truth(steps=(0, 1), growth="too_short")},
    "train_51gib_unmatched_frees.pickle": {0: Truth(
        steps=(0, 1), growth="too_short", at_peak={"optimizer_state": (25991, 25993), "gradient": (12895, 12996)},
        born={("optimizer.py", "optimizer_state"): (582, 582)})},
    "train_segment_free.pickle": {0: Truth(
        steps=(0, 1), growth="too_short", at_peak={"optimizer_state": (25991, 25993), "gradient": (12895, 12997)},
        said={"stops_at_peak": (None, {})}, born={("optimizers.py", "optimizer_state"): (582, 582)})},
}

# Recordings of three turns and more -> turns: a leak is planted in each, at the first, a middle and the last place.
PLANTED = {"attention_100_steps.pickle": 100, "attention_forward_only.pickle": 100, "forward_10_times_12_layers.pickle": 10,
           "forward_20_times_output_held.pickle": 25, "pytorch_blog_resnet50.pickle": 3, "npu_expandable.pkl": 3}
GROWS = ("leak", "growing_buffer")
# 17 of 18: one is a workspace of cuDNN, which no program can keep.
LEAST_NAMED = 0.94


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{words} exits {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def report(path):
    return {device["device"]: device for device in json.loads(run(os.environ["STRATA"], "report", "--json", path))["devices"]}


def categories(path, ordinal):
    """[(birth event, death event, bytes, category)]"""
    rows = (line.split() for line in run(os.environ["STATE_DUMP"], "--categories", path, ordinal).splitlines())
    return [(int(birth), int(death), int(nbytes), category) for birth, death, nbytes, category in rows]


def short(finding):
    return f"{finding['kind']} {finding['severity']}/{finding['confidence']} {finding['site']}: {finding['title']}"


@unittest.skipUnless(CORPUS, "STRATA_CORPUS is not set")
class CorpusTruth(unittest.TestCase):
    def test_table(self):
        for name, devices in TRUTH.items():
            path = pathlib.Path(CORPUS, name)
            if not path.exists():
                continue  # the corpus' view says so (corpus_view.py)
            said = report(path)
            for ordinal, truth in devices.items():
                with self.subTest(f"{name}, device {ordinal}"):
                    problems = list(self.problems(path, said[ordinal], truth))
                    if truth.wrong and problems:
                        print(f"{name}, device {ordinal}: {truth.wrong}: {problems}")
                        continue
                    self.assertIsNone(truth.wrong, "it is right now")
                    self.assertEqual(problems, [])

    def problems(self, path, device, truth):
        judged, findings = device["judged"], device["findings"]
        if truth.steps is not None and judged["steps"] not in truth.steps:
            yield f"{judged['steps']} steps from {judged['steps_from']}, in truth {truth.steps}"
        if truth.growth and judged["growth"] != truth.growth:
            yield f"growth is {judged['growth']}, in truth {truth.growth}"
        for kind, (site, wanted) in {**truth.said, **truth.loud}.items():
            yield from self.named(findings, kind, site, wanted, kind in truth.loud)
        for finding in findings:
            if finding["severity"] in LOUD and finding["kind"] not in (*truth.loud, *truth.said, *truth.may):
                yield f"false alarm: {short(finding)}"
        allocations = categories(path, device["device"]) if truth.at_peak or truth.born else ()
        yield from self.at_peak(allocations, device["peak_event"], truth.at_peak or {})
        yield from self.born(path, device["device"], allocations, truth.born or {})

    def named(self, findings, kind, site, wanted, loud):
        found = [each for each in findings if each["kind"] == kind and (site is None or each["site"] == site)]
        if not found:
            yield f"{kind} at {site} is not named; found {[short(each) for each in findings]}"
            return
        first = found[0]
        if loud and first["severity"] not in LOUD:
            yield f"only {short(first)}"
        got = {"bytes": first["bytes"], "count": first["count"], "per": (first["per"] or {}).get("bytes")}
        for key, value in wanted.items():
            if key == "saves":
                if first["saves_peak_bytes"] is None or not value[0] <= first["saves_peak_bytes"] <= value[1]:
                    yield f"saves {first['saves_peak_bytes']}, in truth {value}"
            elif got[key] != value:
                yield f"{key} is {got[key]}, in truth {value}: {short(first)}"

    def at_peak(self, allocations, peak_event, wanted):
        sums = collections.Counter()
        for birth, death, nbytes, category in allocations:
            if birth <= peak_event < death:
                sums[category] += nbytes
        for category, (least, most) in wanted.items():
            if not least <= sums[category] / MIB <= most:
                yield f"{category} at the peak: {sums[category] / MIB:.1f} MiB, in truth {least} to {most}"

    def born(self, path, ordinal, allocations, wanted):
        if not wanted:
            return
        events = replay.read_snapshot(path)["device_traces"][ordinal]
        count = collections.Counter()
        for birth, _, _, category in allocations:
            if birth < 0:
                continue
            text = " ".join(f"{frame['filename']} {frame['name']}" for frame in events[birth].get("frames", ()))
            for part, of in wanted:
                count[part, of] += of == category and part in text
        for key, (least, most) in wanted.items():
            if not least <= count[key] <= most:
                yield f"{count[key]} allocations of {key}, in truth {least} to {most}"


# ---- leaks planted in real recordings ----


def sites_of(allocations):
    """The lines that may be named for these stacks; other tests check which frame is the user's and which a
    library's."""
    return {f"{frame['filename'].replace(chr(92), '/').rsplit('/', 1)[-1]}:{frame['line']} {frame['name']}"
            for allocation in allocations for frame in allocation.frames if frame["filename"].endswith(".py")}


def is_forward_side(frames):
    text = " ".join(frame["filename"] + " " + frame["name"] for frame in frames)
    return frames and "Engine::" not in text and "optim" not in text and "getNewWorkspace" not in text


def place_of(frames):
    """The frames inside of the model, because a warm-up loop and a measured loop call it from two lines."""
    calls = [depth for depth, frame in enumerate(frames) if frame["name"] in ("forward", "_call_impl", "_wrapped_call_impl")]
    return tuple(replay.frame_key(frame) for frame in frames[:calls[-1] if calls else None])


def candidates(device, turns):
    """Call sites of the forward that allocate in every turn and free in the same turn, in order of appearance:
    [(frames, allocations)]"""
    stacks = collections.defaultdict(list)
    for allocation in sorted(device.allocations, key=lambda allocation: allocation.birth):
        if allocation.birth > 0 and is_forward_side(allocation.frames) and sites_of([allocation]):
            stacks[place_of(allocation.frames)].append(allocation)
    good = [allocations for allocations in stacks.values() if len(allocations) % turns == 0 and all(allocation.completed for allocation in allocations)]
    large = [allocations for allocations in good if allocations[0].size * turns * 100 >= max(device.curve)]
    return large or good


def plant(snapshot, device, allocations):
    """The snapshot without the frees of the allocations, which get addresses and segments of their own."""
    moved, address = {}, 0x600000000000
    for allocation in allocations:
        moved[allocation.birth - 1] = address
        address += (allocation.size + MIB) // MIB * MIB
    dropped = {index for allocation in allocations for index in (allocation.death - 1, (allocation.requested or allocation.death) - 1)}
    events = []
    for index, event in enumerate(device.events):
        if index in moved:
            event = {**event, "addr": moved[index]}
        if index not in dropped:
            events.append(event)
    segments = [{"device": device.ordinal, "address": moved[allocation.birth - 1], "total_size": (allocation.size + MIB) // MIB * MIB,
                 "stream": allocation.stream, "segment_type": "large", "blocks": [
                     {"address": moved[allocation.birth - 1], "size": (allocation.size + MIB) // MIB * MIB, "requested_size": allocation.size,
                      "state": "active_allocated", "frames": allocation.frames}]} for allocation in allocations]
    traces = list(snapshot["device_traces"])
    traces[device.ordinal] = events
    return {**snapshot, "device_traces": traces, "segments": snapshot["segments"] + segments}


@unittest.skipUnless(CORPUS, "STRATA_CORPUS is not set")
class PlantedLeaks(unittest.TestCase):
    def test_planted(self):
        named = loud = blamed = total = 0
        with tempfile.TemporaryDirectory() as folder:
            for name, turns in PLANTED.items():
                path = pathlib.Path(CORPUS, name)
                if not path.exists():
                    continue
                snapshot = replay.read_snapshot(path)
                device = replay.devices_of(snapshot)[0]
                before = {finding["site"] for finding in report(path)[device.ordinal]["findings"]
                          if finding["kind"] in GROWS}
                places = candidates(device, turns)
                for allocations in {id(each): each for each in (places[0], places[len(places) // 2], places[-1])}.values():
                    planted = pathlib.Path(folder, "planted.pickle")
                    planted.write_bytes(pickle.dumps(plant(snapshot, device, allocations), protocol=4))
                    said = report(planted)[device.ordinal]
                    sites, nbytes = sites_of(allocations), sum(allocation.size for allocation in allocations)
                    leaks = [each for each in said["findings"] if each["kind"] in GROWS]
                    # what is kept in the same turns as a leak of the program's own is one finding, which names both lines
                    mine = [each for each in leaks if any(site in each["title"] for site in sites - before) and
                            (each["bytes"] <= nbytes or any(site in each["title"] for site in before))]
                    others = [each for each in leaks if each["site"] not in sites | before and each["severity"] in LOUD]
                    total, named, blamed = total + 1, named + bool(mine), blamed + bool(others)
                    loud += bool(mine) and mine[0]["severity"] in LOUD
                    if not mine or others:
                        print(f"{name}: {nbytes / MIB:.1f} MiB in {len(allocations)} at {min(sites)}: found "
                              f"{[short(each) for each in said['findings']]}, {said['judged']}")
        print(f"planted {total}, named {named}, of severity high or medium {loud}, others blamed {blamed}")
        self.assertGreaterEqual(named, LEAST_NAMED * total)
        self.assertEqual(blamed, 0)


if __name__ == "__main__":
    if not CORPUS:
        print("skipped: the corpus (STRATA_CORPUS is not set)", file=sys.stderr)
    unittest.main()
