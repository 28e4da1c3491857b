"""Shared by the tests of faults: small inputs of every kind, the runs that they disturb, and the outcomes that are
allowed."""

import base64
import gzip
import io
import json
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
FAULTS = os.environ.get("FAULTS", str(pathlib.Path(STRATA).parent / "tests" / "libfaults.so"))
SAMPLES = ROOT / "samples"
TIMEOUT_S = 300


LOG = "".join(f"step {i} | [Rank 0] memory (MB) | allocated: {100 + i}.5 | max allocated: {120 + i} | reserved: 128\n" for i in range(9))


def timeless(text):
    """The text without the seconds that JUnit gives for each test, which differ between two runs."""
    return re.sub(rb' time="[0-9.]+"', b"", text)


def small():
    """A snapshot that has every feature and is quick to read."""
    frames = [{"name": "forward", "filename": "/home/user/train.py", "line": 41},
              {"name": "void at::native<lambda at /home/user/k.cu>()", "filename": "/home/user/k.cu", "line": 7}]
    trace = []
    for i in range(12):
        trace.append({"action": "alloc", "addr": (i + 1) << 21, "size": 1000 + i, "stream": i % 2, "time_us": i, "frames": frames,
                      "user_metadata": "weights", "compile_context": "0/1"})
        if i % 3 == 0:
            trace.append({"action": "free_requested", "addr": (i + 1) << 21, "size": 1000 + i, "stream": 0, "time_us": i,
                          "frames": frames[:1]})
            trace.append({"action": "free_completed", "addr": (i + 1) << 21, "size": 1000 + i, "stream": 0, "time_us": i,
                          "frames": []})
    trace.append({"action": "oom", "addr": 0, "size": 1 << 30, "device_free": 5, "stream": 0, "time_us": 99, "frames": frames})
    block = {"address": 12 << 21, "size": 2048, "requested_size": 1011, "state": "active_allocated", "frames": frames}
    segment = {"device": 0, "address": 12 << 21, "total_size": 1 << 21, "allocated_size": 2048, "active_size": 2048,
               "requested_size": 1011, "stream": 1, "segment_type": "small", "segment_pool_id": (0, 0),
               "blocks": [block, {"address": (12 << 21) + 2048, "size": (1 << 21) - 2048, "requested_size": 0,
                                  "state": "inactive", "frames": []}]}
    settings = {"expandable_segments": True, "PYTORCH_CUDA_ALLOC_CONF": "a:b", "list": [1, 2.5, None, {"x": "y"}]}
    notes = [{"name": name, "stage": stage, "time_us": at, "device": 0}
             for name, stage, at in (("step", "START", 1), ("step", "END", 8))]
    return {"segments": [segment], "device_traces": [trace], "allocator_settings": settings, "external_annotations": notes}


def larger():
    """The same snapshot with one more allocation, for a difference."""
    snapshot = small()
    for event in snapshot["device_traces"][0]:
        event["size"] += 4096 * (event["action"] == "alloc")
    return snapshot


def later():
    """The next dump of the same process."""
    snapshot = small()
    for event in snapshot["device_traces"][0]:
        event["time_us"] += 200
    return snapshot


def replayable(nbytes=512):
    """A recording of PyTorch's allocator that the model can replay."""
    begin, size, trace = 1 << 30, 1 << 21, []
    frames = [{"name": "forward", "filename": "/home/user/train.py", "line": 41}]

    def note(action, address, size):
        trace.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": len(trace), "frames": frames})

    note("segment_alloc", begin, size)
    for i in range(8):
        note("alloc", begin + nbytes * i, nbytes)
    for i in (2, 5):
        note("free_requested", begin + nbytes * i, nbytes)
        note("free_completed", begin + nbytes * i, nbytes)
    blocks = [{"address": begin + nbytes * i, "size": nbytes, "requested_size": nbytes, "frames": frames,
               "state": "inactive" if i in (2, 5) else "active_allocated"} for i in range(8)]
    blocks.append({"address": begin + 8 * nbytes, "size": size - 8 * nbytes, "requested_size": 0, "frames": [], "state": "inactive"})
    segment = {"device": 0, "address": begin, "total_size": size, "allocated_size": 6 * nbytes,
               "active_size": 6 * nbytes, "requested_size": 6 * nbytes, "stream": 0, "segment_type": "small",
               "segment_pool_id": (0, 0), "blocks": blocks}
    return {"segments": [segment], "device_traces": [trace], "allocator_settings": {}, "external_annotations": []}


