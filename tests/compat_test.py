#!/usr/bin/env python3
"""Pages of older versions stay readable, and their sidecars are not read, but replaced only with -f.

tests/compat/VERSION/ holds the files that this version made from samples/oom.pickle (a copy named rank0.pickle).
Environment: STRATA, path of the program (default: build/release/strata).
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
SAMPLE = ROOT / "samples" / "oom.pickle"

sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
from fingerprint import xxh128  # noqa: E402


class Case(unittest.TestCase):
    old_files: pathlib.Path  # of a version
    version: str

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strata-compat-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def expect(self, code, *arguments):
        done = subprocess.run([STRATA, *map(str, arguments)], capture_output=True, cwd=self.folder, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def report(self, path):
        return json.loads(self.expect(0, "report", "--json", "--top=0", path).stdout)


class Page(Case):
    def test_report_is_the_sample_s(self):
        old, new = self.report(self.old_files / "oom.html"), self.report(SAMPLE)
        self.assertEqual(old.pop("file"), "oom.html")
        self.assertEqual(old.pop("fingerprint"), xxh128((self.old_files / "oom.html").read_bytes()))
        del new["file"], new["fingerprint"]
        self.assertTrue(new["recording_id"].startswith("xxh128:"))  # equal, too
        self.assertEqual(old, new)

    def test_every_verb_reads_it(self):
        for verb, ending in (("html", "html"), ("png", "png"), ("report", "txt")):
            for path, out in ((self.old_files / "oom.html", f"old.{ending}"), (SAMPLE, f"new.{ending}")):
                self.expect(0, verb, path, "-q", "-o", out)
        self.assertEqual(self.report("old.html")["devices"], self.report("new.html")["devices"])
        pixels = [(self.folder / f"{name}.png").read_bytes()[:8] for name in ("old", "new")]
        self.assertEqual(pixels, [b"\x89PNG\r\n\x1a\n"] * 2)
        # The first lines name the file and its fingerprint.
        old, new = [(self.folder / f"{name}.txt").read_text("utf-8").split("\n")[4:] for name in ("old", "new")]
        self.assertEqual(old, new)

    def test_batch_reads_it(self):
        (self.folder / "dumps").mkdir()
        shutil.copy(self.old_files / "oom.html", self.folder / "dumps" / "rank0.html")
        self.expect(0, "batch", "dumps/rank0.html", "-o", "out")
        sidecar = json.loads((self.folder / "out" / "rank0.strata.json").read_text())
        self.assertEqual(sidecar["devices"], json.loads(self.expect(0, "report", "--json", SAMPLE).stdout)["devices"])


class Sidecar(Case):
    """The copy gets the size and the time of change that the sidecar has noted."""

    def setUp(self):
        super().setUp()
        self.old = json.loads((self.old_files / "oom.strata.json").read_text())
        (self.folder / "dumps").mkdir()
        (self.folder / "out").mkdir()
        copy = self.folder / "dumps" / "rank0.pickle"
        shutil.copy(SAMPLE, copy)
        self.assertEqual(copy.stat().st_size, self.old["batch"]["size"])
        time_ns = int(self.old["batch"]["mtime_ns"])
        os.utime(copy, ns=(time_ns, time_ns))
        shutil.copy(self.old_files / "oom.strata.json", self.folder / "out" / "rank0.strata.json")
        shutil.copy(self.old_files / "oom.html", self.folder / "out" / "rank0.html")

    def test_resume_converts_it_again_and_then_no_more(self):
        words = ["batch", "dumps", "-o", "out", "--resume"]
        self.assertIn(b"-f replaces it", self.expect(4, *words).stderr)  # no list says who wrote it
        self.assertNotIn(b"up to date", self.expect(0, *words, "-f").stderr)
        sidecar = json.loads((self.folder / "out" / "rank0.strata.json").read_text())
        self.assertNotIn("sha256", sidecar)
        self.assertEqual(sidecar["fingerprint"], xxh128(SAMPLE.read_bytes()))
        self.assertIn(b"1 file up to date", self.expect(0, *words).stderr)


def load_tests(loader, _tests, _pattern):
    """The cases again, with the files of each version."""
    suite = unittest.TestSuite()
    for files in sorted((HERE / "compat").iterdir()):
        version = files.name.removeprefix("v")
        for case in (Page, Sidecar):
            own = type(f"{case.__name__} of {version}", (case,), {"old_files": files, "version": version})
            suite.addTests(loader.loadTestsFromTestCase(own))
    return suite


if __name__ == "__main__":
    unittest.main()
