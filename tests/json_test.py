#!/usr/bin/env python3
"""Inputs in JSON: profiler traces, snapshots, and files that are not quite JSON.

    STRATA=path/to/strata STATE_DUMP=path/to/state_dump [STRATA_CORPUS=folder] json_test.py

The control is Python's own json module and a second replay, written here in another way.
"""

import collections
import gzip
import json
import os
import pathlib
import pickle
import random
import re
import sys
import unittest

sys.dont_write_bytecode = True
from json_case import CORPUS, JsonTest, SAMPLES  # noqa: E402


# ---- profiler traces ----


def ns(value):
    whole, _, fraction = str(value).partition(".")
    return int(whole) * 1000 + int((fraction + "000")[:3])


def place(name):
    """A frame as the report prints it."""
    found = re.match(r"(.+?)\((\d+)\): (.+)", name, re.DOTALL)
    return (found[1], int(found[2]), found[3]) if found else (None, None, name)


class Control:
    """One device of a trace, computed from the parsed document."""

    def __init__(self, document, kind, number):
        events = document["traceEvents"] if isinstance(document, dict) else document
        self.spans = collections.defaultdict(list)
        for event in events:
            if event.get("ph") == "X" and event.get("cat") in ("python_function", "cpu_op", "Operator", "user_annotation"):
                self.spans[str(event["pid"]), str(event["tid"])].append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]), event))
        self.memory = [
            event for event in events
            if event.get("name") == "[memory]" and (event["args"]["Device Type"], event["args"]["Device Id"]) == (kind, number)
        ]
        self.memory.sort(key=lambda event: ns(event["ts"]))

    def order_ties(self):
        """Follows the chain of totals among events of one time."""
        for i in range(1, len(self.memory)):
            k = i
            while k < len(self.memory) and ns(self.memory[k]["ts"]) == ns(self.memory[i]["ts"]):
                if self.memory[i - 1]["args"]["Total Allocated"] + self.memory[k]["args"]["Bytes"] == self.memory[k]["args"]["Total Allocated"]:
                    self.memory.insert(i, self.memory.pop(k))
                    break
                k += 1

    def totals(self):
        first = self.memory[0]["args"]
        return [first["Total Allocated"] - first["Bytes"], *(event["args"]["Total Allocated"] for event in self.memory)]

    def stack(self, event):
        """Innermost first. Brute force over all spans of the thread."""
        t = ns(event["ts"])
        spans = self.spans[str(event["pid"]), str(event["tid"])]
        around = [span for span in spans if span[0] <= t < span[1]]
        around.sort(key=lambda span: (span[0], -span[1]))
        return tuple(place(span[2]["name"]) for span in reversed(around))

    def stacks_at(self, index):
        """Live bytes of each stack after event `index`. Memory from before the recording gets the stack of its free."""
        live, seen, sums = {}, set(), collections.Counter()
        for i, event in enumerate(self.memory):
            address, nbytes = event["args"]["Addr"], event["args"]["Bytes"]
            if i > index and nbytes < 0 and address not in seen:
                sums[self.stack(event)] -= nbytes
            seen.add(address)
            if i <= index and nbytes > 0:
                live[address] = event
            elif i <= index:
                live.pop(address, None)
        for event in live.values():
            sums[self.stack(event)] += event["args"]["Bytes"]
        return sums


def memory(ts, address, nbytes, total, reserved=1 << 30, device=(1, 0), name="[memory]", tid=7, **more):
    args = {"Device Type": device[0], "Device Id": device[1], "Bytes": nbytes, **more}
    if address is not None:
        args["Addr"] = address
    if total is not None:
        args.update({"Total Allocated": total, "Total Reserved": reserved})
    return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": name, "pid": 3, "tid": tid, "ts": ts, "args": args}


def span(ts, dur, name, cat="python_function", tid=7, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 3, "tid": tid, "ts": ts, "dur": dur, "args": args}


