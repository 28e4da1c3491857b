#!/usr/bin/env python3
"""Everything that can be at a path, wherever the command line names a file: pipes, devices, sockets, directories, and
links that lead nowhere, in circles or to the input. Each run ends at once, with the promised exit code and one line
that names the path, and leaves unchanged what was there before.

A pipe without a writer is the exception: somebody may still write into it, so the program waits, and says so.

Environment: STRATA, path of the program (default: build/release/strata).
"""

import contextlib
import json
import os
import pathlib
import pickle
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from cli_case import STRATA, events_of, frame, snapshot  # noqa: E402

TIMEOUT_S = 120
CONFIG = {"rules": ["peak < 1TiB"]}

# Things at the path of an input that are not a file with content.
ODD = ("directory", "nowhere", "loop", "socket", "missing", "empty", "s.pickle/x", "x" * 300, "x" * 5000,
       "/dev/null", "/dev/zero", "/dev/full", "/dev/urandom")

# Command lines that read AT, the exit code, and what the message may name instead of AT.
READS = {
    **{verb: ([verb, "AT", "-o", "x.html"], 1) for verb in ("html", "trace_plot")},
    "no verb": (["AT", "-o", "x.html"], 1),
    "png": (["png", "AT", "-o", "x.png"], 1),
    "report": (["report", "AT"], 1),
    "report to a file": (["report", "AT", "--json", "-o", "x"], 1),
    "one of several": (["html", "s.pickle", "AT", "-o", "x.html"], 1),
    "the first of several": (["report", "AT", "s.pickle", "-o", "x"], 1),
    "diff, first": (["diff", "AT", "s.pickle"], 1),
    "diff, second": (["diff", "s.pickle", "AT"], 1),
    "diff, third": (["diff", "s.pickle", "t.pickle", "AT", "--json", "-o", "x.json"], 1),
    "diff to a page": (["diff", "s.pickle", "AT", "-o", "x.html"], 1),
    "diff at a moment": (["diff", "s.pickle", "AT#at=1"], 1),
    "plan": (["plan", "AT"], 1),
    "plan to a page": (["plan", "AT", "-o", "x.html"], 1),
    "plan together": (["plan", "AT", "s.pickle"], 1),
    "check": (["check", "--rule", "peak < 1TiB", "AT"], 1),
    "check of two": (["check", "--rule", "peak < 1TiB", "s.pickle", "AT"], 1),
    "batch": (["batch", "AT", "-o", "b"], 1),
    "batch of two": (["batch", "s.pickle", "AT", "-o", "b"], 4),
    "config": (["check", "--config", "AT", "s.pickle"], 2),
    "baseline": (["check", "--baseline", "AT", "--rule", "peak <= baseline", "s.pickle"], 1),
    "host of html": (["html", "s.pickle", "--host", "AT", "-o", "x.html"], 1),
    "host of png": (["png", "s.pickle", "--host", "AT", "-o", "x.png"], 1),
    "host of batch": (["batch", "s.pickle", "-o", "b", "--host", "AT"], 4),
}

