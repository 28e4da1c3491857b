#!/usr/bin/env python3
"""Simulated runs with known truth: a healthy run, and the same run with one planted fault.

    twins.py FAULT FILE [FIELD=VALUE...]     writes the faulty twin of a fault (or, with HEALTHY_shape, a healthy run)

A twin knows what was planted (site, bytes, what the peak would be without it) and what every allocation is for. The
label of an allocation follows from the script, not from stacks: from the phase in which it was made and the phases that
it outlived.
"""

import collections
import contextlib
import dataclasses
import json
import pathlib
import pickle
import sys
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "samples"))

from simulator import mistakes, stories  # noqa: E402
from simulator.allocator import MIB, OutOfMemory  # noqa: E402
from simulator.dice import Dice  # noqa: E402
from simulator.stacks import CALL, LINEAR, MAIN, PROJECT, STEP, TORCH  # noqa: E402
from simulator.transformer import Shape, Training  # noqa: E402
from simulator.world import Flavour, Recording, RecordingEnds, settings, snapshot  # noqa: E402
from twins_ledger import KEPT_BY_HOST, Ledger, live_curve  # noqa: E402

# ---- what is planted where ----

_IN_MODEL = CALL + STEP
_IN_LAYER = ((PROJECT + "model/transformer.py", "forward", 57),) + _IN_MODEL
_IN_BLOCK = CALL + ((PROJECT + "model/block.py", "forward", 31),) + CALL + _IN_LAYER
SITES = {
    "outputs": ((PROJECT + "metrics.py", "remember_output", 31),) + STEP,
    "losses": ((PROJECT + "metrics.py", "remember_loss", 12),) + STEP,
    "loader": ((PROJECT + "data/loader.py", "prefetch", 52),) + STEP,
    "probe": ((PROJECT + "model/probe.py", "keep_hidden", 27), (PROJECT + "model/block.py", "forward", 37)) + CALL + _IN_LAYER,
    "buffer": ((PROJECT + "buffer.py", "extend", 21),) + STEP,
    "queue": ((PROJECT + "cache.py", "put", 8),) + STEP,
    "rope": ((PROJECT + "model/rope.py", "tables", 19), (PROJECT + "model/attention.py", "forward", 44)) + _IN_BLOCK,
    "result": LINEAR + ((PROJECT + "model/transformer.py", "forward", 61),) + _IN_MODEL,
    "keys": ((PROJECT + "model/kv_cache.py", "append", 14), (PROJECT + "model/attention.py", "forward", 47)) + _IN_BLOCK,
    "history": ((PROJECT + "model/history.py", "note", 9), (PROJECT + "model/transformer.py", "forward", 63)) + _IN_MODEL,
    "adapter": ((PROJECT + "lora.py", "inject", 33), (PROJECT + "main.py", "main", 118)) + MAIN[1:],
    "average": ((PROJECT + "ema.py", "__init__", 15), (PROJECT + "main.py", "main", 120)) + MAIN[1:],
}
_EMPTY_CACHE = ((TORCH + "cuda/memory.py", "empty_cache", 222), (PROJECT + "main.py", "train_epoch", 103)) + MAIN
_OPTIMIZER_INIT = ((TORCH + "optim/adamw.py", "_init_group", 176), (TORCH + "optim/adamw.py", "step", 213),
                   (TORCH + "optim/optimizer.py", "wrapper", 533)) + STEP


ADAPTER = 64  # weights are this many times larger than the matrices trained beside them


def _in_model(line):
    return ((PROJECT + "model/transformer.py", "forward", line),) + _IN_MODEL


def site_name(name):
    """The report's spelling of a call site: the innermost line of the project's own code."""
    path, function, line = next(place for place in SITES[name] if place[0].startswith(PROJECT))
    return f"{path.rsplit('/', 1)[1]}:{line} {function}"


# ---- the script ----