class KinetoTest(JsonTest):
    def check(self, path, document, kind, number, ordinal=None):
        ordinal = number if ordinal is None else ordinal
        control = Control(document, kind, number)
        control.order_ties()
        totals = control.totals()
        report = self.report(path, "--group", "stack")
        self.assertEqual("kineto", report["kind"])
        device = self.device(report, ordinal)
        self.assertEqual(len(control.memory), device["events"])
        self.assertEqual(totals[0], device["start_bytes"])
        self.assertEqual(max(totals), device["peak_bytes"])
        self.assertEqual(totals.index(max(totals)) - 1, device["peak_event"])
        self.assertEqual(totals[-1], device["end_bytes"])
        reserved = [event["args"]["Total Reserved"] for event in control.memory]
        self.assertEqual((reserved[0], max(reserved), reserved[-1]),
                         tuple(device[f"reserved_{at}_bytes"] for at in ("start", "peak", "end")))
        events = self.sample(len(control.memory))
        for event, allocations in zip(events, self.allocations_at(path, ordinal, events)):
            self.assertEqual(totals[event + 1], sum(size for _, size in allocations), f"total after event {event}")
        return control, device

    def check_stacks(self, control, device):
        wanted = control.stacks_at(device["peak_event"])
        found = {}
        for group in device["top_at_peak"]:
            stack = tuple((frame.get("file") or None, frame.get("line") or None, frame["name"]) for frame in group["stack"])
            found[stack] = group["bytes"]
        found.pop((), None)
        wanted.pop((), None)
        self.assertEqual(dict(wanted), found)

    def test_a_small_trace(self):
        document = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "Some GPU", "totalGlobalMem": 85899345920}],
            "traceEvents": [
                span("1000.000", "900.000", "train.py(5): <module>"),
                span("1000.000", "500.000", "train.py(41): step"),
                span("1100.250", "10.500", "aten::mm", cat="cpu_op"),
                span("1100.250", "10.500", "kernel", cat="kernel"),
                memory("1100.750", 0x7F0000000200, 512, 1536),
                memory("1105.000", 0x7F0000000400, 1024, 2560, reserved=3 << 30),
                memory("1200.000", 0x7F0000000000, -1000, 1560, reserved=2 << 30),
                memory("1600.000", 0x7F0000000200, -512, 1048, reserved=2 << 30),
            ],
            "distributedInfo": {"pg_config": [[1, {"a": "]"}]], "rank": 3, "world_size": 8},
            "baseTimeNanoseconds": 1700000000000000000,
        }
        path = self.write(re.sub(r'"(\d+\.\d{3})"', r"\1", json.dumps(document)))
        control, device = self.check(path, document, 1, 0)
        self.check_stacks(control, device)
        self.assertEqual(2, device["preexisting"])
        notes = self.run_strata("report", "-v", path).stderr.decode()
        self.assertIn("Some GPU, 80.0 GiB", notes)
        self.assertIn("rank 3", notes)
        self.assertIn("train.py:41 step", [self.report(path)["devices"][0]["top_at_peak"][i]["site"] for i in range(2)])

    def test_random_traces(self):
        """Random traces with older memory, events of equal time on several threads, and reused addresses."""
        for seed in range(30):
            rng, events, live, total, reserved = random.Random(seed), [], {}, 0, 1 << 30
            older = {0x10000 + i * 512: rng.randrange(1, 9) * 512 for i in range(rng.randrange(6))}
            total = sum(older.values()) + rng.choice([0, 7 * 512])
            live.update(older)
            ts = 1_600_000_000_000_000
            for _ in range(rng.randrange(1, 300)):
                ts += rng.choice([0, 1, 20])
                if live and rng.random() < 0.5:
                    address = rng.choice(list(live))
                    nbytes = -live.pop(address)
                else:
                    address = rng.choice([rng.randrange(1, 400) * 512, -rng.randrange(1, 400) * 512])
                    if address in live:
                        continue
                    nbytes = live[address] = rng.randrange(1, 2000) * 512
                total += nbytes
                reserved = rng.choice([reserved, reserved, reserved + (2 << 20), max(2 << 20, reserved - (2 << 20))])
                events.append(memory(ts, address, nbytes, total, reserved, tid=rng.choice([7, "7", 8])))
            if not events:
                continue
            with self.subTest(seed=seed):
                document = {"traceEvents": events}
                path = self.write(document)
                _, device = self.check(path, document, 1, 0)
                self.assertNotIn("lost_events", self.codes(self.report(path)))

    def test_lost_events(self):
        """The curve is the file's own, whatever events are missing."""
        for seed in range(30):
            rng, events, live, total = random.Random(1000 + seed), [], {}, 0
            for i in range(400):
                if live and rng.random() < 0.5:
                    address = rng.choice(list(live))
                    nbytes = -live.pop(address)
                else:
                    address = rng.randrange(1, 200) * 512
                    if address in live:
                        continue
                    nbytes = live[address] = rng.randrange(1, 2000) * 512
                total += nbytes
                if rng.random() < 0.8:
                    events.append(memory(1000 + i, address, nbytes, total))
            with self.subTest(seed=seed):
                document = {"traceEvents": events}
                path = self.write(document)
                self.check(path, document, 1, 0)
                self.assertIn("lost_events", self.codes(self.report(path)))

    def test_without_addresses(self):
        """Files of 2021 have only the curve, and the report says so."""
        changes = [512, 1024, -512, -700, 4096, -4000, 64]
        path = self.write({"traceEvents": [memory(100 + i, None, nbytes, None) for i, nbytes in enumerate(changes)]})
        sums = [sum(changes[:i]) for i in range(len(changes) + 1)]
        report = self.report(path)
        device = self.device(report, 0)
        self.assertIn("no_addresses", self.codes(report))
        self.assertEqual((max(sums), sums[-1]), (device["peak_bytes"], device["end_bytes"]))
        for event, allocations in zip(range(-1, 7), self.allocations_at(path, 0, range(-1, 7))):
            self.assertEqual(sums[event + 1], sum(size for _, size in allocations))

    def test_out_of_memory(self):
        events = [memory(10, 512, 1 << 30, 1 << 30), memory(20, None, 5 << 30, 1 << 30, name="[OutOfMemory]", reserved=2 << 30)]
        document = {"deviceProperties": [{"id": 0, "name": "G", "totalGlobalMem": 6 << 30}], "traceEvents": events}
        device = self.device(self.report(self.write(document)), 0)
        self.assertEqual([{"event": 1, "requested_bytes": 5 << 30, "device_free_bytes": 4 << 30}],
                         [{key: oom[key] for key in ("event", "requested_bytes", "device_free_bytes")} for oom in device["oom"]])

    def test_cpu_and_several_kinds_of_devices(self):
        events = [memory(1, 64, 8, 8, 0, (0, -1)), memory(2, 512, 512, 512, 2048, (1, 1)), memory(3, 512, 1024, 1024, 4096, (20, 1))]
        report = self.report(self.write({"traceEvents": events}))
        self.assertEqual([(-1, 8), (1, 512), (1001, 1024)], [(device["device"], device["peak_bytes"]) for device in report["devices"]])

    def test_no_allocation_ends_at_its_own_event(self):
        """The second event's total leaves no room for what it allocates, at an address that is freed twice later."""
        events = [memory(1, 8192, 1024, 59106816), memory(2, 4096, 134570229832093, 58674688),
                  memory(3, 4096, -1024, 58672640), memory(4, 4096, -1024, 59250176)]
        device, = self.report(self.write({"traceEvents": events}))["devices"]
        self.assertEqual(4, device["events"])

    def test_messages_about_the_cpu_are_not_about_the_file(self):
        """The CPU is device -1. Messages about it appear only with it, messages about the file with every device."""
        events = [memory(1, 64, 8, 8, 0, (0, -1)), memory(2, 128, 8, 80, 0, (0, -1)),
                  memory(3, 512, 512, 512, 2048, (1, 1)), memory(4, 1024, 512, 1024, 2048, (1, 1))]
        path = self.write(json.dumps({"traceEvents": events})[:-2])  # cut off after the last event
        both, cpu, gpu = (self.report(path, *options) for options in ((), ("-d", "-1"), ("-d", "1")))
        self.assertEqual({("lost_events", -1), ("truncated", None)}, {(each["code"], each.get("device")) for each in both["diagnostics"]})
        self.assertEqual(both["diagnostics"], cpu["diagnostics"])
        self.assertEqual({"truncated"}, self.codes(gpu))
        self.assertEqual(([-1, 1], [-1], [1]), tuple([device["device"] for device in each["devices"]] for each in (both, cpu, gpu)))
        page = self.folder / "page.html"
        self.assertEqual(0, self.run_strata("html", path, "-o", page).returncode)
        self.assertEqual(both["diagnostics"], self.report(page)["diagnostics"])
        trust = self.run_strata("report", "--full", path).stdout.decode().split("\nCPU\n")
        self.assertEqual([False, True], ["Events are missing" in text for text in trust], trust)

    def test_plan_and_diff_of_the_cpu(self):
        """Messages never call the CPU device -1."""
        path = self.write({"traceEvents": [memory(1, 64, 600, 600, 0, (0, -1)), memory(2, 512, 512, 512, 2048, (1, 1))]})
        cpu, gpu = json.loads(self.run_strata("plan", "--json", path).stdout)["devices"]
        self.assertEqual((-1, 1, "refused"), (cpu["device"], gpu["device"], gpu["replay"]["grade"]))
        text = self.run_strata("plan", path).stdout.decode()
        for word in ("Device -1", "as its segments show", " 0 B"):
            self.assertNotIn(word, text)
        self.assertIn("CPU\n---\n", text)
        self.assertIn(", CPU, ", self.run_strata("diff", f"{path}#device=-1", f"{path}#device=1").stdout.decode())

    def test_python_stacks_of_older_operators(self):
        events = [span(10, 50, "aten::empty", "Operator", **{"Call stack": "lib.py(3): inner;train.py(9): outer"}), memory(20, 512, 512, 512)]
        group = self.report(self.write({"traceEvents": events}))["devices"][0]["top_at_peak"][0]
        self.assertEqual(["aten::empty", "inner", "outer"], [frame["name"] for frame in group["stack"]])

    def test_a_bare_list(self):
        events = [memory(10, 512, 512, 512), memory(20, 1024, 512, 1024)]
        self.assertEqual(1024, self.report(self.write(events))["devices"][0]["peak_bytes"])

    def test_no_memory_events(self):
        self.refused({"schemaVersion": 1, "traceEvents": [span(1, 2, "f")]}, "profile_memory=True")

    def test_hostile_nesting_of_spans(self):
        events = [span(i, 20000 - 2 * i, f"f{i}") for i in range(5000)] + [memory(6000 + i, 512 * i, 512, 512 * (i + 1)) for i in range(50)]
        self.assertEqual(50 * 512, self.report(self.write({"traceEvents": events}))["devices"][0]["peak_bytes"])

    @unittest.skipUnless(CORPUS, "STRATA_CORPUS is not set")
    def test_corpus(self):
        wanted = {
            "kineto_h100": [(1, 0, 0), (0, -1, -1)],
            "kineto_mi300": [(6, 0, 0), (0, -1, -1)],
            "kineto_profile_memory_2022": [(1, 1, 1), (0, -1, -1)],
        }
        names = {"kineto_h100": "NVIDIA H100 80GB HBM3, 79.2 GiB", "kineto_mi300": "AMD Instinct MI300X VF, 191.5 GiB",
                 "kineto_profile_memory_2022": "Tesla V100-SXM2-32GB, 31.7 GiB"}
        for name, devices in wanted.items():
            path = pathlib.Path(CORPUS, name + ".json.gz")
            # Parsed as text, numbers keep their 19 digits.
            document = json.loads(gzip.decompress(path.read_bytes()), parse_float=str)
            for kind, number, ordinal in devices:
                with self.subTest(file=name, device=ordinal):
                    control, device = self.check(path, document, kind, number, ordinal)
                    self.check_stacks(control, device)
            self.assertIn(names[name], self.run_strata("report", "-v", path).stderr.decode())
        self.assertIn("rank 1", self.run_strata("report", "-v", path).stderr.decode())

    @unittest.skipUnless(CORPUS, "STRATA_CORPUS is not set")
    def test_corpus_without_addresses(self):
        path = pathlib.Path(CORPUS, "kineto_2021_no_addr.json.gz")
        events = [e for e in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if e.get("name") == "[memory]"]
        report = self.report(path)
        for kind, ordinal in ((1, 0), (0, -1)):
            mine = sorted((e for e in events if e["args"]["Device Type"] == kind), key=lambda e: e["ts"])
            sums, peak, lowest = 0, 0, 0
            for event in mine:
                sums += event["args"]["Bytes"]
                peak, lowest = max(peak, sums), min(lowest, sums)
            device = self.device(report, ordinal)
            self.assertEqual((len(mine), peak - lowest, sums - lowest), (device["events"], device["peak_bytes"], device["end_bytes"]))
        self.assertIn("no_addresses", self.codes(report))


