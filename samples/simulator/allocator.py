"""The caching allocator of one device, as torch's CUDACachingAllocator.cpp works.

    segment   [ block | block | block ]      blocks are linked by address and cover the segment exactly
    pool      free blocks by (stream, size, address): best fit, split on allocation, merged on free

Every change is reported to a sink as one trace event, in the order in which torch writes them.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

MIN_BLOCK = 512  # every size is rounded up to a multiple of this
SMALL_SIZE = 1 * MIB  # the largest allocation of a small pool
SMALL_BUFFER = 2 * MIB  # segments of small pools
LARGE_BUFFER = 20 * MIB  # segments of allocations below MIN_LARGE
MIN_LARGE = 10 * MIB  # a request of at least this size gets a segment of its own ...
ROUND_LARGE = 2 * MIB  # ... rounded up to this


class OutOfMemory(Exception):
    """What torch.OutOfMemoryError is to a training script."""


class Block:
    """A range of memory inside of a segment, free or not."""

    __slots__ = ("address", "size", "requested", "stream", "pool", "prev", "next", "allocated", "mapped",
                 "uses", "events", "context", "segment_context", "granule")

    def __init__(self, address, size, stream, pool, granule=0):
        self.address, self.size, self.stream, self.pool = address, size, stream, pool
        self.requested = 0  # kept after a free, as in torch
        self.prev = self.next = None
        self.allocated = False
        self.mapped = True
        self.uses = None  # streams other than its own that record_stream named
        self.events = 0  # how many of those streams have not passed the block yet
        self.context = self.segment_context = None
        self.granule = granule  # bytes that are mapped at a time; 0: not an expandable segment

    def is_free(self):
        return not self.allocated and self.events == 0 and not self.uses


class Pool:
    """Free blocks of one memory pool, for small or for large allocations."""

    def __init__(self, owner, identity, small):
        self.owner, self.identity, self.small = owner, identity, small
        self._free = {}  # stream -> sorted [(size, address)]
        self.unmapped = {}  # stream -> sorted [address], expandable segments only

    def add(self, block):
        insort(self._free.setdefault(block.stream, []), (block.size, block.address))

    def remove(self, block):
        free = self._free[block.stream]
        del free[bisect_left(free, (block.size, block.address))]

    def candidates(self, stream, size):
        """Free blocks of at least `size`, best fit first, as (size, address)."""
        free = self._free.get(stream, ())
        return free, bisect_left(free, (size, 0))

    def all_free(self):
        return [address for stream in sorted(self._free) for _, address in self._free[stream]]


class MemoryPool:
    """The default pool (0, 0), or a private one of a CUDA graph or of torch.cuda.MemPool."""

    def __init__(self, owner, identity):
        self.identity = identity
        self.small, self.large = Pool(owner, identity, True), Pool(owner, identity, False)


def round_size(nbytes):
    return MIN_BLOCK if nbytes < MIN_BLOCK else (nbytes + MIN_BLOCK - 1) // MIN_BLOCK * MIN_BLOCK


def segment_size(size):
    if size <= SMALL_SIZE:
        return SMALL_BUFFER
    if size < MIN_LARGE:
        return LARGE_BUFFER
    return (size + ROUND_LARGE - 1) // ROUND_LARGE * ROUND_LARGE


class Allocator:
    """One device. `record(action, address, size, stream, context, pool)` receives the trace events."""

    def __init__(self, record, device=0, capacity=79 * GIB, base=0x7F2A40000000, expandable=False):
        self.record = record
        self.device, self.capacity, self.expandable = device, capacity, expandable
        self.default = MemoryPool(self, (0, 0))
        self.pools = [self.default]
        self.blocks = {}  # address -> Block, mapped or not
        self.reserved = 0
        self.capturing = False  # while a CUDA graph is captured, nothing that waits may complete
        self._next_address = base
        self._returned = {}  # segment size -> addresses that cudaFree gave back
        self._pending = {}  # stream -> deque of (tick when it passes, block)
        self._tick = 0
        self._reservations = []  # base addresses of expandable segments, rising

    # ---- what a program calls ----

    def malloc(self, nbytes, context, stream=0, pool=None):
        """Allocates a block, which stands for the tensor's storage. Raises OutOfMemory."""
        self._tick += 1
        if self._pending and not self.capturing:
            self._process_events(context, everything=False)
        size = round_size(nbytes)
        pools = pool or self.default
        pool = pools.small if size <= SMALL_SIZE else pools.large
        block = self._find(pool, size, stream) or self._grow(pool, size, stream, context)
        if block is None:
            self.empty_cache(context)
            block = self._grow(pool, size, stream, context)
        if block is None:
            self.record("oom", self.capacity - self.reserved, size, stream, context, pool.identity)
            raise OutOfMemory(nbytes)
        self._split(block, size)
        block.allocated, block.requested, block.context = True, nbytes, context
        self.record("alloc", block.address, nbytes, stream, context, pool.identity)
        return block

    def record_stream(self, block, stream):
        """Notes that work on another stream uses the block."""
        if stream != block.stream:
            block.uses = sorted({stream, *(block.uses or ())})

    def free(self, block, context, delay=0):
        """Frees a block; streams named by record_stream pass it `delay` allocations later."""
        block.allocated = False
        self.record("free_requested", block.address, block.requested, block.stream, context, block.pool.identity)
        if not block.uses:
            self._free_block(block, context)
            return
        for stream in block.uses:
            self._pending.setdefault(stream, deque()).append((self._tick + delay, block))
            block.events += 1
        block.uses = None

    def empty_cache(self, context):
        """Does what torch.cuda.empty_cache() does, and a failed allocation before it is tried again."""
        self._process_events(context, everything=True)
        unmap = []
        for memory_pool in self.pools:
            if memory_pool is not self.default:
                continue  # private pools stay as long as their graph
            for pool in (memory_pool.large, memory_pool.small):
                for address in pool.all_free():
                    block = self.blocks[address]
                    if block.granule:
                        unmap.append(block)
                    elif block.prev is None and block.next is None:
                        self._release(block, context)
        for block in unmap:
            self._unmap(block, context)

    def private_pool(self, identity):
        self.pools.append(MemoryPool(self, identity))
        return self.pools[-1]

    def active_bytes(self):
        """Rounded bytes of all blocks that are in use or waiting: the size of a `snapshot` event."""
        return sum(block.size for block in self.blocks.values() if block.mapped and not block.is_free())

    # ---- finding a block, and making room ----

    def _find(self, pool, size, stream):
        free, i = pool.candidates(stream, size)
        if i == len(free):
            return None
        if self.expandable:  # a block that can grow less is the better fit
            while i + 1 < len(free) and self._growable(free[i + 1]) < self._growable(free[i]):
                i += 1
        block = self.blocks[free[i][1]]
        del free[i]
        return block

    def _growable(self, entry):
        after = self.blocks[entry[1]].next
        return entry[0] + (after.size if after and not after.mapped else 0)

    def _grow(self, pool, size, stream, context):
        return (self._extend if self.expandable else self._new_segment)(pool, size, stream, context)

    def _new_segment(self, pool, size, stream, context):
        nbytes = segment_size(size)
        if self.reserved + nbytes > self.capacity:
            return None
        self.reserved += nbytes
        returned = self._returned.get(nbytes)
        if returned:
            address = returned.pop()
        else:
            address = self._next_address
            self._next_address += nbytes
        block = Block(address, nbytes, stream, pool)
        block.segment_context = context
        self.blocks[address] = block
        self.record("segment_alloc", address, nbytes, stream, context, pool.identity)
        return block

    def _split(self, block, size):
        """Keeps `size` bytes of a block that left its pool, and returns the rest to the pool if it is large enough."""
        rest = block.size - size
        if rest < MIN_BLOCK or not (block.pool.small or block.granule or rest > SMALL_SIZE):
            return
        block.pool.add(self._cut(block, size))

    def _cut(self, block, size):
        """Cuts a block in two; returns the second part, which keeps the state of the whole."""
        rest = Block(block.address + size, block.size - size, block.stream, block.pool, block.granule)
        rest.mapped, rest.requested = block.mapped, block.requested
        rest.prev, rest.next = block, block.next
        if block.next:
            block.next.prev = rest
        block.next, block.size = rest, size
        self.blocks[rest.address] = rest
        return rest

    # ---- freeing ----

    def _free_block(self, block, context):
        self.record("free_completed", block.address, block.requested, block.stream, context, block.pool.identity)
        block.context = None
        self._merge(block)
        block.pool.add(block)

    def _merge(self, block):
        """Swallows free neighbours of the same kind."""
        for other in (block.prev, block.next):
            if other and other.is_free() and other.mapped == block.mapped:
                self._forget_free(other)
                self._absorb(block, other)

    def _absorb(self, block, other):
        """Makes one block of two neighbours. `other` is in no pool any more."""
        del self.blocks[other.address]
        if other is block.prev:
            del self.blocks[block.address]
            block.address, block.prev = other.address, other.prev
            block.segment_context = other.segment_context
            self.blocks[block.address] = block
            if block.prev:
                block.prev.next = block
        else:
            block.next = other.next
            if block.next:
                block.next.prev = block
        block.size += other.size

    def _forget_free(self, block):
        if block.mapped:
            block.pool.remove(block)
        else:
            addresses = block.pool.unmapped[block.stream]
            del addresses[bisect_left(addresses, block.address)]

    def _process_events(self, context, everything):
        """Completes frees that the other streams have passed. A completion carries the stack of whoever noticed it."""
        for stream in sorted(self._pending):
            waiting = self._pending[stream]
            while waiting and (everything or waiting[0][0] <= self._tick):
                block = waiting.popleft()[1]
                block.events -= 1
                if block.events == 0:
                    self._free_block(block, context)
            if not waiting:
                del self._pending[stream]

    def _release(self, block, context):
        self.record("segment_free", block.address, block.size, block.stream, context, block.pool.identity)
        self._forget_free(block)
        del self.blocks[block.address]
        self._returned.setdefault(block.size, []).append(block.address)
        self.reserved -= block.size

    # ---- expandable segments: a large address range that is mapped in granules ----

    def _extend(self, pool, size, stream, context):
        block = self._find_extendable(pool, size, stream) or self._reserve(pool, stream)
        if block.mapped:
            pool.remove(block)
        elif not self._map(block, size, context):
            return None
        while block.size < size:
            if not self._map(block.next, size - block.size, context):
                pool.add(block)
                return None
            self._absorb(block, block.next)
            self._absorb_free_next(block)
        return block

    def _find_extendable(self, pool, size, stream):
        for address in pool.unmapped.get(stream, ()):
            block = self.blocks[address]
            if block.prev and block.prev.is_free():
                block = block.prev
            room, part = 0, block
            while part and part.is_free() and room < size:
                room, part = room + part.size, part.next
            if room >= size:
                return block
        return None

    def _reserve(self, pool, stream):
        granule = SMALL_BUFFER if pool.small else LARGE_BUFFER
        nbytes = (self.capacity * 9 // 8 + granule - 1) // granule * granule
        block = Block(self._next_address, nbytes, stream, pool, granule)
        block.mapped = False
        self._next_address += nbytes
        self._reservations.append(block.address)
        self.blocks[block.address] = block
        insort(pool.unmapped.setdefault(stream, []), block.address)
        return block

    def _map(self, block, size, context):
        """Maps the first `size` bytes of an unmapped block, in whole granules. The block is then in no pool."""
        granule = block.granule
        size = min(block.size, (size + granule - 1) // granule * granule)
        if self.reserved + size > self.capacity:
            return False
        self._forget_free(block)
        if size < block.size:
            rest = self._cut(block, size)
            insort(block.pool.unmapped[block.stream], rest.address)
        block.mapped, block.segment_context = True, context
        self.reserved += size
        self.record("segment_map", block.address, size, block.stream, context, block.pool.identity)
        self._absorb_free_next(block)
        return True

    def _absorb_free_next(self, block):
        after = block.next
        if after and after.mapped and after.is_free():
            self._forget_free(after)
            self._absorb(block, after)

    def _unmap(self, block, context):
        granule = block.granule
        base = self._reservations[bisect_right(self._reservations, block.address) - 1]
        start = base + (block.address - base + granule - 1) // granule * granule
        end = base + (block.address + block.size - base) // granule * granule
        if start >= end:
            return
        block.pool.remove(block)
        if start > block.address:
            front, block = block, self._cut(block, start - block.address)
            block.pool.add(front)
        if end < block.address + block.size:
            block.pool.add(self._cut(block, end - block.address))
        block.mapped = False
        self.reserved -= block.size
        address, size = block.address, block.size
        self._merge(block)
        insort(block.pool.unmapped[block.stream], block.address)
        self.record("segment_unmap", address, size, block.stream, context, block.pool.identity)

    # ---- the snapshot's segments ----

    def heads(self):
        """The first block of every segment, or, with expandable segments, of every mapped range."""
        return [block for _, block in sorted(self.blocks.items())
                if block.mapped and (block.prev is None or not block.prev.mapped)]

    def segments(self, frames):
        """The snapshot's list of segments. `frames(context)` gives the value of a `frames` key."""
        return [self._segment(head, frames) for head in self.heads()]

    def _segment(self, head, frames):
        blocks, block = [], head
        while block and block.mapped:
            blocks.append(block)
            block = block.next
        used = [block for block in blocks if not block.is_free()]
        segment = {
            "device": self.device,
            "address": head.address,
            "total_size": sum(block.size for block in blocks),
            "allocated_size": sum(block.size for block in used if block.allocated),
            "active_size": sum(block.size for block in used),
            "requested_size": sum(block.requested for block in used),
            "stream": head.stream,
            "segment_type": "small" if head.pool.small else "large",
            "segment_pool_id": tuple(list(head.pool.identity)),
            "is_expandable": bool(head.granule),
        }
        return with_frames(segment, head.segment_context, frames, "blocks", [self._block(b, frames) for b in blocks])

    @staticmethod
    def _block(block, frames):
        state = "inactive" if block.is_free() else "active_allocated" if block.allocated else "active_pending_free"
        return with_frames({"address": block.address, "size": block.size, "requested_size": block.requested,
                            "state": state}, block.context, frames)


def with_frames(item, context, frames, *last):
    """Adds `frames` where torch does: in its place if there is no stack, otherwise last, once the stack is symbolised."""
    if context is None:
        item["frames"] = frames(None)
    for key, value in zip(last[::2], last[1::2]):
        item[key] = value
    if context is not None:
        item["frames"] = frames(context)
    return item
