"""Shared by the tests of strata batch: writes folders of small snapshots and runs the program on them.

Environment: STRATA, path of the program (default: build/release/strata).
"""

import contextlib
import functools
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
TIMEOUT_S = 300
MIB = 1 << 20

SCHEDULERS = ("OMPI_", "PMI_", "PMIX_", "SLURM_", "JOB_COMPLETION", "RANK", "WORLD_SIZE")


def environment(**more):
    """This process's environment without variables that a scheduler may have set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SCHEDULERS)}
    return {**kept, **more}


def strata(*arguments, env=None, **options):
    return subprocess.run([STRATA, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          timeout=TIMEOUT_S, env=env or environment(), **options)


def batch(*arguments, **options):
    return strata("batch", *arguments, **options)


def tiny(sizes=(MIB,)):
    """A snapshot of a few allocations, quick to write and to read."""
    frames = [{"name": "forward", "filename": "/home/user/train.py", "line": 41}]
    trace = [{"action": "alloc", "addr": 0x7F0000000000 + (i << 32), "size": size, "stream": 0, "time_us": i,
              "frames": frames} for i, size in enumerate(sizes)]
    return pickle.dumps({"segments": [], "device_traces": [trace]})


@functools.lru_cache
def long(n_events):
    """A snapshot that takes a while to convert."""
    frames = [[{"name": f"layer{i}", "filename": "model.py", "line": i + 1}] for i in range(50)]
    trace = []
    for i in range(n_events // 2):
        event = {"addr": 0x7F0000000000 + (i % 1000) * MIB, "size": 4096 + i % 7, "stream": 0, "time_us": i,
                 "frames": frames[i % 50]}
        trace += [{"action": "alloc", **event}, {"action": "free_completed", **event}]
    return pickle.dumps({"segments": [], "device_traces": [trace]})


def contents(folder, without=("shards",)):
    """Every file below a folder with its bytes; hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.relative_to(folder).parts[0] not in without}


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def children(pid):
    """Processes whose parent is `pid`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(entry.name))
        except (OSError, IndexError):
            pass
    return found


def state_of(pid):
    """The state of a process: 'R' running, 'S' asleep, 'T' stopped, 'Z' ended; None: it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def reads(pid, path):
    try:
        return any(os.readlink(entry) == str(path) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def stop_reader(process, path):
    """Stops the batch's worker that reads the file and returns its id; None: the batch ended before one was found."""
    while process.poll() is None:
        for worker in children(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGSTOP)
                until(lambda: state_of(worker) in ("T", "Z", None), "a stop")
                if state_of(worker) == "T" and reads(worker, path):
                    return worker
                os.kill(worker, signal.SIGCONT)
    return None


def until(probe, what):
    for _ in range(6000):
        answer = probe()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"did not happen: {what}")


class Folder(unittest.TestCase):
    """A fresh folder for each test, with `dumps` for the inputs."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strata-batch-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.dumps = self.folder / "dumps"
        self.dumps.mkdir()

    def put(self, name, data=None, second=0):
        path = self.dumps / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tiny() if data is None else data)
        os.utime(path, ns=(10**18, 10**18 + second * 10**9))
        return path

    def run_batch(self, *arguments, code=0, out="out", **options):
        done = batch(self.dumps, "-o", self.folder / out, *arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def start(self, *arguments):
        process = subprocess.Popen([STRATA, "batch", str(self.dumps), "-o", str(self.folder / "out"), *arguments],
                                   stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def start_and_stop(self, name, *arguments):
        """Starts a batch and stops its worker in the middle of the file `name`. If the worker is too quick, tries again
        with a longer file."""
        for doubled in range(8):
            path = self.put(name, long(300_000 << doubled))
            process = self.start(*arguments)
            worker = stop_reader(process, path)
            if worker is not None:
                return process, worker
            shutil.rmtree(self.folder / "out", ignore_errors=True)
        raise AssertionError("no worker was met at work")
