#!/usr/bin/env python3
"""The program when the system fails: memory, calls or disks fail, paths are not files, two runs write at once, a signal
ends the run at any moment. It may exit with 0 only if it wrote the bytes of a good run. Otherwise it must say what was
wrong, and leave neither a partial nor a temporary file.

Environment: STRATA, path of the program; FAULTS, path of the library that makes calls fail (faults/faults.c);
STRATA_TEST_ALL=ON lets every call fail instead of some 6 of each kind. Allocations fail in faults_memory_test.py.
"""

import fcntl
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from faults_case import FAULTS, SAMPLES, STRATA, STREAMS, TIMEOUT_S, Batch, Case, Streams, Verbs  # noqa: E402

POINTS = 6


def points(total):
    """The numbers of the calls that are to fail: all of `total`, or a sample."""
    if total <= POINTS or os.environ.get("STRATA_TEST_ALL") == "ON":
        return range(1, total + 1)
    return sorted(random.Random(total).sample(range(1, total + 1), POINTS))


class Sweep(Verbs):
    def sweep(self, kind, how=""):
        failed = self.n_points = 0
        for name, words in self.verbs.items():
            self.empty()
            _, totals = self.calls(*words)
            good = self.outputs()
            self.assertEqual(len(good), 1, list(good))
            with self.subTest(verb=name, kind=kind, how=how):
                for nth in points(totals[kind]):
                    failed += self.check(words, f"{kind}:{nth}{how}", good)
                    self.n_points += 1
        return failed

    def test_writes(self):
        for how in (":28", ":5", ":122"):  # ENOSPC, EIO, EDQUOT
            self.assertEqual(self.sweep("write", how), self.n_points)
            self.assertGreater(self.n_points, len(self.verbs))  # a page is written in pieces as it is made
        self.assertEqual(self.sweep("write", ":short"), 0)
        self.assertEqual(self.sweep("write", ":4"), 0)  # EINTR: the call is repeated

    def test_reads(self):
        self.assertGreaterEqual(self.sweep("read"), len(self.verbs))
        self.assertEqual(self.sweep("read", ":short"), 0)
        self.assertEqual(self.sweep("read", ":4"), 0)

    def test_fsync(self):
        self.sweep_names("fsync", ":5")
        self.assertEqual(self.sweep("fsync", ":22"), 0)  # EINVAL: a pipe has nothing to sync

    def sweep_names(self, kind, how):
        """The same for calls that keep the name: the complete file may exist although the run reports a failure."""
        for name, words in self.verbs.items():
            self.empty()
            _, totals = self.calls(*words)
            good = self.outputs()
            for nth in range(1, totals[kind] + 1):
                with self.subTest(verb=name, nth=nth):
                    self.empty()
                    done = self.strata(*words, fault=f"{kind}:{nth}{how}")
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(self.outputs(), ({}, good) if nth > 1 else ({},))

    def test_close_rename_open(self):
        self.sweep("close")
        self.assertGreaterEqual(self.sweep("rename"), len(self.verbs))
        self.assertGreaterEqual(self.sweep("fstat"), len(self.verbs))

    def test_open(self):
        self.sweep_open()

    def sweep_open(self):
        for name, words in self.verbs.items():
            self.empty()
            _, totals = self.calls(*words)
            good = self.outputs()
            for nth in range(1, totals["open"] + 1):
                with self.subTest(verb=name, nth=nth):
                    self.empty()
                    done = self.strata(*words, fault=f"open:{nth}:24")
                    self.assertIn(done.returncode, (0, 1))
                    self.assertIn(self.outputs(), ({}, good) if done.returncode else (good,))

    def test_threads(self):
        self.sweep("thread")

    def test_replay_beside(self):
        """A thread replays the allocator beside the other work. Without the thread, or without memory for both, the
        output is the same."""
        words = self.verbs["report, replayed beside"]
        _, both = self.calls(*words)
        good = self.outputs()
        self.assertEqual(self.check(words, "thread:2", good), 0)
        self.empty()
        _, alone = self.calls(*words, "--max-memory=60M")
        self.assertEqual((both["thread"], alone["thread"]), (2, 1))
        self.assertEqual(self.outputs(), good)

    def test_the_order_of_calls(self):
        """The bytes reach the disk before the name does, and the name before the program reports success."""
        for words in self.verbs.values():
            self.empty()
            calls, _ = self.calls(*words)
            rename = calls.index("rename")
            self.assertIn("fsync", calls[calls.index("write"):rename])
            self.assertIn("fsync", calls[rename:])


