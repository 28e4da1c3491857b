"""Shared by the tests of inputs: a sample in every encoding, and the program run on files of a folder."""

import functools
import io
import json
import os
import pathlib
import pickle
import subprocess
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
STATE_DUMP = os.environ.get("STATE_DUMP", str(ROOT / "build" / "release" / "tests" / "state_dump"))
CORPUS = os.environ.get("STRATA_CORPUS")
TIMEOUT_S = 120
LESS = 10 if "asan" in STRATA else 1  # with sanitizers, large inputs have a tenth of their size
MIB = 1 << 20


@functools.cache
def starts_within(nbytes):
    return subprocess.run(["sh", "-c", f'ulimit -v {nbytes >> 10}; exec "$@"', "sh", STRATA, "--version"], capture_output=True).returncode == 0


class InputsTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, content, name="input"):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def run_strata(self, *arguments, **keywords):
        return subprocess.run([STRATA, *map(str, arguments)], capture_output=True, timeout=TIMEOUT_S, **keywords)

    def run_within(self, nbytes, *arguments, **keywords):
        """Runs the program with this much address space; without a limit under sanitizers, which reserve more."""
        shell = f'ulimit -v {nbytes >> 10}; exec "$@"' if starts_within(nbytes) else 'exec "$@"'
        command = ["sh", "-c", shell, "sh", STRATA, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, **keywords)

    def report(self, path, **keywords):
        done = self.run_strata("report", "--json", "--top", "0", path, **keywords)
        self.assertEqual(0, done.returncode, done.stderr.decode(errors="replace"))
        return json.loads(done.stdout)

    def refused(self, path, text, *options, **keywords):
        done = self.run_strata("report", *options, path, **keywords)
        self.assertEqual(1, done.returncode)
        self.assertEqual(b"", done.stdout)
        self.assertIn(text, done.stderr.decode(errors="replace"))

    def codes(self, report):
        return [diagnostic["code"] for diagnostic in report["diagnostics"]]


class Unseekable(io.RawIOBase):
    """A stream that cannot seek, so that zipfile writes sizes after the data."""

    def __init__(self):
        self.content = io.BytesIO()

    def writable(self):
        return True

    def write(self, data):
        return self.content.write(data)


def torch_zip(data, method, streamed):
    file = Unseekable() if streamed else io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/version", "3\n")
    return (file.content if streamed else file).getvalue()


def traces(*events, **more):
    return pickle.dumps({"segments": [], "device_traces": [list(events)], **more}, protocol=4)


def alloc(address, size, **more):
    return {"action": "alloc", "addr": address, "size": size, "stream": 0, **more}
