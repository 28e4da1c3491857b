#!/usr/bin/env python3
"""Things that people type by habit: words of a filter, packed files, the width and colour of text.

    STRATA=path/to/strata habits_test.py
"""

import csv
import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import unittest
from xml.etree import ElementTree

sys.dont_write_bytecode = True
from cli_case import SAMPLES, Case  # noqa: E402

OOM = str(SAMPLES / "oom.pickle")
TRAIN = str(SAMPLES / "train.pickle")
ESCAPE = re.compile(r"\033\[[0-9;]*m")


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "CI")}
    return {**kept, **more}


class Endings(Case):
    def test_nobody_writes_that(self):
        for verb in ("html", "png", "report", "plan", "export"):
            more = ("--to", "csv") if verb == "export" else ()
            for name in ("a.svg", "a.pdf", "a.jpg", "a.html.gz"):
                self.expect(2, verb, OOM, "-o", name, *more, says="is the name of an? .*, which Strata does not write")
        self.expect(2, OOM, "-o", "a.svg", says="which Strata does not write")
        self.assertEqual([], self.files())

    def test_tables_are_no_pages(self):
        self.expect(2, "export", OOM, "--to", "csv", "-o", "a.html", says="strata export does not write that")
        self.expect(2, "export", OOM, "--to", "csv", "-o", "a.sqlite", says="the ending says sqlite")
        self.assertEqual([], self.files())
        self.expect(0, "export", OOM, "--to", "folded", "-o", "a.txt")


class Filters(Case):
    def test_unknown_words(self):
        for words, says in (("categry:activation", 'has no such key; did you mean "category:"'),
                            ("category:activatoin", 'did you mean "category:activation"'),
                            ("category:colour", "they are .*gradient, "),
                            ("sise:>1MiB", 'has no such key; did you mean "size:"'),
                            ("colour:red", "has no such key; they are size, age, .*layer and block"),
                            ("alive:peek", "neither alive:peak nor alive:end"),
                            ("phase:bakward", 'did you mean "phase:backward"')):
            for verb in ("report", "png", "html", "check"):
                more = ("--rule", "peak < 1TiB") if verb == "check" else ("-o", "out")
                self.expect(2, verb, TRAIN, "--filter", words, *(more if verb != "report" else ()), says=says)
        self.assertEqual([], self.files())

    def test_a_word_without_a_key_is_a_text(self):
        for words in ("at::native", '"categry:activation"', "attention.py:53"):
            self.expect(0, "report", TRAIN, "--filter", words)

    def test_nothing_is_left(self):
        for words in ("file:nowhere", "size:>100TiB", "phase:warm_up_of_sorts", "stream:99"):
            for verb, output in (("report", "-"), ("html", "a.html"), ("png", "a.png"), ("export", "a.csv")):
                self.expect(0, verb, TRAIN, "-f", "-o", output, "--filter", words, says="leaves nothing")
        self.expect(0, "diff", TRAIN, OOM, "--filter", "file:nowhere", says="(?s)leaves nothing.*leaves nothing")
        for words in ("phase:forward", "category:gradient", "size:>1MiB"):
            talk = self.expect(0, "report", TRAIN, "--filter", words).stderr.decode()
            self.assertNotIn("leaves nothing", talk)


