"""Shared by the tests of JSON inputs: files that the program reads and writes."""

import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
STATE_DUMP = os.environ.get("STATE_DUMP", str(ROOT / "build" / "release" / "tests" / "state_dump"))
SAMPLES = ROOT / "samples"
CORPUS = os.environ.get("STRATA_CORPUS")
TIMEOUT_S = 120


class JsonTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, content, name="input.json"):
        path = self.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def run_strata(self, *arguments):
        return subprocess.run([STRATA, *map(str, arguments)], capture_output=True, timeout=TIMEOUT_S)

    def report(self, path, *options):
        done = self.run_strata("report", "--json", "--top", "0", *options, path)
        self.assertEqual(0, done.returncode, done.stderr.decode(errors="replace"))
        return json.loads(done.stdout)

    def device(self, report, ordinal):
        return next(device for device in report["devices"] if device["device"] == ordinal)

    def codes(self, report):
        return {diagnostic["code"] for diagnostic in report["diagnostics"]}

    def refused(self, content, *words):
        """Expects exit code 1 and one line that says why."""
        done = self.run_strata("report", self.write(content))
        line = done.stderr.decode()
        self.assertEqual(1, done.returncode, line)
        self.assertEqual(1, line.count("\n"), line)
        self.assertEqual(b"", done.stdout)
        for word in words:
            self.assertIn(word, line)
        return line

    def allocations_at(self, path, ordinal, events):
        """For each event, the list of (address, size) of live allocations."""
        done = subprocess.run([STATE_DUMP, str(path), str(ordinal), *map(str, events)], capture_output=True, timeout=TIMEOUT_S)
        self.assertEqual(0, done.returncode, done.stderr.decode(errors="replace"))
        result = {}
        for line in done.stdout.decode().splitlines():
            words = line.split()
            if words[0] == "event":
                allocations = result[int(words[1])] = []
            else:
                allocations.append((int(words[0], 0), int(words[1])))
        return [result[event] for event in events]

    def sample(self, n_events, count=200):
        rng = random.Random(n_events)
        return sorted({-1, 0, n_events - 1, *(rng.randrange(-1, n_events) for _ in range(count))})
