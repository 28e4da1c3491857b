"""A simulated process: devices, a clock, the recording and its snapshot."""

from collections import deque
from contextlib import contextmanager

from .allocator import Allocator
from .dice import Dice
from .stacks import Context, StackTable, fresh

FIRST_US = 1_760_000_000_000_000  # 9 October 2025


class Flavour:
    """Which keys the simulated version of torch writes; 2.11 by default."""

    def __init__(self, time=True, compile_context=True, user_metadata=True, pool_id=False, forward_frames=False):
        self.time, self.compile_context, self.user_metadata = time, compile_context, user_metadata
        self.pool_id, self.forward_frames = pool_id, forward_frames


class Recording:
    """Keeps the events of every device in memory, the last `max_entries` of each."""

    def __init__(self, flavour, devices, max_entries=None):
        self.flavour = flavour
        self.traces = [deque(maxlen=max_entries) for _ in range(devices)]
        self.seen = [0] * devices
        self.blocks_only = False  # enabled="state": stacks for blocks, no events

    def event(self, world, device, action, address, size, stream, context, pool):
        if self.blocks_only:
            return
        self.seen[device] += 1
        self.traces[device].append(entry(self.flavour, world, action, address, size, stream, context, pool,
                                         Context.frames))

    def overflowed(self):
        return [seen > len(trace) for seen, trace in zip(self.seen, self.traces)]


class Counting:
    """Counts events and drops them: the first of the two passes of a file that is streamed."""

    def event(self, world, *rest):
        pass


def entry(flavour, world, action, address, size, stream, context, pool, frames):
    """One trace event with its keys in the order in which torch adds them."""
    item = {"action": action, "device_free" if action == "oom" else "addr": address, "size": size, "stream": stream}
    if flavour.time:
        item["time_us"] = world.time_us
    if flavour.compile_context:
        item["compile_context"] = fresh(world.compile_context)
    if flavour.user_metadata:
        item["user_metadata"] = fresh(world.user_metadata)
    if flavour.pool_id:
        item["pool_id"] = tuple(list(pool))
    if flavour.forward_frames and world.forward_frames:
        item["forward_frames"] = [fresh(text) for text in world.forward_frames]
    if context is not None:
        item["frames"] = frames(context)
    return item


class World:
    """The process that a simulated training script runs in."""

    def __init__(self, seed, sink, devices=1, distinct=False, limit=None, **allocator):
        self.dice = Dice(seed)
        self.sink = sink
        self.stacks = StackTable()
        self.time_us = FIRST_US
        self.events = 0
        self.limit = limit  # the recording ends after so many events; None: with the story
        self.compile_context, self.user_metadata = "N/A", ""
        self.forward_frames = None
        self.annotations = []  # (stage, name, device, time_us)
        self._contexts = 0
        self._distinct = distinct
        self.gpus = [self._gpu(device, allocator) for device in range(devices)]

    def _gpu(self, device, options):
        def record(action, address, size, stream, context, pool):
            self.events += 1
            if action == "segment_alloc" or action == "segment_map":
                self.time_us += 300 + self.dice.below(600)
            self.sink.event(self, device, action, address, size, stream, context, pool)
        return Allocator(record, device, base=0x7F2A40000000 + device * 0x2000000000, **options)

    def context(self, stack):
        """A traceback captured now."""
        self._contexts += 1
        if self._distinct:
            stack = self.stacks.varied(stack, self._contexts)
        return Context(self._contexts, stack)

    # ---- what a script does on its first device, or another ----

    def malloc(self, nbytes, stack, stream=0, pool=None, device=0):
        self._advance()
        return self.gpus[device].malloc(nbytes, self.context(stack), stream, pool)

    def free(self, block, stack, delay=0):
        self._advance()
        block.pool.owner.free(block, self.context(stack), delay)

    def empty_cache(self, stack):
        self._advance()
        for gpu in self.gpus:
            gpu.empty_cache(self.context(stack))

    def snapshot_marker(self):
        """An earlier call of torch.cuda.memory._snapshot: it marks the trace of every device."""
        for gpu in self.gpus:
            gpu.record("snapshot", 0, gpu.active_bytes(), 0, None, (0, 0))

    def annotate_block(self, block, text):
        """torch 2.14's annotation of a live allocation."""
        before, self.user_metadata = self.user_metadata, text
        block.pool.owner.record("annotate", block.address, block.requested, block.stream, block.context,
                                block.pool.identity)
        self.user_metadata = before

    @contextmanager
    def scope(self, name, device=0):
        """torch.profiler.record_function. No END after an exception that ends the recording."""
        self._advance()
        self.annotations.append(("START", name, device, self.time_us))
        yield
        self._advance()
        self.annotations.append(("END", name, device, self.time_us))

    def _advance(self):
        if self.limit is not None and self.events >= self.limit:
            raise RecordingEnds
        self.time_us += 2 + self.dice.below(40)


class RecordingEnds(Exception):
    """Raised after enough events: the snapshot is taken in the middle of whatever the script is doing."""


# ---- the snapshot ----


def segments_of(world, frames):
    return [segment for gpu in world.gpus for segment in gpu.segments(frames)]


def settings(expandable=False, conf=None, **more):
    """allocator_settings of torch 2.11."""
    if conf is None:
        conf = "expandable_segments:True" if expandable else ""
    return {
        "PYTORCH_CUDA_ALLOC_CONF": fresh(conf),
        "max_split_size": -1,
        "garbage_collection_threshold": 0.0,
        "expandable_segments": expandable,
        "pinned_num_register_threads": 1,
        "release_lock_on_cudamalloc": False,
        "pinned_use_cuda_host_register": False,
        "graph_capture_record_stream_reuse": False,
        "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)},
        **more,
    }


def annotation_dicts(world):
    return [{"stage": fresh(stage), "name": fresh(name), "device": device, "time_us": time_us}
            for stage, name, device, time_us in world.annotations]


def snapshot(world, recording, allocator_settings, idle_devices=0):
    """The dict that torch.cuda.memory._snapshot() returns."""
    nothing = []  # one list for all blocks without a stack

    def frames(context):
        return nothing if context is None else context.frames()

    return {
        "segments": segments_of(world, frames),
        "device_traces": [list(trace) for trace in recording.traces] + [[] for _ in range(idle_devices)],
        "allocator_settings": allocator_settings,
        "external_annotations": annotation_dicts(world),
    }
