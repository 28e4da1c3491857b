#!/usr/bin/env python3
"""The report's sections on out of memory and fragmentation, and its call sites, compared with an independent replay.

    STRATA=path/to/strata [STRATA_CORPUS=folder] oom_test.py
"""

import collections
import pathlib
import pickle
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import replay  # noqa: E402
import simulate  # noqa: E402
from report_case import CORPUS, SAMPLES, report, run, samples  # noqa: E402

OOM_FILE = "oom_expandable_4dev.pickle"  # its device 1 ran out of memory
OOM_SEEDS = 150  # simulated runs, of which about a third run out of memory


# ---- sections against the replay ----


def oom_truth(device, event):
    moment = event + 1
    alive = device.alive_at(moment)
    return {
        "live_bytes": device.curve[moment],
        "reserved_bytes": device.reserved[moment],
        "pending_bytes": sum(allocation.size for allocation, _ in alive if allocation.pending(moment)),
    }


def is_small(segment):
    return segment.get("segment_type") == "small"


def free_blocks_truth(segments):
    """(reserved, free, free blocks, largest, rounding) of segments."""
    blocks = [block for segment in segments for block in segment["blocks"]]
    free = [block["size"] for block in blocks if block["state"] == "inactive"]
    used = [block for block in blocks if block["state"] != "inactive"]
    rounding = sum(block["size"] - block.get("requested_size", block["size"]) for block in used)
    return sum(s["total_size"] for s in segments), sum(free), len(free), max(free, default=0), rounding


def free_blocks_reported(found):
    return tuple(found[f"{name}"] for name in ("reserved_bytes", "hole_bytes", "holes", "largest_hole_bytes", "rounding_bytes"))


class Piece:
    """A range of reserved memory at some moment."""

    def __init__(self, first, end, pool, stream, small, expandable):
        self.first, self.end, self.pool, self.stream = first, end, pool, stream
        self.small, self.expandable = small, expandable

    def without(self, first, end):
        """The parts that remain without an interval."""
        kept = ((self.first, min(self.end, first)), (max(self.first, end), self.end))
        kept = [(a, b) for a, b in kept if a < b] if first < self.end and self.first < end else [(self.first, self.end)]
        return [Piece(a, b, self.pool, self.stream, self.small, self.expandable) for a, b in kept]

    def joins(self, other):
        return self.expandable and other.expandable and self.stream == other.stream and self.end == other.first


def pieces_at(device, event):
    """The segments after an event: starts from the final ones and undoes the later events, the last first."""
    pieces = []
    for each in device.segments:
        address, pool = replay.unsigned(each["address"]), tuple(each.get("segment_pool_id", (0, 0)))
        pieces.append(Piece(address, address + each["total_size"], pool, each.get("stream", 0), is_small(each),
                            each.get("is_expandable", False)))  # fmt: skip
    for each in reversed(device.events[event + 1 :]):
        first = replay.unsigned(each.get("addr", 0))
        end = first + each.get("size", 0)
        if each["action"] in ("segment_alloc", "segment_map"):
            pieces = [left for piece in pieces for left in piece.without(first, end)]
        elif each["action"] in ("segment_free", "segment_unmap"):
            small = end - first <= 2 << 20
            pieces.append(Piece(first, end, None, each.get("stream", 0), small, each["action"] == "segment_unmap"))
    joined = []
    for piece in sorted(pieces, key=lambda piece: piece.first):
        if joined and joined[-1].joins(piece):
            joined[-1].end = piece.end
            if joined[-1].pool is None:
                joined[-1].pool, joined[-1].small = piece.pool, piece.small
        else:
            joined.append(piece)
    return joined


def changed_since(device, event):
    """Are other allocations alive at the end, or has a segment come or gone?"""
    moves = any(each["action"] in replay.RESERVED_SIGN for each in device.events[event + 1 :])
    return moves or any(allocation.alive(event + 1) != allocation.alive(device.n_events) for allocation in device.allocations)


