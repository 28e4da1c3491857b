#!/usr/bin/env python3
"""Sets of per-rank recordings with known truth: which rank is odd, and by which line.

    samples/ranks.py OUT [NAME...]      writes one folder per set, OUT/NAME/rank0.pickle ..., and OUT/truth.json
"""

import argparse
import json
import pathlib
import pickle
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from simulator.dice import Dice  # noqa: E402
from simulator.stories import STORIES  # noqa: E402
from simulator.stacks import CALL, PROJECT, STEP  # noqa: E402
from simulator.transformer import HALF, Shape, Training  # noqa: E402
from simulator.world import Flavour, Recording, World, settings, snapshot  # noqa: E402

MIB = 1 << 20
PROBE = ((PROJECT + "model/probe.py", "keep_hidden", 27), (PROJECT + "model/block.py", "forward", 37)) + CALL + STEP
CACHE = ((PROJECT + "data.py", "warm_cache", 88),) + STEP
PROBE_LINE, CACHE_LINE = "probe.py:27 keep_hidden", "data.py:88 warm_cache"


class Rank(Training):
    """A training loop in which a set plants something."""

    first = last = True  # whether this pipeline stage has the embedding and the head
    leak_bytes = 0  # kept in every step
    extra_bytes = 0  # held once
    stop_after = None  # layers of the last step's forward pass

    def after_layer(self, layer, saved):
        if layer == 0 and self.leak_bytes:
            self.retained.append(self.world.malloc(self.leak_bytes, self.world.stacks.alloc("clone", PROBE)))

    def hold(self):
        if self.extra_bytes:
            self.retained.append(self.world.malloc(self.extra_bytes, self.world.stacks.alloc("empty", CACHE)))

    def _loss(self, rows):
        if self.last:
            return super()._loss(rows)
        stack = self.world.stacks.alloc("empty", ((PROJECT + "pipeline.py", "send_forward", 61),) + STEP)
        sent = self.world.malloc(HALF * rows * self.shape.width, stack)
        return sent, self.world.malloc(4, stack)


def record(seed, story=None, steps=4, half=False, layers=2, width=256, batch=4, tokens=256, **planted):
    if story:
        return STORIES[story](seed)
    recording = Recording(Flavour(), 1)
    world = World(seed, recording)
    training = Rank(world, Shape(layers=layers, width=width, heads=4, batch=batch, tokens=tokens))
    for name, value in planted.items():
        setattr(training, name, value)
    for number in range(steps):
        if number == 1:
            training.hold()
        training.step(number)
    if half:  # dumped in the middle of a step
        with world.scope(f"ProfilerStep#{steps}"):
            training._next_batch()
            with world.scope("forward"):
                training.forward()
    return snapshot(world, recording, settings())


class Set:
    """`ranks`: rank, or (rank, step), -> how it ran. `odd`: rank -> line that must be named (None: any). `findings`: how
    many findings there must be about them (None: any number)."""

    def __init__(self, name, ranks, odd=None, findings=None, called="rank{}"):
        self.name, self.ranks, self.odd, self.findings = name, ranks, odd or {}, findings
        self.called = called  # the name of a file by its rank; a function if that is not enough

    def file_name(self, rank):
        return self.called.format(rank) if isinstance(self.called, str) else self.called(rank)


def equal(count, **more):
    return {rank: dict(more) for rank in range(count)}