class Packed(Case):
    """Recordings packed with zstd or xz give the same answers; Python's lzma and zstd(1) pack them."""

    def packed(self):
        data = (SAMPLES / "oom.pickle").read_bytes()
        half = len(data) // 2
        yield "xz", lzma.compress(data)
        yield "xz", lzma.compress(data[:half], preset=0) + bytes(8) + lzma.compress(data[half:])
        if shutil.which("zstd") is None:
            print("skipped: zstd is missing")
            return
        pack = lambda *words: subprocess.run(["zstd", "-qc", *words], input=data, capture_output=True, check=True).stdout
        yield "zst", pack("-19", "--check")
        yield "zst", b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + pack("-1") + b"and what follows is ignored"

    def test_same_recording(self):
        plain = self.report(OOM)
        for ending, data in self.packed():
            self.write("dump.pickle." + ending, data)
            again = self.report("dump.pickle." + ending)
            for name in ("recording_id", "devices"):
                self.assertEqual(plain[name], again[name])
            self.expect(0, "report", "-", stdin=data)
            self.expect(0, "dump.pickle." + ending, "-f", says="dump.html")
        gzipped = gzip.compress(lzma.compress((SAMPLES / "oom.pickle").read_bytes()))
        self.assertEqual(plain["devices"], self.report("-", stdin=gzipped)["devices"])

    def test_cut_and_damaged(self):
        for _, data in self.packed():
            for at in (5, 20, len(data) // 3, len(data) - 40):
                done = self.run_strata("report", "-", stdin=data[:at])
                self.assertIn(done.returncode, (0, 1))
                self.assertRegex(done.stderr.decode(), "cut off")
                broken = bytearray(data)
                broken[at + 4] ^= 0x55
                done = self.run_strata("report", "-", stdin=bytes(broken))
                self.assertIn(done.returncode, (0, 1))
                self.assertLess(done.stderr.count(b"\n"), 4)

    def test_more_memory_than_is_sensible(self):
        filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
        huge = lzma.compress(b"x" * 100, filters=filters)
        self.expect(1, "report", "-", stdin=huge, says="takes more than 256 MiB")


class Text(Case):
    """No line is longer than the terminal, COLUMNS or 100 columns, and wrapping loses no word."""

    def text(self, *words, **more):
        return self.expect(0, *words, env=environment(**more)).stdout.decode()

    def widest(self, text):
        return max(map(len, text.splitlines()))

    def test_columns(self):
        for sample in ("oom", "leak_graph", "two_devices", "hostile_names", "expandable"):
            path = str(SAMPLES / f"{sample}.pickle")
            for verb in (("report",), ("plan", "--gpu", "6GiB"), ("diff", TRAIN)):
                for columns in (60, 80, 132):
                    self.assertLessEqual(self.widest(self.text(*verb, path, COLUMNS=str(columns))), columns, (verb, sample))
                self.assertLessEqual(self.widest(self.text(*verb, path)), 100, (verb, sample))

    def test_nothing_is_lost(self):
        wide, narrow = (self.text("report", OOM, COLUMNS=columns) for columns in ("400", "70"))
        self.assertGreater(self.widest(wide), 100)
        letters = [sorted(re.sub(r"[\s=-]", "", text)) for text in (wide, narrow)]
        self.assertEqual(*letters)

    def test_files_are_as_wide_whatever_the_terminal(self):
        for columns in ("60", "200"):
            self.expect(0, "report", OOM, "-o", f"{columns}.txt", env=environment(COLUMNS=columns))
        self.assertEqual((self.path / "60.txt").read_bytes(), (self.path / "200.txt").read_bytes())

    def test_a_terminal_is_asked(self):
        import fcntl
        import pty
        import struct
        import termios
        main, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 72, 0, 0))
        process = self.start("report", OOM, stdout=end, env=environment(TERM="xterm"))
        os.close(end)
        data = b""
        while True:
            try:
                block = os.read(main, 65536)
            except OSError:
                break
            if not block:
                break
            data += block
        os.close(main)
        self.assertEqual(0, process.wait())
        text = data.decode().replace("\r\n", "\n")
        self.assertIn("\033[1;31m[high]", text)
        self.assertLessEqual(self.widest(ESCAPE.sub("", text)), 72)

    def test_colour(self):
        plain = self.text("report", OOM)
        self.assertNotIn("\033", plain)
        always = self.text("report", "--color", "always", OOM, NO_COLOR="1")
        self.assertEqual(plain, ESCAPE.sub("", always))
        self.assertLessEqual(len(set(ESCAPE.findall(always)) - {"\033[0m", "\033[1m"}), 3)
        self.assertIn("\033[1m", always)
        self.assertEqual(plain, self.text("report", "--color=never", OOM))
        for form in ("--json", "--markdown"):
            self.assertNotIn("\033", self.text("report", form, "--color", "always", OOM))
        self.expect(2, "report", "--color", "maybe", OOM, says="auto|always|never")


