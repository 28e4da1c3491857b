#!/usr/bin/env python3
"""Without the packages that only tests need, CMake configures the program, turns those tests off and says so."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT_S = 300
NO_CMOCKA = """#!/bin/sh
for word; do
    [ "$word" != cmocka ] || exit 1
done
exec pkg-config "$@"
"""


def run(*words, **more):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=TIMEOUT_S, env={**os.environ, **more})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Configure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="strata-configure-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def configure(self, name, *words, **more):
        """The names of the tests, and the messages about tests that are off."""
        build = self.folder / name
        told = run("cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DSTRATA_TESTS=ON", *words, **more)
        off = {name.strip(): reason for names, reason in re.findall(r"-- Tests off: (.+), because (.+)", told) for name in names.split(", ")}
        return set(re.findall(r"Test +#\d+: (\S+)", run("ctest", "--test-dir", build, "-N"))), off

    def test_every_test_runs_or_is_reported_as_off(self):
        whole, off = self.configure("whole")
        if off:
            self.skipTest(f"off already: {', '.join(off)}")
        lean, off = self.configure("lean", "-DSTRATA_PYTHON=", "-DSTRATA_NODE=", PKG_CONFIG=str(self.pkg_config()))
        gone = {name if name in off else name.split("/")[0] for name in whole - lean}
        self.assertEqual(gone, set(off))
        self.assertLess(lean, whole)
        self.assertTrue(lean and all(name.startswith("fuzz_seeds/") for name in lean), lean)
        for name, what in (("unit", "cmocka"), ("batch", "python3"), ("modules", "python3"), ("faults_memory", "python3"), ("page", "Node.js")):
            self.assertIn(what, off[name])

    def pkg_config(self):
        path = self.folder / "pkg-config"
        path.write_text(NO_CMOCKA)
        path.chmod(0o755)
        return path


if __name__ == "__main__":
    unittest.main()
