"""Reads exports as other tools do: sums up profiles and tables, and makes environments with the packages that read
them."""

import collections
import csv
import gzip
import io
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = pathlib.Path(os.environ.get("STRATA", ROOT / "build" / "release" / "strata")).resolve()
COLUMNS = ("id,device,alloc_event,free_event,alloc_us,free_us,bytes,address,stream,pool,category,phase,step,site,stack_id,stack,"
           "older").split(",")
READERS = STRATA.parent / "readers"  # a virtual environment, and Go programs
EVERY = os.environ.get("STRATA_TEST_ALL") == "ON"
PPROF = "github.com/google/pprof@v0.0.0-20250403155104-27863c87afa6"


def quietly(*command, seconds=240, **options):
    """Does the command succeed?"""
    try:
        return subprocess.run(command, capture_output=True, timeout=seconds, **options).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def package(*names):
    """The Python of an environment with the packages; None if they cannot be installed, and the tests are skipped."""
    python = READERS / "bin" / "python"
    if not python.exists() and not quietly(sys.executable, "-m", "venv", READERS):
        shutil.rmtree(READERS, ignore_errors=True)
        return None
    if quietly(python, "-c", f"import {', '.join(names)}"):
        return python
    # Compiling every module of a package would double the time; Python compiles what it imports.
    if quietly(python, "-m", "pip", "install", "-q", "--no-compile", *names):
        return python
    return None


# A small reader on google/pprof's library, which Go compiles in a third of the time: it checks that profiles are valid
# and prints the first, or, given several, by how much the last exceeds the first.
PPROF_READER = """package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	var all []*profile.Profile
	for _, path := range os.Args[1:] {
		one := must(profile.Parse(must(os.Open(path))))
		must(0, one.CheckValid())
		all = append(all, one)
	}
	if len(all) == 2 {
		all[0].Scale(-1)
		all[0] = must(profile.Merge(all))
	}
	fmt.Println(all[0])
}
"""


def pprof_program():
    """google/pprof: the whole program if STRATA_TEST_ALL asks for large sets, else the small reader on its library."""
    folder = READERS / "go"
    path = folder / ("pprof" if EVERY else "reader")
    if not path.exists() and EVERY:
        quietly("go", "install", PPROF, env={**os.environ, "GOBIN": str(folder)})
    elif not path.exists():
        module, _, version = PPROF.partition("@")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "main.go").write_text(PPROF_READER)
        (folder / "go.mod").write_text(f"module reader\n\ngo 1.18\n\nrequire {module} {version}\n")
        quietly("go", "build", "-mod=mod", "-o", path, ".", cwd=folder)
    return path if path.exists() else None


def protobuf_fields(data):
    """Yields (number, value) for each field of a message; an inner message is bytes."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (data[at] & 0x7f) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                return value, at
    at = 0
    while at < len(data):
        key, at = varint(at)
        value, at = varint(at)
        if key & 7:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def pprof_sums(data):
    """Live bytes and allocated bytes of each device."""
    sums = {}
    for number, sample in protobuf_fields(gzip.decompress(data)):
        if number == 2:
            fields = list(protobuf_fields(sample))
            live_bytes, _, allocated, _ = (value for key, value in fields if key == 2)
            (device,) = (dict(protobuf_fields(label)).get(3, 0) for key, label in fields if key == 3 and dict(protobuf_fields(label))[1] == 8)
            device -= (device >= 1 << 63) << 64
            before = sums.get(device, (0, 0))
            sums[device] = (before[0] + live_bytes, before[1] + allocated)
    return sums


def folded_sum(data):
    return sum(int(line.rsplit(" ", 1)[1]) for line in data.decode("utf-8").splitlines())


READ_TRACES = """
import collections, json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
for path in sys.argv[1:]:
    trace, names, parents, values = pb.Trace(), {}, {}, collections.defaultdict(list)
    trace.ParseFromString(open(path, "rb").read())
    for packet in trace.packet:
        track, event = packet.track_descriptor, packet.track_event
        if packet.HasField("track_descriptor"):
            names[track.uuid], parents[track.uuid] = track.name or track.process.pid - 1000000000, track.parent_uuid
        elif event.type == 4:
            values[event.track_uuid].append(event.counter_value)
    answer = {}
    for uuid, told in values.items():
        answer.setdefault(names[parents[uuid]], {})[names[uuid]] = [told[0], max(told), told[-1]]
    print(json.dumps(answer))
"""


class Rows:
    """The rows of a recording's CSV as numbers: device, events (older: -1, never freed: None), bytes and category."""

    def __init__(self, data):
        reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
        assert next(reader) == COLUMNS
        self.all = list(reader)
        self.figures = [(int(row[1]), int(row[2] or -1), int(row[3]) if row[3] else None, int(row[6]), row[10]) for row in self.all]

    def live(self, device, event):
        return [(count, category) for own, birth, death, count, category in self.figures
                if own == device and birth <= event and (death is None or death > event)]

    def live_bytes(self, device, event):
        return sum(count for count, _ in self.live(device, event))

    def allocated(self, device, begin, end):
        return sum(count for own, birth, _, count, _ in self.figures if own == device and begin <= birth < end)

    def highest(self, device, begin, end):
        """The highest total after any event from `begin` to `end`."""
        change = collections.Counter({begin: self.live_bytes(device, begin)})
        for own, birth, death, count, _ in self.figures:
            if own == device and begin < birth <= end:
                change[birth] += count
            if own == device and death is not None and begin < death <= end:
                change[death] -= count
        return max(itertools.accumulate(change[event] for event in sorted(change)))