class Flow(Streams):
    def sweep(self, kind, how=""):
        failed = 0
        for name, words in STREAMS.items():
            log = self.folder / "log"
            good = self.flow(words, log=log)
            self.assertEqual(good.returncode, 0, good.stderr)
            totals = dict(re.findall(r"total (\w+) (\d+)", log.read_text()))
            log.unlink()
            for nth in points(int(totals.get(kind, 0))):
                with self.subTest(verb=name, kind=kind, nth=nth, how=how):
                    failed += self.check(words, f"{kind}:{nth}{how}", good.stdout)
        return failed

    def test_calls(self):
        self.assertGreaterEqual(self.sweep("write", ":28"), len(STREAMS) - 2)  # check prints; see test_full_output
        self.assertGreaterEqual(self.sweep("read", ":5"), len(STREAMS))
        for kind in ("write", "read"):
            self.assertEqual(self.sweep(kind, ":short"), 0)
        self.sweep("thread")

    def test_full_output(self):
        for words in STREAMS.values():
            with open("/dev/full", "wb") as full, open(self.folder / "in" / "s.pickle", "rb") as file:
                done = subprocess.run([STRATA, *words], stdin=file, stdout=full, stderr=subprocess.PIPE, cwd=self.folder,
                                      timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, 1, words)
            self.assertRegex(done.stderr, rb"cannot write", words)