@dataclasses.dataclass
class Twin:
    """The parameters of a run."""

    fault: str = None  # None: a healthy shape
    shape: str = "plain"
    steps: int = 3
    stacks: str = "mixed"
    paths: str = "posix"
    annotations: str = "profiler"  # profiler, optimizer or none
    layers: int = 2
    width: int = 256
    rows: int = 2  # batch size: with few rows the peak is in the optimizer, with many at the loss
    seed: int = 1

    def words(self):
        name = f"{self.fault} {self.shape}" if self.fault and self.shape != "plain" else self.fault or self.shape
        return (f"{name} steps={self.steps} {self.stacks}/{self.paths}/{self.annotations} "
                f"layers={self.layers} rows={self.rows} seed={self.seed}")


class Labelled(Training):
    """A training loop that tells its ledger the current phase."""

    def _load(self):
        with self.world.phase("load"), self.world.acting("parameter"):
            super()._load()

    def _next_batch(self):
        with self.world.phase("data"), self.world.acting("input"):
            super()._next_batch()

    def forward(self):
        with self.world.phase("forward"):
            return super().forward()

    def backward(self, head):
        with self.world.phase("backward"):
            super().backward(head)

    def optimize(self):
        with self.world.phase("optimizer"):
            super().optimize()

    def evaluate(self):
        with self.world.phase("forward"), self.world.acting("temporary"):
            super().evaluate()


