#!/usr/bin/env python3
"""A random simulator of PyTorch's caching allocator; it knows the truth about its runs.

It runs a small model of the allocator (segments, blocks, streams, frees that wait for another stream), records what
`_record_memory_history` would record, and notes when every allocation truly begins and ends. So a reader of the snapshot can be
compared with what really happened, not only with another reader.

    simulate.py SEED FILE [FIELD=VALUE...] writes the snapshot of a seed, with fields of Settings set (as JSON); prints
    its special settings

The same seed gives the same bytes with the same version of Python.
"""

import collections
import dataclasses
import gzip
import json
import pickle
import random
import sys

sys.dont_write_bytecode = True
from jit_pickle import jit_pickle  # noqa: E402

GRAIN = 512  # the allocator rounds up to this
SMALL = 1 << 20  # up to here an allocation comes from the pool of small ones
SMALL_SEGMENT = 2 << 20
LARGE_SEGMENT = 20 << 20
NO_LINE = (1 << 64) - 1  # CPython's line -1 as an unsigned number
KEEP_ALL = None
FORMS = ("pickle0", "pickle1", "pickle2", "pickle3", "pickle4", "pickle4", "pickle4.gz", "pickle5", "jit", "json")


@dataclasses.dataclass
class Block:
    address: int
    size: int  # rounded
    state: str = "inactive"
    requested: int = 0
    frames: list = dataclasses.field(default_factory=list)
    allocation: "TrueAllocation" = None


@dataclasses.dataclass
class Region:
    """A cudaMalloc segment, or an expandable reservation of which parts are mapped. Blocks by rising address."""

    address: int
    stream: int
    pool: tuple
    small: bool
    expandable: bool
    frames: list
    blocks: list = dataclasses.field(default_factory=list)
    reserved_up_to: int = 0  # expandable: end of what was ever mapped

    def mapped(self):
        return sum(block.size for block in self.blocks)


@dataclasses.dataclass
class TrueAllocation:
    """The life of an allocation, counted in events written, including those that the ring buffer has dropped."""

    address: int
    size: int
    birth: int
    requested: int = None
    completed: int = None


@dataclasses.dataclass
class Settings:
    """What is special about one simulated run."""

    seed: int
    n_devices: int = 1
    n_steps: int = 400
    ring: int = KEEP_ALL
    record_after: int = 0  # steps before recording starts
    cross_stream: float = 0.2
    skipped: tuple = ()  # actions that are not recorded
    lost: float = 0.0  # share of events that vanish; the truth is then unknown
    races: bool = False  # the final segments are a little newer than the trace
    expandable: bool = False
    high_addresses: bool = False
    time: bool = True
    block_address: bool = True
    context: str = "all"  # as in _record_memory_history
    annotations: bool = False
    metadata: bool = False
    pool_ids: bool = False
    form: str = "pickle4"

    def exact(self):
        return self.lost == 0 and not self.races


def settings_of(seed):
    """Draws a run. Small seeds are as likely to be strange as large ones."""
    rng = random.Random(f"settings {seed}")
    settings = Settings(seed)
    settings.n_devices = rng.choice((1, 1, 1, 2, 3))
    settings.n_steps = rng.choice((0, 1, 3, 20, 100, 300, 600, 1200))
    settings.ring = rng.choice((KEEP_ALL, KEEP_ALL, rng.choice((1, 2, 3, 5)), rng.randint(1, 200), rng.randint(1, 4000)))
    settings.record_after = rng.choice((0, 0, rng.randint(1, 300)))
    settings.cross_stream = rng.choice((0.0, 0.2, 0.2, 0.6))
    settings.skipped = rng.choice(((), (), (), ("free_completed",), ("free_requested",)))
    settings.skipped += rng.choice(((), (), ("segment_alloc", "segment_free", "segment_map", "segment_unmap"), ("snapshot",)))
    if "free_completed" not in settings.skipped:
        settings.lost = rng.choice((0.0,) * 5 + (0.1,))
    settings.races = rng.random() < 0.1
    settings.expandable = rng.random() < 0.35
    settings.high_addresses = rng.random() < 0.2
    settings.time = rng.random() < 0.7
    settings.block_address = rng.random() < 0.8
    settings.context = rng.choice(("all", "all", "all", "alloc", "state", None))
    settings.annotations = rng.random() < 0.4
    settings.metadata = rng.random() < 0.4
    settings.pool_ids = rng.random() < 0.4
    settings.form = rng.choice(FORMS)
    return settings


