#!/usr/bin/env python3
"""Reads exports with other people's readers: Python's csv and sqlite3, DuckDB, google/pprof, Perfetto's
protobuf. Their sums must equal those of report --json, over the samples and the corpus (STRATA_CORPUS).

    STRATA=path/to/strata export_test.py [corpus files]
"""

import contextlib
import csv
import io
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from export_readers import (  # noqa: E402
    COLUMNS, EVERY, READ_TRACES, STRATA, Rows, folded_sum, package, pprof_program, pprof_sums)
from report_case import corpus_below, samples_of_every_kind  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
KINDS = {"csv": ".csv", "sqlite": ".sqlite", "pprof": ".pb.gz", "folded": ".folded",
         "perfetto": ".pftrace"}
# Larger files repeat what smaller ones have, and are read only with STRATA_TEST_ALL.
MOST_NBYTES = 1 << 40 if EVERY else 1_200_000
csv.field_size_limit(1 << 30)


def run(*words, **options):
    return subprocess.run([str(STRATA), *map(str, words)], capture_output=True, timeout=300, **options)


def export(kind, path, *words):
    done = run("export", "--to", kind, path, "-q", "-o", "-", *words)
    if done.returncode != 0:
        raise AssertionError(f"{kind} of {path} exits {done.returncode}: {done.stderr.decode(errors='replace')[-400:]}")
    return done.stdout


def report(path, *words):
    done = run("report", "--json", "--top", "0", path, *words)
    return json.loads(done.stdout) if done.returncode == 0 else None


def rows_of(data, whole=True):
    """The rows, each with the stack that the first row of its number has; the numbers are the file's own."""
    rows, stacks = list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""))), {}
    for row in rows if whole else ():
        row["stack"] = stacks.setdefault(row.pop("stack_id"), row["stack"])
    return rows


def live(rows, device, event):
    return [row for row in rows if int(row["device"]) == device
            and (row["alloc_event"] == "" or int(row["alloc_event"]) <= event)
            and (row["free_event"] == "" or int(row["free_event"]) > event)]


def bytes_of(rows):
    return sum(int(row["bytes"]) for row in rows)


def database(data):
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        file.write(data)
        file.flush()
        with contextlib.closing(sqlite3.connect(file.name)) as source:
            copy = sqlite3.connect(":memory:")
            source.backup(copy)
            return copy