# Exceptions from these codes: a folder without snapshots is valid, and a word that is
# neither a verb nor a file is a mistake in the command line.
OTHERWISE = {
    **{("no verb", at): 2 for at in ("nowhere", "loop", "missing", "x" * 300, "x" * 5000, "directory")},
    ("batch of two", "directory"): 0,
    ("batch", "empty"): 4,
    ("batch", "closed"): 4,
}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strata-places-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        data = pickle.dumps(snapshot(events_of([1024, 4096])), protocol=4)
        more = pickle.dumps(snapshot(events_of([1024, 4096, 9216], frames=[frame("backward", line=9)])), protocol=4)
        later = pickle.dumps(snapshot(events_of([1024], time_us=1_700_000_001_000_000)), protocol=4)
        for name, content in (("s.pickle", data), ("t.pickle", more), ("host", b"a line\n"), ("empty", b""), ("u.pickle", later),
                              ("config", json.dumps(CONFIG).encode())):
            (self.folder / name).write_bytes(content)
        (self.folder / "directory").mkdir()
        (self.folder / "nowhere").symlink_to("directory/there")
        (self.folder / "loop").symlink_to("loop")
        os.mkfifo(self.folder / "pipe")
        with socket.socket(socket.AF_UNIX) as it:
            here = os.getcwd()
            os.chdir(self.folder)  # the path of a socket must be short
            try:
                it.bind("socket")
            finally:
                os.chdir(here)

    def tree(self):
        """Every path in the folder with its type and content."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            mode = path.lstat().st_mode
            found[str(path.relative_to(self.folder))] = (stat.S_IFMT(mode), os.readlink(path) if stat.S_ISLNK(mode) else
                                                         path.read_bytes() if stat.S_ISREG(mode) else None)
        return found

    def start(self, words, **options):
        environment = {name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_STEP_SUMMARY")}
        environment.update(options.pop("env", {}), LC_ALL="C")
        return subprocess.Popen([STRATA, *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=environment, **options)

    def strata(self, *words, **options):
        process = self.start(words, **options)
        try:
            out, told = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fail(f"{words}: does not end")
        return process.returncode, out, told.decode()

    def tidy(self):
        """Removes the outputs of successful runs."""
        for path in self.folder.iterdir():
            if path.name.startswith("x.") or path.name in ("x", "b"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def ended(self, code, *words, says=None, lines=1, **options):
        """Runs and expects this exit code, one line if the run fails, and no change except its own output."""
        before = self.tree()
        got, _, told = self.strata(*words, **options)
        self.assertEqual(got, code, (words, told))
        if code != 0:
            self.assertRegex(told, r"\A(strata: [^\n]+\n){%s}\Z" % lines, words)
        if says is not None:
            self.assertIn(says, told)
        if code not in (0, 4):
            self.assertEqual(self.tree(), before, words)
        self.tidy()
        self.assertEqual(self.tree(), before, words)


class Reading(Case):
    def test_what_is_no_file(self):
        for place, (words, usual) in READS.items():
            for at in ODD:
                with self.subTest(place=place, at=at[:20]):
                    code = OTHERWISE.get((place, at), usual)
                    says = at if len(at) < 100 and code in (1, 2) else None  # messages shorten a long path
                    self.ended(code, *(word.replace("AT", at) for word in words), says=says,
                               lines="1,3" if words[0] == "batch" else 1)

    def test_nothing(self):
        """An empty path."""
        for place, (words, _) in READS.items():
            with self.subTest(place=place):
                before = self.tree()
                code, _, told = self.strata(*(word.replace("AT", "") for word in words))
                self.assertIn(code, (1, 2), told)
                self.assertRegex(told, r"\Astrata: ")
                self.assertEqual(self.tree(), before)

    def test_without_permission_to_read(self):
        """Runs as a user without permission, with a copy of the program that everybody can reach."""
        program, options = STRATA, {}
        if os.geteuid() == 0:
            program = shutil.copy(STRATA, self.folder / "strata")
            options = {"user": 65534, "group": 65534, "extra_groups": []}
            os.chmod(self.folder, 0o777)
        (self.folder / "closed").write_bytes(b"x")
        (self.folder / "closed").chmod(0)
        for place, (words, usual) in READS.items():
            with self.subTest(place=place):
                done = subprocess.run([program, *(word.replace("AT", "closed") for word in words)], cwd=self.folder, timeout=TIMEOUT_S,
                                      stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, "LC_ALL": "C"}, **options)
                self.assertEqual(done.returncode, OTHERWISE.get((place, "closed"), usual), done.stderr)
                self.assertRegex(done.stderr, rb"closed")
                self.tidy()

    def test_a_pipe_that_nobody_writes_into(self):
        """The program waits for a writer and says so, uses what comes then, and can be ended by a signal. It refuses
        pipes in places where no pipe is needed."""
        waits = {"html", "trace_plot", "no verb", "png", "report", "report to a file", "one of several", "the first of several",
                 "diff, first", "diff, second", "diff, third", "diff to a page", "diff at a moment", 
                 "plan", "plan to a page", "plan together", "check",
                 "check of two"}
        for place in set(READS) - waits:
            words, usual = READS[place]
            with self.subTest(place=place):
                self.ended(usual, *(word.replace("AT", "pipe") for word in words), lines="1,3" if words[0] == "batch" else 1)
        before = self.tree()
        started = {place: self.start([word.replace("AT", "pipe") for word in READS[place][0]]) for place in waits}
        for place, process in started.items():
            with self.subTest(place=place):
                self.assertRegex(process.stderr.readline(), rb'^strata: "pipe": is a pipe that nobody has written into yet; waiting')
                process.send_signal(signal.SIGTERM)
                _, told = process.communicate(timeout=TIMEOUT_S)
                self.assertEqual((process.returncode, told), (128 + signal.SIGTERM, b""))
        self.assertEqual(self.tree(), before)

    def test_a_pipe_that_is_written_into_later(self):
        good = self.strata("report", "s.pickle", "--json")[1].replace(b'"s.pickle"', b'"pipe"')
        process = self.start(["report", "pipe", "--json"])
        process.stderr.readline()
        (self.folder / "pipe").write_bytes((self.folder / "s.pickle").read_bytes())
        self.assertEqual(process.communicate(timeout=TIMEOUT_S)[0], good)
        process = self.start(["report", "pipe"])
        with open(self.folder / "pipe", "wb"):
            pass
        self.assertIn(b"the file is empty", process.communicate(timeout=TIMEOUT_S)[1])


# Command lines that write AT, and the file name extension that AT needs.
WRITES = {
    "html": (["html", "s.pickle", "-o", "AT"], ".html"),
    "trace_plot": (["trace_plot", "s.pickle", "-o", "AT"], ".html"),
    "no verb": (["s.pickle", "-o", "AT"], ".html"),
    "png": (["png", "s.pickle", "-o", "AT"], ".png"),
    "report": (["report", "s.pickle", "-o", "AT"], ".txt"),
    "json": (["report", "s.pickle", "--json", "-o", "AT"], ".json"),
    "several": (["html", "s.pickle", "u.pickle", "-o", "AT"], ".html"),
    "diff": (["diff", "s.pickle", "t.pickle", "-o", "AT"], ".md"),
    "page of a diff": (["diff", "s.pickle", "t.pickle", "-o", "AT"], ".html"),
    "picture of a diff": (["diff", "s.pickle", "t.pickle", "-o", "AT"], ".png"),
    "plan": (["plan", "s.pickle", "-o", "AT"], ".json"),
    "page of a plan": (["plan", "s.pickle", "-o", "AT"], ".html"),
}
LINKS = {"nowhere": "directory/there", "loop": "itself", "zero": "/dev/zero", "null": "/dev/null", "full": "/dev/full",
         "input": "s.pickle", "old": "directory/old", "folder": "directory"}


class Writing(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "directory" / "old").write_bytes(b"old")

    def odd(self, kind, ending="", name=None):
        """Makes a thing of this kind, with a new name or the given one."""
        path = self.folder / (name or f"odd-{kind}{ending}")
        if kind == "directory":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "hard":
            os.link(self.folder / "s.pickle", path)
        elif kind == "socket":
            os.rename(self.folder / "socket", path)
        elif kind in LINKS:
            up = "../" * len(path.relative_to(self.folder).parts[1:])
            path.symlink_to(path.name if kind == "loop" else LINKS[kind] if LINKS[kind].startswith("/") else up + LINKS[kind])
        return path

    def away(self, at, kind):
        if kind == "socket":  # the test has only one
            os.rename(at, self.folder / "socket")
        elif at.is_dir() and not at.is_symlink():
            shutil.rmtree(at)
        else:
            at.unlink()

    def test_what_is_no_file(self):
        refused = {"nowhere": "exists already", "loop": "exists already", "old": "exists already", "socket": "cannot write",
                   "full": "No space left", "input": "is the input itself", "hard": "is the input itself", "s.pickle/x": "Not a directory",
                   "missing/x": "No such file", "x" * 300: "File name too long"}
        for place, (words, ending) in WRITES.items():
            for kind, says in refused.items():
                with self.subTest(place=place, kind=kind[:20]):
                    at = self.odd(kind, ending) if kind in LINKS or kind in ("socket", "hard") else None
                    words_at = [word.replace("AT", at.name if at is not None else kind + ending) for word in words]
                    self.ended(1, *words_at, says=says)
                    if kind not in ("nowhere", "loop", "old"):
                        self.ended(1, *words_at, "-f", says=says)
                    if at is not None:
                        self.away(at, kind)

    def test_what_takes_anything(self):
        for place, (words, ending) in WRITES.items():
            for kind in ("null", "zero"):
                with self.subTest(place=place, kind=kind):
                    at = self.odd(kind, ending)
                    before = self.tree()
                    code, _, told = self.strata(*(word.replace("AT", at.name) for word in words))
                    self.assertEqual((code, self.tree()), (0, before), told)
                    self.away(at, kind)

    def test_a_link_is_kept_and_followed(self):
        for place, (words, ending) in WRITES.items():
            with self.subTest(place=place):
                at = self.odd("old", ending)
                code, _, told = self.strata(*(word.replace("AT", at.name) for word in words), "-f")
                self.assertEqual(code, 0, told)
                self.assertTrue(at.is_symlink())
                self.assertGreater((self.folder / "directory" / "old").stat().st_size, 100)
                self.assertEqual(os.listdir(self.folder / "directory"), ["old"])
                self.away(at, "old")

    def test_a_pipe_that_nobody_reads(self):
        before = self.tree()
        started = []
        for place, (words, ending) in WRITES.items():
            at = self.odd("pipe", f"-{len(started)}{ending}")
            started.append((place, at, self.start([word.replace("AT", at.name) for word in words])))
        for number, (place, at, process) in enumerate(started):
            with self.subTest(place=place):
                while b"is a pipe that nobody reads yet" not in process.stderr.readline():
                    self.assertIsNone(process.poll())
                if number % 2:
                    with open(at, "rb") as reader:
                        self.assertGreater(len(reader.read()), 100)
                else:
                    process.send_signal(signal.SIGTERM)
                process.communicate(timeout=TIMEOUT_S)
                self.assertEqual(process.returncode, 0 if number % 2 else 128 + signal.SIGTERM)
                at.unlink()
        self.assertEqual(self.tree(), before)

    def test_baseline(self):
        for kind in ("nowhere", "loop", "zero", "null", "full", "input", "old", "hard", "pipe", "socket", "directory"):
            with self.subTest(kind=kind):
                at = self.odd(kind)
                self.ended(1, "check", "--baseline", at.name, "--update-baseline", "s.pickle", says=at.name)
                self.away(at, kind)
        self.strata("check", "--baseline", "directory/new", "--update-baseline", "s.pickle")
        first = (self.folder / "directory" / "new").read_bytes()
        (self.folder / "x.link").symlink_to("directory/new")
        self.assertEqual(self.strata("check", "--baseline", "x.link", "--update-baseline", "t.pickle")[0], 0)
        self.assertTrue((self.folder / "x.link").is_symlink())
        self.assertNotEqual((self.folder / "directory" / "new").read_bytes(), first)

    def test_folders(self):
        for kind in ("nowhere", "loop", "zero", "null", "full", "input", "old", "hard", "pipe", "socket"):
            with self.subTest(kind=kind):
                at = self.odd(kind)
                self.ended(1, "batch", "t.pickle", "-o", at.name, says=at.name)
                self.away(at, kind)

    def test_inside_of_a_folder(self):
        """In its output folder a batch finds things that no batch has written."""
        for name in ("rank0.html", "rank0.strata.json", "index.html", "summary.json", "shards", "shards/outputs-1-of-1.txt", "shards/outputs-2-of-9.txt",
                     ".strata-1-of-1.tmp"):
            for kind in ("nowhere", "loop", "null", "full", "zero", "input", "old", "folder", "pipe", "socket", "directory"):
                if (name, kind) == (".strata-1-of-1.tmp", "directory"):
                    continue  # the batch takes its content for that of a killed batch
                with self.subTest(name=name, kind=kind):
                    self.inside(self.folder / "b" / name, kind)
                shutil.rmtree(self.folder / "b")

    def inside(self, at, kind):
        """A batch keeps foreign files, and ends. It may replace a link that leads to a file which it may replace."""
        shutil.copy(self.folder / "t.pickle", self.folder / "rank0.pickle")
        at.parent.mkdir(parents=True)
        self.odd(kind, name=at.relative_to(self.folder))
        if kind == "directory":
            (at / "mine").write_bytes(b"mine")
        before = self.tree()
        code, _, told = self.strata("batch", "rank0.pickle", "-o", "b")
        after = self.tree()
        if kind == "socket":
            self.away(at, kind)
        self.assertIn(code, (0, 1, 4), told)
        self.assertTrue(code == 0 or told.startswith("strata: "), told)
        lost = {path for path, what in before.items() if after.get(path) != what}
        self.assertEqual(lost, {str(at.relative_to(self.folder))} if lost and kind in ("nowhere", "loop") else set())
        self.assertEqual([path for path in after if ".strata-" in path and path not in before], [])

    def test_what_is_read_is_not_written_over(self):
        """An input is never overwritten, not even with -f."""
        self.assertEqual(self.strata("html", "s.pickle", "-o", "page.html")[0], 0)
        for words in (["html", "s.pickle", "--host", "host", "-o", "host"], ["png", "s.pickle", "--host", "host", "-o", "./host"],
                      ["html", "s.pickle", "page.html", "-o", "page.html"], ["html", "page.html", "s.pickle", "-o", "page.html"],
                      ["diff", "s.pickle", "page.html", "-o", "page.html"],
                      ["plan", "page.html", "-o", "page.html"], ["batch", "page.html", "-o", "."]):
            for force in ([], ["-f"]):
                with self.subTest(words=words, force=force):
                    before = {name: (self.folder / name).read_bytes() for name in ("page.html", "host", "s.pickle")}
                    code, _, told = self.strata(*words, *force)
                    self.assertIn(code, (1, 4), told)
                    self.assertEqual(before, {name: (self.folder / name).read_bytes() for name in before})


class FullDisk(Case):
    """On a full disk the program prints one line that says so, leaves no part of a file, and keeps the old file."""

    def no_room(self, folder, says, **options):
        """Writes every output into this folder."""
        for place, (words, ending) in {**WRITES, "baseline": (["check", "--baseline", "AT", "--update-baseline", "s.pickle"], ".json")}.items():
            for old in (False, True):
                with self.subTest(place=place, old=old):
                    at = folder / f"out{ending}"
                    if old:
                        self.assertEqual(self.strata(*(word.replace("AT", at.name) for word in words))[0], 0)
                        shutil.move(self.folder / at.name, at)
                    before = {path: path.read_bytes() for path in folder.iterdir() if path.name.startswith((".", "out"))}
                    self.fill(folder)
                    force = ["-f"] if old and place != "baseline" else []
                    code, _, told = self.strata(*(word.replace("AT", str(at)) for word in words), *force, **options)
                    self.assertEqual(code, 1, told)
                    self.assertRegex(told, rf"\Astrata: [^\n]*out{ending}[^\n]*{says}[^\n]*\n\Z")
                    self.assertEqual(before, {path: path.read_bytes() for path in folder.iterdir() if path.name.startswith((".", "out"))})
                    for path in folder.iterdir():
                        path.unlink()

    def fill(self, folder):
        """Fills the disk to the last byte. Without a disk of its own, the test sets a limit on the size of files."""

    def no_room_for_many(self, folder, says, make_room, **options):
        """A batch names the files that it could not write; it leaves complete files only, and no temporary ones."""
        for old in (False, True):
            with self.subTest(old=old):
                out = folder / "b"
                shutil.copy(self.folder / "t.pickle", self.folder / "rank0.pickle")
                if old:
                    make_room()
                    self.assertEqual(self.strata("batch", "rank0.pickle", "-o", str(out))[0], 0)
                before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
                self.fill(folder)
                code, _, told = self.strata("batch", "rank0.pickle", "-o", str(out), **options)
                self.assertIn(code, (1, 4), told)
                self.assertRegex(told, says)
                for path in out.rglob("*"):
                    self.assertFalse(path.name.startswith("."), path)
                    if path.is_file() and path.read_bytes() != before.get(path):
                        self.assertIn(path.name, ("index.html", "summary.json", "outputs-1-of-1.txt"))

    def test_files_may_not_be_large(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

        disk = self.folder / "disk"
        disk.mkdir()
        self.no_room(disk, "cannot write: File too large", preexec_fn=limited)
        self.no_room_for_many(disk, "File too large", lambda: None, preexec_fn=limited)

    def test_no_space_on_the_device(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "strata-test", str(disk)], capture_output=True).returncode != 0:
            self.skipTest("cannot mount a small tmpfs here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=True)

        def fill(folder):
            with open(folder / "ballast", "ab", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(4096)):
                    pass

        self.fill = fill
        self.no_room(disk, "cannot write: No space left on device")
        self.no_room_for_many(disk, "No space left on device", lambda: (disk / "ballast").unlink())


if __name__ == "__main__":
    unittest.main()
