"""Shared by the tests of the command line: writes snapshots with Python's own pickle and runs the program in a folder
of its own.

Environment: STRATA, path of the program (default: build/release/strata).
"""

import array
import contextlib
import fcntl
import json
import os
import pathlib
import pickle
import subprocess
import tempfile
import termios
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
SAMPLES = ROOT / "samples"
MIB = 1 << 20
TIMEOUT_S = 120


def frame(name, filename="/home/user/train.py", line=1):
    return {"name": name, "filename": filename, "line": line}


def events_of(sizes, time_us=1_700_000_000_000_000, frames=None, address=0x7F0000000000):
    """Each size is allocated; then all are freed in the same order."""
    frames = frames or [frame("forward", line=41), frame("<module>", line=7)]
    trace = []
    for i, size in enumerate(sizes):
        where = address + i * (1 << 36)
        trace.append({"action": "alloc", "addr": where, "size": size, "frames": frames})
    for i, size in enumerate(sizes):
        where = address + i * (1 << 36)
        trace.append({"action": "free_requested", "addr": where, "size": size, "frames": frames})
        trace.append({"action": "free_completed", "addr": where, "size": size, "frames": frames})
    for i, event in enumerate(trace):
        event.update(stream=0, time_us=time_us + i * 1000)
    return trace


def snapshot(*device_traces):
    return {"segments": [], "device_traces": list(device_traces), "allocator_settings": {}, "external_annotations": []}


def long_snapshot(n_events):
    """Many events, so that reading takes a while."""
    frames = [[frame(f"layer{i}", line=i + 1)] for i in range(50)]
    trace = []
    for i in range(n_events // 2):
        address = 0x7F0000000000 + (i % 1000) * MIB
        trace.append({"action": "alloc", "addr": address, "size": 4096 + i % 7, "stream": 0, "time_us": i,
                      "frames": frames[i % 50], "compile_context": f"N/A {i}"})
        trace.append({"action": "free_completed", "addr": address, "size": 4096 + i % 7, "stream": 0, "time_us": i,
                      "frames": frames[i % 50], "compile_context": f"N/A {i}"})
    return snapshot(trace)


class Case(unittest.TestCase):
    """A test in an empty directory, which is also the working directory of the program."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def write(self, name, content):
        """Writes a file: bytes as they are, anything else pickled."""
        data = content if isinstance(content, bytes) else pickle.dumps(content, protocol=4)
        (self.path / name).write_bytes(data)
        return name

    def files(self):
        return sorted(entry.name for entry in self.path.iterdir())

    def start(self, *words, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen([STRATA, *words], cwd=self.path, **options)
        self.addCleanup(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def feed(self, process, data):
        """Writes to the standard input, and waits until the process has read it all and needs more to go on."""
        process.stdin.write(data)
        process.stdin.flush()
        waiting = array.array("i", [1])
        while (waiting[0] or self.at_work(process)) and process.poll() is None:
            time.sleep(0.01)
            fcntl.ioctl(process.stdin, termios.FIONREAD, waiting)

    @staticmethod
    def at_work(process):
        """Is a thread of the process awake? One thread reads, another does everything else."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread may end meanwhile
            tasks = pathlib.Path(f"/proc/{process.pid}/task").glob("*/stat")
            return any(task.read_text().rpartition(")")[2].split()[0] != "S" for task in tasks)
        return True

    def run_strata(self, *words, stdin=None, **options):
        options.setdefault("stdout", subprocess.PIPE)
        result = subprocess.run([STRATA, *words], cwd=self.path, input=stdin, stderr=subprocess.PIPE,
                                timeout=TIMEOUT_S, **({} if stdin is not None else {"stdin": subprocess.DEVNULL}),
                                **options)
        return result

    def expect(self, code, *words, says=None, **options):
        """Runs the program; checks the exit code, and that standard error matches `says`."""
        result = self.run_strata(*words, **options)
        talk = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, code, f"{words}: {talk}")
        if says is not None:
            self.assertRegex(talk, says)
        return result

    def report(self, *words, **options):
        return json.loads(self.expect(0, "report", "--json", *words, **options).stdout)
