#!/usr/bin/env python3
"""Pinned host memory of a snapshot (host_segments, host_traces) is one more device in every verb. The control is the
list of allocations from which the test makes the recording.

    STRATA=path/to/strata host_test.py
"""

import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = pathlib.Path(os.environ.get("STRATA", ROOT / "build" / "release" / "strata")).resolve()
TRAIN = ROOT / "samples" / "train.pickle"
FRAMES = [{"name": "to_host", "filename": "/home/user/project/offload.py", "line": 12}]
BASE = 1 << 40


def run(*words):
    return subprocess.run([str(STRATA), *map(str, words)], capture_output=True, timeout=300)


class HostMemory:
    """PyTorch's host allocator: each block is a segment of its own, rounded up to a power of two and never given
    back."""

    def __init__(self):
        self.events, self.blocks, self.live, self.curve = [], [], {}, []

    def event(self, action, address, size, time_us, frames=FRAMES):
        self.events.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": time_us, "frames": frames})
        self.curve.append(sum(self.live.values()))

    def allocate(self, size, time_us, name=None, file=None):
        rounded = 1 << (size - 1).bit_length()
        address = BASE + sum(total for _, total in self.blocks)
        self.blocks.append((address, rounded))
        self.event("segment_alloc", address, rounded, time_us)
        self.live[address] = size
        self.event("alloc", address, size, time_us, [{"name": name, "filename": file, "line": 12}] if file else FRAMES)
        return address

    def free(self, address, time_us):
        size = self.live[address]
        self.event("free_requested", address, size, time_us)
        del self.live[address]
        self.event("free_completed", address, size, time_us)

    def segments(self):
        def block(address, total):
            size = self.live.get(address)
            state = "inactive" if size is None else "active_allocated"
            return {"address": address, "size": total, "requested_size": size or 0, "state": state, "frames": FRAMES}
        return [{"device": 0, "address": address, "total_size": total, "stream": 0, "segment_type": "large", "frames": [],
                 "allocated_size": total if address in self.live else 0, "active_size": total if address in self.live else 0,
                 "requested_size": self.live.get(address, 0), "blocks": [block(address, total)]} for address, total in self.blocks]

    def rounding(self):
        return sum(total - self.live[address] for address, total in self.blocks if address in self.live)


class Device:
    """A GPU whose allocations follow one another in one segment, in address and in time."""

    def __init__(self):
        self.events, self.live, self.next, self.time_us = [], {}, BASE, 0

    def tick(self):
        self.time_us += 10
        return self.time_us

    def allocate(self, size, name, file="/home/user/project/model.py"):
        self.live[self.next] = size, [{"name": name, "filename": file, "line": 12}]
        self.event("alloc", self.next)
        self.next += size
        return self.next - size

    def event(self, action, address):
        size, frames = self.live[address]
        self.events.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.tick(), "frames": frames})

    def free(self, address):
        self.event("free_requested", address)
        self.event("free_completed", address)
        del self.live[address]

    def segments(self):
        total = self.next - BASE
        return [{"device": 0, "address": BASE, "total_size": total, "stream": 0, "segment_type": "large", "allocated_size": 0, "active_size": 0,
                 "blocks": [{"address": BASE, "size": total, "requested_size": 0, "state": "inactive"}]}]