class Many(Batch):
    def setUp(self):
        super().setUp()
        self.begin()

    def test_calls(self):
        for kind in ("write", "fsync", "rename", "open", "mkdir", "fork", "thread", "close", "read"):
            for nth in points(11):
                self.check(f"{kind}:{nth}:28")

    def test_signals(self):
        """SIGTERM at any call leaves complete files only, and no temporary names."""
        ended = 0
        for kind in ("write", "fsync", "rename", "open", "mkdir", "close", "read", "fstat"):
            for nth in points(self.totals[kind]):
                with self.subTest(kind=kind, nth=nth):
                    self.empty()
                    done = self.strata(*self.words, fault=f"{kind}:{nth}:term")
                    self.assertIn(done.returncode, (0, 4, 143), done.stderr)  # 4: the signal ended a worker
                    ended += done.returncode == 143
                    self.assertEqual(self.hidden(), [])
                    for name, content in self.outputs().items():
                        if name.endswith(".json"):
                            json.loads(content)
                        # These name a worker that ended.
                        if not name.startswith(("index", "summary", "shards")):
                            self.assertTrue(content == self.good[name], name)
                        self.assertTrue(not name.endswith(".html") or content.rstrip().endswith(b"</html>"), name)
        self.assertGreater(ended, 8)

    def test_parts_of_killed_runs(self):
        """A run without shards has the directory to itself: it removes the leftovers of killed runs, and nothing
        else."""
        for name in (".strata-1-of-1.tmp", ".strata-3-of-64.tmp", ".strata-3-of-64.tmp.mine", ".strata-03-of-64.tmp", ".mine"):
            (self.folder / "out" / name).mkdir()
            (self.folder / "out" / name / "half.html").write_text("<ht")
        busy = os.open(self.folder / "out" / ".strata-3-of-64.tmp", os.O_RDONLY)
        self.addCleanup(os.close, busy)
        fcntl.flock(busy, fcntl.LOCK_EX)
        kept = [".mine", ".strata-03-of-64.tmp", ".strata-3-of-64.tmp", ".strata-3-of-64.tmp.mine"]
        for words in ([], ["--shard=1/2"]):
            self.assertEqual(self.strata(*self.words, *words).returncode, 0)
            self.assertEqual(sorted(path.name for path in (self.folder / "out").glob(".*")), kept)
        fcntl.flock(busy, fcntl.LOCK_UN)
        for words, left in ((["--shard=1/2"], kept), ([], [name for name in kept if name != ".strata-3-of-64.tmp"])):
            self.assertEqual(self.strata(*self.words, *words).returncode, 0)
            self.assertEqual(sorted(path.name for path in (self.folder / "out").glob(".*")), left)

    def test_temporary_files_of_killed_runs(self):
        """A run without shards removes the unfinished file of a killed run, but not one that another run is writing."""
        (self.folder / "out" / "shards").mkdir(exist_ok=True)
        dead = [".strata-0123456789abcdef.tmp", "shards/.strata-fedcba9876543210.tmp"]
        kept = [".strata-00000000deadbeef.tmp", ".strata-0123456789abcde.tmp", ".strata-0123456789abcdeg.tmp", ".strata-0123456789abcdef.tmp2"]
        mine = {path.name for path in (self.folder / "out").rglob(".*")}
        for name in dead + kept:
            (self.folder / "out" / name).write_text("<ht")
        (self.folder / "out" / ".strata-ffffffffffffffff.tmp").symlink_to(self.folder / "out" / kept[1])
        busy = os.open(self.folder / "out" / kept[0], os.O_WRONLY)
        self.addCleanup(os.close, busy)
        fcntl.flock(busy, fcntl.LOCK_EX)
        kept.append(".strata-ffffffffffffffff.tmp")

        def left():
            return {path.name for path in (self.folder / "out").rglob(".*")} - mine

        self.assertEqual(self.strata(*self.words, "--shard=1/2").returncode, 0)
        self.assertEqual(left(), {pathlib.Path(name).name for name in dead + kept})
        self.assertEqual(self.strata(*self.words).returncode, 0)
        self.assertEqual(left(), set(kept))
        fcntl.flock(busy, fcntl.LOCK_UN)
        self.assertEqual(self.strata(*self.words).returncode, 0)
        self.assertEqual(left(), set(kept[1:]))

    def test_a_file_that_is_being_written_stays(self):
        """The lock that protects an unfinished file is held until the file has its final name."""
        shutil.copy(SAMPLES / "one_event.pickle", self.folder / "in" / "slow.pickle")
        for call in ("write:1", "fsync:1", "rename:1"):
            with self.subTest(call=call):
                environment = {**os.environ, "LD_PRELOAD": FAULTS, "FAULT": call + ":stop"}
                run = subprocess.Popen([STRATA, "html", "-f", "in/slow.pickle", "-o", "out/slow.html"], cwd=self.folder, env=environment,
                                       stderr=subprocess.DEVNULL)
                self.addCleanup(run.kill)
                self.assertTrue(os.WIFSTOPPED(os.waitpid(run.pid, os.WUNTRACED)[1]))
                self.assertEqual(len(self.hidden()), 1)
                self.assertEqual(self.strata(*self.words).returncode, 0)
                self.assertEqual(len(self.hidden()), 1)
                run.send_signal(signal.SIGCONT)
                self.assertEqual(run.wait(TIMEOUT_S), 0)
                (self.folder / "out" / "slow.html").unlink()

    def test_index(self):
        words = [*self.words, "--resume"]
        _, totals = self.calls(*words)
        for kind in ("write", "fsync", "rename", "open"):
            for nth in points(totals[kind]):
                done = self.strata(*words, fault=f"{kind}:{nth}:28")
                with self.subTest(kind=kind, nth=nth):
                    self.assertIn(done.returncode, (0, 1, 4), done.stderr)
                    got = self.outputs()
                    if done.returncode != 4:  # a file that failed loses its outputs
                        self.assertEqual(set(got), set(self.good))
                    if done.returncode == 0:
                        self.assertTrue(got == self.good)


