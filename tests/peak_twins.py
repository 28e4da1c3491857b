"""Pairs of programs, one with a fault that causes its peak and one without, and complete runs whose front is cut off.
They follow the documented rules. The program without the fault shows the true peak without it.

A fault is a row of FAULTS: the kind of finding that must name it, its site, and `play(program)`, which reads `program.faulty`.
"""

import contextlib
import dataclasses
import itertools
import sys

sys.dont_write_bytecode = True
import twins  # noqa: E402
from simulator.allocator import MIB  # noqa: E402
from simulator.stacks import CALL, LINEAR, MAIN, PROJECT, STEP, TORCH  # noqa: E402
from simulator.transformer import FLOAT, HALF, VOCABULARY, Shape, Training  # noqa: E402
from simulator.world import Flavour, Recording, RecordingEnds, settings, snapshot  # noqa: E402
from twins_ledger import Ledger, live_curve  # noqa: E402

# (stacks, paths, annotations)
STYLES = (("mixed", "posix", "profiler"), ("python", "posix", "profiler"), ("mixed", "posix", "none"),
          ("mixed", "windows", "profiler"), ("python", "posix", "none"))

_PREDICT = PROJECT + "predict.py"
_LOOP = ((_PREDICT, "<module>", 31),)
_CALLER = ((_PREDICT, "predict", 22),) + _LOOP
_MODEL = CALL + _CALLER
_FSDP = TORCH + "distributed/fsdp/"
_GATHERED = ((_FSDP + "_flat_param.py", "_alloc_padded_unsharded_flat_param", 1376), (_FSDP + "_flat_param.py", "unshard", 1329),
             (_FSDP + "_runtime_utils.py", "_unshard", 301))
SITES = {"collect": ((_PREDICT, "collect", 14), (_PREDICT, "predict", 24)) + _LOOP,
         "result": LINEAR + ((PROJECT + "model/transformer.py", "forward", 61),) + _MODEL,
         "embedding": ((TORCH + "nn/modules/sparse.py", "forward", 192),) + CALL + ((PROJECT + "model/transformer.py", "forward", 52),) + _MODEL,
         "store": ((PROJECT + "store.py", "put", 8),) + MAIN,
         "rebind": ((_PREDICT, "predict", 22),) + _LOOP,
         "own": ((PROJECT + "train/lookahead.py", "step", 41), (TORCH + "optim/optimizer.py", "wrapper", 533)) + STEP,
         "adapt": ((PROJECT + "lora.py", "inject", 33),) + MAIN,
         "buckets": ((TORCH + "nn/parallel/distributed.py", "_ddp_init_helper", 1273), (TORCH + "nn/parallel/distributed.py", "__init__", 858),
                     (PROJECT + "main.py", "build_model", 52)) + MAIN,
         "critic": ((TORCH + "nn/modules/module.py", "convert", 1355), (PROJECT + "main.py", "build_critic", 61)) + MAIN,
         "judge": LINEAR + ((PROJECT + "model/critic.py", "forward", 18),) + CALL + STEP,
         "shard": ((_FSDP + "_flat_param.py", "shard", 921), (PROJECT + "main.py", "build_model", 52)) + MAIN,
         "gather": _GATHERED + ((_FSDP + "_runtime_utils.py", "_pre_forward", 388), (_FSDP + "fully_sharded_data_parallel.py", "forward", 854)) + _MODEL,
         "gather again": _GATHERED + ((_FSDP + "_runtime_utils.py", "_pre_backward_hook", 703),),
         "reduce": ((_FSDP + "_runtime_utils.py", "_reduce_grad", 821), (_FSDP + "_runtime_utils.py", "_post_backward_hook", 748)),
         "capture": LINEAR + ((PROJECT + "serve/graphs.py", "capture", 96),) + MAIN}
_ONE = ((TORCH + "optim/adamw.py", "_single_tensor_adamw", 449), (TORCH + "optim/adamw.py", "step", 220),
        (TORCH + "optim/optimizer.py", "wrapper", 533)) + STEP
_ZERO_GRAD = ((TORCH + "optim/optimizer.py", "zero_grad", 1021), (PROJECT + "main.py", "train_step", 86)) + MAIN
_LOADERS = tuple(((TORCH + "nn/modules/module.py", "convert", 1355), (PROJECT + "checkpoint.py", "load_part", 20 + line)) + MAIN
                 for line in range(6))


def site_name(name):
    """The report's spelling of a call site: the innermost line of the project's own code."""
    path, function, line = next(place for place in SITES[name] if place[0].startswith(PROJECT))
    return f"{path.rsplit('/', 1)[1]}:{line} {function}"


ADAPTER_RANK = 8