def torch_zip(data):
    """The file that torch.save writes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", data)
    return file.getvalue()


def torch_page(data):
    """The page that torch/cuda/_memory_viz.py writes."""
    files = json.dumps([{"name": "s.pickle", "base64": base64.b64encode(data).decode()}])
    return f"<!DOCTYPE html>\n<html><head></head><body><script>\nconst local_files = {files}\n</script></body></html>".encode()


def profile():
    """A profiler's trace with calls and memory events."""
    events = [{"ph": "X", "cat": cat, "name": name, "pid": 3, "tid": 7, "ts": at, "dur": 40}
              for cat, name, at in (("user_annotation", "ProfilerStep#1", 90), ("python_function", "train.py(41): forward", 95),
                                    ("cpu_op", "aten::relu", 99))]
    total = 0
    for i, nbytes in enumerate((512, 1024, -512, 4096, -1024, 2048)):
        total += nbytes
        arguments = {"Device Type": 1, "Device Id": 0, "Addr": 4096 * abs(nbytes), "Bytes": nbytes, "Total Allocated": total,
                     "Total Reserved": 1 << 20}
        events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 3, "tid": 7, "ts": 100 + i,
                       "args": arguments})
    return {"traceEvents": events}


def timeline():
    """The content that export_memory_timeline writes to a .raw.json."""
    return [[-1, 1, 1000, 0], [-1, 1, 300, 1], [5000, 2, 512, 4], [6000, 3, -512, 4], [6000, 3, 512, 5], [8000, 4, -700, 0]]


def coalesced():
    """The same export under another name."""
    return [[10, 10, 12, 15], [[0, 5, 0, 0, 0, 0, 0, 0, 9], [0, 5, 0, 0, 0, 7, 0, 0, 9], [0, 2, 3, 0, 0, 7, 0, 0, 9], [0, 2, 3] + [0] * 6]]


def inputs():
    """(name, bytes) of one input of every kind."""
    snapshot = pickle.dumps(small(), protocol=4)
    return {"s.pickle": snapshot, "s.pickle.gz": gzip.compress(snapshot), "s.pt": torch_zip(snapshot), "torch.html": torch_page(snapshot),
            "s.json": json.dumps(small()).encode(), "t.pickle": pickle.dumps(larger(), protocol=4),
            "u.pickle": pickle.dumps(later(), protocol=4), "v.pickle": pickle.dumps(replayable(1024), protocol=4), "w.pickle": pickle.dumps(replayable(), protocol=4),
            "trace.json": json.dumps(profile()).encode(), "timeline.json": json.dumps(timeline()).encode(),
            "coalesced.json": json.dumps(coalesced()).encode(), "run.log": LOG.encode()}