def recording():
    with open(TRAIN, "rb") as file:
        snapshot = pickle.load(file)
    host, kept = HostMemory(), []
    for event in snapshot["device_traces"][0]:
        if event["action"] == "alloc" and event["size"] >= 8 << 20 and len(host.blocks) < 40:
            kept.append(host.allocate(event["size"] * 5 // 8, event["time_us"]))
        if len(kept) > 10:
            host.free(kept.pop(0), event["time_us"])
    return snapshot, host


class Host(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.snapshot, cls.host = recording()
        segments = cls.host.segments()
        cls.flat = cls.write("flat", host_segments=segments, host_traces=cls.host.events)
        cls.nested = cls.write("nested", host_segments=[segments], host_traces=[cls.host.events])

    @classmethod
    def write(cls, name, **more):
        path = cls.folder / f"{name}.pickle"
        path.write_bytes(pickle.dumps({**cls.snapshot, **more}))
        return path

    def report(self, path, *words):
        done = run("report", "--json", path, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_figures(self):
        for path in (self.flat, self.nested):
            devices = {device["device"]: device for device in self.report(path)["devices"]}
            self.assertEqual(sorted(devices), [-2, 0])
            host, curve = devices[-2], self.host.curve
            self.assertEqual(host["name"], "host (pinned)")
            self.assertEqual((host["events"], host["peak_bytes"], host["peak_event"], host["end_bytes"]),
                             (len(curve), max(curve), curve.index(max(curve)), curve[-1]))
            self.assertEqual(host["reserved_end_bytes"], sum(total for _, total in self.host.blocks))
            self.assertEqual(host["replay"]["grade"], "refused")
            alone = self.report(TRAIN)["devices"][0]
            self.assertEqual({**devices[0], "view": 0}, {**alone, "view": 0})

    def test_json_snapshot(self):
        path = self.folder / "host.json"
        path.write_text(json.dumps({**self.snapshot, "host_segments": self.host.segments(), "host_traces": self.host.events}))
        told = self.report(path)["devices"][0]
        self.assertEqual((told["device"], told["peak_bytes"]), (-2, max(self.host.curve)))

    def test_rounding(self):
        said = [one for one in self.report(self.flat)["diagnostics"] if one["code"] == "host_rounding"]
        self.assertEqual(len(said), 1)
        mib = f"{self.host.rounding() / (1 << 20):.1f}".removesuffix(".0")
        self.assertIn(f"host (pinned): {mib} MiB of ", said[0]["message"])

    def test_every_verb(self):
        for words in (("html", "-f"), ("png", "-f", "-d", "host"), ("plan",), ("report", "--markdown"),
                      ("export", "-f", "--to", "sqlite"), ("export", "-f", "--to", "perfetto"),
                      ("check", "--rule", "peak < 100GiB", "-d", "host")):
            done = run(*words, self.flat)
            self.assertEqual(done.returncode, 0, (words, done.stderr))
        self.assertEqual(run("diff", f"{self.flat}#device=host", f"{self.nested}#device=-2").returncode, 0)
        self.assertIn(b"host (pinned)", run("report", "--full", self.flat).stdout)
        self.assertIn(b"device 0 is shown", run("html", "-f", self.flat).stderr)
        page = self.flat.with_suffix(".html")
        self.assertEqual([device["device"] for device in self.report(page)["devices"]], [-2, 0])

    def test_only_host(self):
        whole = {"host_segments": self.host.segments(), "host_traces": self.host.events}
        for keys in (list(whole), ["host_segments"], ["host_traces"]):
            said = []
            for name, write in (("only.pickle", pickle.dumps), ("only.json", lambda value: json.dumps(value).encode())):
                path = self.folder / name
                path.write_bytes(write({key: whole[key] for key in keys}))
                said.append(self.report(path)["devices"])
            with self.subTest(keys=keys):
                self.assertEqual([device["device"] for device in said[0]], [-2])
                self.assertEqual(said[0], said[1])

    def test_unread_keys(self):
        path = self.write("unread", future_key={"a": 1}, other=[])
        said = [one["message"] for one in self.report(path)["diagnostics"] if one["code"] == "unread_key"]
        self.assertEqual(said, ['The key "future_key" of the snapshot is not read.', 'The key "other" of the snapshot is not read.'])
        said = [one["message"] for one in self.report(self.write("dict", host_traces={0: self.host.events}))["diagnostics"] if one["code"] == "unread_key"]
        self.assertEqual(said, ['The key "host_traces" of the snapshot is not read.'])
        half = len(self.host.events) // 2
        lists = self.write("lists", host_traces=[[], self.host.events[:half], self.host.events[half:]])
        said = [one["message"] for one in self.report(lists)["diagnostics"] if one["code"] == "unread_key"]
        self.assertEqual(said, ['The key "host_traces[2]" of the snapshot is not read.'])
        host = json.loads(json.dumps(self.host.segments()))
        for segment in host:
            segment["numa_node"] = 1
            for block in segment["blocks"]:
                block["registered"] = True
        path.write_bytes(pickle.dumps({"host_segments": host, "host_traces": [dict(event, thread=7) for event in self.host.events]}))
        said = [one["message"] for one in self.report(path)["diagnostics"] if one["code"] == "unread_key"]
        self.assertEqual(set(said), {f'The key "{key}" of the snapshot is not read.' for key in ("numa_node", "registered", "thread")})
        self.assertEqual([one for one in self.report(TRAIN)["diagnostics"] if one["code"] == "unread_key"], [])

    def test_hostile(self):
        """Lists of host memory that repeat a device's, have another type, or are empty."""
        segments, events = self.host.segments(), self.host.events
        for i, (some, traces) in enumerate(((None, None), (5, "x"), ([], []), ([[]], [[]]), ({}, {}), ([segments, segments], [events, events]),
                                            (self.snapshot["segments"], self.snapshot["device_traces"]), (events, segments))):
            done = run("report", "--json", self.write(f"hostile{i}", host_segments=some, host_traces=traces))
            self.assertIn(done.returncode, (0, 1), i)
            self.assertLessEqual(done.stderr.count(b"\n"), 1, i)


if __name__ == "__main__":
    unittest.main(verbosity=2)
