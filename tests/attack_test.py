#!/usr/bin/env python3
"""Hostile files (attack_files.py) and findings of the fuzzers, through every verb. Each run must end, with an answer or with one
line that says why there is none. The build with sanitizers catches what the output does not show.

Environment: STRATA, path of the program. attack_test.py all takes every file; without that, a tenth of them, the same each time.
"""

import json
import os
import pathlib
import pickle
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import attack_files  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
SEEDS = ROOT / "tests" / "fuzz" / "seeds"
SANITIZED = "asan" in STRATA
ALL = "all" in sys.argv[1:]
PART = 20  # without `all`, every 20th file is taken
TIMEOUT_S = 180
MEMORY_NBYTES = 2 << 30

# Command lines: AT stands for the hostile file, GOOD for a healthy one.
VERBS = {
    "report": ["report", "AT"],
    "markdown": ["report", "--markdown", "AT", "--top=0", "--group=stack"],
    "json": ["report", "--json", "AT"],
    "filtered": ["report", "--json", "AT", "--filter", "size:>1KiB alive:peak /for/", "--redact=all"],
    "png": ["png", "AT", "-o", "x.png", "--width=480", "--height=320", "--color-by=category"],
    "map": ["png", "AT", "-o", "x.png", "--width=480", "--height=360", "--map", "--at=peak"],
    "html": ["html", "AT", "-o", "x.html", "--max-html-size=1MiB", "--redact"],
    "trace_plot": ["trace_plot", "AT", "-o", "x.html"],
    "series": ["html", "GOOD", "AT", "-o", "x.html"],
    "diff": ["diff", "AT", "GOOD", "--json"],
    "page of a diff": ["diff", "GOOD", "AT", "-o", "x.html"],
    "whatif": ["whatif", "AT", "--json", "--gpu", "1GiB"],
    "plan": ["plan", "AT", "--json", "--gpu", "1GiB"],
    "page of a plan": ["plan", "AT", "-o", "x.html"],
    "check": ["check", "--format=json", "--rule", "peak < 1GiB", "--rule", "growth < 1MiB per step", "--rule", "trust = complete", "AT"],
}


def seeds():
    """The seeds and findings of the fuzzers that read whole files."""
    for target in ("pickle", "json", "container", "log"):
        for path in sorted((SEEDS / target).iterdir()):
            yield f"{target}_{path.name}", path.read_bytes()


def files():
    every = [*attack_files.attacks(), *seeds()]
    return every if ALL else every[::PART]


def limited():
    if not SANITIZED:  # sanitizers reserve more than any limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_NBYTES, MEMORY_NBYTES))


class Attacks(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strata-attack-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "good").write_bytes(pickle.dumps(attack_files.snapshot(attack_files.chain(20)), 4))

    def strata(self, *words):
        try:
            return subprocess.run([STRATA, *words], capture_output=True, cwd=self.folder, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL,
                                  preexec_fn=limited, env={**os.environ, "LC_ALL": "C"})
        except subprocess.TimeoutExpired:
            return self.fail("does not end")

    def told(self, done, codes):
        """Standard error holds only lines of ours without control characters; no signal and no sanitizer's report."""
        text = done.stderr.decode()
        self.assertIn(done.returncode, codes, text[-2000:])
        self.assertRegex(text, r"\A(strata: [^\n]*\n)*\Z")
        self.assertIsNone(re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text), text)
        if done.returncode == 1:
            self.assertNotEqual(text, "")

    def test_every_verb(self):
        for name, data in files():
            (self.folder / "at").write_bytes(data)
            codes = {}
            for verb, words in VERBS.items():
                with self.subTest(file=name, verb=verb):
                    done = self.strata(*(word.replace("AT", "at").replace("GOOD", "good") for word in words))
                    self.told(done, (0, 1, 3) if verb == "check" else (0, 1))
                    codes[verb] = done.returncode
                    if "--json" in words or "--format=json" in words:
                        self.assertTrue(done.returncode == 1 or json.loads(done.stdout)["schema"] in (1, 2, 3))
                    for made in self.folder.glob("x.*"):
                        self.assertEqual(done.returncode, 0)
                        made.unlink()
            # A recording with nothing to draw gives no picture.
            for verbs in (("report", "markdown", "json", "filtered"), ("png", "map", "html", "trace_plot")):
                with self.subTest(file=name, verbs=verbs):
                    self.assertEqual(len({codes.get(verb) for verb in verbs}), 1, codes)

    def test_batch(self):
        """All hostile files in one folder with a healthy one."""
        dumps = self.folder / "dumps"
        dumps.mkdir()
        for number, (name, data) in enumerate(files()):
            (dumps / f"{name}_rank{number + 1}.pickle").write_bytes(data)
        shutil.copy(self.folder / "good", dumps / "rank0.pickle")
        done = self.strata("batch", "dumps", "-o", "out", "--png", "-j2", "--width=320", "--height=240", "--max-memory=1GiB")
        self.told(done, (4,))
        summary = json.loads((self.folder / "out" / "summary.json").read_text())
        self.assertIn("rank0.pickle", [row["input"] for row in summary["rows"]])
        self.assertNotRegex(done.stderr, b"signal")
        for row in summary["rows"]:
            self.assertTrue((self.folder / "out" / row["page"]).read_bytes().rstrip().endswith(b"</html>"))
        again = self.strata("batch", "dumps", "-o", "out", "--png", "-j2", "--width=320", "--height=240", "--max-memory=1GiB", "--resume")
        self.told(again, (4,))
        self.assertEqual(json.loads((self.folder / "out" / "summary.json").read_text())["rows"], summary["rows"])


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "all"])
