"""Random programs for the caching allocator, run by the simulator that writes the samples. The simulator does not know settings;
this file implements them a second time, in plain Python, from PyTorch's source.

    program = Program(random.Random(7))
    run = Run(program, Settings(expandable=True), capacity=4 << 30)
    run.snapshot()         what torch.cuda.memory._snapshot() would return
    run.states             [(event, segments, blocks)]: the truth at some moments

allocator_test.py imports this file.
"""

import dataclasses
import sys
from bisect import bisect_left
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "samples"))
from simulator.allocator import (MIN_BLOCK, MIN_LARGE, ROUND_LARGE, SMALL_BUFFER,  # noqa: E402
                                 SMALL_SIZE, Allocator, OutOfMemory)
from simulator import allocator as simulated  # noqa: E402

MIB = 1 << 20
NEVER = 1 << 40  # more bytes than any program here requests


@dataclasses.dataclass
class Settings:
    expandable: bool = False
    max_split: int = 0  # MiB; 0: none
    roundup: int = 0  # divisions; 0: none
    large: int = 20  # MiB
    collect: float = 0.0
    highest: bool = False  # takes the highest of equal free blocks

    def conf(self):
        """As PYTORCH_ALLOC_CONF spells them."""
        parts = []
        if self.expandable:
            parts.append("expandable_segments:True")
        if self.collect:
            parts.append(f"garbage_collection_threshold:{self.collect}")
        if self.large != 20:
            parts.append(f"large_segment_size_mb:{self.large}")
        if self.max_split:
            parts.append(f"max_split_size_mb:{self.max_split}")
        if self.roundup:
            parts.append(f"roundup_power2_divisions:{self.roundup}")
        return parts

    def dump(self):
        """The settings as a snapshot records them."""
        return {"PYTORCH_CUDA_ALLOC_CONF": ",".join(self.conf()), "max_split_size": self.max_split * MIB or -1,
                "garbage_collection_threshold": self.collect, "expandable_segments": self.expandable,
                "roundup_power2_divisions": {str(1 << i): self.roundup for i in range(16)}}


def random_settings(dice, collect=False):
    return Settings(expandable=dice.random() < 0.4, max_split=dice.choice((0, 0, 20, 64, 200)),
                    roundup=dice.choice((0, 0, 0, 2, 4, 8)), large=dice.choice((20, 20, 20, 32, 64)),
                    collect=dice.choice((0.3, 0.6, 0.8)) if collect else 0.0)


