"""What the tests of strata batch share: folders of small snapshots, and the program run on them.

Environment: STRATA, path of the program (default: build/release/strata).
"""

import functools
import json
import os
import pathlib
import pickle
import shutil
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
    """Ours without what a scheduler may have set."""
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

    def put(self, name, data=None):
        path = self.dumps / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tiny() if data is None else data)
        os.utime(path, ns=(10**18, 10**18))
        return path

    def run_batch(self, *arguments, code=0, out="out", **options):
        done = batch(self.dumps, "-o", self.folder / out, *arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done