class Case(unittest.TestCase):
    program = STRATA

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strata-faults-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "in").mkdir()
        for name, content in inputs().items():
            (self.folder / "in" / name).write_bytes(content)

    def strata(self, *arguments, fault="", log=None, places=None, **options):
        environment = {**os.environ, "LC_ALL": "C"}
        environment.pop("CI", None)  # with CI set, check does not update a baseline
        if fault or log or places:
            environment.update(LD_PRELOAD=FAULTS, FAULT=fault)
        if log:
            environment["FAULT_LOG"] = str(log)
        if places:
            environment["FAULT_PLACES"] = str(places)
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, timeout=TIMEOUT_S, cwd=self.folder,
                              env=environment, **options)

    def calls(self, *arguments):
        """The calls of a good run, in order, and how often each kind was made."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        done = self.strata(*arguments, log=log)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.rsplit(" ", 1) for line in log.read_text().splitlines()]
        log.unlink()
        totals = {name[6:]: int(number) for name, number in lines if name.startswith("total ")}
        return [name for name, _ in lines if not name.startswith("total ")], totals

    def outputs(self, folder="out"):
        """Every file below `folder`, hidden ones too."""
        path = self.folder / folder
        return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if not file.is_dir()}

    def hidden(self, folder="out"):
        """Files and folders with temporary names."""
        return [str(path) for path in (self.folder / folder).rglob(".*")]

    def empty(self, folder="out"):
        shutil.rmtree(self.folder / folder, ignore_errors=True)
        (self.folder / folder).mkdir()


VERBS = {
    "report": ["report", "in/s.pickle", "-o", "out/x"],
    "markdown, filter": ["report", "--markdown", "in/s.pickle", "-o", "out/x", "--hide-internal"],
    "json of gzip": ["report", "--json", "--top=0", "in/s.pickle.gz", "-o", "out/x"],
    "report of json": ["report", "in/s.json", "-o", "out/x", "--group=stack"],
    "json of zip": ["report", "--json", "in/s.pt", "-o", "out/x"],
    "report of torch's page": ["report", "in/torch.html", "-o", "out/x"],
    "report of a trace": ["report", "--json", "in/trace.json", "-o", "out/x"],
    "html of a memory timeline": ["html", "in/timeline.json", "-o", "out/x"],
    "report of a memory timeline": ["report", "in/coalesced.json", "-o", "out/x"],
    "report of page": ["report", "--json", "in/page.html", "-o", "out/x"],
    "png": ["png", "in/s.pickle", "-o", "out/x", "--width=320", "--height=240"],
    "html": ["html", "in/s.pickle", "-o", "out/x", "--redact", "--title=x"],
    "trace_plot": ["trace_plot", "in/s.pickle", "-o", "out/x", "--filter=size:>1KiB"],
    "diff": ["diff", "in/s.pickle", "in/t.pickle", "--json", "-o", "out/x"],
    "picture of a diff": ["diff", "in/s.pickle", "in/t.pickle", "-o", "out/x.png", "--width=320", "--height=240"],
    "check": ["check", "--rule", "peak < 1TiB", "--baseline=out/x", "--update-baseline", "in/s.pickle"],
    "page of a diff": ["diff", "in/s.pickle", "in/t.pickle#at=5", "-o", "out/x.html"],
    "map": ["png", "in/s.pickle", "-o", "out/x", "--map", "--at=5", "--width=480", "--height=360"],
    "view in time": ["png", "in/s.pickle", "-o", "out/x", "--axis=time", "--from=2", "--color-by=category", "--capacity=80GiB", "--width=320",
                     "--height=240"],
    "html of several": ["html", "in/s.pickle", "in/u.pickle", "-o", "out/x", "--own=*/train.py"],
    "report of several": ["report", "--json", "in/s.pickle", "in/u.pickle", "-o", "out/x"],
    "report of a log": ["report", "in/run.log", "-o", "out/x"],
    "html of a log": ["html", "in/run.log", "-o", "out/x"],
    "png of a log": ["png", "in/run.log", "-o", "out/x", "--width=320", "--height=240"],
    "diff of several": ["diff", "in/s.pickle", "in/t.pickle", "in/u.pickle", "--markdown", "-o", "out/x"],
    "diff by steps": ["diff", "in/s.pickle", "in/t.pickle", "--align=annotation", "--redact", "-o", "out/x.txt"],
    "plan": ["plan", "--json", SAMPLES / "oom.pickle", "-o", "out/x"],
    "plan of a setting": ["plan", "in/w.pickle", "--json", "--set=expandable_segments=False", "-o", "out/x"],
    "plan, nearest": ["plan", "--markdown", "--gpu=1GiB", SAMPLES / "oom.pickle", "-o", "out/x"],
    "page of a plan": ["plan", SAMPLES / "oom.pickle", "-o", "out/x.html"],
    "plan together": ["plan", "--json", "--gpu=1GiB", "in/v.pickle", "in/w.pickle", "-o", "out/x"],
    "report, replayed beside": ["report", "--json", SAMPLES / "train.pickle", "-o", "out/x"],
}

# Runs that write to the standard output; most of them read the standard input.
STREAMS = {
    "report": ["report", "-"],
    "html": ["html", "-", "-o", "-"],
    "png": ["png", "-", "-o", "-", "--width=320", "--height=240"],
    "diff": ["diff", "-", "in/t.pickle"],
    "plan": ["plan", "-"],
    "check": ["check", "--rule", "peak < 1TiB", "--format=junit", "-"],
    "check against a baseline": ["check", "--rule", "peak < baseline + 5%", "--baseline=in/baseline", "--format=json", "-"],
    "png of a trace": ["png", "in/trace.json", "-o", "-", "--width=320", "--height=240"],
}


class Verbs(Case):
    """A run of each verb, which writes one file: out/x."""

    def setUp(self):
        super().setUp()
        self.empty()
        done = self.strata("html", "in/s.pickle", "-o", "in/page.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = self.strata("html", SAMPLES / "train.pickle", "-o", "-").stdout
        verbs = {**VERBS, "html, merged": ["html", SAMPLES / "train.pickle", "-o", "out/x", f"--max-html-size={len(page) - 2000}"]}
        self.verbs = {name: words for name, words in verbs.items() if re.search(os.environ.get("FAULTS_ONLY", ""), name)}

    def check(self, words, fault, good):
        """Runs with the fault, checks the outcome, and returns whether the run failed."""
        self.empty()
        done = self.strata(*words, fault=fault)
        got = self.outputs()
        self.assertIn(done.returncode, (0, 1), (fault, done.stderr))
        if done.returncode == 0:
            # assertEqual would take forever to print how two pages differ.
            self.assertTrue(got == good, f"{fault}: success, and other content")
        else:
            self.assertEqual(list(got), [], f"{fault}: failure, and files")
            self.assertRegex(done.stderr, rb"^strata: ", fault)
        return done.returncode


class Streams(Case):
    """The same for streams: the bytes before a failure are the beginning of a good run's output."""

    def setUp(self):
        super().setUp()
        done = self.flow(["check", "--rule", "peak < 1TiB", "--baseline=in/baseline", "--update-baseline", "-"])
        self.assertEqual(done.returncode, 0, done.stderr)

    def flow(self, words, **options):
        with open(self.folder / "in" / "s.pickle", "rb") as file:
            return self.strata(*words, stdin=file, **options)

    def check(self, words, fault, good):
        """Runs with the fault, checks the outcome, and returns whether the run failed."""
        done = self.flow(words, fault=fault)
        self.assertIn(done.returncode, (0, 1), (fault, done.stderr))
        if done.returncode == 0:
            self.assertTrue(timeless(done.stdout) == timeless(good), f"{fault}: success, and other content")
            return 0
        if words[0] != "check":  # check reports an unreadable file as a failed test
            self.assertTrue(good.startswith(done.stdout), f"{fault}: a failure's output is none of a good run")
        self.assertRegex(done.stderr, rb"strata: ", fault)
        return 1