class Script(Labelled):
    """A training or inference loop with one twin's habits; `faulty` decides whether the fault is there."""

    def __init__(self, world, twin, faulty):
        self.twin, self.faulty, self.number = twin, faulty, 0
        self.dice = Dice(twin.seed * 7919 + 13)
        self.until_end, self.held, self.queue, self.caches = [], [], collections.deque(), {}
        self.buffer, self.previous_result, self.second_state, self.ahead = {}, None, {}, None
        super().__init__(world, Shape(layers=twin.layers, width=twin.width, heads=8, batch=twin.rows, tokens=128))
        if twin.shape == "ema":
            stack = world.stacks.alloc("clone", SITES["average"])
            with world.phase("load"), world.acting("parameter"):
                self.average = [world.malloc(block.requested, stack) for block in self.parameters.values()]
        if twin.shape == "lora":  # small matrices beside weights that nobody trains
            stack, self.frozen = world.stacks.alloc("clone", SITES["adapter"]), self.parameters
            with world.phase("load"), world.acting("parameter"):
                self.parameters = {key: world.malloc(max(512, block.requested // ADAPTER), stack)
                                   for key, block in self.frozen.items()}

    def is_fault(self, *names):
        return self.twin.fault in names

    def unit(self):
        """The size of a tensor that matters in this run: a few hundredths of its peak."""
        return max(3 * MIB, 8 * sum(block.requested for block in self.parameters.values()) // 100) + 4 * self.twin.seed

    def rows_now(self):
        return self.shape.batch * self.shape.tokens

    # ---- planting ----

    def make(self, name, nbytes, planted=True):
        block = self.world.malloc(nbytes, self.world.stacks.alloc("clone", SITES[name]))
        if planted:
            self.plant(block)
        return block

    def plant(self, block):
        allocation = self.world.allocation_of(block)
        # The category of a forgotten tensor is unknown, but it is none that the optimizer or backward makes.
        allocation.role = "|".join(sorted(KEPT_BY_HOST))
        self.world.planted.append(allocation)

    def drop(self, block, name):
        self.world.free(block, self.world.stacks.free(SITES[name]))

    def keep(self, name, nbytes):
        """Makes a tensor that is kept for good; in a healthy run it is freed at the end of the step."""
        block = self.make(name, nbytes)
        if not self.faulty:
            self.until_end.append((block, name))

    def replace(self, key, name, nbytes, planted):
        """Replaces a tensor as torch.cat does: makes the new one before it frees the old one."""
        old = self.buffer.get(key)
        self.buffer[key] = self.make(name, nbytes, planted)
        if old:
            self.drop(old, name)

    # ---- a training step ----

    def step(self, number, clip=False):
        self.number, world, twin = number, self.world, self.twin
        if twin.shape == "lengths":
            self.resize(tokens=self.dice.choice((96, 112, 128, 144, 160)))
        if twin.shape == "rising_lengths" or self.is_fault("retry_flush"):
            self.resize(tokens=(128, 160, 192, 144, 224, 176)[number % 6] if self.is_fault("retry_flush")
                        else min(96 + 16 * number, 256))
        with world.scope(f"ProfilerStep#{number}"):
            self._next_batch()
            if twin.shape == "zero_first":
                self.zero_grad()
            for _ in range(4 if twin.shape == "accumulation" else 1):
                with world.scope("forward"):
                    head = self.forward()
                    with world.phase("forward"):
                        self.after_forward()
                if self.is_fault("late_zero_grad"):
                    self.zero_grad()
                with world.scope("backward"):
                    self.backward(head)
            if clip or twin.shape == "clip":
                self._clip()
            with world.scope("Optimizer.step#AdamW.step"):
                self.optimize()
            with world.phase("other"):
                self.habit()
            if twin.shape != "zero_first" and not (self.is_fault("zero_grad") and self.faulty) and not (
                    self.is_fault("late_zero_grad") and self.faulty):
                self.zero_grad()
            self.end_of_step()

    def take_batch(self):
        """The batch of a step. A loader that works ahead on its own stream has made it during the last step."""
        if self.twin.shape != "prefetch":
            return super().take_batch()
        ready, self.ahead = self.ahead or self._prefetch(), None
        return ready

    def _prefetch(self):
        stack = self.world.stacks.alloc("to", SITES["loader"])
        return tuple(self.world.malloc(self.unit(), stack, stream=1) for _ in range(2))

    def _parameter_gradient(self, layer, name, elements, stack, device):
        if self.twin.shape == "lora":
            elements = max(128, elements // ADAPTER)
        super()._parameter_gradient(layer, name, elements, stack, device)

    def after_layer(self, layer, saved):
        if self.is_fault("leak_layer", "kept_per_layer"):
            self.keep("probe", max(MIB, self.unit() // self.twin.layers))
        if self.twin.shape == "lazy_caches" and layer not in self.caches:
            with self.world.acting("activation|other|parameter"):
                self.caches[layer] = self.make("rope", 2 * MIB, planted=False)

    def after_forward(self):
        """The output of the model, which a healthy loop drops when its step ends."""
        if not self.is_fault("held_over"):
            return
        new = self.world.malloc(2 * self.unit(), self.world.stacks.alloc("linear", SITES["result"]))
        self.plant(new)
        if not self.faulty:
            self.until_end.append((new, "result"))
            return
        if self.previous_result:
            if self.twin.seed % 2:  # the variable is assigned again, which frees the old graph
                self.drop(self.previous_result, "result")
            else:  # a list of the last one, cut when the step ends
                self.until_end.append((self.previous_result, "result"))
        self.previous_result = new

    def habit(self):
        """What the twin does once in each step, after the optimizer."""
        world, twin = self.world, self.twin
        if self.is_fault("leak"):
            self.keep("outputs", self.unit())
        if self.is_fault("leak_late") and self.number >= twin.steps // 2:
            self.keep("outputs", self.unit())
        if self.is_fault("leak_rare") and self.number % 3 == 0:
            self.keep("outputs", self.unit())
        if self.is_fault("leak_one_of_many"):
            for _ in range(5):
                self.drop(self.make("outputs", self.unit(), planted=False), "outputs")
            self.keep("outputs", self.unit())
        if self.is_fault("two_leaks"):
            self.keep("outputs", self.unit())
        if self.is_fault("leak_small", "two_leaks"):
            self.keep("losses", 512)
        if self.is_fault("growing_buffer"):
            grown = self.number + 2 if self.faulty else 2
            self.replace("buffer", "buffer", grown * self.unit() // 2 + 512 * self.number * self.faulty, True)
        if self.is_fault("cache_churn") and self.faulty:
            self.empty_cache_after = True
        if twin.shape == "bounded_queue":
            self.queue.append(self.make("queue", self.unit(), planted=False))
            world.allocation_of(self.queue[-1]).role = "|".join(sorted(KEPT_BY_HOST))
            while len(self.queue) > 3:
                self.drop(self.queue.popleft(), "queue")
        if twin.shape == "saturating_cache" and self.number < 2:
            self.make("queue", self.unit(), planted=False)
        if twin.shape == "prefetch":
            with world.phase("data"), world.acting("input"):
                self.ahead = self._prefetch()
        if twin.shape == "evaluation" and self.number % 2 == 1:
            self.judge()

    def end_of_step(self):
        for block, name in self.until_end:
            self.drop(block, name)
        self.until_end = []
        if self.is_fault("cache_churn") and self.faulty:
            self.world.empty_cache(self.world.stacks.empty_cache(_EMPTY_CACHE))

    def judge(self):
        with self.world.scope("evaluate"):
            self.evaluate()

    # ---- optimizers ----

    def optimize(self):
        if self.twin.shape == "sgd":
            return
        if self.twin.shape == "fused":
            with self.world.phase("optimizer"):
                self._fused(self.state, 1)
            return
        if self.twin.shape == "two_optimizers":
            with self.world.phase("optimizer"):
                self._fused(self.second_state, 2)
        super().optimize()

    def _fused(self, state, part):
        """Makes its state once and nothing in any later step."""
        zeros = self.world.stacks.alloc("zeros_like", _OPTIMIZER_INIT)
        for key, block in self.parameters.items() if not state else ():
            state[key] = [self.world.malloc(block.requested // part, zeros) for _ in range(2)]

    # ---- inference ----

    def infer(self, number):
        """One forward pass without gradients, or with a graph that nothing uses."""
        self.number, world = number, self.world
        with world.scope(f"ProfilerStep#{number}"), world.phase("forward"):
            if self.twin.fault == "held_graph":
                self._graph()
            else:
                self._decode()

    def _graph(self):
        """Keeps everything that backward would need until the next pass's graph replaces it."""
        before, first = self.held, len(self.world.allocations)
        head = self.forward()
        for allocation in self.world.allocations[first:]:
            # Made by the loss, after the model; no event tells it from memory that the graph holds.
            if allocation.gone is not None:
                allocation.role = "activation|temporary"
        blocks = [block for kept in self.saved for block in kept.values()] + list(head)
        for block in blocks:
            self.plant(block)
        for block in before:
            self.drop(block, "result")
        self.held = blocks
        if not self.faulty:
            for block in blocks:
                self.drop(block, "result")
            self.held = []

    def _decode(self):
        world, before, stacks = self.world, None, self.world.stacks
        embedded = world.malloc(2 * self.rows_now() * self.shape.width, stacks.alloc(
            "embedding", ((TORCH + "nn/modules/sparse.py", "forward", 192),) + CALL + _in_model(52)))
        for layer in range(self.shape.layers):
            for row in self.rows("forward", layer):
                block = world.malloc(row.nbytes, row.stack)
                if before:
                    world.free(before, row.free_stack)
                before = block
            if self.is_fault("growing_keys"):
                grown = self.number + 3 if self.faulty else 3
                self.replace(("keys", layer), "keys", grown * self.unit() // self.twin.layers, True)
        logits = world.malloc(4 * self.rows_now() * 50257, stacks.alloc("linear", LINEAR + _in_model(61)))
        if self.is_fault("leak_forward_only"):
            block = self.make("history", self.unit())
        world.free(before, stacks.free(SITES["history"]))
        world.free(embedded, stacks.free(SITES["history"]))
        world.free(logits, stacks.free(SITES["history"]))
        if self.is_fault("leak_forward_only") and not self.faulty:
            self.drop(block, "history")


FORWARD_ONLY = ("leak_forward_only", "held_graph", "growing_keys")


def play(world, twin, faulty):
    script = Script(world, twin, faulty)
    for number in range(twin.steps):
        if twin.fault in FORWARD_ONLY or twin.shape == "inference":
            script.infer(number)
        else:
            script.step(number)
    if twin.shape == "ends_in_forward":
        script.world.limit = script.world.events + 7 * twin.layers
        script.forward()
    if twin.shape == "ends_in_backward":
        head = script.forward()
        script.world.limit = script.world.events + 20 * twin.layers
        script.backward(head)
    return script


def annotated(value, mode):
    """The snapshot with only the annotations that the mode keeps."""
    prefix = {"profiler": "", "optimizer": "Optimizer.step", "none": None}[mode]
    value["external_annotations"] = [
        each for each in value["external_annotations"] if prefix is not None and each["name"].startswith(prefix)]
    return value


@dataclasses.dataclass
class Played:
    twin: Twin
    faulty: bool
    snapshot: dict
    world: Ledger
    curve: list

    def peak(self):
        return max(self.curve)

    def write(self, path):
        pathlib.Path(path).write_bytes(pickle.dumps(self.snapshot, protocol=4))

    def planted_at(self, event):
        """(bytes, count) of planted allocations that are live after an event."""
        alive = [allocation for allocation in self.world.planted if allocation.birth <= event and (allocation.death is None or allocation.death > event)]
        return sum(allocation.size for allocation in alive), len(alive)


def record(twin, faulty, capacity=None):
    recording = Recording(Flavour(), 1)
    options = {"capacity": capacity} if capacity else {}
    world = Ledger(twin.seed, recording, style=(twin.stacks, twin.paths), **options)
    with contextlib.suppress(RecordingEnds):
        play(world, twin, faulty)
    value = annotated(snapshot(world, recording, settings()), twin.annotations)
    return Played(twin, faulty, value, world, live_curve(value["device_traces"][0]))


def flushed(played):
    return any(event["action"] == "segment_free" for event in played.snapshot["device_traces"][0])


def reserved_peak(played):
    sign = {"segment_alloc": 1, "segment_free": -1}
    total, peak = 0, 0
    for event in played.snapshot["device_traces"][0]:
        total += sign.get(event["action"], 0) * event["size"]
        peak = max(peak, total)
    return peak


def pair(twin):
    """(healthy, faulty): both recorded runs."""
    healthy = record(twin, False)
    if twin.fault != "retry_flush":
        return healthy, record(twin, True)
    reserved = reserved_peak(healthy)  # the device is made smaller until the allocator has to give memory back
    for percent in range(99, 40, -1):
        try:
            faulty = record(twin, True, reserved * percent // 100)
        except OutOfMemory:
            break
        if flushed(faulty):
            return healthy, faulty
    return healthy, None


# ---- the stories of samples/, with a ledger ----

STORY_NAMES = ("train", "leak_graph", "leak_two_per_layer", "leak_zero_grad", "leak_zero_grad_healthy", "held_over",
               "held_over_healthy", "leak_forward_only", "leak_forward_only_healthy", "kept_per_layer",
               "kept_per_layer_healthy", "oom", "expandable", "streams", "overflow", "two_devices",
               "user_metadata_annotate")


def record_story(name, style, seed=7):
    """(snapshot, ledger) of a sample's story with stacks in a style."""
    ledgers = []

    def world(seed, sink, devices=1, **options):
        ledgers.append(Ledger(seed, sink, devices, style=style, **options))
        return ledgers[-1]

    with contextlib.ExitStack() as patches:
        for module in (stories, mistakes):
            patches.enter_context(unittest.mock.patch.object(module, "World", world))
        patches.enter_context(unittest.mock.patch.object(stories, "Training", Labelled))
        for made in (mistakes._NeverZeroed, mistakes._Held, mistakes._Probed):
            patches.callback(setattr, made, "__bases__", made.__bases__)
            made.__bases__ = (Labelled,)
        patches.enter_context(unittest.mock.patch.object(mistakes, "Training", Labelled))
        value = stories.STORIES[name](seed)
    for allocation in ledgers[0].allocations:  # a ring buffer has dropped the beginning
        dropped = ledgers[0].sink.seen[allocation.device] - len(value["device_traces"][allocation.device])
        allocation.birth -= dropped
        allocation.death = None if allocation.death is None else allocation.death - dropped
    return value, ledgers[0]


def main(arguments):
    fields = {key: json.loads(value) if value[0] in '0123456789"' else value
              for key, value in (word.split("=") for word in arguments[2:])}
    twin = Twin(fault=arguments[0], **fields) if not arguments[0].startswith("HEALTHY_") else Twin(
        shape=arguments[0][len("HEALTHY_"):], **fields)
    played = record(twin, twin.fault is not None)
    played.write(arguments[1])
    print(f"{twin.words()}: {len(played.curve):,} events, peak {played.peak():,}")


if __name__ == "__main__":
    main(sys.argv[1:])