class Configured(Allocator):
    """The simulator's allocator with settings."""

    def __init__(self, record, settings, capacity, limit=0, reuse=True):
        super().__init__(record, capacity=capacity, expandable=settings.expandable)
        self.settings, self.limit, self.reuse = settings, limit, reuse
        self.calls, self.base = {}, {}
        self.retries = 0
        self.peak = 0

    def round(self, nbytes):
        divisions = self.settings.roundup
        if nbytes < MIN_BLOCK:
            return MIN_BLOCK
        if divisions > 1 and nbytes > MIN_BLOCK * divisions:
            floor = 1 << (nbytes.bit_length() - 1)
            step = floor // divisions
            return nbytes if nbytes == floor else -(-nbytes // step) * step
        return -(-nbytes // MIN_BLOCK) * MIN_BLOCK

    def segment_size(self, size):
        if size <= SMALL_SIZE:
            return SMALL_BUFFER
        return self.settings.large * MIB if size < MIN_LARGE else -(-size // ROUND_LARGE) * ROUND_LARGE

    def malloc(self, nbytes, context, stream=0, pool=None):
        self._tick += 1
        if self._pending:
            self._process_events(context, everything=False)
        size = self.round(nbytes)
        memory = pool or self.default
        pool = memory.small if size <= SMALL_SIZE else memory.large
        block = self._find(pool, size, stream) or self.get(pool, size, stream, context)
        if block is None:
            self.record("oom", max(self.capacity - self.reserved, 0), size, stream, context, pool.identity)
            raise OutOfMemory(nbytes)
        self._split(block, size)
        block.allocated, block.requested, block.context = True, nbytes, context
        self.record("alloc", block.address, nbytes, stream, context, pool.identity)
        self.peak = max(self.peak, self.reserved)
        return block

    def get(self, pool, size, stream, context):
        if self.settings.collect and self.limit:
            self.collect(context)
        block = self._grow(pool, size, stream, context)
        if block is None and self.settings.max_split and self.release_oversize(pool, size, stream, context):
            block = self._grow(pool, size, stream, context)
        if block is None:
            self.retries += 1
            self.empty_cache(context)
            block = self._grow(pool, size, stream, context)
        return block

    def _find(self, pool, size, stream):
        self.calls[pool] = self.calls.get(pool, 0) + 1
        free, i = pool.candidates(stream, size)
        if i == len(free):
            return None
        if self.expandable:
            while i + 1 < len(free) and self._growable(free[i + 1]) < self._growable(free[i]):
                i += 1
        while self.settings.highest and i + 1 < len(free) and free[i + 1][0] == free[i][0]:
            i += 1
        limit = self.settings.max_split * MIB or NEVER
        found = free[i][0]
        if (size < limit <= found) or (size >= limit and found >= size + self.settings.large * MIB):
            return None
        block = self.blocks[free[i][1]]
        del free[i]
        return block

    def _new_segment(self, pool, size, stream, context):
        if not self.reuse:
            self._returned.clear()
        before, simulated.segment_size = simulated.segment_size, self.segment_size
        try:
            return super()._new_segment(pool, size, stream, context)
        finally:
            simulated.segment_size = before

    def _reserve(self, pool, stream):
        """Expandable segments reserve address space as large as the device, whatever the capacity of this process
        is."""
        before, simulated.LARGE_BUFFER = simulated.LARGE_BUFFER, self.settings.large * MIB
        capacity, self.capacity = self.capacity, NEVER
        try:
            return super()._reserve(pool, stream)
        finally:
            simulated.LARGE_BUFFER, self.capacity = before, capacity

    def _split(self, block, size):
        rest = block.size - size
        if block.pool.small or self.expandable:
            splits = rest >= MIN_BLOCK
        else:
            splits = size < (self.settings.max_split * MIB or NEVER) and rest > SMALL_SIZE
        if splits:
            self._put(self._cut(block, size))

    def _put(self, block):
        self.base[block.address] = self.calls.get(block.pool, 0)
        block.pool.add(block)

    def _free_block(self, block, context):
        super()._free_block(block, context)
        self.base[block.address] = self.calls.get(block.pool, 0)

    def candidates_of(self, pool, stream=None):
        """Whole segments that are free, by (stream, size, address)."""
        found = []
        for its_stream in sorted(pool._free) if stream is None else [stream]:
            for _, address in pool._free.get(its_stream, ()):
                block = self.blocks[address]
                if not block.granule and block.prev is None and block.next is None:
                    found.append(block)
        return found

    def release_oversize(self, pool, size, stream, context):
        limit = self.settings.max_split * MIB
        wanted = max(size, limit)
        free = pool._free.get(stream, [])
        i = bisect_left(free, (wanted, 0))
        whole = {block.address for block in self.candidates_of(pool, stream)}
        if i < len(free) and free[i][1] in whole:
            self._release(self.blocks[free[i][1]], context)
            return True
        got, chosen = 0, []
        for found, address in reversed(free[:i]):
            if got >= wanted or found < limit:
                break
            if address in whole:
                chosen.append(address)
                got += found
        for address in chosen:
            self._release(self.blocks[address], context)
        return got >= wanted

    def collect(self, context):
        threshold = int(self.limit * self.settings.collect)
        if self.reserved <= threshold:
            return
        pool = self.default.large
        age = {block.address: self.calls.get(pool, 0) - self.base[block.address] for block in self.candidates_of(pool)}
        target, got, freed = self.reserved - threshold, 0, True
        while got < target and freed and age:
            freed, cut = False, sum(age.values()) / len(age)
            for address in list(age):
                if age[address] >= cut:
                    block = self.blocks[address]
                    got, freed = got + block.size, True
                    del age[address]
                    self._release(block, context)


class Program:
    """A sequence of requests that does not depend on the allocator's answers."""

    def __init__(self, dice, length=400, pools=False):
        self.ops, live, number = [], [], 0
        largest = dice.choice((2, 8, 40, 90))
        streams = dice.choice((1, 1, 2, 3))
        for _ in range(length):
            kind = dice.random()
            if kind < 0.01:
                self.ops.append(("empty",))
            elif kind < 0.55 or not live:
                size = self.size(dice, largest)
                pool = dice.choice((0, 0, 0, 1, 2)) if pools else 0
                self.ops.append(("malloc", number, size, dice.randrange(streams) * 0x5570, pool))
                live.append(number)
                number += 1
            else:
                late = dice.random() < 0.1 and streams > 1
                self.ops.append(("free", live.pop(dice.randrange(len(live))), dice.randrange(1, 20) if late else None))

    @staticmethod
    def size(dice, largest):
        kind = dice.random()
        if kind < 0.4:
            return dice.randrange(1, 4096)
        if kind < 0.7:
            return dice.randrange(4096, 2 * MIB)
        size = dice.randrange(MIB, largest * MIB)
        return size if dice.random() < 0.5 else size // MIB * MIB


def frame(name, line):
    return {"filename": "/home/user/train.py", "name": name, "line": line}


class Run:
    """Runs a program under settings and records it from operation `begin` on."""

    def __init__(self, program, settings, capacity=NEVER, limit=0, reuse=True, begin=0, pool_ids=False, states=(),
                 empties=None):
        self.settings, self.events, self.states, self.pool_ids = settings, [], [], pool_ids
        self.recording = False
        self.released = []  # for each call of empty_cache: did it give anything back?
        self.oom = False
        self.allocator = Configured(self.record, settings, capacity, limit, reuse)
        self.pools = {i: self.allocator.private_pool((0, i)) for i in (1, 2)}
        self.blocks = {}
        for i, op in enumerate(program.ops):
            self.recording = self.recording or i >= begin
            self.play(op, i, empties)
            if i in states and self.recording:
                self.states.append((len(self.events) - 1, *self.state()))
        self.states.append((len(self.events) - 1, *self.state()))

    def play(self, op, i, empties):
        if op[0] == "malloc":
            _, number, size, stream, pool = op
            try:
                self.blocks[number] = self.allocator.malloc(size, [frame("step", i % 37)], stream,
                                                            self.pools[pool] if pool else None)
            except OutOfMemory:
                self.oom = True
        elif op[0] == "free" and op[1] in self.blocks:
            block = self.blocks.pop(op[1])
            if op[2] is not None:
                self.allocator.record_stream(block, 0x99)
            self.allocator.free(block, [frame("free", 3)], op[2] or 0)
        elif op[0] == "empty":
            context = [frame("empty_cache", 200), frame("step", 5)]
            before = self.allocator.reserved
            if empties is None or empties[len(self.released)]:
                self.allocator.empty_cache(context)
            else:
                self.allocator._process_events(context, everything=True)
            self.released.append(self.allocator.reserved != before)

    def record(self, action, address, size, stream, context, pool):
        if not self.recording:
            return
        entry = {"action": action, "device_free" if action == "oom" else "addr": address, "size": size,
                 "stream": stream, "frames": context}
        if self.pool_ids:
            entry["pool_id"] = pool
        self.events.append(entry)

    def state(self):
        """Segments (address, size, small, expandable) and blocks (address, size, state, requested) by address."""
        segments, blocks = [], []
        for head in self.allocator.heads():
            block, size = head, 0
            while block and block.mapped:
                kind = "free" if block.is_free() else "allocated" if block.allocated else "waiting"
                blocks.append((block.address, block.size, kind, 0 if kind == "free" else block.requested))
                size += block.size
                block = block.next
            segments.append((head.address, size, head.pool.small, bool(head.granule)))
        return segments, blocks

    def snapshot(self):
        return {"segments": self.allocator.segments(lambda context: context or []), "device_traces": [self.events],
                "allocator_settings": self.settings.dump(), "external_annotations": []}
