#!/usr/bin/env python3
"""Growth from step to step, as findings and the rule `growth` of check report it, on generated training runs: leaking and healthy,
with and without annotations, with noise. The truth is known, because the test contains the leaking script.

    STRATA=path/to/strata growth_test.py [RUNS]
"""

import collections
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "samples"))

from simulator.allocator import KIB, MIB  # noqa: E402
from simulator.dice import Dice  # noqa: E402
from simulator.stacks import CALL, PROJECT, STEP, TORCH  # noqa: E402
from simulator.transformer import Shape, Training  # noqa: E402
from simulator.world import Flavour, Recording, World, settings, snapshot  # noqa: E402
from twins import annotated  # noqa: E402

DEFAULT_RUNS = 40
ANNOTATIONS = ("profiler", "optimizer", "none")
LEAKS = ("graph", "probes", "losses", "outputs", "slow", "concatenated", "replay_buffer", "key_values")
HEALTHY = ("plain", "bounded_cache", "warm_up", "lengths", "prefetch", "swinging", "grows_and_stops",
           "late_state", "growing_batch")

PROBE = ((PROJECT + "model/probe.py", "keep_hidden", 27), (PROJECT + "model/block.py", "forward", 37)) + CALL + STEP
LOSSES = ((PROJECT + "metrics.py", "remember_loss", 12),) + STEP
OUTPUTS = ((PROJECT + "metrics.py", "remember_output", 31),) + STEP
CACHE = ((PROJECT + "cache.py", "put", 8),) + STEP
WORK = ((PROJECT + "work.py", "autotune", 77),) + STEP
BUFFER = ((PROJECT + "buffer.py", "extend", 21),) + STEP
KEYS = ((PROJECT + "model/cache.py", "append", 14), (PROJECT + "model/attention.py", "forward", 44)) + CALL + STEP
LOGITS = ((PROJECT + "main.py", "logits", 90),) + STEP
STATE = ((TORCH + "optim/adamw.py", "_init_group", 176), (TORCH + "optim/adamw.py", "step", 213)) + STEP
NOISE = tuple(((PROJECT + f"noise/worker_{i}.py", "poll", 5 + i),) + STEP for i in range(6))

# The call sites at which a story's leak may be reported. In "graph" everything of the forward pass stays: its caller.
EXPECTED = {
    "graph": {"main.py"},
    "probes": {"probe.py"},
    "losses": {"metrics.py"},
    "outputs": {"metrics.py"},
    "slow": {"metrics.py"},
    "concatenated": {"buffer.py"},
    "replay_buffer": {"buffer.py"},
    "key_values": {"cache.py"},
}
# Stories in which each step replaces an allocation with a larger one.
REPLACED = {"concatenated", "replay_buffer", "key_values"}
# Stories that keep less than a ten thousandth of the peak in each step: programs that are right keep as much, so this is no
# finding, but it counts as growth.
LITTLE = {"losses", "slow"}


