#!/usr/bin/env python3
"""An independent, plain reader of memory snapshots: the control that Strata is compared with.

CPython's own unpickler reads the file (told to refuse everything that would call code), and the events are replayed one by
one. The code is meant to be read, not to be fast. It shares nothing with Strata except the description of the format.

    replay.py FILE                      figures of every device, as JSON
    replay.py FILE DEVICE EVENT...      live allocations after each event, bottom of the stack first (-1: before event 0)
    replay.py --pick FILE DEVICE WIDTH HEIGHT FROM TO BOTTOM TOP X,Y...
                                        the allocations under the pixels of a picture, as JSON
    replay.py --search FILE DEVICE TEXT allocations with the text in their stack, as JSON
    replay.py --each FILE DEVICE JSON       answers to several of these, [["--search", TEXT], ...], after one reading
    replay.py --curves FILE DEVICE      live and reserved bytes at every moment, as JSON
    replay.py --allocations FILE DEVICE [birth, death, bytes, call site] of each, by number; as events, -1 before the first
    replay.py --range FILE DEVICE FROM TO
                                        the allocations that the events [FROM, TO) made, freed, left and did not touch,
                                        as JSON

A *moment* counts states: moment 0 is the state before the first event, moment i + 1 the state after event i. An allocation is
alive at moment m when birth <= m < death.
"""

import bisect
import collections
import dataclasses
import fractions
import gzip
import io
import json
import pickle
import sys

ACTIVE_STATES = ("active_allocated", "active_pending_free", "active_awaiting_free")
PENDING_STATES = ("active_pending_free", "active_awaiting_free")
RESERVED_SIGN = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


@dataclasses.dataclass
class Allocation:
    """One allocation from its birth to its death."""

    address: int
    size: int
    birth: int  # moment
    death: int = None  # moment; None while it is not known
    requested: int = None  # moment of its free_requested
    completed: bool = False  # its death is a free_completed
    frames: list = ()
    stream: int = 0
    block: int = None  # position of its block among the final blocks, if it is still in use at the end

    def alive(self, moment):
        return self.birth <= moment < self.death

    def pending(self, moment):
        """Is it freed but waiting for another stream? A completion right after its request is an ordinary free."""
        if self.requested is None or (self.completed and self.death == self.requested + 1):
            return False
        return self.alive(moment) and self.requested <= moment


@dataclasses.dataclass
class Block:
    """A block of the final segments that is in use."""

    address: int
    size: int
    pending: bool
    frames: list
    stream: int