class Places(Case):
    """Folders, devices and pipes in place of every file that a command line can name."""

    def setUp(self):
        super().setUp()
        self.empty()
        os.mkfifo(self.folder / "pipe")
        (self.folder / "loop").symlink_to("loop")
        (self.folder / "nowhere").symlink_to("out/there")
        (self.folder / "full").symlink_to("/dev/full")

    def refused(self, *words, code=1):
        done = self.strata(*words)
        self.assertEqual(done.returncode, code, (words, done.stderr))
        self.assertRegex(done.stderr, rb"^strata: ")
        return done.stderr

    def test_inputs(self):
        for verb in ("report", "png", "html"):
            for name in ("in", "loop", "nowhere", "/dev/null", "in/s.pickle/x", "", "x" * 5000):
                self.refused(verb, name, "-o", "out/x")
            self.assertEqual(self.outputs(), {})
            writer = subprocess.Popen(["sh", "-c", "cat in/s.pickle > pipe"], cwd=self.folder)
            self.assertEqual(self.strata(verb, "pipe", "-o", "out/x").returncode, 0)
            writer.wait()
            (self.folder / "out" / "x").unlink()

    def test_outputs(self):
        for verb in ("report", "png", "html"):
            for name in ("loop", "full", "/dev/full", "in/s.pickle/x", "out/none/x", "out/" + "x" * 300):
                self.refused(verb, "in/s.pickle", "-o", name)
            self.assertEqual(self.strata(verb, "in/s.pickle", "-o", "/dev/null").returncode, 0)
            # To a file, because a pipe that nobody reads would block both.
            with open(self.folder / "read", "wb") as read:
                reader = subprocess.Popen(["cat", "pipe"], cwd=self.folder, stdout=read)
                self.assertEqual(self.strata(verb, "in/s.pickle", "-o", "pipe").returncode, 0)
                self.assertEqual(reader.wait(TIMEOUT_S), 0)
            self.assertGreater((self.folder / "read").stat().st_size, 400)
            self.assertEqual(self.outputs(), {})
            self.assertEqual(self.strata(verb, "in/s.pickle", "-o", "out").returncode, 0)
            self.assertEqual(len(self.outputs()), 1)
            self.empty()

    def test_links_are_followed_and_kept(self):
        (self.folder / "out" / "real").write_text("old")
        (self.folder / "link").symlink_to("out/real")
        self.refused("html", "in/s.pickle", "-o", "link")
        self.assertEqual(self.strata("html", "in/s.pickle", "-f", "-o", "link").returncode, 0)
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertIn(b"<html", (self.folder / "out" / "real").read_bytes()[:2000])

    def test_batch(self):
        (self.folder / "dumps").mkdir()
        shutil.copy(self.folder / "in" / "s.pickle", self.folder / "dumps" / "rank0.pickle")
        os.mkfifo(self.folder / "dumps" / "rank1.pickle")
        (self.folder / "dumps" / "rank2.pickle").symlink_to("/dev/zero")
        (self.folder / "dumps" / "rank3.pickle").symlink_to("rank3.pickle")
        (self.folder / "dumps" / "rank4.pickle").mkdir()
        done = self.strata("batch", "dumps", "-o", "b")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertEqual([row["rank"] for row in json.loads((self.folder / "b" / "summary.json").read_text())["rows"]], [0])
        for where in ("in/s.pickle", "pipe", "loop", "/dev/full", "in/s.pickle/x"):
            self.refused("batch", "dumps/rank0.pickle", "-o", where)

    def test_full_disk(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

        for verb in ("report", "png", "html"):
            done = self.strata(verb, "in/s.pickle", "-o", "out/x", *(["--json"] if verb == "report" else []), preexec_fn=limited)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"cannot write: File too large", done.stderr)
            self.assertEqual(self.outputs(), {})