# ---- snapshots ----


def comparable(report):
    """The report without what depends on the encoding. Invalid UTF-8 becomes one replacement character, whether one
    byte or three."""
    report = {key: value for key, value in report.items() if key not in ("file", "fingerprint", "recording_id")}
    return json.loads(re.sub(r"(\\ufffd)+", r"\\ufffd", json.dumps(report)))


class SnapshotTest(JsonTest):
    def check_pickle(self, path):
        with open(path, "rb") as stream:
            root = pickle.load(stream)
        for name, options in (("plain.json", {}), ("wide.json", {"indent": 1, "ensure_ascii": False})):
            text = json.dumps(root, **options).encode(errors="surrogatepass")
            self.assertEqual(comparable(self.report(path)), comparable(self.report(self.write(text, name))))

    def test_samples(self):
        checked = 0
        for path in sorted(SAMPLES.glob("*.pickle")):
            # Faults and their mended twins have the same forms as the other samples.
            if os.environ.get("STRATA_TEST_ALL") != "ON" and path.name.startswith(("leak_", "kept_", "held_")):
                continue
            with self.subTest(sample=path.name):
                self.check_pickle(path)
                checked += 1
        self.assertGreaterEqual(checked, 8)

    @unittest.skipUnless(CORPUS, "STRATA_CORPUS is not set")
    def test_corpus(self):
        names = ("torch2.0_history_one_event.pickle", "octree_unet.pickle", "segments_list_root.pkl", "npu_expandable.pkl",
                 "private_pools_empty_trace.pickle", "streams_compile_context.pickle", "segments_mismatch_trace.pickle")
        for name in filter(lambda name: pathlib.Path(CORPUS, name).exists(), names):
            with self.subTest(file=name):
                self.check_pickle(pathlib.Path(CORPUS, name))

    def test_large_integers(self):
        """Addresses of 2^63 and above, and lines of 2^64 - 1, which doubles cannot hold."""
        address = (1 << 63) + 4097
        frames = [{"name": "f", "filename": "a.py", "line": (1 << 64) - 1}, {"name": "g", "filename": "a.py", "line": 12}]
        trace = [{"action": "alloc", "addr": address, "size": 512, "stream": 0, "frames": frames},
                 {"action": "alloc", "addr": address + 1, "size": (1 << 53) + 1, "stream": 0, "frames": frames},
                 {"action": "free_completed", "addr": address, "size": 512, "stream": 0, "frames": frames}]
        path = self.write({"segments": [], "device_traces": [trace]})
        self.assertEqual([[(address + 1, (1 << 53) + 1)]], self.allocations_at(path, 0, [2]))
        self.assertEqual((1 << 53) + 513, self.report(path)["devices"][0]["peak_bytes"])

    def test_unknown_members_are_skipped(self):
        trace = [{"action": "alloc", "addr": 512, "size": 512}]
        deep = json.loads("[" * 400 + "]" * 400)
        report = self.report(self.write({"new": {"a": deep}, "device_traces": [trace], "later": [1, {"x": "]}"}]}))
        self.assertEqual(512, report["devices"][0]["end_bytes"])

    def test_other_objects(self):
        self.refused({"a": 1, "b": [2]}, "not a memory snapshot")
        self.refused({"allocator_settings": {}}, "neither segments nor device_traces")
        self.refused({}, "not a memory snapshot")