class Batch(Case):
    """A batch of files: each worker counts its own calls, so the same call fails in all of them."""

    words = ["batch", "dumps", "-o", "out", "-j1", "--png", "--width=320", "--height=240"]

    def setUp(self):
        super().setUp()
        (self.folder / "dumps").mkdir()
        shutil.copy(self.folder / "in" / "s.pickle", self.folder / "dumps")
        # A batch leaves out files that are no recordings.
        shutil.copy(self.folder / "in" / "run.log", self.folder / "dumps" / "notes.txt")
        shutil.copy(self.folder / "in" / "t.pickle", self.folder / "dumps" / "rank1.pickle")

    def begin(self, n_outputs=9):
        """Runs without a fault and keeps the outputs."""
        self.empty()
        self.totals = self.calls(*self.words)[1]
        self.good = self.outputs()
        self.assertEqual(len(self.good), n_outputs, list(self.good))

    def besides(self, summary):
        """The contents of an index besides its rows."""
        return [finding.get("diff") for finding in summary["findings"]]

    def judge(self, done, fault):
        """Checks the outcome of a run with the fault; returns whether the run failed."""
        got = self.outputs()
        self.assertIn(done.returncode, (0, 1, 4), (fault, done.stderr))
        self.assertEqual(self.hidden(), [], fault)
        if done.returncode == 0:
            self.assertTrue(got == self.good, f"{fault}: success, and other content")
            return 0
        self.assertRegex(done.stderr, rb"strata: .*(memory|cannot)", fault)
        for name, content in got.items():
            if name in self.good and not name.startswith(("index", "summary", "shards")):
                self.assertTrue(content == self.good[name], f"{fault}: {name}")
        if done.returncode == 4:
            summary = json.loads(got["summary.json"])
            if not summary["failed"]:  # the index lacks something besides its rows, and a message said so
                whole = json.loads(self.good["summary.json"])
                rows, rows_wanted = ([{**row, "diff": None} for row in those["rows"]] for those in (summary, whole))
                self.assertEqual(rows, rows_wanted, fault)
                self.assertNotEqual(self.besides(summary), self.besides(whole), f"{fault}: a failure, and all is there")
            for row in summary["rows"]:
                for output in ("page", "sidecar", *(["png"] if "--png" in self.words else [])):
                    self.assertIn(row[output], list(got), fault)
        return 1

    def check(self, fault):
        self.empty()
        return self.judge(self.strata(*self.words, fault=fault), fault)