# ---- frames ----

USER_FRAMES = (
    ("/home/ada/project/train.py", "main"),
    ("/home/ada/project/train.py", "training_step"),
    ("/home/ada/project/model/attention.py", "forward"),
    ("/home/ada/project/model/mlp.py", "forward"),
    ("/home/ada/other/model/mlp.py", "forward"),
    ("/home/ada/project/modèle/注意.py", "前へ"),
    ("/home/ada/project/emoji_🙂.py", "<lambda>"),
    ("C:\\work\\project\\optim.py", "step"),
    ('/srv/</script><img src=x onerror="alert(1)">.py', "<b>&amp;"),
)
LIBRARY_FRAMES = (
    ("/usr/lib/python3.11/site-packages/torch/nn/modules/module.py", "_call_impl"),
    ("/usr/lib/python3.11/site-packages/torch/optim/adamw.py", "step"),
    ("/opt/conda/lib/python3.10/site-packages/torch/autograd/__init__.py", "backward"),
)
NATIVE_FRAMES = (
    ("", "at::native::mm_cuda(at::Tensor const&, at::Tensor const&)"),
    ("Normalization.cu", "void at::native::norm_kernel<float, 4>(float*, int)"),
)
PLUMBING_FRAMES = (  # on every allocation's way through the allocator
    ("??", "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, unsigned long)"),
    ("", "at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>, c10::Allocator*)"),
)
NOISE_FRAMES = (
    ("??", "torch::unwind::unwind()"),
    ("/build/python/Objects/call.c", "_PyObject_Vectorcall"),
    ("", "PyObject_Call"),
)


def make_frame(rng, place, line):
    file, name = place
    frame = {"name": name, "filename": file, "line": line}
    if rng.random() < 0.05:
        frame["fx_node_op"] = "call_function"
        frame["fx_node_name"] = "mm_1"
        frame["fx_node_target"] = rng.choice((None, "aten.mm.default"))
        frame["fx_original_trace"] = 'File "train.py", line 3\n    y = x @ w\n'
    return frame


class Stacks:
    """Stacks as PyTorch makes them: one list for each captured traceback, one dict for each place in the code."""

    def __init__(self, rng):
        self.rng = rng
        # ".py" in the file and no line is what CPython writes for code that the compiler made.
        self.user = [make_frame(rng, place, rng.choice((rng.randint(1, 900), rng.randint(1, 900), NO_LINE)))
                     for place in USER_FRAMES for _ in range(2)]  # fmt: skip
        self.other = [make_frame(rng, place, rng.randint(1, 3000)) for place in LIBRARY_FRAMES]
        self.other += [make_frame(rng, place, 0) for place in NATIVE_FRAMES + PLUMBING_FRAMES + NOISE_FRAMES]
        self.stacks = [self.build() for _ in range(rng.randint(1, 25))]

    def build(self):
        """Frames, innermost first."""
        rng = self.rng
        inner = [rng.choice(self.other) for _ in range(rng.randint(0, 5))]
        if rng.random() < 0.15:  # no frame of the user's code at all
            return inner
        outer = [rng.choice(self.user + self.other) for _ in range(rng.choice((0, 1, 3, 8, 60)))]
        return inner + [rng.choice(self.user)] + outer

    def pick(self):
        """A new stack, or one that was used before."""
        frames = self.rng.choice(self.stacks)
        return list(frames) if self.rng.random() < 0.5 else frames


def site_of(frames):
    """The frame of a simulated stack that a person would name, or None: the innermost of the user's code, else of
    Python, else the innermost that is neither plumbing nor noise, else plumbing, else the innermost."""
    for places in (USER_FRAMES, LIBRARY_FRAMES, NATIVE_FRAMES, PLUMBING_FRAMES, NOISE_FRAMES):
        for frame in frames:
            if (frame["filename"], frame["name"]) in places:
                return frame
    return None


# ---- the allocator ----