class Program(Training):
    """The model and its loop; every part tells the ledger its phase."""

    def __init__(self, world, case, faulty):
        self.case, self.faulty, self.marks, self.number, self.frozen = case, faulty, {}, 0, {}
        super().__init__(world, Shape(layers=case.layers, width=case.width, heads=8, batch=case.rows, tokens=128))

    def mark(self, name, at=None):
        self.marks[name] = self.world.events if at is None else at

    def _load(self):
        with self.world.phase("load"), self.world.acting("parameter"):
            super()._load()

    def stack(self, name, operator="linear"):
        return self.world.stacks.alloc(operator, SITES[name])

    def drop(self, blocks, name="rebind"):
        for block in blocks:
            self.world.free(block, self.world.stacks.free(SITES[name]))

    # ---- a step of training ----

    def adapt(self):
        """Freezes the model and trains two matrices beside each weight matrix."""
        self.frozen, self.parameters = self.parameters, {}
        width = self.shape.width
        widths = {"qkv.weight": (width, 3 * width), "proj.weight": (width, width), "fc1.weight": (width, 4 * width),
                  "fc2.weight": (4 * width, width)}
        with self.world.phase("load"), self.world.acting("parameter"):
            for layer in range(self.shape.layers):
                for name, (inner, outer) in widths.items():
                    for part, size in (("a", inner), ("b", outer)):
                        self.parameters[layer, name + part] = self.world.malloc(FLOAT * ADAPTER_RANK * size, self.stack("adapt", "empty"))

    def _parameter_gradient(self, layer, name, elements, stack, device):
        if not self.frozen:
            super()._parameter_gradient(layer, name, elements, stack, device)
        for part in "ab" if self.frozen and (layer, name + "a") in self.parameters else ():
            super()._parameter_gradient(layer, name + part, self.parameters[layer, name + part].requested // FLOAT, stack, device)

    def copies(self, times, role):
        """Makes `times` the bytes of every parameter in the optimizer's constructor."""
        with self.world.phase("load"), self.world.acting(role):
            for block in list(self.parameters.values()):
                self.world.malloc(times * block.requested, self.stack("adapt", "empty"))

    def begin(self):
        """The step's number and batch."""
        with self.world.phase("data"), self.world.acting("input"):
            self._next_batch()

    def train(self, optimize=True, between=None, zero=True):
        world, number = self.world, self.number
        self.number += 1
        with world.scope(f"ProfilerStep#{number}"):
            self.begin()
            with world.phase("forward"), world.scope("forward"):
                head = self.forward()
            if between:
                between()
            with world.phase("backward"), world.scope("backward"):
                self.backward(head)
            if optimize:
                with world.phase("optimizer"), world.scope("Optimizer.step#AdamW.step"):
                    self.optimize()
            if zero:
                self.zero()

    def zero(self):
        stack = self.world.stacks.free(_ZERO_GRAD)
        for block in self.gradients.values():
            self.world.free(block, stack)
        self.gradients = {}

    def optimize(self):
        """Healthy: fused, or in place, without a temporary."""
        if self.faulty and self.case.way == "foreach":
            return super().optimize()
        if not self.state:
            self._make_state()
        if self.faulty and self.case.way == "own":
            stack = self.world.stacks.alloc("clone", SITES["own"])
            self.drop([self.world.malloc(block.requested, stack) for block in self.parameters.values()], "own")

    def state_stack(self):
        return self.world.stacks.alloc("zeros_like", ((TORCH + "optim/adamw.py", "_init_group", 176),) + _ONE[1:])

    def _make_state(self):
        zeros = self.state_stack()
        for key, block in self.parameters.items():
            self.state[key] = [self.world.malloc(block.requested, zeros) for _ in range(2)]

    # ---- a forward alone ----

    def infer(self, grad, layers=None, tokens=None):
        """Returns the blocks of the result and, with `grad`, of its graph; without, a layer's blocks are freed after
        the layer."""
        world, graph = self.world, []
        hidden = HALF * self.shape.batch * self.shape.tokens * self.shape.width
        with world.phase("forward"):
            before = [world.malloc(hidden, self.stack("embedding", "embedding"))]
            for layer in range(layers or self.shape.layers):
                own = []
                for row in self.rows("infer", layer):
                    own.append(world.malloc(row.nbytes, row.stack))
                if grad:
                    graph += own
                else:  # a layer's result is the next layer's input
                    self.drop(before + own[:-1], "result")
                    before = own[-1:]
            out = world.malloc(hidden, self.stack("result"))
            self.drop([] if grad else before, "result")
        return graph + (before if grad else []) + [out]

    def rows(self, phase, layer):
        if phase != "infer":
            return super().rows(phase, layer)
        if (phase, layer) not in self._rows:
            self._rows[phase, layer] = self._forward_rows(layer, _CALLER)
        return self._rows[phase, layer]


@dataclasses.dataclass(frozen=True)
class Case:
    fault: str
    style: tuple
    layers: int = 6
    width: int = 256
    rows: int = 2
    seed: int = 1

    @property
    def way(self):
        return FAULTS[self.fault].way

    def words(self):
        return f"{self.fault} {'/'.join(self.style)} layers={self.layers} width={self.width} rows={self.rows}"


@dataclasses.dataclass(frozen=True)
class Fault:
    play: object
    kind: str
    site: str = None
    cut: bool = False  # recording begins at the mark "begin"
    way: str = "single"
    rows: int = None
    severities: tuple = ("high", "medium")
    fields: tuple = ()  # other fields that the finding must have


# ---- the programs ----


def leak_of_several_loaders(program):
    """A model that six lines load, and then a loop that uses it in every turn."""
    world = program.world
    with world.phase("load"), world.acting("parameter"):
        for part, places in enumerate(_LOADERS * 2):
            world.malloc(MIB + 512 * part, world.stacks.alloc("to", places))
    keep_in_turns(program, 8)


def leak_behind_a_first_call(program):
    """A workspace that the first call makes."""
    with program.world.phase("forward"), program.world.acting("workspace|parameter|other|result|activation"):
        for line in (71, 72):
            program.world.malloc(MIB, program.world.stacks.alloc("empty", ((PROJECT + "model/attention.py", "forward", line),) + _MODEL))
    keep_in_turns(program, 5)


def keep_in_turns(program, turns):
    for _ in range(turns):
        program.drop(program.infer(False))
        with program.world.phase("other"):
            kept = program.world.malloc(2 * MIB, program.stack("collect", "to"))
            if not program.faulty:
                program.drop([kept], "collect")


def temporaries(program):
    for _ in range(2):
        program.train()


def graph_is_freed(program):
    for _ in range(2):
        program.drop(program.infer(program.faulty))


def full_buffer(program):
    for _ in range(40 if program.case.layers < 12 else 12):
        program.train()


def no_events(program):
    program.train(zero=False)


def cache(program):
    """Each burst is larger than the one before, so that no segment can be reused; healthy: the largest comes first."""
    for size in range(4, 9) if program.faulty else range(8, 3, -1):
        program.drop([program.world.malloc(100 * size * MIB, program.stack("store"))], "store")
    program.train(optimize=False)


def holes(program):
    """On many streams, a small allocation stays beside a large one that is freed; healthy: on one stream."""
    for stream in range(1, 97):
        stream = stream if program.faulty else 1
        large = program.world.malloc(9 * MIB, program.stack("store"), stream=stream)
        program.world.malloc(MIB + 4096, program.stack("store"), stream=stream)
        program.drop([large], "store")
    program.train(optimize=False)


FAULTS = {
    "leak, several loaders": Fault(leak_of_several_loaders, "leak", "collect"),
    "leak behind a first call": Fault(leak_behind_a_first_call, "leak", "collect"),
    "foreach": Fault(temporaries, "optimizer_temporaries", way="foreach", fields=(("implementation", "foreach"),)),
    "own optimizer": Fault(temporaries, "optimizer_temporaries", "own", way="own", fields=(("implementation", "own"),)),
    "graph, freed": Fault(graph_is_freed, "unused_graph", rows=8),
    "full buffer": Fault(full_buffer, "history_full", fields=(("max_entries", 10000), ("bytes", -1)), severities=("info",)),
    "old form": Fault(no_events, "no_history", severities=("info",)),
    "cache": Fault(cache, "fragmentation", severities=("low",)),
    "holes": Fault(holes, "fragmentation", severities=("high", "medium", "low")),
}
CUTS = ("built", "second step", "in forward", "in backward")


def cases(**fields):
    """Every fault in five styles."""
    return [Case(name, style, **{"rows": fault.rows or 2, **fields}) for name, fault in FAULTS.items() for style in STYLES]


# ---- recording ----


@dataclasses.dataclass
class Played:
    case: Case
    snapshot: dict
    world: Ledger
    curve: list
    program: Program


def play(case, faulty, script=None, ledger=Ledger):
    recording = Recording(Flavour(), 1)
    world = ledger(case.seed, recording, style=case.style[:2])
    program = Program(world, case, faulty)
    program.mark("built")
    with contextlib.suppress(RecordingEnds):
        (script or FAULTS[case.fault].play)(program)
    value = twins.annotated(snapshot(world, recording, settings()), case.style[2])
    return Played(case, value, world, live_curve(value["device_traces"][0]), program)


def cut(value, events):
    """The snapshot as if recording had begun after `events` events: older allocations have no stack."""
    segments = [{**segment, "frames": [], "blocks": [{**block} for block in segment["blocks"]]} for segment in value["segments"]]
    trace = value["device_traces"][0]
    made = {event["addr"]: event for event in trace[events:] if event["action"] == "alloc"}
    for block in itertools.chain.from_iterable(segment["blocks"] for segment in segments):
        if block["address"] not in made:
            block["frames"] = []
    begin = trace[events]["time_us"] if events < len(trace) else 1 << 62
    notes = [note for note in value["external_annotations"] if note["time_us"] >= begin]
    return {**value, "segments": segments, "device_traces": [trace[events:]], "external_annotations": notes}


def recorded(played, faulty):
    """(snapshot, live bytes before its first event and after each)."""
    fault, value, curve = FAULTS[played.case.fault], played.snapshot, [0] + played.curve
    if fault.kind == "history_full":
        trace = value["device_traces"][0]
        return (cut(value, len(trace) - 10000), curve[-10001:]) if faulty else ({**value, "device_traces": [trace[:10000]]}, curve[:10001])
    if fault.kind == "no_history" and faulty:
        return {**value, "device_traces": [[]]}, curve[-1:]
    at = played.program.marks["begin"] if fault.cut else 0
    return cut(value, at), curve[at:]
