#!/usr/bin/env python3
"""A second reader of the payload, written from docs/payload.md alone; it proves that the payload equals the file.

    payload_test.py                  every sample and some simulated recordings, in pages that strata writes
    payload_test.py FILE...          these snapshots

The payload of each page is decoded here with zlib and struct, and every allocation (birth, death, pending, size, address, stream,
stack), every time, segment, block and out-of-memory event is compared with tests/replay.py, which reads the snapshot
itself and knows nothing of payloads. STRATA names the program.
"""

import base64
import dataclasses
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import replay
import simulate

SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "samples"
SIMULATED_SEEDS = range(1, 25)
ELEMENT = re.compile(rb'<script type="application/octet-stream" id="payload">([A-Za-z0-9+/=\s]*)</script>')
MASK = (1 << 64) - 1
PIECE_NBYTES = 1 << 20
CHANGES = ("segment_alloc", "segment_free", "segment_map", "segment_unmap")
EXPANDABLE, SMALL = 1, 2


# ---- the codings of numbers ----


def unzigzag(code):
    return (code >> 1 ^ -(code & 1)) & MASK


def signed(value, bits=64):
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def plain(codes, _columns, _first):
    return list(codes)


def zigzagged(codes, _columns, _first):
    return [unzigzag(code) for code in codes]


def step(codes, _columns, _first):
    values, last = [], 0
    for code in codes:
        last = (last + unzigzag(code)) & MASK
        values.append(last)
    return values


def rise(codes, _columns, _first):
    values, last = [], 0
    for code in codes:
        last += code
        values.append(last)
    return values


def next_after(length):
    def decode(codes, columns, _first):
        values, end = [], 0
        for code, nbytes in zip(codes, columns[length]):
            value = (end + unzigzag(code)) & MASK
            values.append(value)
            end = value + nbytes
        return values

    return decode


def below(whole):
    def decode(codes, columns, _first):
        return [0 if code == 0 else (of - unzigzag(code - 1)) & MASK for code, of in zip(codes, columns[whole])]

    return decode


def parent(codes, _columns, first):
    return [row - 1 - code for row, code in enumerate(codes, first)]


# Type: (number of the first stored row, {column: coding}). Sections 2, 3 and 36 to 38 have rules of their own.
TABLES = {
    1: (0, {"settings": plain, "meta": plain, "kind": plain, "rank": zigzagged}),
    2: (0, {"nbytes": plain}),
    4: (1, {"op": step, "name": step, "target": step, "original_trace": step}),
    5: (1, {"file": step, "name": step, "line": plain, "fx": step}),
    6: (1, {"parent": parent, "frame": plain}),
    7: (1, {"compile_context": step, "user_metadata": step, "category": step, "forward_frames": step}),
    8: (0, {"time_us": step, "name": plain, "device": zigzagged, "stage": plain}),
    9: (0, {"code": plain, "message": plain, "device": zigzagged}),
    10: (0, {"n_events": plain, "preexisting": plain, "first_us": zigzagged, "ordinal": zigzagged, "name": plain,
             "capacity": plain}),
    11: (1, {"owner": plain}),
    12: (0, {"sentence": plain, "first": plain, "second": plain, "third": plain}),
    32: (0, {"handle": step}),
    33: (0, {"first": plain, "second": plain}),
    34: (0, {"stack": step}),
    35: (0, {"size": plain}),
    39: (0, {"event": rise, "stack": plain, "size": plain, "address": next_after("size"), "stream": plain, "change": plain}),
    40: (0, {"event": rise, "stack": plain, "size": plain, "device_free": plain}),
    41: (0, {"event": rise, "size": plain}),
    42: (0, {"block_count": plain, "first_block": next_after("block_count"), "total_size": plain,
             "address": next_after("total_size"), "active_size": below("total_size"), "allocated_size": below("active_size"),
             "requested_size": below("allocated_size"), "stack": plain, "stream": plain, "pool": plain, "flags": plain}),
    43: (0, {"size": plain, "address": next_after("size"), "requested_size": below("size"), "stack": plain, "state": plain}),
    44: (0, {"more": plain}),
    45: (0, {"event": rise, "text": plain, "number": plain, "what": plain}),
    46: (0, {"stream": plain, "pool": plain}),
}