class Export(unittest.TestCase):
    def check_rows(self, path, said, rows):
        """CSV and SQLite have the same rows, and their sums equal the report's figures."""
        db = database(export("sqlite", path))
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        for device in said["devices"]:
            number = device["device"]
            alive = rows.live(number, device["peak_event"])
            self.assertEqual(sum(count for count, _ in alive), device["peak_bytes"])
            if said["kind"] == "log":
                continue
            self.assertEqual(sum(own == number for own, *_ in rows.figures), device["allocations"])
            told = dict(db.execute("SELECT category, sum(bytes) FROM live_at_peak WHERE device = ? GROUP BY category", (number,)))
            self.assertEqual(sum(told.values()), device["peak_bytes"])
            for category in device["categories_at_peak"]:
                own = sum(count for count, name in alive if name == category["category"])
                self.assertEqual((own, told.get(category["category"], 0)), (category["bytes"], category["bytes"]))
            for oom in device["oom_details"][:1]:
                total = db.execute("SELECT sum(bytes) FROM live_at_oom WHERE device = ?", (number,)).fetchone()[0] or 0
                self.assertEqual((total, rows.live_bytes(number, oom["event"])), (oom["live_bytes"], oom["live_bytes"]))
            curve = db.execute("SELECT max(live_bytes), max(reserved_bytes) FROM curve WHERE device = ?", (number,)).fetchone()
            self.assertEqual(curve, (device["peak_bytes"], device["reserved_peak_bytes"]))
            self.assertLessEqual(db.execute("SELECT count(*) FROM curve WHERE device = ?", (number,)).fetchone()[0], 4096)
        shown = [tuple(value or None for value in row[:13]) for row in rows.all]
        told = [tuple(None if value is None else str(value) for value in row)
                for row in db.execute(f"SELECT {', '.join(COLUMNS[:13])} FROM allocation ORDER BY id")]
        self.assertEqual(shown, told)
        named = [name.lstrip(" '") for (name,) in db.execute("SELECT name FROM allocation JOIN site ON site.id = site_id ORDER BY allocation.id")]
        self.assertEqual([row[13].lstrip("' ") for row in rows.all], named)

    def check_stacks(self, path, expected, *words):
        """Checks each device's bytes in every format that sums stacks; folded holds only the device with the highest
        peak, or that of -d."""
        self.assertEqual({device: sums[0] for device, sums in pprof_sums(export("pprof", path, *words)).items() if sums[0]},
                         {device: total for device, total in expected.items() if total})
        if len(expected) == 1 or not words:
            self.assertEqual(folded_sum(export("folded", path, *words)), max(expected.values(), default=0))

    def check_window(self, path, device, rows, traces):
        """A window (a step of the report, or the middle half): its highest total, and the bytes allocated in it."""
        number, step = device["device"], next(iter(device["steps"][1:]), None)
        begin, end = (step["from_event"], step["to_event"] + 1) if step else (device["events"] // 4, device["events"] * 3 // 4)
        highest, made = rows.highest(number, begin - 1, end - 1), rows.allocated(number, begin, end)
        window = ("-d", number, "--from", begin, "--to", end)
        if step:
            self.assertEqual(highest, step["peak_bytes"])
        self.check_stacks(path, {number: highest}, *window)
        self.assertEqual(pprof_sums(export("pprof", path, *window)).get(number, (0, 0))[1], made)
        self.assertEqual(folded_sum(export("folded", path, *window, "--allocated")), made)
        traces.append((export("perfetto", path, *window), {number: {"live": {1: highest}}}))

    def check(self, path, traces):
        said = report(path)
        if said is None:
            self.assertEqual(run("export", "--to", "csv", path, "-o", "-").returncode, 1)
            return
        if any(device["peak_bytes"] is None for device in said["devices"]):
            return
        rows = Rows(export("csv", path))
        self.check_rows(path, said, rows)
        if said["kind"] == "log" or not said["devices"]:
            return
        self.check_stacks(path, {device["device"]: device["peak_bytes"] for device in said["devices"]})
        traces.append((export("perfetto", path), {device["device"]: {
            "live": dict(enumerate((device["start_bytes"], device["peak_bytes"], device["end_bytes"]))),
            "reserved": {1: device["reserved_peak_bytes"], 2: device["reserved_end_bytes"]}} for device in said["devices"]}))
        at_oom = {device["device"]: device["oom_details"][0]["live_bytes"] for device in said["devices"] if device["oom_details"]}
        if at_oom:
            self.check_stacks(path, at_oom, "--at", "oom")
            traces.append((export("perfetto", path, "--from", "oom", "--to", "oom+1"), {device: {"live": {0: total}} for device, total in at_oom.items()}))
        device = max(said["devices"], key=lambda one: one["peak_bytes"])
        if device["events"] > 8:
            self.check_window(path, device, rows, traces)

    def check_traces(self, traces):
        """Reads each trace with Perfetto's protobuf and compares [first, highest, last] of the expected counters."""
        python = package("perfetto")
        if python is None:
            print("skipped: Perfetto's protobuf reads the traces (pip cannot install it)")
            return
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"{i}.pftrace" for i in range(len(traces))]
            for path, (data, _) in zip(paths, traces):
                path.write_bytes(data)
            done = subprocess.run([python, "-c", READ_TRACES, *paths], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr[-600:])
        for line, (_, expected) in zip(done.stdout.splitlines(), traces, strict=True):
            counters = json.loads(line)
            for device, tracks in expected.items():
                for name, points in tracks.items():
                    told = counters[str(device)][name]
                    self.assertEqual({at: told[at] for at in points}, points, (device, name))
                    last = sum(value[2] for track, value in counters[str(device)].items() if track not in ("live", "reserved", "largest free block"))
                    self.assertEqual(last, counters[str(device)]["live"][2])

    def check_all(self, paths):
        traces = []
        for path in paths:
            with self.subTest(path=path.name):
                self.check(path, traces)
        self.check_traces(traces)

    def test_samples(self):
        self.check_all(samples_of_every_kind())

    def test_corpus(self):
        self.check_all(corpus_below(MOST_NBYTES))

    def test_rows_are_the_events(self):
        """With CPython's pickle as control: every alloc event is a row, and its free_completed event ends it."""
        for name in ("train", "streams", "two_devices", "oom"):
            path = SAMPLES / f"{name}.pickle"
            with open(path, "rb") as file:
                traces = pickle.load(file)["device_traces"]
            rows = rows_of(export("csv", path))
            for device, trace in enumerate(traces):
                made = [(i, event["size"], event["addr"], event.get("time_us")) for i, event in enumerate(trace)
                        if event["action"] == "alloc"]
                told = [(int(row["alloc_event"]), int(row["bytes"]), int(row["address"], 16), int(row["alloc_us"]))
                        for row in rows if row["device"] == str(device) and row["older"] == "0"]
                self.assertEqual(made, told)
                for row in rows:
                    if row["device"] == str(device) and row["free_event"] != "":
                        event = trace[int(row["free_event"])]
                        self.assertIn(event["action"], ("free_completed", "free_requested"))
                        self.assertEqual(event["addr"], int(row["address"], 16))
                        self.assertEqual(event["time_us"], int(row["free_us"]))

    def test_stacks(self):
        path = SAMPLES / "train.pickle"
        with open(path, "rb") as file:
            trace = pickle.load(file)["device_traces"][0]
        rows = {row["alloc_event"]: row for row in rows_of(export("csv", path))}
        db = database(export("sqlite", path))
        for i, event in enumerate(trace[:400]):
            if event["action"] != "alloc":
                continue
            frames = [f"{frame['filename']}:{frame['line']} {frame['name']}".removeprefix(":0 ").replace(";", ",")
                      for frame in reversed(event["frames"])]
            self.assertEqual(rows[str(i)]["stack"], ";".join(frames))
            told = db.execute("SELECT iif(file = '' AND line = 0, '', file || ':' || line || ' ') || function FROM stack_frame s JOIN frame f ON f.id = "
                              "s.frame_id WHERE stack_id = (SELECT stack_id FROM allocation WHERE alloc_event = ?) ORDER BY "
                              "depth", (i,)).fetchall()
            self.assertEqual([text.replace(";", ",") for (text,) in told], frames)

    def test_a_stack_is_written_once(self):
        """Many allocations of one long stack: each row would repeat its text, 860 KB here."""
        frames = [{"name": f"f{i}" + "x" * 200, "filename": f"a{i}.py" + "y" * 200, "line": i} for i in range(2000)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "long.pickle"
            events = [{"action": "alloc", "addr": (i + 1) << 12, "size": 512, "frames": frames[i % 2:]} for i in range(1000)]
            path.write_bytes(pickle.dumps({"segments": [], "device_traces": [events]}))
            data = export("csv", path)
            self.assertLess(len(data), 8 * path.stat().st_size)
        rows = rows_of(data, False)
        self.assertEqual([row["stack_id"] for row in rows], [str(i % 2 + 1) for i in range(1000)])
        self.assertEqual([row["stack"] != "" for row in rows], [i < 2 for i in range(1000)])

    def test_formulas_and_quotes(self):
        data = export("csv", SAMPLES / "hostile_names.pickle")
        self.assertEqual(data.count(b"\r\n"), data.count(b"\n"))
        for row in rows_of(data):
            self.assertIsNone(row.get(None))
            for name in ("site", "stack", "category", "phase", "pool"):
                self.assertNotIn(row[name][:1], ("=", "+", "-", "@", "\t", "\r"))

    def test_windows_filters_and_moments(self):
        path = SAMPLES / "train.pickle"
        everything = rows_of(export("csv", path))
        some = rows_of(export("csv", path, "--from", "500", "--to", "900"))
        def reaches(row):
            return ((row["alloc_event"] == "" or int(row["alloc_event"]) < 900)
                    and (row["free_event"] == "" or int(row["free_event"]) >= 500))
        self.assertEqual(some, [row for row in everything if reaches(row)])
        made = sum(int(row["bytes"]) for row in everything if row["alloc_event"] and 500 <= int(row["alloc_event"]) < 900)
        lines = export("folded", path, "--allocated", "--from", "500", "--to", "900").decode().splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), made)
        lines = export("folded", path, "--at", "700").decode().splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), bytes_of(live(everything, 0, 700)))
        large = rows_of(export("csv", path, "--filter", "size:>10MiB"))
        self.assertEqual(large, [row for row in everything if int(row["bytes"]) > 10 << 20])
        self.assertEqual({row["device"] for row in rows_of(export("csv", SAMPLES / "two_devices.pickle", "-d", "1"))}, {"1"})
        oom = report(SAMPLES / "oom.pickle")["devices"][0]["oom_details"][0]
        lines = export("folded", SAMPLES / "oom.pickle", "--at", "oom").decode().splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), oom["live_bytes"])

    def test_kinds_and_endings(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind, ending in KINDS.items():
                path = pathlib.Path(folder) / f"x{ending}"
                self.assertEqual(run("export", SAMPLES / "oom.pickle", "-o", path).returncode, 0)
                self.assertEqual(path.read_bytes(), export(kind, SAMPLES / "oom.pickle"))
            self.assertEqual(sorted(os.listdir(folder)), sorted(f"x{ending}" for ending in KINDS.values()))
            for words in (("-o", "-"), ("-o", f"{folder}/x.txt"), ("--to", "csv", "-o", f"{folder}/y.sqlite"),
                          ("--to", "csv", "--to", "folded"), ("--to", "parquet"), ("--to", "folded", "--at", "nowhere")):
                self.assertEqual(run("export", SAMPLES / "oom.pickle", *words).returncode, 2, words)
            self.assertEqual(run("export", SAMPLES / "train.pickle", "--to", "folded", "--at", "oom", "-o", "-").returncode, 2)
            self.assertEqual(run("export", SAMPLES / "train.pickle", "--to", "folded", "--at", "9", "--allocated", "-o", "-").returncode, 2)
            empty = pathlib.Path(folder) / "empty.pickle"
            empty.write_bytes(pickle.dumps({"segments": [], "device_traces": [[], []]}))
            for kind in KINDS:
                moment, nothing = (run("export", "--to", kind, *words, "-o", "-") for words in (("--at", "700", SAMPLES / "train.pickle"), (empty,)))
                self.assertEqual((moment.returncode, moment.stderr.count(b"have no effect")), (0, kind in ("csv", "sqlite", "perfetto")))
                self.assertEqual((nothing.returncode, nothing.stderr.count(b"nothing was recorded"), nothing.stderr.count(b"\n")), (0, 1, 1))

    def test_without_a_verb(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind, ending in KINDS.items():
                path = pathlib.Path(folder) / f"x{ending}"
                self.assertEqual(run("-q", SAMPLES / "oom.pickle", "-o", path).returncode, 0, ending)
                self.assertEqual(path.read_bytes(), export(kind, SAMPLES / "oom.pickle"), ending)

    def test_duckdb(self):
        python = package("duckdb")
        if python is None:
            print("skipped: DuckDB reads the CSV (pip cannot install it)")
            return
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.csv"
            path.write_bytes(export("csv", SAMPLES / "two_devices.pickle"))
            query = f"SELECT device, sum(bytes), count(*) FROM read_csv('{path}') GROUP BY device ORDER BY device"
            code = f"import duckdb; print(duckdb.sql({query!r}).fetchall())"
            told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout
        rows = rows_of(path.read_bytes() if path.exists() else export("csv", SAMPLES / "two_devices.pickle"))
        control = [(device, bytes_of(own), len(own)) for device in (0, 1)
                   for own in ([row for row in rows if row["device"] == str(device)],)]
        self.assertEqual(told.strip(), str(control))

    def test_pprof(self):
        program = pprof_program()
        if program is None:
            print("skipped: google/pprof reads the profile (it cannot be installed)")
            return
        with tempfile.TemporaryDirectory() as folder:
            said = report(SAMPLES / "train.pickle")["devices"][0]
            one, two = f"{folder}/a.pb.gz", f"{folder}/b.pb.gz"
            pathlib.Path(one).write_bytes(export("pprof", SAMPLES / "train.pickle"))
            pathlib.Path(two).write_bytes(export("pprof", SAMPLES / "oom.pickle"))
            def ask(*words):
                return subprocess.run([program, *words], capture_output=True, text=True, check=True, timeout=120,
                                      env={**os.environ, "HOME": folder}).stdout
            raw = ask(*(["-raw"] if EVERY else []), one).split("Locations")[0].split("Samples:")[1].splitlines()
            self.assertEqual(raw[1].split(), ["inuse_space/bytes[dflt]", "inuse_objects/count", "alloc_space/bytes",
                                              "alloc_objects/count"])
            values = [line.split(":")[0].split() for line in raw[2:] if ":" in line and line.split(":")[0].split()[0].isdigit()]
            self.assertEqual(sum(int(value[0]) for value in values), said["peak_bytes"])
            self.assertEqual(sum(int(value[1]) for value in values), said["live_at_peak"])
            self.assertIn("category:[parameter]", "\n".join(raw))
            self.assertIn("main.py", ask(*(["-raw"] if EVERY else []), one))
            if EVERY:
                self.assertIn("flat%", ask("-top", one))
                self.assertIn("flat%", ask("-top", "-diff_base", one, two))
                return
            more = [int(nbytes) for nbytes in re.findall(r"(?m)^ +(-?\d+) +-?\d+ +-?\d+ +-?\d+:", ask(one, two).split("Locations")[0])]
            self.assertEqual(sum(more), report(SAMPLES / "oom.pickle")["devices"][0]["peak_bytes"] - said["peak_bytes"])

    def test_perfetto(self):
        python = package("perfetto")
        if python is None:
            print("skipped: Perfetto's protobuf reads the trace (pip cannot install it)")
            return
        code = """
import collections, json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
trace = pb.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
names, parents, values, open_slices, slices = {}, {}, collections.defaultdict(list), collections.Counter(), collections.Counter()
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        names[track.uuid] = track.name or track.process.process_name
        parents[track.uuid] = track.parent_uuid
        if track.HasField("counter"):
            assert track.counter.unit == 3 and not track.counter.is_incremental and not track.counter.HasField("unit_multiplier")
    else:
        event = packet.track_event
        assert event.track_uuid in names, "descriptors come first"
        if event.type == 4:
            values[event.track_uuid].append((packet.timestamp, event.counter_value))
        else:
            open_slices[event.track_uuid] += {1: 1, 2: -1, 3: 0}[event.type]
            slices[names[event.track_uuid]] += event.type == 1
assert not any(open_slices.values())
answer = {}
for uuid, pairs in values.items():
    answer.setdefault(names[parents[uuid]], {})[names[uuid]] = [max(v for _, v in pairs), pairs[-1][1], pairs[1][0]]
print(json.dumps([answer, slices]))
"""
        for name in ("train", "oom", "two_devices", "expandable"):
            path = SAMPLES / f"{name}.pickle"
            with tempfile.NamedTemporaryFile() as file:
                file.write(export("perfetto", path))
                file.flush()
                done = subprocess.run([python, "-c", code, file.name], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr[-600:])
            counters, slices = json.loads(done.stdout)
            for device in report(path)["devices"]:
                told = counters[f"GPU {device['device']} memory"]
                self.assertEqual(told["live"][:2], [device["peak_bytes"], device["end_bytes"]])
                self.assertEqual(told["reserved"][:2], [device["reserved_peak_bytes"], device["reserved_end_bytes"]])
                self.assertEqual(sum(told.get(category["category"], [0, 0])[1] for category in device["categories_at_peak"]
                                     ) <= device["end_bytes"], True)
            self.assertEqual(slices.get("steps", 0), sum(len(device["steps"]) for device in report(path)["devices"]))

    # ---- the commands of docs/export.md, unchanged ----

    def folder_of_docs(self, folder):
        folder = pathlib.Path(folder)
        (folder / "dumps").mkdir()
        for name, sample in (("snapshot", "train"), ("other", "oom")):
            shutil.copy(SAMPLES / f"{sample}.pickle", folder / f"{name}.pickle")
            for kind in ("sqlite", "pprof", "perfetto"):
                (folder / f"{name}{KINDS[kind]}").write_bytes(export(kind, SAMPLES / f"{sample}.pickle"))
        for rank, sample in enumerate(("train", "train", "oom")):
            shutil.copy(SAMPLES / f"{sample}.pickle", folder / "dumps" / f"rank{rank}.pickle")
        self.assertEqual(run("batch", "-q", folder / "dumps", "-o", folder / "report", "--export", "sqlite").returncode, 0)
        os.remove(folder / "snapshot.sqlite")

    def programs_of_docs(self, folder):
        """Makes a folder for PATH with strata and the programs of packages; returns the names of the missing ones."""
        missing, programs = [], pathlib.Path(folder) / "programs"
        programs.mkdir()
        (programs / "strata").symlink_to(STRATA)
        scripts = {"duckdb": (package("duckdb"), "import sys, duckdb; duckdb.sql(sys.argv[2])"),
                   "python3": (package("pandas", "pyarrow"), "import sys; exec(sys.argv[2])")}
        for name, (python, code) in scripts.items():
            if python is None:
                missing.append(name)
            else:
                (programs / name).write_text(f"#!{python}\n{code}\n")
                (programs / name).chmod(0o755)
        pprof = pprof_program()
        if pprof is None:
            missing.append("go")
        else:
            # The small reader takes only files.
            files = 'for word; do case $word in *.pb.gz) files="$files $word" ;; esac; done'
            (programs / "go").write_text(f'#!/bin/sh\nshift 2\nexec "{pprof}" "$@"\n' if EVERY else f'#!/bin/sh\n{files}\nexec "{pprof}" $files\n')
            (programs / "go").chmod(0o755)
        return missing + ([] if shutil.which("sqlite3") else ["sqlite3"])

    @staticmethod
    def page_of(address):
        """Waits for a page, because pprof prints its address before it listens. (The first page, a graph, needs
        graphviz.)"""
        for _ in range(100):
            try:
                with urllib.request.urlopen(address, timeout=60) as page:
                    return page.read()
            except urllib.error.URLError:
                time.sleep(0.1)
        return b""

    def serves(self, command, **options):
        """Runs a command that starts a web server, reads its address and asks it for a page."""
        served = subprocess.Popen(command.replace("-http :", "-no_browser -http localhost:"), shell=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **options)
        try:
            address = next((line.split()[-1] for line in served.stdout if "http://" in line), None)
            self.assertIsNotNone(address, command)
            self.assertIn(b"forward", self.page_of(f"{address}/ui/top"), command)
        finally:
            os.killpg(served.pid, signal.SIGKILL)
            served.stdout.close()
            served.wait()

    def test_documented_commands(self):
        commands = [line.strip() for line in (ROOT / "docs" / "export.md").read_text().splitlines()
                    if line.startswith("    ") and line.split()[0] in ("strata", "sqlite3", "duckdb", "python3", "go", "cat")]
        self.assertGreaterEqual(sum(command.startswith("sqlite3") for command in commands), 9)
        self.assertEqual({command.split()[0] for command in commands}, {"strata", "sqlite3", "duckdb", "python3", "go", "cat"})
        with tempfile.TemporaryDirectory() as folder:
            self.folder_of_docs(folder)
            missing = self.programs_of_docs(folder)
            options = {"cwd": folder, "env": {**os.environ, "PATH": f"{folder}/programs:{os.environ['PATH']}", "HOME": folder}}
            for name in missing:
                print(f"skipped: commands of docs/export.md ({name} cannot be had)")
            for command in commands:
                if command.split()[0] in missing:
                    continue
                if "-http" in command and EVERY:
                    self.serves(command, **options)
                    continue
                for kind, ending in KINDS.items():
                    if command.startswith("strata export") and (f"-o snapshot{ending}" in command or f"--to {kind}" in command):
                        pathlib.Path(folder, f"snapshot{ending}").unlink(missing_ok=True)
                done = subprocess.run(command.split("  #")[0], shell=True, capture_output=True, text=True, timeout=120, **options)
                self.assertEqual((done.returncode, done.stderr if command.startswith("sqlite3") else ""), (0, ""), (command, done.stderr[-500:]))
                if command.split()[0] == "sqlite3":
                    self.assertTrue(done.stdout.strip(), command)

    def test_batch(self):
        """A batch exports each file as `strata export` does."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "dumps").mkdir()
            names = ("train", "two_devices", "oom")
            for rank, name in enumerate(names):
                shutil.copy(SAMPLES / f"{name}.pickle", folder / "dumps" / f"rank{rank}.pickle")
            batch = ("batch", "-q", folder / "dumps", "-o", folder / "out")
            for kind, ending in KINDS.items():
                self.assertEqual(run(*batch, "--export", kind).returncode, 0)
                for rank, name in enumerate(names):
                    self.assertEqual((folder / "out" / f"rank{rank}{ending}").read_bytes() == export(kind, folder / "dumps" / f"rank{rank}.pickle"),
                                     True, (kind, name))
            self.assertEqual(run(*batch, "--export", "parquet").returncode, 2)
            foreign = folder / "new"
            foreign.mkdir()
            (foreign / "rank0.csv").write_text("mine")
            self.assertEqual(run("batch", "-q", folder / "dumps", "-o", foreign, "--export", "csv").returncode, 4)
            self.assertEqual((foreign / "rank0.csv").read_text(), "mine")

    def test_largest_free_block(self):
        """Every snapshot with segments has a largest free block. If the replay is refused, it comes from the blocks,
        and at the end from the final segments."""
        python = package("perfetto")
        if python is None:
            return
        code = """
import json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
trace = pb.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
named = {p.track_descriptor.uuid for p in trace.packet if p.track_descriptor.name == "largest free block"}
print(json.dumps([p.track_event.counter_value for p in trace.packet if p.track_event.track_uuid in named]))
"""
        with open(SAMPLES / "train.pickle", "rb") as file:
            snapshot = pickle.load(file)
        trace = snapshot["device_traces"][0]
        snapshot["device_traces"][0] = [event for event in trace if not event["action"].startswith("segment") or event["size"] % 3]
        with tempfile.TemporaryDirectory() as folder:
            path, out = pathlib.Path(folder) / "x.pickle", pathlib.Path(folder) / "x.pftrace"
            path.write_bytes(pickle.dumps(snapshot))
            self.assertNotEqual(report(path)["devices"][0]["replay"]["grade"], "exact")
            out.write_bytes(export("perfetto", path))
            values = json.loads(subprocess.run([python, "-c", code, out], capture_output=True, text=True, timeout=120, check=True).stdout)
        holes = [block["size"] for segment in snapshot["segments"] for block in segment["blocks"] if block["state"] == "inactive"]
        self.assertGreater(len(values), 100)
        self.assertEqual(values[-1], max(holes))


if __name__ == "__main__":
    unittest.main(verbosity=2)