class SimulatedDevice:
    def __init__(self, settings, ordinal):
        self.settings = settings
        self.rng = random.Random(f"device {settings.seed} {ordinal}")
        self.ordinal = ordinal
        self.stacks = Stacks(self.rng)
        self.next_address = (0xFFFF_8000_0000_0000 if settings.high_addresses else 0x7F00_0000_0000) + (ordinal << 36)
        self.capacity = self.rng.choice((64 << 20, 512 << 20, 1 << 34))
        self.streams = [0] + [0x5500_0000_1000 + 0x40 * i for i in range(self.rng.randint(0, 4))]
        self.pools = [(0, 0)] + [(0, i + 1) for i in range(self.rng.randint(0, 2))]
        self.regions = []
        self.waiting = []  # blocks whose free waits for another stream
        self.allocations = []
        self.ring = collections.deque(maxlen=settings.ring)
        # From before the first event on.
        self.reserved_after = collections.deque(maxlen=settings.ring and settings.ring + 1)
        self.n_written = 0  # events written, including those that the ring has dropped
        self.recording = False
        self.clock = 1_700_000_000_000_000
        self.oom_free = []  # (sum, largest, number) of the free blocks at each out-of-memory event that was recorded

    # -- recording --

    def write(self, action, address, size, stream, frames, **more):
        self.clock += self.rng.choice((0, 0, 1, 7, 150, 20_000))
        if not self.recording or action in self.settings.skipped or self.rng.random() < self.settings.lost:
            return
        event = {"action": action, "addr": address, "size": size, "stream": stream}
        if action == "oom":
            del event["addr"]
        if self.settings.context in ("all", "alloc") and frames is not None:
            event["frames"] = frames
        if self.settings.metadata:
            event["compile_context"] = self.rng.choice(("N/A", "Torch-Compiled Region: 0/0"))
            event["user_metadata"] = self.rng.choice(("", "", "step=3", "métadonnée"))
        if self.settings.time:
            event["time_us"] = self.clock
        event.update(more)
        self.ring.append(event)
        self.reserved_after.append(self.reserved())
        self.n_written += 1

    # -- memory --

    def fresh_address(self, size):
        address = self.next_address
        self.next_address += (size + (2 << 20) - 1) // (2 << 20) * (2 << 20) + self.rng.choice((0, 2 << 20))
        return address

    def reserved(self):
        return sum(region.mapped() for region in self.regions)

    def find(self, rounded, stream, pool, small):
        """Best fit among the free blocks of the same stream and pool."""
        best = None
        for region in self.regions:
            if (region.stream, region.pool, region.small) != (stream, pool, small):
                continue
            for block in region.blocks:
                if block.state == "inactive" and block.size >= rounded:
                    if best is None or block.size < best[1].size:
                        best = (region, block)
        return best

    def grow(self, rounded, stream, pool, small, frames):
        """Makes a new segment or extends an expandable one. False: the device is full."""
        unit = SMALL_SEGMENT if small else LARGE_SEGMENT
        size = unit if rounded < unit // 2 else (rounded + (2 << 20) - 1) // (2 << 20) * (2 << 20)
        if self.reserved() + size > self.capacity:
            return False
        if self.settings.expandable and pool == (0, 0):
            self.map_more(size, stream, pool, small, frames)
            return True
        region = Region(self.fresh_address(size), stream, pool, small, False, frames)
        region.blocks.append(Block(region.address, size))
        self.regions.append(region)
        self.write("segment_alloc", region.address, size, stream, frames, **self.pool_of(pool))
        return True

    def map_more(self, size, stream, pool, small, frames):
        for region in self.regions:
            if region.expandable and (region.stream, region.small) == (stream, small):
                break
        else:
            region = Region(self.fresh_address(1 << 32), stream, pool, small, True, frames)
            region.reserved_up_to = region.address
            self.regions.append(region)
        address = region.reserved_up_to
        region.reserved_up_to += size
        last = region.blocks[-1] if region.blocks else None
        if last and last.state == "inactive" and last.address + last.size == address:
            last.size += size
        else:
            region.blocks.append(Block(address, size))
        self.write("segment_map", address, size, stream, frames)

    def pool_of(self, pool):
        return {"pool_id": pool} if self.settings.pool_ids else {}

    def empty_cache(self, frames):
        """Gives back whole free segments; of expandable ones any free block."""
        for region in list(self.regions):
            if region.expandable:
                for block in [block for block in region.blocks if block.state == "inactive"]:
                    region.blocks.remove(block)
                    self.write("segment_unmap", block.address, block.size, region.stream, frames)
            elif all(block.state == "inactive" for block in region.blocks):
                self.regions.remove(region)
                self.write("segment_free", region.address, region.mapped(), region.stream, frames)

    def alloc(self):
        rng = self.rng
        size = int(2 ** rng.uniform(0, 26)) if rng.random() < 0.9 else 512 * rng.randint(1, 5000)
        rounded = (size + GRAIN - 1) // GRAIN * GRAIN
        small = rounded <= SMALL
        stream, pool = rng.choice(self.streams), rng.choice(self.pools + [(0, 0)] * 3)
        frames = self.stacks.pick()
        found = self.find(rounded, stream, pool, small)
        if not found and not self.grow(rounded, stream, pool, small, frames):
            self.empty_cache(frames)
            if not self.grow(rounded, stream, pool, small, frames):
                self.write("oom", 0, rounded, stream, frames, device_free=self.capacity - self.reserved())
                self.oom_free += [self.free_blocks()] if self.recording else []
                return
        region, block = found or self.find(rounded, stream, pool, small)
        self.carve(region, block, rounded)
        block.state, block.requested, block.frames = "active_allocated", size, frames
        self.write("alloc", block.address, size, stream, frames, **self.pool_of(pool))
        block.allocation = TrueAllocation(block.address, size, self.n_written)
        self.allocations.append(block.allocation)

    def carve(self, region, block, rounded):
        rest = block.size - rounded
        if rest < GRAIN or (not region.small and rest <= SMALL and self.rng.random() < 0.5):
            return  # too little to be worth a block
        block.size = rounded
        region.blocks.insert(region.blocks.index(block) + 1, Block(block.address + rounded, rest))

    def free_blocks(self):
        free = [block.size for region in self.regions for block in region.blocks if block.state == "inactive"]
        return sum(free), max(free, default=0), len(free)

    def used(self):
        return [(region, block) for region in self.regions for block in region.blocks if block.state == "active_allocated"]

    def free(self):
        used = self.used()
        if not used:
            return
        # Frees mostly the youngest, sometimes any, as programs do.
        if self.rng.random() < 0.6:
            region, block = max(used, key=lambda pair: pair[1].allocation.birth)
        else:
            region, block = self.rng.choice(used)
        frames = self.stacks.pick() if self.settings.context == "all" else block.frames
        self.write("free_requested", block.address, block.requested, region.stream, frames, **self.pool_of(region.pool))
        block.allocation.requested = self.n_written
        if self.rng.random() < self.settings.cross_stream:
            block.state = "active_pending_free"
            self.waiting.append((region, block, frames))
        else:
            self.complete(region, block, frames)

    def complete(self, region, block, frames):
        self.write("free_completed", block.address, block.requested, region.stream, frames, **self.pool_of(region.pool))
        block.allocation.completed = self.n_written
        block.state, block.allocation = "inactive", None
        position = region.blocks.index(block)
        for neighbour in region.blocks[position + 1 : position + 2] + region.blocks[max(position - 1, 0) : position]:
            low, high = sorted((block, neighbour), key=lambda each: each.address)
            if neighbour.state == "inactive" and low.address + low.size == high.address:
                low.size += high.size
                region.blocks.remove(high)
                block = low

    def step(self):
        kind = self.rng.random()
        if kind < 0.5:
            self.alloc()
        elif kind < 0.88:
            self.free()
        elif kind < 0.95 and self.waiting:
            self.complete(*self.waiting.pop(self.rng.randrange(len(self.waiting))))
        elif kind < 0.96:
            self.empty_cache(self.stacks.pick())
        elif kind < 0.97:
            active = sum(block.size for region in self.regions for block in region.blocks if block.state != "inactive")
            self.write("snapshot", 0, active, 0, None)
        elif kind < 0.975:
            used = self.used()
            if used:
                self.write("annotate", self.rng.choice(used)[1].address, 0, 0, None, user_metadata="noted")

    def run(self):
        for step in range(self.settings.record_after + self.settings.n_steps):
            if not self.recording and step >= self.settings.record_after:
                self.recording = True
                self.reserved_after.append(self.reserved())
            self.step()
        self.events = list(self.ring)
        self.reserved_after = list(self.reserved_after) or [self.reserved()]
        if self.settings.races:
            self.recording = False
            for _ in range(self.rng.randint(1, 10)):
                self.step()

    # -- the snapshot --

    def segments(self):
        return [segment for region in self.regions for segment in self.segments_of(region)]

    def segments_of(self, region):
        """An expandable region gives one segment for each range that is mapped without a gap."""
        runs = []
        for block in region.blocks:
            if runs and runs[-1][-1].address + runs[-1][-1].size == block.address:
                runs[-1].append(block)
            else:
                runs.append([block])
        return [self.segment(region, run) for run in runs]

    def segment(self, region, blocks):
        allocated = [block for block in blocks if block.state == "active_allocated"]
        active = [block for block in blocks if block.state != "inactive"]
        return {
            "device": self.ordinal,
            "address": blocks[0].address,
            "total_size": sum(block.size for block in blocks),
            "allocated_size": sum(block.size for block in allocated),
            "active_size": sum(block.size for block in active),
            "requested_size": sum(block.requested for block in active),
            "stream": region.stream,
            "segment_type": "small" if region.small else "large",
            "segment_pool_id": region.pool,
            "is_expandable": region.expandable,
            "frames": region.frames if self.settings.context else [],
            "blocks": [self.block(block) for block in blocks],
        }

    def block(self, block):
        entry = {"address": block.address, "size": block.size, "requested_size": block.requested, "state": block.state}
        entry["frames"] = block.frames if self.settings.context else []
        if not self.settings.block_address:
            del entry["address"]
        return entry

    # -- the truth --

    def true_alive(self, moment):
        """Sorted (address, size) that are really in use at a moment of the remaining events."""
        return sorted((allocation.address, allocation.size) for allocation in self.allocations_at(moment))

    def allocations_at(self, moment):
        now = self.n_written - len(self.events) + moment
        return [allocation for allocation in self.allocations if allocation.birth <= now and not self.is_gone(allocation, now)]

    def knows_reserved(self):
        return self.settings.exact() and "segment_alloc" not in self.settings.skipped

    def is_gone(self, allocation, now):
        """An allocation ends with its completed free; if completions are not recorded, with the request of a free that
        was completed later."""
        if allocation.completed is None:
            return False
        end = allocation.requested if "free_completed" in self.settings.skipped else allocation.completed
        return end <= now