def noisy(count, seed, share=10, **more):
    """Sequence lengths that differ by up to 1 / share."""
    dice = Dice(seed)
    return {rank: dict(more, tokens=256 + dice.between(0, 256 // share)) for rank in range(count)}


def planted(ranks, **more):
    """Plants something in several ranks: planted(equal(8), rank=(2, 5), extra_bytes=...)"""
    which = more.pop("rank")
    return {rank: dict(kept, **(more if rank in which else {})) for rank, kept in ranks.items()}


def stages(count, per_stage, **more):
    return {rank: dict(more, layers=2 + rank // per_stage % count, last=rank // per_stage == count - 1)
            for rank in range(count * per_stage)}


def placed(word, size, prefix=""):
    """Places ranks: rank5 -> "dp1_ep1/rank5" with four experts; the last axis runs fastest."""
    return lambda rank: f"{prefix}dp{rank // size}_{word}{rank % size}_rank{rank}"


def uneven(count, size, which, noise=0, **more):
    """Gives more to do to ranks whose place, rank % size, is `which`: the same lines, other sizes."""
    dice = Dice(count + size)
    return {rank: dict(more, batch=6 if rank % size == which else 4, tokens=256 + (dice.between(0, noise) if noise else 0))
            for rank in range(count)}


def parallel_sets():
    """Sets whose names tell places in expert, context and tensor parallelism."""
    found = []
    for word, count, size in (("ep", 16, 4), ("ep", 8, 4), ("cp", 16, 2), ("tp", 32, 8)):
        name, called = f"{word}{size}_of_{count}", placed(word, size)
        found.append(Set(f"{name}_uneven", uneven(count, size, 1), called=called))
        found.append(Set(f"{name}_uneven_noise", uneven(count, size, 1, noise=8), called=called))
        found.append(Set(f"{name}_equal", equal(count), called=called))
        found.append(Set(f"{name}_leak", planted(equal(count), rank=(2,), leak_bytes=48 * MIB), {2: PROBE_LINE}, called=called))
        found.append(Set(f"{name}_uneven_extra", planted(uneven(count, size, 1), rank=(0,), extra_bytes=300 * MIB),
                         {0: CACHE_LINE}, called=called))
        found.append(Set(f"{name}_longer", planted(equal(count), rank=(2,), batch=8), {2: None}, called=called))
        if count // size < 3:  # if two ranks should be alike and are not, nobody knows which one is odd
            continue
        found.append(Set(f"{name}_uneven_leak", planted(uneven(count, size, 1), rank=(size + 1,), leak_bytes=48 * MIB),
                         {size + 1: PROBE_LINE}, called=called))
    return found


def sets():
    found = parallel_sets()
    for count in (2, 3, 4, 8, 16, 32):
        found.append(Set(f"equal_{count}", equal(count)))
    for count in (4, 8, 16, 32):
        found.append(Set(f"noise_{count}", noisy(count, count)))
        found.append(Set(f"extra_in_{count}", planted(equal(count), rank=(1,), extra_bytes=300 * MIB), {1: CACHE_LINE}))
        found.append(Set(f"leak_in_{count}", planted(equal(count), rank=(count - 1,), leak_bytes=48 * MIB),
                         {count - 1: PROBE_LINE}))
    for count in (8, 16, 32):
        found.append(Set(f"two_extra_in_{count}", planted(equal(count), rank=(2, 5), extra_bytes=512 * MIB),
                         {2: CACHE_LINE, 5: CACHE_LINE}))
        found.append(Set(f"leak_with_noise_{count}", planted(noisy(count, 7 + count), rank=(3,), leak_bytes=256 * MIB),
                         {3: PROBE_LINE}))
        found.append(Set(f"extra_with_noise_{count}",
                         planted(noisy(count, 70 + count), rank=(6,), extra_bytes=1024 * MIB), {6: CACHE_LINE}))
        found.append(Set(f"all_leak_{count}", equal(count, leak_bytes=32 * MIB)))
        found.append(Set(f"partial_steps_{count}", {rank: dict(half=rank % 2 == 1) for rank in range(count)}))
        found.append(Set(f"longer_batch_in_{count}", planted(equal(count), rank=(4,), batch=8), {4: None}))
    for count in (4, 8):
        found.append(Set(f"stages_4x{count}", stages(4, count)))
        found.append(Set(f"stages_4x{count}_leak", planted(stages(4, count), rank=(count + 1,), leak_bytes=64 * MIB),
                         {count + 1: PROBE_LINE}))
        found.append(Set(f"stages_4x{count}_extra", planted(stages(4, count), rank=(2 * count,), extra_bytes=400 * MIB),
                         {2 * count: CACHE_LINE}))
    dice = Dice(5)
    found.append(Set("all_odd_8", {rank: dict(tokens=128 + 64 * dice.between(0, 12)) for rank in range(8)}))
    found.append(Set("two_ranks_one_higher", planted(equal(2), rank=(1,), extra_bytes=200 * MIB), {1: CACHE_LINE}))
    found.append(Set("three_ranks_one_higher", planted(equal(3), rank=(0,), extra_bytes=200 * MIB), {0: CACHE_LINE}))
    found.append(Set("stopped_early_8", planted(equal(8), rank=(7,), steps=2), {7: None}))
    found.append(Set("lower_in_16", planted(equal(16), rank=(9,), batch=1), {9: None}))
    for count, of in ((1, 8), (12, 16)):
        ran_out = {rank: dict(story="oom" if rank < count else "train") for rank in range(of)}
        found.append(Set(f"oom_{count}_of_{of}", ran_out, {rank: None for rank in range(count)}, findings=1))
    several = {(rank, step): dict(extra_bytes=(300 + step) * MIB if rank == 5 else 0)
               for rank in range(8) for step in (10, 20, 30, 40)}
    found.append(Set("all_steps_of_one_rank", several, {5: CACHE_LINE}, findings=1))
    found.append(Set("small_difference_16", planted(equal(16), rank=(9,), extra_bytes=MIB // 2)))
    return found


def write(folder, found):
    truth = {}
    for each in found:
        target = folder / each.name
        target.mkdir(parents=True, exist_ok=True)
        made = {}
        for rank, how in each.ranks.items():
            key = json.dumps(how, sort_keys=True)
            if key not in made:
                made[key] = record(1 + len(made), **how)
            name = each.file_name(rank) if isinstance(rank, int) else f"rank{rank[0]}_step{rank[1]}"
            (target / f"{name}.pickle").write_bytes(pickle.dumps(made[key], protocol=4))
        truth[each.name] = {"ranks": len(each.ranks), "odd": each.odd}
    (folder / "truth.json").write_text(json.dumps(truth, indent=2) + "\n")


def main():
    found = sets()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT", type=pathlib.Path)
    parser.add_argument("names", metavar="NAME", nargs="*")
    asked = parser.parse_args()
    unknown = set(asked.names) - {each.name for each in found}
    if unknown:
        parser.error(f"no such set: {', '.join(sorted(unknown))}")
    write(asked.out, [each for each in found if not asked.names or each.name in asked.names])


if __name__ == "__main__":
    main()