class Open(Case):
    """--open starts the browser that BROWSER or the system names, with the page's absolute path."""

    def browser(self, name, code=0):
        path = self.path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> "{self.path}/opened"\nexit {code}\n')
        path.chmod(0o755)
        return path

    def opened(self):
        return (self.path / "opened").read_text().split("\n")[:-1]

    def environment(self, **more):
        return {**environment(**more), "PATH": f"{self.path}/bin:/usr/bin:/bin"}

    def test_each_verb(self):
        self.browser("xdg-open")
        pages = {"dump.html": ("html", "dump.pickle"), "d.html": ("diff", "dump.pickle", TRAIN, "-o", "d.html"),
                 "w.html": ("plan", "dump.pickle", "-o", "w.html"), "report/index.html": ("batch", "dump.pickle", "-o", "report")}
        self.write("dump.pickle", (SAMPLES / "oom.pickle").read_bytes())
        plain = {name: value for name, value in self.environment().items() if name != "BROWSER"}
        for words in pages.values():
            self.expect(0, *words, "--open", env=plain)
        self.assertEqual([f"xdg-open {self.path.resolve()}/{page}" for page in pages], self.opened())

    def test_browser(self):
        self.browser("mine")
        self.expect(0, "html", OOM, "-o", "a b.html", "--open", env=self.environment(BROWSER="mine --new %s:other"))
        self.assertEqual([f"mine --new {self.path.resolve()}/a b.html"], self.opened())

    def test_none(self):
        self.browser("broken", 3)
        self.expect(0, "html", OOM, "-o", "a.html", "--open", env=self.environment(BROWSER="broken"), says="by hand")
        for words in (("html", OOM, "-o", "-"), ("plan", OOM), ("diff", OOM, TRAIN, "-o", "d.txt")):
            self.expect(2, *words, "--open", says="--open opens a page")


class Check(Case):
    def test_a_baseline_that_is_not_there(self):
        rule = ("--rule", "peak <= baseline + 2%")
        says = "is not there; `(strata check --baseline base.json --update-baseline .*oom.pickle)` makes it"
        done = self.expect(1, "check", "--baseline", "base.json", *rule, OOM, says=says, env=environment())
        command = re.search(says, done.stderr.decode())[1].split()[1:]
        self.expect(0, *command, env=environment())
        self.expect(0, "check", "--baseline", "base.json", *rule, OOM, env=environment())
        self.expect(2, "check", *rule, OOM, says="--update-baseline")

    def test_time(self):
        done = self.expect(3, "check", "--format", "junit", "--rule", "peak < 1GiB", "--rule", "oom = none", OOM, TRAIN)
        root = ElementTree.fromstring(done.stdout)
        self.assertGreater(float(root.get("time")), 0)
        suites = root.findall("testsuite")
        self.assertAlmostEqual(float(root.get("time")), sum(float(each.get("time")) for each in suites), places=5)
        for suite in suites:
            self.assertGreater(float(suite.get("time")), 0)
            cases = [float(each.get("time")) for each in suite.findall("testcase")]
            self.assertAlmostEqual(float(suite.get("time")), sum(cases), places=5)

    def files_named(self, **more):
        done = self.run_strata("check", "--format", "github", "--rule", "peak < 1GiB", TRAIN, env=environment(**more))
        return re.findall(r"file=([^,]*),", done.stdout.decode())

    def test_annotations_name_files_of_the_workspace(self):
        """Annotations name the longest ending of the recorded path, /home/user/train/model/loss.py, that exists in the
        workspace."""
        (recorded,) = self.files_named()
        workspace = self.path / "checkout"
        parts = recorded.strip("/").split("/")
        for i in reversed(range(len(parts))):
            path = workspace.joinpath(*parts[i:])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
            self.assertEqual(["/".join(parts[i:])], self.files_named(GITHUB_WORKSPACE=str(workspace)))
        self.assertEqual([recorded], self.files_named(GITHUB_WORKSPACE=str(self.path / "nowhere")))
        (self.path / parts[-1]).write_text("")
        self.assertEqual([parts[-1]], self.files_named())


if __name__ == "__main__":
    unittest.main()
