"""A simulated world that notes what every allocation is for, with stacks in any of the styles that recordings have."""

import bisect
import contextlib
import dataclasses
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "samples"))

from simulator.stacks import StackTable  # noqa: E402
from simulator.world import World  # noqa: E402

# ---- stacks in other styles ----


class StyledStacks(StackTable):
    """`stacks`: mixed, python, cpp or none, as requested from _record_memory_history; `paths`: posix or windows."""

    def __init__(self, stacks, paths):
        super().__init__()
        self.style, self.paths = stacks, paths

    def frame(self, filename, name, line=0, variant=0):
        if self.paths == "windows" and filename.startswith("/home/user/"):
            inside = filename[len("/home/user/"):].replace("venv/lib/python3.12/", "venv/Lib/")
            filename = "C:\\Users\\user\\" + inside.replace("/", "\\")
        return super().frame(filename, name, line, variant)

    def _native(self, frames):
        return [] if self.style in ("python", "none") else super()._native(frames)

    def _python(self, places):
        if self.style == "none":
            return []
        if self.style == "python":
            return [self.frame(*place) for place in places]
        frames = super()._python(places)
        return frames if self.style == "mixed" else [frame for frame in frames if frame["filename"] == "??"]


# ---- the ledger: what every allocation is for ----

KEPT_BY_HOST = frozenset(["activation", "result", "other", "temporary"])


@dataclasses.dataclass
class Phase:
    kind: str  # load, data, forward, backward, optimizer, other
    begin: int  # ticks: events of all devices together
    end: int = None


@dataclasses.dataclass
class Allocation:
    device: int
    birth: int  # index of its alloc event in the device's trace
    size: int
    made: int  # tick of that event
    phase: Phase
    role: str
    death: int = None  # index of its free_requested
    gone: int = None  # tick of that event


class Ledger(World):
    """A world that notes every allocation, its phase and the role that the script gives it."""

    def __init__(self, seed, sink, devices=1, style=("mixed", "posix"), **options):
        self.allocations, self.phases, self.now = [], [], Phase("other", 0)
        self.role, self.planted, self._open = None, [], {}
        super().__init__(seed, sink, devices, **options)
        self.stacks = StyledStacks(*style)

    def malloc(self, nbytes, stack, stream=0, pool=None, device=0):
        block = super().malloc(nbytes, stack, stream, pool, device)
        allocation = Allocation(device, self.sink.seen[device] - 1, nbytes, self.events - 1, self.now, self.role)
        self._open[device, block.address] = allocation
        self.allocations.append(allocation)
        return block

    def free(self, block, stack, delay=0):
        allocation = self._open.pop((block.pool.owner.device, block.address))
        self._advance()
        allocation.death, allocation.gone = self.sink.seen[allocation.device], self.events
        block.pool.owner.free(block, self.context(stack), delay)

    def context(self, stack):
        return super().context(stack) if self.stacks.style != "none" else None

    def allocation_of(self, block):
        return self._open[block.pool.owner.device, block.address]

    @contextlib.contextmanager
    def phase(self, kind):
        outer, self.now = self.now, Phase(kind, self.events)
        self.phases.append(self.now)
        yield
        self.now.end = self.events
        self.now = outer

    @contextlib.contextmanager
    def acting(self, role):
        before, self.role = self.role, role
        yield
        self.role = before

    # ---- labels ----

    def labels(self):
        """{(device, birth event): its true categories}; None: the truth is unknown."""
        backwards = [phase.begin for phase in self.phases if phase.kind == "backward"]
        return {(allocation.device, allocation.birth): self._label(allocation, backwards) for allocation in self.allocations}

    def _label(self, allocation, backwards):
        if allocation.role:
            return frozenset(allocation.role.split("|"))
        outlives = allocation.gone is None or allocation.phase.end is not None and allocation.gone >= allocation.phase.end
        if allocation.phase.kind == "backward":
            return frozenset(["gradient" if outlives else "temporary"])
        if allocation.phase.kind == "optimizer":
            return frozenset(["optimizer_state" if outlives else "temporary"])
        if allocation.phase.kind == "other" and outlives:
            return KEPT_BY_HOST  # the category of memory that is kept between steps is unknown
        following = bisect.bisect_right(backwards, allocation.made)
        if following < len(backwards):
            later = allocation.gone is None or allocation.gone >= backwards[following]
            return frozenset(["activation" if later else "temporary"])
        if allocation.gone is not None and not outlives:
            return frozenset(["temporary"])
        if backwards:
            return None  # the recording ends before the truth is known
        # A result outlives the model's turn; memory that lives only within it is temporary.
        return frozenset(["result", "activation"] if outlives else ["temporary"])


def live_curve(events):
    """Live bytes after each event of a complete recording."""
    open_sizes, total, curve = {}, 0, []
    for event in events:
        if event["action"] == "alloc":
            open_sizes[event["addr"]] = event["size"]
            total += event["size"]
        elif event["action"] == "free_completed":
            total -= open_sizes.pop(event["addr"])
        curve.append(total)
    return curve
