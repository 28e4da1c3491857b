"""Runs every verb under valgrind: no branch and no written byte may depend on uninitialised memory, which the sanitizers of the other
build do not detect. This tests the optimised build, because compilers treat undefined branches differently there."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
STRATA = pathlib.Path(os.environ.get("STRATA", HERE.parent / "build" / "release" / "strata")).resolve()
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--num-callers=16"]
RULES = {"skip_steps": 1, "rules": ["peak < 100GiB", "growth = 0", "gap < 40GiB", "finding.leak = none", "category.gradient < 1GiB"]}
EVERY = os.environ.get("STRATA_TEST_ALL") == "ON"

# The samples that differ most: out of memory, pools, streams, names.
CHOSEN = sorted(SAMPLES.glob("*.pickle")) if EVERY else [
    SAMPLES / f"{name}.pickle" for name in ("oom", "private_pools", "streams", "hostile_names")]


@unittest.skipUnless(shutil.which("valgrind"), "skipped: valgrind is not there")
class Uninitialised(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_one(self, *command):
        return subprocess.run([*VALGRIND, *command], cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=1800)

    def assert_clean(self, *arguments):
        result = self.run_one(STRATA, *arguments)
        found = [line for line in result.stderr.splitlines() if line.startswith("==")]
        self.assertEqual((found[:20], result.returncode in (0, 3)), ([], True), (arguments, result.returncode, result.stderr[-500:]))

    def test_such_a_byte_is_found(self):
        source = self.folder / "read.c"
        source.write_text("#include <stdlib.h>\nint main(void) { volatile char *p = malloc(16); return p[3] == 7 ? 1 : 0; }\n")
        subprocess.run(["cc", "-O0", source, "-o", self.folder / "read"], check=True)
        self.assertEqual(self.run_one(self.folder / "read").returncode, 99)

    def test_reports_pictures_and_pages(self):
        outputs = (["report"], ["report", "--json"], ["png", "-f", "-o", "a.png"], ["png", "--map", "-f", "-o", "a.png"], ["html", "-f", "-o", "a.html"])
        for i, sample in enumerate(CHOSEN):
            for k, arguments in enumerate(outputs):
                # Every second output, the others with the next sample; the first sample, which has the most, gives
                # three.
                if EVERY or (i + k) % 2 == 0:
                    with self.subTest(sample=sample.name, arguments=arguments):
                        self.assert_clean(*arguments, sample)

    def test_verbs_that_judge(self):
        (self.folder / "rules.json").write_text(json.dumps(RULES))
        leak, healthy = SAMPLES / "leak_zero_grad.pickle", SAMPLES / "leak_zero_grad_healthy.pickle"
        for arguments in (["diff", healthy, leak], ["diff", "-f", "-o", "a.html", healthy, leak], ["diff", "-f", "-o", "a.png", healthy, leak],
                          ["plan", "--set", "max_split_size_mb:128", leak], ["plan", SAMPLES / "oom.pickle"],
                          ["plan", "-f", "-o", "a.html", SAMPLES / "oom.pickle"], ["check", "--config", "rules.json", leak]):
            with self.subTest(arguments=arguments[0]):
                self.assert_clean(*arguments)


if __name__ == "__main__":
    unittest.main()