class Together(Case):
    def test_runs_on_one_output(self):
        self.empty()
        good = self.strata("html", "in/s.pickle", "-o", "-").stdout
        for force in (True, False):
            runs = [subprocess.Popen([STRATA, "html", "in/s.pickle", "-o", "out/x", *(["-f"] if force else [])],
                                     cwd=self.folder, stderr=subprocess.PIPE) for _ in range(6)]
            told = [(run.communicate()[1], run.returncode) for run in runs]
            codes = sorted(code for _, code in told)
            self.assertEqual(codes, [0] * 6 if force else [0] + [1] * 5, told)
            self.assertEqual(self.outputs(), {"x": good})
            self.empty()

    def test_batches_on_one_directory(self):
        runs = [subprocess.Popen([STRATA, "batch", "in/s.pickle", "in/s.json", "-o", "out"], cwd=self.folder,
                                 stderr=subprocess.PIPE) for _ in range(4)]
        told = [(run.communicate()[1], run.returncode) for run in runs]
        self.assertIn(0, [code for _, code in told], told)
        for text, code in told:
            self.assertIn(code, (0, 1), text)
            if code:
                self.assertIn(b"another strata batch is writing", text)
        together = self.outputs()
        shutil.rmtree(self.folder / "out")
        self.strata("batch", "in/s.pickle", "in/s.json", "-o", "out")
        self.assertEqual(together, self.outputs())


class Ends(Case):
    """Killed at any moment."""

    def setUp(self):
        super().setUp()
        self.sample = SAMPLES / "train.pickle"

    def killed(self, words, number, after_s):
        run = subprocess.Popen([STRATA, *map(str, words)], cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        time.sleep(after_s)
        run.send_signal(number)
        run.communicate()
        return run.returncode

    def test_one_file(self):
        self.empty()
        generator = random.Random(3)
        for verb in ("html", "png", "report"):
            good = self.strata(verb, self.sample, "-o", "-").stdout
            begun = time.monotonic()
            self.strata(verb, self.sample, "-o", "/dev/null")
            whole = time.monotonic() - begun
            for i in range(24):
                number = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[i % 3]
                code = self.killed([verb, self.sample, "-o", "out/x"], number, generator.random() * whole * 1.3)
                got = self.outputs()
                self.assertTrue(got.pop("x", good) == good, "another output")
                if code == 0:
                    self.assertTrue((self.folder / "out" / "x").exists())
                if number != signal.SIGKILL:
                    self.assertIn(code, (0, 128 + number, -number))
                    self.assertEqual(got, {}, "a temporary file was left")
                self.empty()

    def test_batch_and_resume(self):
        words = ["batch", "dumps", "-o", "out", "--png", "-j2"]
        (self.folder / "dumps").mkdir()
        for rank in range(6):
            shutil.copy(SAMPLES / "streams.pickle", self.folder / "dumps" / f"rank{rank}.pickle")
        begun = time.monotonic()
        self.assertEqual(self.strata(*words).returncode, 0)
        whole, good = time.monotonic() - begun, self.outputs()
        generator = random.Random(5)
        for i in range(9):
            self.empty()
            self.killed(words, (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[i % 3], generator.random() * whole)
            for name, content in self.outputs().items():
                # Nor in a hidden folder; the list of outputs grows with them.
                if not any(part.startswith((".", "shards")) for part in pathlib.PurePath(name).parts):
                    self.assertTrue(content == good[name], name)
            done = self.strata(*words, "--resume")
            # Workers of the killed batch, which are still ending.
            while b"another strata batch is writing" in done.stderr:
                time.sleep(0.05)
                done = self.strata(*words, "--resume")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(self.outputs() == good, "other outputs")


if __name__ == "__main__":
    if not pathlib.Path(FAULTS).exists():
        print(f"skipped: {FAULTS} is not there")
        sys.exit(0)
    unittest.main()