class Section:
    """The inflated content of one section."""

    def __init__(self, count, data):
        self.count = count
        self.data = data

    def columns(self, counts):
        """The numbers of each column. A count may be a function of the columns before it."""
        heads = [(self.data[2 * i], self.data[2 * i + 1]) for i in range(len(counts))]
        assert heads[0][0] >= 1, "the first column has no width"
        at = 2 * len(counts)
        columns = []
        for (width, shift), count in zip(heads, counts):
            count = count(*columns) if callable(count) else count
            numbers = [0] * count
            for k in range(width):
                plane = self.data[at : at + count]
                assert len(plane) == count, "a plane runs past the section"
                numbers = [number | byte << 8 * k for number, byte in zip(numbers, plane)]
                at += count
            columns.append([number << shift for number in numbers])
        assert at == len(self.data), f"{len(self.data) - at} bytes too many in a section"
        return columns

    def times(self, class_of):
        """Section 38: three columns; each event takes the next number from the column of its class."""
        counts = [class_of.count(which) for which in range(3)]
        columns = [iter(column) for column in self.columns(counts)]
        return [signed(unzigzag(next(columns[which]))) for which in class_of]


class Payload:
    """A payload, section by section."""

    def __init__(self, data):
        assert data[:8] == b"STRATAP1", data[:8]
        n_sections, n_pieces = struct.unpack_from("<II", data, 8)
        entries = [struct.unpack_from("<HHIII", data, 16 + 16 * i) for i in range(n_sections)]
        assert [entry[2::-2] for entry in entries] == sorted({entry[2::-2] for entry in entries}), "order of sections"
        self.pieces = iter(self.inflate(data, 16 + 16 * n_sections, n_pieces))
        self.sections = {}
        for kind, _flags, device, count, pieces in entries:
            self.sections[kind, device] = Section(count, b"".join(next(self.pieces) for _ in range(pieces)))
        self.strings = self.read_strings()
        self.file = self.table(1)
        self.frames = self.table(5)
        self.stacks = self.table(6)

    @staticmethod
    def inflate(data, at, n_pieces):
        sizes = [struct.unpack_from("<II", data, at + 8 * i) for i in range(n_pieces)]
        at += 8 * n_pieces
        for raw_nbytes, nbytes in sizes:
            raw = zlib.decompress(data[at : at + nbytes])
            assert len(raw) == raw_nbytes and 1 <= raw_nbytes <= PIECE_NBYTES, "size of a piece"
            yield raw
            at += nbytes

    def count(self, kind, device=0):
        section = self.sections.get((kind, device))
        return section.count if section else 0

    def table(self, kind, device=0):
        """A table as {column: values}, with the row "none" if there is one."""
        first, codings = TABLES[kind]
        rows = {name: [0] * first for name in codings}
        section = self.sections.get((kind, device))
        if section is None:
            return rows
        decoded = {}
        for (name, coding), codes in zip(codings.items(), section.columns([section.count] * len(codings))):
            decoded[name] = coding(codes, decoded, first)
            rows[name] += decoded[name]
        return rows

    def read_strings(self):
        lengths = self.table(2)["nbytes"]
        section = self.sections.get((3, 0))
        data = section.data if section else b"\x01\x00"
        assert data[:2] == b"\x01\x00" and len(data) - 2 == sum(lengths), "bytes of the strings"
        strings, at = [""], 2
        for nbytes in lengths:
            strings.append(data[at : at + nbytes].decode("utf-8", "surrogatepass"))
            at += nbytes
        return strings

    def stack(self, node):
        """(file, line, function) of a stack, innermost first."""
        frames = []
        while node:
            frame = self.stacks["frame"][node]
            frames.append((self.strings[self.frames["file"][frame]], self.frames["line"][frame],
                           self.strings[self.frames["name"][frame]]))
            node = self.stacks["parent"][node]
        return frames

    def devices(self):
        table = self.table(10)
        return [PayloadDevice(self, number + 1, {name: column[number] for name, column in table.items()})
                for number in range(self.count(10))]