class Run(Training):
    """A training loop with one story's habits and with noise."""

    def __init__(self, world, story, dice, noise):
        self.story, self.dice, self.noise, self.number = story, dice, noise, 0
        self.cache = collections.deque()
        self.buffers = {}  # name: its current block
        super().__init__(world, Shape(layers=2, width=512, batch=2, tokens=256), retain_graph=story == "graph")

    def keep(self, places, nbytes):
        return self.world.malloc(nbytes, self.world.stacks.alloc("clone", places))

    def drop(self, block, places):
        self.world.free(block, self.world.stacks.free(places))

    def replace(self, name, nbytes, places):
        """Replaces an allocation as torch.cat does: makes the new one before it frees the old one."""
        old = self.buffers.get(name)
        self.buffers[name] = self.keep(places, nbytes)
        if old:
            self.drop(old, places)

    def zero_grad(self):
        if self.story != "graph":
            super().zero_grad()

    def after_layer(self, layer, saved):
        if self.story == "probes":
            self.retained.append(self.keep(PROBE, 2 * self.shape.batch * self.shape.tokens * self.shape.width))
        if self.story == "key_values":
            self.replace(("keys", layer), (self.number + 3) * 96 * KIB, KEYS)
        if self.noise and self.dice.below(3) == 0:
            self.make_noise()

    def make_noise(self):
        """Allocations that come and go at random, some of them across the end of a step."""
        places = self.dice.choice(NOISE)
        block = self.keep(places, self.dice.between(KIB, 3 * MIB))
        if self.dice.below(2):
            self.drop(block, places)
            return
        self.cache.append((block, places))
        while len(self.cache) > 3:
            self.drop(*self.cache.popleft())

    def take_batch(self):
        if self.story in ("lengths", "slow", "growing_batch") or self.noise:
            self.resize(tokens=self.dice.choice((192, 224, 256, 288, 320)))
        return super().take_batch()

    def habit(self):
        """What the story does once in each step."""
        if self.story == "losses":
            self.retained.append(self.keep(LOSSES, 4))
        if self.story == "outputs":
            self.retained.append(self.keep(OUTPUTS, self.dice.between(MIB, 4 * MIB)))
        if self.story == "slow":
            self.retained.append(self.keep(OUTPUTS, 64 * KIB))
        if self.story == "bounded_cache":
            self.cache.append((self.keep(CACHE, 6 * MIB), CACHE))
            while len(self.cache) > 3:
                self.drop(*self.cache.popleft())
        if self.story == "warm_up" and self.number < 2:
            self.keep(WORK, (8 - 3 * self.number) * MIB)
        if self.story == "prefetch":
            self.cache.append((self.keep(CACHE, self.dice.between(MIB, 6 * MIB)), CACHE))
            while len(self.cache) > 2:
                self.drop(*self.cache.popleft())

        self.habit_of_replacing()

    def habit_of_replacing(self):
        """Stories in which the same call site replaces its allocation in every step."""
        if self.story == "concatenated":
            self.replace("buffer", (self.number + 1) * 2 * MIB, BUFFER)
        if self.story == "replay_buffer":  # each step adds a different amount; the buffer never gets full
            self.stored = getattr(self, "stored", 3 * MIB) + self.dice.between(256 * KIB, 3 * MIB)
            self.replace("buffer", self.stored, BUFFER)
        if self.story == "swinging":
            self.replace("buffer", (2 + self.number % 3) * MIB, BUFFER)
        if self.story == "grows_and_stops":
            self.replace("buffer", min(self.number + 1, 4) * 3 * MIB, BUFFER)
        if self.story == "doubling" and self.number & (self.number - 1) == 0:  # 0, 1, 2, 4, 8
            self.replace("buffer", max(1, self.number) * 2 * MIB, BUFFER)
        if self.story == "late_state" and self.number in (1, 2):  # states of parameters that are unfrozen later
            for _ in range(4):
                self.keep(STATE, self.dice.between(MIB, 3 * MIB))
        if self.story == "growing_batch" and self.number % 4 != 3:  # lengths happen to rise, but not up to the end
            self.replace("logits", self.shape.tokens * KIB * (1 + self.number % 4), LOGITS)

    def step(self, number, clip=False):
        self.number = number
        with self.world.scope(f"ProfilerStep#{number}"):
            self._next_batch()
            self.backward(self.forward())
            if clip:
                self._clip()
            with self.world.scope("Optimizer.step#AdamW.step"):
                self.optimize()
            self.habit()
            self.zero_grad()


def play(seed, story, noise, mode):
    dice = Dice(seed * 7919 + 13)
    recording = Recording(Flavour(), 1)
    world = World(seed, recording)
    run = Run(world, story, dice, noise)
    for number in range(dice.between(7, 12)):
        run.step(number, clip=bool(seed % 2))
        if noise and number % 3 == 2:
            run.evaluate()
    return annotated(snapshot(world, recording, settings()), mode)


def growing(strata, path):
    """{call site: kind of finding} of everything that the findings call growing."""
    done = subprocess.run([strata, "report", "--json", str(path)], capture_output=True, check=True, timeout=120)
    findings = json.loads(done.stdout)["devices"][0]["findings"]
    return {one["site"]: one["kind"] for one in findings
            if one["kind"] in ("leak", "growing_buffer", "unused_graph", "held_over") and one["confidence"] != "possible"}


def growth_status(strata, path):
    words = [strata, "check", "--format=json", "--rule", "growth = 0 per step", str(path)]
    done = subprocess.run(words, capture_output=True, timeout=120)
    return json.loads(done.stdout)["files"][0]["rules"][0]["status"]


def check(strata, folder, seed):
    """Checks one run; returns what is wrong, or None."""
    leaking = seed % 2 == 0
    stories = LEAKS if leaking else HEALTHY
    story = stories[seed // 2 % len(stories)]
    noise, mode = seed // 2 // len(stories) % 2 == 1, ANNOTATIONS[seed % 3]
    path = pathlib.Path(folder, f"run{seed}.pickle")
    path.write_bytes(pickle.dumps(play(seed, story, noise, mode), protocol=4))
    found, status = growing(strata, path), growth_status(strata, path)
    path.unlink()
    files = {site.split(":")[0] for site in found}
    what = f"seed {seed}, {story}{' with noise' if noise else ''}, annotations: {mode}"
    if leaking and story not in LITTLE and not files & EXPECTED[story]:
        return f"{what}: the leak was missed, found {found}"
    if (status == "broken") != leaking:
        return f"{what}: `growth = 0 per step` is {status}, found {found}"
    kind = "growing_buffer" if story in REPLACED else "leak"
    if found and leaking and set(found.values()) != {kind}:
        return f"{what}: what stays and what is replaced are confused: {found}"
    return None


def main(arguments):
    runs = int(arguments[0]) if arguments else DEFAULT_RUNS
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(runs):
            problem = check(os.environ["STRATA"], folder, seed)
            if problem:
                print(problem)
                failed += 1
    print(f"{runs - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