class Simulation:
    def __init__(self, settings):
        self.settings = settings
        self.devices = [SimulatedDevice(settings, ordinal) for ordinal in range(settings.n_devices)]
        for device in self.devices:
            device.run()

    def snapshot(self):
        snapshot = {
            "segments": [segment for device in self.devices for segment in device.segments()],
            "device_traces": [device.events for device in self.devices],
            "allocator_settings": {
                "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True" if self.settings.expandable else "",
                "max_split_size": -1,
                "garbage_collection_threshold": 0.8,
                "expandable_segments": self.settings.expandable,
                "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)},
            },
        }
        if self.settings.annotations:
            snapshot["external_annotations"] = self.annotations()
        return snapshot

    def annotations(self):
        """Annotations of successive steps; sometimes a begin or an end is missing."""
        rng = random.Random(f"annotations {self.settings.seed}")
        time = 1_700_000_000_000_000
        records = []
        for step in range(rng.randint(0, 30)):
            for stage in ("START", "END"):
                time += rng.randint(0, 1_000_000)
                if rng.random() < 0.95:
                    records.append({"stage": stage, "name": f"ProfilerStep#{step}", "device": 0, "time_us": time})
        return records

    def dump(self):
        """The file's bytes."""
        form = self.settings.form
        snapshot = self.snapshot()
        if form == "json":
            return json.dumps(snapshot).encode()
        if form == "jit":
            return jit_pickle(snapshot)
        data = pickle.dumps(snapshot, protocol=int(form[6]))
        return gzip.compress(data, mtime=0) if form.endswith(".gz") else data


def main(arguments):
    settings = settings_of(int(arguments[0]))
    for assignment in arguments[2:]:
        field, value = assignment.split("=", 1)
        settings = dataclasses.replace(settings, **{field: json.loads(value)})
    with open(arguments[1], "wb") as file:
        file.write(Simulation(settings).dump())
    print(settings)


if __name__ == "__main__":
    main(sys.argv[1:])