# ---- files that are not quite JSON ----


def snapshot_of(n_events):
    frames = [{"name": "forward", "filename": "C:\\work\\train.py", "line": 41}, {"name": "main", "filename": "run.py", "line": 3}]
    trace = [{"action": "alloc", "addr": 4096 + i * 512, "size": 512, "stream": 0, "time_us": 1000 + i, "frames": frames} for i in range(n_events)]
    return {"segments": [], "device_traces": [trace]}


class BrokenTest(JsonTest):
    def peak(self, content):
        return self.report(self.write(content))["devices"][0]["peak_bytes"]

    def test_invalid_numbers(self):
        text = '{"traceEvents": [%s, {"ph": "X", "ts": NaN, "dur": -Infinity, "cat": "cpu_op", "name": "a"}], "x": inf, "y": nan,}'
        self.assertEqual(512, self.peak(text % json.dumps(memory(1, 512, 512, 512))))

    def test_trailing_commas(self):
        event = json.dumps(memory(1, 512, 512, 512)).replace("}}", ",},}")
        self.assertEqual(512, self.peak('{"traceEvents": [%s,],}' % event))
        self.assertEqual(512, self.peak('{"traceEvents": [%s,,\n],}' % event))

    def test_strings_that_break_the_rules(self):
        names = {
            b"bad \xff\xfe utf-8 \x80": b"bad \\ufffd\\ufffd utf-8 \\ufffd",
            b"line\nend\tand\x01control": b"line\\nend\\tand\\u0001control",
            b"nul \x00 byte": b"nul \\ufffd byte",
            b"C:\\Users\\x\\work": b"C:\\\\Users\\\\x\\\\work",
            b"say \"hello\" twice": b"say \\\"hello\\\" twice",
            b"half \\ud800 pair, \\u12": b"half \\ufffd pair, \\\\u12",
            b"pair \\ud83d\\ude00": b"pair \\ud83d\\ude00",
            b"zero \\u0000 here": b"zero \\ufffd here",
        }
        for raw, wanted in names.items():
            with self.subTest(name=raw):
                events = json.dumps([span(1, 9, "NAME", "cpu_op"), memory(2, 512, 512, 512)]).encode().replace(b"NAME", raw)
                report = self.report(self.write(b'{"traceEvents": ' + events + b"}"))
                got = report["devices"][0]["top_at_peak"][0]["stack"][0]["name"]
                self.assertEqual(json.loads(b'"' + wanted + b'"'), got)

    def test_an_event_in_invalid_json_is_left_out(self):
        text = '{"traceEvents": [%s, {"ph": oops, "name": "[memory]"}, {"name" "[memory]"}, %s]}' % (json.dumps(memory(1, 512, 512, 512)), json.dumps(memory(2, 1024, 512, 1024)))
        report = self.report(self.write(text))
        self.assertEqual(1024, report["devices"][0]["peak_bytes"])
        self.assertIn("bad_json", self.codes(report))

    def test_huge_numbers(self):
        for number in ("1" * 40, "-" + "9" * 25, "1e400", "1" * 5000, "18446744073709551616", "99999999999999999999.5"):
            for key in ("Bytes", "Addr", "Total Allocated", "Device Id", "Device Type", "Total Reserved"):
                good, bad = json.dumps(memory(1, 512, 512, 512)), json.dumps(memory(2, 1024, 512, 1024, **{"Device Id": 0}))
                bad = re.sub(f'"{key}": -?\\d+', f'"{key}": {number}', bad)
                done = self.run_strata("report", self.write('{"traceEvents": [%s, %s]}' % (good, bad)))
                self.assertIn(done.returncode, (0, 1), (key, number))

    def test_deep_nesting(self):
        for text in ("[" * 1_000_000, '{"traceEvents": ' + "[" * 100_000, '{"a":' * 100_000, "[[[1]]]", '{"segments": [{"blocks": ' + "[" * 5000):
            with self.subTest(text=text[:20]):
                self.refused(text)
        self.refused('{"device_traces": [[' + "[" * 600 + "]" * 600 + "]]}", "512 deep")

    def test_values_that_are_too_long(self):
        self.refused('{"traceEvents": [{"name": "' + "x" * (17 << 20) + '"}]}', "16 MiB")

    def test_structure_that_breaks_off(self):
        event = json.dumps(memory(1, 512, 512, 512))
        for text in ('{"traceEvents": [%s] 5}', '{"traceEvents": [%s}', '{"traceEvents": [%s], x: 1}'):
            with self.subTest(text=text):
                report = self.report(self.write(text % event))
                self.assertEqual(512, report["devices"][0]["peak_bytes"])
                self.assertIn("damaged", self.codes(report))
        for text in ('{"traceEvents": }', "{5: 6}", '{"a"}', "[}", '{"segments" []}'):
            self.refused(text)

    def cuts(self, text, step):
        return sorted({*range(0, min(len(text), 120)), *range(0, len(text), step), len(text) - 1})

    def check_truncated(self, document, count_at):
        """Wherever the file is cut, Strata uses the part before the cut, with a diagnostic, or exits with 1."""
        text = json.dumps(document).encode()
        whole = self.report(self.write(text))["devices"][0]["events"]
        survived = 0
        for cut in self.cuts(text, max(1, len(text) // 150)):
            done = self.run_strata("report", "--json", self.write(text[:cut]))
            self.assertIn(done.returncode, (0, 1), f"cut at {cut}: {done.stderr}")
            if done.returncode == 1:
                self.assertEqual(1, done.stderr.count(b"\n"))
                self.assertEqual(0, count_at(text[:cut]), f"cut at {cut}: {done.stderr}")
                continue
            report = json.loads(done.stdout)
            self.assertIn("truncated", self.codes(report), f"cut at {cut}")
            self.assertEqual(count_at(text[:cut]), sum(device["events"] for device in report["devices"]), f"cut at {cut}")
            survived += 1
        self.assertGreater(survived, 50)
        return whole

    def test_truncated_snapshot(self):
        # An event is complete with its closing brace; frames have none after a bracket.
        self.check_truncated(snapshot_of(40), lambda text: text.count(b"}]}"))

    def test_truncated_trace(self):
        events = [memory(i, 512 * i, 512, 512 * (i + 1)) for i in range(60)]
        self.check_truncated({"schemaVersion": 1, "traceEvents": events}, lambda text: text.count(b"}}"))

    def test_truncated_timeline(self):
        rows = [[1_700_000_000_000_000_000 + i * 1000, 2, 512, i % 8] for i in range(80)]
        self.check_truncated(rows, lambda text: len(re.findall(rb"\d\]", text)))

    def test_truncated_segments_are_not_believed(self):
        """Final blocks of a file that was cut would seem older than the events that are left, so they are ignored."""
        document = snapshot_of(5)
        block = {"size": 1024, "requested_size": 1000, "address": 1 << 40, "state": "active_allocated"}
        document["segments"] = [{"device": 0, "address": 1 << 40, "total_size": 1 << 20, "stream": 0, "blocks": [block]}]
        text = json.dumps(document)
        report = self.report(self.write(text[: text.rindex('"action"')]))
        self.assertEqual((4, 0), (report["devices"][0]["events"], report["devices"][0]["start_bytes"]))
        # The blocks of a device whose events are complete are used.
        document["device_traces"].append(snapshot_of(3)["device_traces"][0])
        text = json.dumps(document)
        report = self.report(self.write(text[: text.rindex('"action"')]))
        self.assertEqual([(5, 1000), (2, 0)], [(device["events"], device["start_bytes"]) for device in report["devices"]])

    def test_random_damage(self):
        """Bytes changed at random: an answer or a refusal, never a crash."""
        documents = [snapshot_of(10), {"traceEvents": [span(1, 9, "f(1): g"), *(memory(i, 512 * i, 512, 512 * (i + 1)) for i in range(10))]},
                     [[1000 + i, 2, 512, i % 8] for i in range(20)], [[1, 2, 3], [[0] + [i] * 8 for i in (1, 3, 2)]]]
        rng = random.Random(7)
        for document in documents:
            text = json.dumps(document).encode()
            for _ in range(60):
                broken = bytearray(text)
                for _ in range(rng.randrange(1, 5)):
                    broken[rng.randrange(len(broken))] = rng.choice(b'{}[]",:\\0-e.n \xff\x00') if rng.random() < 0.8 else rng.randrange(256)
                done = self.run_strata("report", self.write(bytes(broken)))
                self.assertIn(done.returncode, (0, 1), bytes(broken))


if __name__ == "__main__":
    if not CORPUS:
        print("skipped: the corpus (STRATA_CORPUS is not set)", file=sys.stderr)
    unittest.main()