def gaps_truth(device, event):
    """{(pool, small): figures} of the gaps between live requests."""
    taken = sorted((allocation.address, allocation.address + -(-allocation.size // 512) * 512) for allocation, _ in device.alive_at(event + 1))
    groups = collections.defaultdict(list)
    for piece in pieces_at(device, event):
        at, gaps = piece.first, []
        for first, end in taken:
            if piece.first <= first < piece.end:
                gaps.append(first - at)
                at = max(at, min(end, piece.end))
        gaps.append(piece.end - at)
        key = piece.pool, piece.stream, piece.small
        groups[key].append((piece.end - piece.first, [gap for gap in gaps if gap >= 512]))
    found = []
    for (pool, _, small), each in groups.items():
        gaps = [gap for _, more in each for gap in more]
        found.append(((pool or (), small), (sum(size for size, _ in each), sum(gaps), len(gaps), max(gaps, default=0))))
    return sorted(found)


class Sections(unittest.TestCase):
    def check_ooms(self, device, got):
        wanted = [each["event"] for each in device.ooms()]
        self.assertEqual(wanted, [each["event"] for each in got["oom_details"]])
        for plain, detail in zip(device.ooms(), got["oom_details"]):
            self.assertEqual(plain, {key: detail[key] for key in plain})
            truth = oom_truth(device, plain["event"])
            self.assertEqual(truth, {key: detail[key] for key in truth})
            if "largest_hole_bytes" in detail:
                truth = free_blocks_truth(device.segments)
                self.assertEqual((truth[1], truth[3]), (detail["hole_bytes"], detail["largest_hole_bytes"]))
            self.check_oom_free_blocks(device, plain["event"], detail)
            self.check_advice(detail)

    def check_oom_free_blocks(self, device, event, detail):
        """Compares with the final free blocks if nothing has changed since, else with the gaps between live
        requests."""
        if "holes" not in detail:
            return
        got = [((tuple(each["pool"] or ()), each["small"]), free_blocks_reported(each)) for each in detail["holes"]["groups"]]
        if detail["holes"]["exact"]:
            self.assertEqual(self.final_groups(device), sorted(got))
        else:
            self.assertEqual(gaps_truth(device, event), sorted((key, figures[:4]) for key, figures in got))
        self.assertEqual(changed_since(device, event), not detail["holes"]["exact"])
        self.assertEqual("largest_hole_bytes" in detail, detail["holes"]["exact"])

    def check_advice(self, detail):
        """The first sentence is the verdict, and it follows from the figures."""
        unused = max(0, detail["reserved_bytes"] - detail["live_bytes"])
        asked, free = detail["requested_bytes"], detail["device_free_bytes"]
        wanted = "memory_in_use" if unused + free < asked else "fragmented" if unused >= asked else "not_in_one_piece"
        if free >= asked + (64 << 20):
            wanted = "free_enough"
        self.assertEqual(wanted, detail["advice"][0]["code"])

    def final_groups(self, device):
        groups = collections.defaultdict(list)
        for segment in device.segments:
            pool = tuple(segment.get("segment_pool_id", (0, 0)))
            groups[pool, segment.get("stream", 0), is_small(segment)].append(segment)
        return sorted(((pool, small), free_blocks_truth(each)) for (pool, _, small), each in groups.items())

    def check_free_blocks(self, device, got):
        fragmentation = got["fragmentation"]
        self.assertEqual(free_blocks_truth(device.segments), free_blocks_reported(fragmentation["all"]))
        wanted = self.final_groups(device)
        have = sorted(((tuple(each["pool"] or (0, 0)), each["small"]), free_blocks_reported(each)) for each in fragmentation["groups"])
        self.assertEqual(wanted, have)
        sizes = fragmentation["hole_sizes"]
        self.assertEqual(fragmentation["all"]["hole_bytes"], sum(each["bytes"] for each in sizes))

    def check_file(self, path):
        devices = replay.read_devices(path)
        for device, got in zip(devices, report(path)["devices"]):
            self.assertEqual(device.ordinal, got["device"])
            self.check_ooms(device, got)
            self.check_free_blocks(device, got)
            self.assertEqual(got["peak_bytes"], sum(each["bytes"] for each in got["categories_at_peak"]))
            self.check_steps(device, got["steps"])

    def check_steps(self, device, steps):
        """Peaks and carried bytes are values of the curve; each peak is at the event that is named."""
        for step in steps:
            self.assertEqual(device.curve[step["peak_event"] + 1], step["peak_bytes"])
            self.assertEqual(device.curve[step["from_event"]], step["begin_bytes"])
            self.assertEqual(device.curve[step["to_event"] + 1], step["end_bytes"])

    def test_samples(self):
        for path in samples():
            with self.subTest(path.name):
                self.check_file(path)

    @unittest.skipUnless(CORPUS, "skipped: STRATA_CORPUS is not set")
    def test_a_real_oom(self):
        path = pathlib.Path(CORPUS, OOM_FILE)
        self.check_file(path)
        device = next(each for each in report(path)["devices"] if each["device"] == 1)
        self.assertEqual(1, len(device["oom_details"]))
        # Nothing justifies other advice: the memory was in use, and expandable segments are on already.
        self.assertEqual(["memory_in_use", "plan"], [each["code"] for each in device["oom_details"][0]["advice"]])

    def test_simulated_ooms(self):
        """Free blocks equal the replay's, and are at least as many, as much and as large as the simulator's."""
        compared = {True: 0, False: 0}
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(OOM_SEEDS):
                simulation = simulate.Simulation(simulate.settings_of(seed))
                if not any(each["action"] == "oom" for device in simulation.devices for each in device.events):
                    continue
                path = pathlib.Path(folder, f"seed{seed}")
                path.write_bytes(simulation.dump())
                with self.subTest(seed=seed):
                    self.check_simulated(simulation, path, compared)
        self.assertGreater(min(compared.values()), 3)

    def check_simulated(self, simulation, path, compared):
        truths = {device.ordinal: device for device in simulation.devices}
        for device, got in zip(replay.read_devices(path), report(path)["devices"]):
            self.check_ooms(device, got)
            real = truths[device.ordinal]
            details = got["oom_details"]
            free = real.oom_free[len(real.oom_free) - len(details) :]
            for detail, (total, largest, number) in zip(details, free):
                if "holes" not in detail or not real.knows_reserved():
                    continue
                all_ = detail["holes"]["all"]
                reported = all_["hole_bytes"], all_["largest_hole_bytes"], all_["holes"]
                compared[detail["holes"]["exact"]] += 1
                if detail["holes"]["exact"]:
                    self.assertEqual((total, largest, number), reported)
                self.assertTrue(all(a <= b for a, b in zip((total, largest, number), reported)), (free, reported))

    @unittest.skipUnless(CORPUS, "skipped: STRATA_CORPUS is not set")
    def test_the_device_that_ran_out_is_shown(self):
        done = run("png", pathlib.Path(CORPUS, OOM_FILE), "-o", "-")
        self.assertIn(b"device 1 is shown, which ran out of memory", done.stderr)

    def test_leaks_of_the_samples(self):
        leaks = {"leak_graph": "main.py", "leak_two_per_layer": "probe.py", "leak_forward_only": "history.py"}
        for path in samples():
            for device in report(path)["devices"]:
                rising = [one for one in device["findings"] if one["kind"] in ("leak", "growing_buffer")]
                files = {one["site"].split(":")[0] for one in rising if one["confidence"] != "possible"}
                if path.stem in leaks:
                    self.assertIn(leaks[path.stem], files)
                else:
                    self.assertEqual(set(), files, path.name)
        findings = report(SAMPLES / "leak_two_per_layer.pickle")["devices"][0]["findings"]
        leak = next(one for one in findings if one["site"] == "probe.py:27 keep_hidden")
        # In every step three layers keep a tensor of 4 * 1024 rows and 1024 halves, and a float for each of 4 * 1024 rows and 16 heads.
        self.assertEqual(3 * (4 * 1024 * 1024 * 2 + 4 * 1024 * 16 * 4), leak["per"]["bytes"])


# ---- options ----


def own_frames(allocation):
    """Frames that are not torch's or Python's, as "train.py:41 step", innermost first."""
    return [f"{frame['filename'].rsplit('/', 1)[-1]}:{frame['line']} {frame['name']}" for frame in allocation.frames
            if frame["filename"].endswith(".py") and "/torch/" not in frame["filename"]
            and "/lib/python3" not in frame["filename"]]


class CallSites(unittest.TestCase):
    """The callers of a site and their shares, compared with a plain sum over the live allocations at the peak."""

    def check_callers(self, path, nodes, allocations, whole):
        seen = 0
        for node in nodes:
            way = [*path, node["site"]]
            mine = [allocation for allocation in allocations if own_frames(allocation)[:len(way)] == way]
            self.assertEqual((node["bytes"], node["count"]), (sum(allocation.size for allocation in mine), len(mine)), way)
            self.assertAlmostEqual(node["share"], node["bytes"] / whole, places=5)
            seen += 1 + self.check_callers(way, node.get("callers", ()), allocations, whole)
        self.assertEqual([node["bytes"] for node in nodes], sorted((node["bytes"] for node in nodes), reverse=True))
        return seen

    def test_callers_and_categories(self):
        seen = 0
        for path in samples():
            if path.stem == "hostile_names":
                continue
            for device, got in zip(replay.read_devices(path), report(path)["devices"]):
                allocations = [allocation for allocation in device.allocations if allocation.alive(got["peak_event"] + 1)]
                for group in got["top_at_peak"]:
                    with self.subTest(f"{path.name} {group['site']}"):
                        for figure in ("bytes", "count"):
                            self.assertEqual(sum(each[figure] for each in group["categories"]), group[figure])
                        seen += self.check_callers([group["site"]], group.get("callers", ()), allocations, group["bytes"])
        self.assertGreater(seen, 100)

    def test_state_and_temporaries_of_an_optimizer_are_apart(self):
        frames = [{"filename": "/home/u/adam.py", "line": 9, "name": "step"}]
        inner = [{"filename": "/x/site-packages/torch/optim/adam.py", "line": 77, "name": "_init_group"}]
        torch_step = [{"filename": "/x/site-packages/torch/optim/optimizer.py", "line": 5, "name": "wrapper"}]
        model = [{"filename": "/home/u/model.py", "line": 3, "name": "forward"}]
        outer = [{"filename": "/home/u/train.py", "line": 20, "name": "run"}]
        trace, address = [], 0x7f0000000000

        def add(action, at, size, stack):
            trace.append({"action": action, "addr": address + (at << 24), "size": size, "stream": 0, "frames": stack})

        for turn in range(2):
            add("alloc", 1, 1 << 20, model + outer)
            if turn == 0:
                add("alloc", 2, 4 << 20, inner + torch_step + frames + outer)
            add("alloc", 3, 8 << 20, torch_step + frames + outer)
            for action in ("free_requested", "free_completed"):
                add(action, 3, 8 << 20, torch_step + frames + outer)
            for action in ("free_requested", "free_completed"):
                add(action, 1, 1 << 20, model + outer)
        add("alloc", 1, 1 << 20, model + outer)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "adam.pickle")
            path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}, protocol=4))
            text = run("report", "--full", path).stdout.decode()
            group = report(path)["devices"][0]["top_at_peak"][0]
        rows = [line.split("adam.py:9 step")[0].split() + [line.split("adam.py:9 step")[1].strip()]
                for line in text.splitlines() if "adam.py:9 step" in line]
        self.assertEqual(rows[0], ["8.00", "MiB", "62", "%", "1", "(optimizer temporaries)  train.py:20 run"])
        self.assertEqual([row[0] for row in rows if "(optimizer state)" in row[-1]][:1], ["4.00"])
        self.assertEqual((group["site"], group["bytes"]), ("adam.py:9 step", 12 << 20))
        self.assertEqual([(each["category"], each["bytes"]) for each in group["categories"]],
                         [("temporary", 8 << 20), ("optimizer_state", 4 << 20)])


if __name__ == "__main__":
    unittest.main()