class DataUnpickler(pickle.Unpickler):
    """Reads data and nothing else."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} would call code")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("a persistent id needs outside data")


def read_snapshot(path):
    """The snapshot in a pickle or JSON file, gzipped or not, as a dict with segments and device_traces."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data.lstrip()[:1] == b"{":
        snapshot = json.loads(data)
    else:
        snapshot = DataUnpickler(io.BytesIO(data)).load()
    if isinstance(snapshot, list):
        snapshot = {"segments": snapshot}
    return snapshot


def unsigned(address):
    """The C++ pickler writes addresses from 2^63 on as negative numbers."""
    return address % (1 << 64)


def block_size(block):
    """Requested bytes of a block in use, in the spelling of any version."""
    if "requested_size" in block:
        return block["requested_size"]
    if block.get("history"):
        return block["history"][0]["real_size"]
    return block["size"]


def block_frames(block):
    if "frames" in block:
        return block["frames"]
    if block.get("history"):
        return block["history"][0].get("frames", [])
    return []


def final_blocks(segments):
    """Blocks in use, in the order of the file."""
    blocks = []
    for segment in segments:
        position = unsigned(segment["address"])
        for block in segment.get("blocks", []):
            if block["state"] in ACTIVE_STATES:
                address = unsigned(block.get("address", position))
                pending = block["state"] in PENDING_STATES
                stream = segment.get("stream", 0)
                blocks.append(Block(address, block_size(block), pending, block_frames(block), stream))
            position += block["size"]
    return blocks


def own_line(frames):
    """The innermost line of Python code that is neither torch's nor Python's own; without one, the names of all
    frames."""
    for frame in frames:
        file = (frame.get("filename") or "").replace("\\", "/")
        if file.endswith(".py") and "/torch/" not in file and "/lib/python3" not in file:
            return frame_key(frame)
    return tuple(map(frame_key, frames))


class Device:
    """One device of a snapshot: its allocations in stack order and its curves."""

    def __init__(self, ordinal, events, segments):
        self.ordinal = ordinal
        self.events = events
        self.segments = segments
        self.blocks = final_blocks(segments)
        self.n_events = len(events)
        self.end = self.n_events + 1  # one more than the last moment
        self.has_completions = any(event["action"] in ("free_completed", "free") for event in events)
        self.replay_allocations()
        self.replay_reserved()
        self.curve = self.live_curve()
        self.order = None
        self.site_of = own_line

    # ---- allocations ----

    def replay_allocations(self):
        self.open = {}  # address -> allocation
        self.allocations = []
        self.pending_blocks = {block.address for block in self.blocks if block.pending}
        self.last_alloc = {  # address -> moment
            unsigned(event["addr"]): index + 1 for index, event in enumerate(self.events) if event["action"] == "alloc"
        }
        for index, event in enumerate(self.events):
            action = event["action"]
            if action == "alloc":
                self.alloc(index + 1, event)
            elif action == "free_requested":
                self.free_requested(index + 1, event)
            elif action in ("free_completed", "free"):
                self.free_completed(index + 1, event)
        self.match_blocks()
        self.sort_allocations()

    def start_allocation(self, event, birth):
        allocation = Allocation(unsigned(event["addr"]), event["size"], birth, frames=event.get("frames", []))
        allocation.stream = event.get("stream", 0)
        self.allocations.append(allocation)
        return allocation

    def alloc(self, moment, event):
        address = unsigned(event["addr"])
        if address in self.open:  # its free was not recorded
            self.open.pop(address).death = moment
        self.open[address] = self.start_allocation(event, moment)

    def free_requested(self, moment, event):
        address = unsigned(event["addr"])
        if address not in self.open:
            self.open[address] = self.start_allocation(event, 0)
        allocation = self.open[address]
        if allocation.requested is None:
            allocation.requested = moment
        if not self.has_completions and not self.pending_at_end(moment, address):
            self.open.pop(address).death = moment

    def free_completed(self, moment, event):
        address = unsigned(event["addr"])
        allocation = self.open.pop(address, None) or self.start_allocation(event, 0)
        allocation.death = moment
        allocation.completed = True

    def pending_at_end(self, moment, address):
        """Does the free that was requested at this moment still wait when the recording ends? (If the recording has no
        completions at all, this tells a waiting free from one whose completion was left out.)"""
        return address in self.pending_blocks and self.last_alloc.get(address, 0) < moment

    def match_blocks(self):
        """Allocations that are open at the end stay to the end. Blocks that no event explains existed from the
        start."""
        for position, block in enumerate(self.blocks):
            allocation = self.open.get(block.address)
            if allocation is None:
                allocation = Allocation(block.address, block.size, 0, frames=block.frames, stream=block.stream)
                allocation.requested = 0 if block.pending else None
                self.allocations.append(allocation)
            allocation.block = position
            allocation.death = self.end
        for allocation in self.open.values():
            allocation.death = self.end

    def sort_allocations(self):
        """Sorts the oldest to the bottom. The age of allocations that are older than the recording is unknown: those
        that outlive it lie at the bottom, in the order of the blocks, and of the others the last to be freed lies
        lowest."""

        def order(allocation):
            if allocation.birth > 0:
                return (1, allocation.birth, 0)
            in_no_block = len(self.blocks)
            return (0, -allocation.death, in_no_block if allocation.block is None else allocation.block)

        self.allocations.sort(key=order)

    # ---- curves ----

    def live_curve(self):
        change = [0] * (self.end + 1)
        for allocation in self.allocations:
            change[allocation.birth] += allocation.size
            change[allocation.death] -= allocation.size
        curve = []
        total = 0
        for moment in range(self.end):
            total += change[moment]
            curve.append(total)
        return curve

    def replay_reserved(self):
        """Reserved bytes at every moment: the final segments give the end, the segment events the way there."""
        reserved = [0]
        for event in self.events:
            reserved.append(reserved[-1] + RESERVED_SIGN.get(event["action"], 0) * event.get("size", 0))
        at_end = sum(segment["total_size"] for segment in self.segments)
        start = at_end - reserved[-1]
        # If segments contradict the events, the curve is raised so that it is never below zero.
        self.reserved_shift = max(0, -min(reserved) - start)
        if not self.segments and any(event["action"] in RESERVED_SIGN for event in self.events):
            # Then only changes are known. Live bytes are reserved too, which gives a lower bound.
            lowest = [live - bytes_ - start - self.reserved_shift for live, bytes_ in zip(self.live_curve(), reserved)]
            self.reserved_shift += max(0, *lowest)
        self.reserved = [bytes_ + start + self.reserved_shift for bytes_ in reserved]

    def alive_at(self, moment):
        """[(allocation, bytes below it)] of a moment, bottom first."""
        alive = []
        offset = 0
        for allocation in self.stacked():
            if allocation.alive(moment):
                alive.append((allocation, offset))
                offset += allocation.size
        return alive

    def stacked(self):
        """The allocations in the order of the picture. The order of those older than the recording is unknown, so they
        are sorted by call site, the one with the most bytes at the bottom."""
        if self.order is None:
            old = [allocation for allocation in self.allocations if allocation.birth == 0]
            site_of = {id(allocation): self.site_of(allocation.frames) for allocation in old}
            bytes_of, first = collections.Counter(), {}
            for index, allocation in enumerate(old):
                bytes_of[site_of[id(allocation)]] += allocation.size
                first.setdefault(site_of[id(allocation)], index)
            old.sort(key=lambda allocation: (-bytes_of[site_of[id(allocation)]], first[site_of[id(allocation)]]))
            self.order = old + self.allocations[len(old) :]
        return self.order

    def figures(self):
        """The device's object of `strata report --json`, without groups and ooms."""
        peak = max(self.curve)
        peak_moment = self.curve.index(peak)
        return {
            "device": self.ordinal,
            "events": self.n_events,
            "allocations": len(self.allocations),
            "preexisting": sum(allocation.birth == 0 for allocation in self.allocations),
            "start_bytes": self.curve[0],
            "peak_bytes": peak,
            "peak_event": peak_moment - 1,
            "end_bytes": self.curve[-1],
            "live_at_peak": len(self.alive_at(peak_moment)),
            "reserved_start_bytes": self.reserved[0],
            "reserved_peak_bytes": max(self.reserved),
            "reserved_end_bytes": self.reserved[-1] - self.reserved_shift,
            "reserved_shift_bytes": self.reserved_shift,
        }

    def ooms(self):
        return [
            {"event": index, "requested_bytes": event["size"], "device_free_bytes": event.get("device_free", 0)}
            for index, event in enumerate(self.events)
            if event["action"] == "oom"
        ]


@dataclasses.dataclass
class Window:
    """A picture of the events [first, last) and the bytes [bottom, top) on width x height pixels. Event i covers
    [i, i + 1); the state before the first event covers [-1, 0). Positions are whole 65536ths of an event."""

    width: int
    height: int
    first: float
    last: float
    bottom: int
    top: int

    def column_of(self, event):
        first, last = round(self.first * 65536), round(self.last * 65536)
        return (event * 65536 - first) * self.width // (last - first)

    def shown_at(self, device, x):
        """The moment of a pixel column: the first with the highest total among those that begin in it, or else the one
        that continues there."""
        begun = bisect.bisect_right(range(device.end), x, key=lambda moment: self.column_of(moment - 1))
        before = bisect.bisect_left(range(device.end), x, key=lambda moment: self.column_of(moment - 1))
        if begun == before:
            return max(begun - 1, 0)
        return max(range(before, begun), key=lambda moment: (device.curve[moment], -moment))

    def in_bend(self, x, moment):
        """May this column show allocations that were freed at the moment and shrink away? They do so over the first
        half of a moment that is at least 6 pixels wide, over at most 24 pixels; one more pixel allows for rounding."""
        scale = self.width / (self.last - self.first)
        after_start = x + 0.5 - (moment - 1 - self.first) * scale
        return scale >= 6 and after_start <= min(scale / 2, 24) + 1

    def pick(self, device, x, y):
        """(moment, [allocations that may be under the centre of a pixel, or None]): several if their border is within a
        64th of a pixel of the centre, and all of the moment while something shrinks away."""
        moment = self.shown_at(device, x)
        dying = [allocation for allocation in device.allocations if allocation.death == moment]
        if dying and self.in_bend(x, moment):
            return moment, [allocation for allocation, _ in device.alive_at(moment)] + dying + [None]
        scale = fractions.Fraction(self.top - self.bottom, self.height)
        middle = self.bottom + (self.height - y - fractions.Fraction(1, 2)) * scale
        low, high = middle - scale / 64, middle + scale / 64
        found = [allocation for allocation, offset in device.alive_at(moment) if offset <= high and low < offset + allocation.size]
        if high >= device.curve[moment]:
            found.append(None)
        return moment, found


def frame_key(frame):
    """The identity of a frame. CPython's "no line" is -1, or the same as an unsigned number."""
    line = frame.get("line", 0)
    extra = tuple(sorted((key, value) for key, value in frame.items() if key.startswith("fx_") and value))
    return (frame.get("filename"), line if 0 < line < 1 << 32 else 0, frame.get("name"), extra)


def groups(alive, key):
    """[(bytes, allocations, key)] of live allocations, most bytes first."""
    bytes_of = collections.Counter()
    count_of = collections.Counter()
    for allocation, _ in alive:
        bytes_of[key(allocation)] += allocation.size
        count_of[key(allocation)] += 1
    return sorted(((bytes_of[k], count_of[k], k) for k in bytes_of), key=lambda group: -group[0])


def print_allocations(device):
    def site(frames):
        key = own_line(frames)
        return f"{key[0].replace(chr(92), '/').rsplit('/', 1)[-1]}:{key[1]} {key[2]}" if key and isinstance(key[0], str) else ""

    json.dump([[each.birth - 1, each.death - 1, each.size, site(each.frames)] for each in device.allocations], sys.stdout)


def devices_of(snapshot):
    """Every device that has events or segments, by rising ordinal."""
    segments = collections.defaultdict(list)
    for segment in snapshot.get("segments", []):
        segments[segment.get("device", 0)].append(segment)
    traces = dict(enumerate(snapshot.get("device_traces", [])))
    ordinals = sorted(set(segments) | {ordinal for ordinal, events in traces.items() if events})
    return [Device(ordinal, traces.get(ordinal, []), segments[ordinal]) for ordinal in ordinals]


def read_devices(path):
    return devices_of(read_snapshot(path))


def print_picks(device, numbers, points):
    width, height, first, last, bottom, top = numbers
    window = Window(int(width), int(height), float(first), float(last), int(bottom), int(top))
    index_of = {id(allocation): index for index, allocation in enumerate(device.allocations)}
    answers = []
    for point in points:
        x, y = map(int, point.split(","))
        moment, found = window.pick(device, x, y)
        allocations = [
            allocation
            and {
                "allocation": index_of[id(allocation)],
                "bytes": allocation.size,
                "birth": allocation.birth - 1,
                "death": allocation.death - 1,
                "frames": [list(frame_key(frame)[:3]) for frame in allocation.frames],
            }
            for allocation in found
        ]
        answers.append({"event": moment - 1, "allocations": allocations})
    json.dump(answers, sys.stdout)


def print_search(device, text):
    """Searches for plain text in "file:line function", ignoring case."""

    def matches(frame):
        file, line, name, _ = frame_key(frame)
        return text.lower() in (f"{file}:{line} {name}" if line else f"{file} {name}").lower()

    frames = {id(frame): frame for allocation in device.allocations for frame in allocation.frames}  # allocations share them
    met = {key for key, frame in frames.items() if matches(frame)}
    peak = device.curve.index(max(device.curve))
    found = [allocation for allocation in device.allocations if any(id(frame) in met for frame in allocation.frames)]
    at_peak = sum(allocation.size for allocation in found if allocation.alive(peak))
    json.dump({"allocations": len(found), "bytesAtPeak": at_peak}, sys.stdout)


def print_range(device, first, end):
    """For each question about the events [first, end): the sum, and the sums by stack, most bytes first."""
    in_it = range(first + 1, end + 1)  # moments after these events
    last = len(device.curve)
    top = max(in_it, key=lambda moment: device.curve[moment])
    questions = {
        "allocated": lambda allocation: allocation.birth in in_it,
        "freed": lambda allocation: allocation.death in in_it,
        "kept": lambda allocation: allocation.birth in in_it and allocation.death > end,
        "lasting": lambda allocation: allocation.birth in in_it and allocation.death >= last,
        "through": lambda allocation: allocation.birth <= first and allocation.death > end,
        "peak": lambda allocation: allocation.alive(top),
    }
    answers = {}
    for name, meant in questions.items():
        allocations = [(allocation, 0) for allocation in device.allocations if meant(allocation)]
        by_stack = groups(allocations, lambda allocation: tuple(map(frame_key, allocation.frames)))
        answers[name] = {
            "bytes": sum(allocation.size for allocation, _ in allocations),
            "count": len(allocations),
            "stacks": [[bytes_, count] for bytes_, count, _ in by_stack],
        }
    json.dump(answers, sys.stdout)


def answer(device, question, rest):
    if question == "--pick":
        print_picks(device, rest[:6], rest[6:])
    elif question == "--search":
        print_search(device, rest[0])
    elif question == "--allocations":
        print_allocations(device)
    elif question == "--range":
        print_range(device, int(rest[0]), int(rest[1]))
    else:
        json.dump({"live": device.curve, "reserved": device.reserved}, sys.stdout)


def main(arguments):
    if arguments[0] == "--each":
        device = next(each for each in read_devices(arguments[1]) if each.ordinal == int(arguments[2]))
        print("[")
        for i, (question, *rest) in enumerate(json.loads(arguments[3])):
            print("," * (i > 0))
            answer(device, question, list(map(str, rest)))
        print("]")
        return
    if arguments[0] in ("--pick", "--search", "--curves", "--range", "--allocations"):
        device = next(each for each in read_devices(arguments[1]) if each.ordinal == int(arguments[2]))
        answer(device, arguments[0], arguments[3:])
        return
    devices = read_devices(arguments[0])
    if len(arguments) == 1:
        json.dump([device.figures() for device in devices], sys.stdout, indent=1)
        print()
        return
    device = next(device for device in devices if device.ordinal == int(arguments[1]))
    for event in map(int, arguments[2:]):
        moment = event + 1
        alive = device.alive_at(moment)
        print(f"event {event} {len(alive)}")
        for allocation, offset in alive:
            print(allocation.address, allocation.size, offset, int(allocation.pending(moment)))


if __name__ == "__main__":
    main(sys.argv[1:])