class PayloadDevice:
    """One device of a payload."""

    def __init__(self, payload, number, row):
        self.payload, self.number = payload, number
        self.ordinal = signed(row["ordinal"])
        self.name = payload.strings[row["name"]]
        self.capacity = row["capacity"]
        self.n_events = row["n_events"]
        self.preexisting = row["preexisting"]
        self.first_us = signed(row["first_us"])
        self.streams = payload.table(32, number)["handle"]
        self.pools = [(row["first"], row["second"]) for row in self.rows(33)]
        self.read_allocations()
        self.read_addresses()
        self.read_times()

    def read_allocations(self):
        stacks = self.payload.table(34, self.number)["stack"]
        sizes = self.payload.table(35, self.number)["size"]
        n = self.payload.count(36, self.number)
        section = self.payload.sections.get((36, self.number))
        columns = section.columns([n] * 9) if section else [[]] * 9
        places = columns[1]
        self.birth = rise(columns[0], None, 0)
        self.death = self.deaths(columns[2], places)
        self.request = [death - wait for death, wait in zip(self.death, columns[3])]
        self.stack = [stacks[place] for place in places]
        self.size = [sizes[place] for place in columns[4]]
        self.stream = columns[6]
        assert [birth == 0 for birth in self.birth] == [i < self.preexisting for i in range(n)], "births at moment 0"

    def deaths(self, codes, places):
        end, last = self.n_events + 1, {}
        deaths = []
        for row, (code, place) in enumerate(zip(codes, places)):
            if row < self.preexisting:
                deaths.append((deaths[-1] if deaths else end) - code)
                continue
            lifetime = (last.get(place, 0) + unzigzag(code)) & MASK
            last[place] = lifetime
            deaths.append(end if lifetime == 0 else self.birth[row] + lifetime - 1)
        return deaths

    def read_addresses(self):
        section = self.payload.sections.get((37, self.number))
        self.address = [0] * len(self.birth)
        if section is None:
            return
        back, new = section.columns([section.count, lambda back: back.count(0)])
        fresh, end = iter(new), 0
        for row, distance in enumerate(back):
            if distance:
                self.address[row] = self.address[row - distance]
            else:
                self.address[row] = (end + unzigzag(next(fresh))) & MASK
            end = (self.address[row] + max(-(-self.size[row] // 512) * 512, 512)) & MASK

    def read_times(self):
        self.times = None
        section = self.payload.sections.get((38, self.number))
        if section is None:
            return
        class_of = [0] * self.n_events
        for death, request in zip(self.death, self.request):
            if 0 < death <= self.n_events and request == death:
                class_of[death - 1] = 2
        for birth in self.birth[self.preexisting :]:
            class_of[birth - 1] = 1
        self.times, at = [], self.first_us
        for difference in section.times(class_of):
            at += difference
            self.times.append(at)

    # ---- the same facts as replay.py has them ----

    def allocations(self):
        return [
            (self.birth[i], self.death[i], self.request[i] < self.death[i] and self.request[i], self.size[i], self.address[i],
             self.streams[self.stream[i]], self.payload.stack(self.stack[i]))
            for i in range(len(self.birth))
        ]

    def rows(self, kind):
        table = self.payload.table(kind, self.number)
        return [dict(zip(table, values)) for values in zip(*table.values())]

    def segments(self):
        blocks = self.rows(43)
        return [
            (row["address"], row["total_size"], row["allocated_size"], row["active_size"], self.streams[row["stream"]],
             bool(row["flags"] & SMALL), bool(row["flags"] & EXPANDABLE),
             [(block["address"], block["size"], block["state"]) for block in
              blocks[row["first_block"] : row["first_block"] + row["block_count"]]])
            for row in self.rows(42)
        ]

    def segment_events(self):
        return [(row["event"], CHANGES[row["change"]], row["address"], row["size"], self.streams[row["stream"]],
                 self.payload.stack(row["stack"])) for row in self.rows(39)]

    def ooms(self):
        return [(row["event"], row["size"], row["device_free"], self.streams[place["stream"]], self.pools[place["pool"]])
                for row, place in zip(self.rows(40), self.rows(46), strict=True)]


# ---- what the snapshot itself says ----


def line_of(frame):
    """Strata keeps lines of 31 bits: beyond lies "no line" (-1) in one spelling or another."""
    line = frame.get("line", 0)
    return line if 0 < line < 1 << 31 else 0


def name_of(frame):
    """Names are cut to 16 KiB. (Longer ones in the samples are ASCII, so no character is cut in two.)"""
    name = frame["name"]
    return name if len(name) <= 1 << 14 else name[:(1 << 14) - 3] + "…"


def frames_of(frames):
    return [(frame["filename"], line_of(frame), name_of(frame)) for frame in frames]


def expected_allocations(device):
    def pending_from(allocation):
        moments = [allocation.requested] if allocation.requested is not None and allocation.pending(allocation.requested) else [False]
        return moments[0]

    return [(allocation.birth, allocation.death, pending_from(allocation), allocation.size, allocation.address, allocation.stream, frames_of(allocation.frames))
            for allocation in device.allocations]


def state_of(block):
    return 1 if block["state"] == "active_allocated" else 2 if block["state"] in replay.PENDING_STATES else 0


def blocks_of(segment):
    position, blocks = replay.unsigned(segment["address"]), []
    for block in segment.get("blocks", []):
        blocks.append((replay.unsigned(block.get("address", position)), block["size"], state_of(block)))
        position += block["size"]
    return blocks


def expected_segments(device):
    return [
        (replay.unsigned(segment["address"]), segment["total_size"], segment["allocated_size"], segment["active_size"],
         segment.get("stream", 0), segment.get("segment_type") == "small", bool(segment.get("is_expandable")),
         blocks_of(segment))
        for segment in device.segments
    ]


def expected_segment_events(device):
    return [(index, event["action"], replay.unsigned(event["addr"]), event["size"], event.get("stream", 0),
             frames_of(event.get("frames", []))) for index, event in enumerate(device.events) if event["action"] in CHANGES]


def expected_times(device):
    times = [event.get("time_us") for event in device.events]
    return times if times and None not in times else None


def expected_ooms(device):
    def pool_of(event):
        return tuple(event["pool_id"]) if "pool_id" in event else (0, 0)

    events = [device.events[oom["event"]] for oom in device.ooms()]
    return [(oom["event"], oom["requested_bytes"], oom["device_free_bytes"], event.get("stream", 0), pool_of(event))
            for oom, event in zip(device.ooms(), events)]


@dataclasses.dataclass
class Comparison:
    """One file, and the differences between it and its payload."""

    path: pathlib.Path
    differences: list = dataclasses.field(default_factory=list)
    compared: int = 0  # facts that are equal

    def expect(self, what, want, got):
        if want == got:
            self.compared += len(want) if isinstance(want, list) else 1
            return
        if isinstance(want, list) and isinstance(got, list):
            row = next((i for i, (w, g) in enumerate(zip(want, got)) if w != g), min(len(want), len(got)))
            what = f"{what} ({len(want)} against {len(got)} rows), row {row}"
            want, got = want[row : row + 1], got[row : row + 1]
        self.differences.append(f"{what}\n    wanted {want}\n    got    {got}")

    def compare(self, strata):
        page = subprocess.run([strata, "html", "-q", "-o", "-", self.path], check=True, capture_output=True).stdout
        payload = Payload(base64.b64decode(ELEMENT.search(page).group(1)))
        self.expect("kind", 0, payload.file["kind"][0])
        self.expect("rank", -1, signed(payload.file["rank"][0]))
        self.expect("meta", True, '"fingerprint"' in payload.strings[payload.file["meta"][0]])
        wanted, got = replay.read_devices(self.path), payload.devices()
        self.expect("devices", [device.ordinal for device in wanted], [device.ordinal for device in got])
        for want, have in zip(wanted, got):
            self.compare_device(want, have)
        return self

    def compare_device(self, want, have):
        name = f"device {want.ordinal}"
        self.expect(f"{name}, events", want.n_events, have.n_events)
        self.expect(f"{name}, allocations", expected_allocations(want), have.allocations())
        self.expect(f"{name}, times", expected_times(want), have.times)
        self.expect(f"{name}, segments", expected_segments(want), have.segments())
        self.expect(f"{name}, segment events", expected_segment_events(want), have.segment_events())
        self.expect(f"{name}, out of memory", expected_ooms(want), have.ooms())
        self.expect(f"{name}, name", "", have.name)
        self.expect(f"{name}, capacity", 0, have.capacity)


def simulated(folder):
    """Recordings of the simulator, in all forms and with all sorts of gaps."""
    for seed in SIMULATED_SEEDS:
        settings = simulate.settings_of(seed)
        path = pathlib.Path(folder) / f"seed_{seed}.{settings.form}"
        path.write_bytes(simulate.Simulation(settings).dump())
        if replay.read_devices(path):  # strata makes no page of a recording without devices
            yield path


def main(arguments):
    strata = os.environ.get("STRATA", "strata")
    failed = passed = compared = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(argument) for argument in arguments]
        for path in paths or [*sorted(SAMPLES.glob("*.pickle")), *simulated(folder)]:
            comparison = Comparison(path).compare(strata)
            compared += comparison.compared
            failed += bool(comparison.differences)
            passed += not comparison.differences
            for difference in comparison.differences:
                print(f"{path.name}: {difference}")
    print(f"{passed} passed, {failed} failed ({compared:,} facts)")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
