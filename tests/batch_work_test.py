#!/usr/bin/env python3
"""strata batch resumed, in shards, interrupted, and on a full disk; and what a worker that dies leaves behind."""

import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from batch_case import (  # noqa: E402
    Folder, MIB, STRATA, TIMEOUT_S, batch, children, contents, environment, hidden, long, state_of, summary, tiny,
    until)


class Pages(Folder):
    """--pages changes no figure and no finding, and the index links only to pages that exist."""

    def setUp(self):
        super().setUp()
        for rank in range(8):
            self.put(f"rank{rank}.pickle", tiny((MIB, 900 * MIB if rank == 5 else 2 * MIB)))

    def pages(self, out):
        return {path.name for path in (self.folder / out).glob("*.html")}

    def test_odd_and_none(self):
        self.run_batch()
        whole = summary(self.folder / "out")
        (diff,) = (finding["diff"] for finding in whole["findings"])
        median = whole["rows"][whole["findings"][0]["against"]]["page"]
        pages = {"odd": {"index.html", "rank5.html", median, diff}, "none": {"index.html"}}
        for words, there in pages.items():
            self.run_batch("--pages", words, out=words)
            self.assertEqual(self.pages(words), there)
            rows = summary(self.folder / words)["rows"]
            self.assertEqual({row["page"] for row in rows} - {None}, there - {"index.html", diff})
            for row, all_ in zip(rows, whole["rows"], strict=True):
                without = {"page": None, "diff": None}
                self.assertEqual({**row, **without}, {**all_, **without})
        for name in (median, "rank5.html", diff):
            self.assertEqual((self.folder / "odd" / name).read_bytes(), (self.folder / "out" / name).read_bytes())

    def test_pages_follow_the_option(self):
        """A run removes pages of an earlier run that it does not want and makes those that are missing; it removes no
        foreign file."""
        for words in ("all", "odd", "none"):
            self.run_batch("--pages", words, out=words)
        for words in ("odd", "none", "odd", "all", "none", "all"):
            self.run_batch("--pages", words, "--resume")
            self.assertEqual(contents(self.folder / "out"), contents(self.folder / words), words)
        self.run_batch("--pages", "none")
        (self.folder / "out" / "rank3.html").write_text("mine")
        self.run_batch("--pages", "none")
        self.assertEqual(self.pages("out"), {"index.html", "rank3.html"})

    def test_another_rank_becomes_odd(self):
        self.run_batch("--pages", "odd")
        self.put("rank5.pickle", tiny((MIB, 2 * MIB)), second=1)
        self.put("rank2.pickle", tiny((MIB, 700 * MIB)), second=1)
        self.run_batch("--pages", "odd", "--resume")
        self.run_batch("--pages", "odd", out="fresh")
        self.assertIn("rank2.html", self.pages("out"))
        self.assertNotIn("rank5.html", self.pages("out"))
        self.assertEqual(contents(self.folder / "out"), contents(self.folder / "fresh"))

    def test_shards(self):
        """A shard cannot know which ranks are odd, so the run that joins the shards leaves out the other pages."""
        self.run_batch("--pages", "odd")
        for part in (1, 2):
            self.run_batch("--pages", "odd", "--shard", f"{part}/2", out="parts")
        self.assertEqual(len(self.pages("parts")), 8)
        self.run_batch("--pages", "odd", "--resume", out="parts")
        self.assertEqual(contents(self.folder / "parts"), contents(self.folder / "out"))

    def test_an_input_that_disappears_loses_only_its_page(self):
        self.put("rank5.pickle", long(60_000))
        process, worker = self.start_and_stop("rank5.pickle", "-j", "1", "--pages", "odd")
        (self.dumps / "rank5.pickle").unlink()
        os.kill(worker, signal.SIGCONT)
        self.assertEqual(process.wait(TIMEOUT_S), 4)
        rows = summary(self.folder / "out")["rows"]
        self.assertEqual([row["page"] for row in rows if row["rank"] == 5], [None])
        self.assertNotIn("rank5.html", self.pages("out"))


class Resume(Folder):
    def times(self, out="out"):
        return {path.name: path.stat().st_ino for path in (self.folder / out).iterdir()
                if path.name.startswith("rank")}

    def test_only_what_changed_is_done_again(self):
        for rank in range(3):
            self.put(f"rank{rank}.pickle")
        self.run_batch()
        first = self.times()
        self.run_batch("--resume")
        self.assertEqual(self.times(), first)
        self.put("rank1.pickle", tiny([2 * MIB, MIB]))
        self.run_batch("--resume")
        changed = {name for name, inode in self.times().items() if inode != first[name]}
        self.assertEqual(changed, {"rank1.html", "rank1.strata.json"})

    def test_a_newer_file_of_the_same_size_is_done_again(self):
        path = self.put("rank0.pickle")
        self.run_batch()
        first = self.times()
        os.utime(path, ns=(10**18, 10**18 + 1))
        self.run_batch("--resume")
        self.assertNotEqual(self.times(), first)

    def test_options_and_pictures_count(self):
        self.put("rank0.pickle")
        self.run_batch()
        first = self.times()
        self.run_batch("--resume", "--capacity", "80GiB")
        self.assertNotEqual(self.times(), first)
        self.run_batch("--resume", "--capacity", "80GiB", "--png")
        self.assertIn("rank0.png", self.times())
        second = self.times()
        self.run_batch("--resume", "--capacity", "80GiB", "--png")
        self.assertEqual(self.times(), second)

    def test_a_lost_page_is_made_again(self):
        self.put("rank0.pickle")
        self.run_batch()
        (self.folder / "out" / "rank0.html").unlink()
        self.run_batch("--resume")
        self.assertTrue((self.folder / "out" / "rank0.html").exists())

    def test_results_of_a_broken_file_do_not_count(self):
        self.put("rank0.pickle")
        self.put("rank1.pickle")
        self.run_batch()
        self.put("rank1.pickle", b"")
        self.run_batch("--resume", code=4)
        for _ in range(2):
            result = summary(self.folder / "out")
            self.assertEqual([row["rank"] for row in result["rows"]], [0])
            self.assertEqual(result["failed"][0]["input"], "rank1.pickle")
            self.run_batch("--resume", code=4)

    def test_pages_of_missing_or_broken_files_are_removed(self):
        for rank in range(4):
            self.put(f"rank{rank}.pickle")
        self.run_batch("--png")
        (self.dumps / "rank1.pickle").unlink()
        self.put("rank2.pickle", b"\x80\x04cos\nsystem\n.")
        (self.folder / "out" / "rank1.png").write_bytes(b"a picture of mine")
        (self.folder / "out" / "notes.html").write_text("mine")
        self.run_batch("--png", "--resume", code=4)
        left = {path.name for path in (self.folder / "out").iterdir()} - {"shards"}
        own = {f"rank{rank}{ending}" for rank in (0, 3) for ending in (".html", ".png", ".strata.json")}
        self.assertEqual({"index.html", "summary.json", "notes.html", "rank1.png"} | own, left)

    def test_exports_of_missing_or_broken_files_are_removed(self):
        """The list of outputs names the export that the batch made; any other file with such a name is foreign."""
        for rank in range(3):
            self.put(f"rank{rank}.pickle")
        self.run_batch("--export", "csv")
        (self.folder / "out" / "rank1.folded").write_text("mine")
        (self.dumps / "rank1.pickle").unlink()
        self.put("rank2.pickle", b"\x80\x04cos\nsystem\n.")
        self.run_batch("--export", "csv", "--resume", code=4)
        self.assertEqual({"rank0.csv", "rank1.folded"}, {path.name for path in (self.folder / "out").iterdir() if path.suffix in (".csv", ".folded")})

    def test_a_shard_leaves_results_of_others(self):
        for rank in range(4):
            self.put(f"rank{rank}.pickle")
        self.run_batch("--shard", "1/2")
        self.run_batch("--shard", "2/2", "--resume")
        self.assertEqual(4, len(list((self.folder / "out").glob("rank*.html"))))

    def test_foreign_files_are_kept(self):
        self.put("rank0.pickle")
        self.put("rank1.pickle")
        out = self.folder / "out"
        out.mkdir()
        (out / "rank1.html").write_text("my notes")
        done = self.run_batch(code=4)
        self.assertIn("-f replaces it", done.stderr)
        self.assertEqual((out / "rank1.html").read_text(), "my notes")
        self.run_batch("-f")
        self.assertNotEqual((out / "rank1.html").read_text(), "my notes")
        (out / "index.html").write_text("my index")
        self.run_batch(code=1)
        self.assertEqual((out / "index.html").read_text(), "my index")

    def test_what_only_looks_like_ours_is_kept(self):
        """A file is ours if the list of our outputs names it with its bytes: neither its form nor its name suffices, nor
        does a list that somebody else wrote."""
        self.put("rank0.pickle")
        out = self.folder / "out"
        out.mkdir()
        (out / "rank0.strata.json").write_text('{"schema": 1, "mine": true}')
        self.assertIn("-f replaces it", self.run_batch(code=4).stderr)
        self.assertEqual((out / "rank0.strata.json").read_text(), '{"schema": 1, "mine": true}')
        (out / "rank0.strata.json").unlink()
        self.run_batch()
        self.run_batch()
        page = (out / "rank0.html").read_bytes()
        (out / "rank0.html").write_bytes(page + b"<!-- my notes -->")
        self.assertIn("-f replaces it", self.run_batch(code=4).stderr)
        self.assertTrue((out / "rank0.html").read_bytes().endswith(b"<!-- my notes -->"))
        self.run_batch("-f")
        self.assertEqual((out / "rank0.html").read_bytes(), page)
        (out / "shards" / "outputs-1-of-1.txt").write_text("mine")
        self.assertIn("is not a list of Strata's", self.run_batch(code=1).stderr)
        self.assertEqual((out / "shards" / "outputs-1-of-1.txt").read_text(), "mine")

    def test_a_line_cut_short_names_nothing(self):
        """A run that is killed while it adds a line leaves a list that the next one reads and continues."""
        self.put("rank0.pickle")
        self.run_batch()
        listed = self.folder / "out" / "shards" / "outputs-1-of-1.txt"
        whole = listed.read_text()
        listed.write_text(whole + whole.splitlines()[1][:50])
        self.run_batch()
        self.assertEqual(sorted(listed.read_text().splitlines()), sorted(whole.splitlines()))


class Shards(Folder):
    def part(self, **variables):
        done = batch(self.dumps, "-o", self.folder / "out", "--shard", "auto", env=environment(**variables))
        self.assertEqual(done.returncode, 0, done.stderr)
        records = sorted(path.stem for path in (self.folder / "out" / "shards").iterdir())
        shutil.rmtree(self.folder / "out")
        self.assertEqual(len(records), 1)
        return records[0].removeprefix("outputs-")

    def test_schedulers(self):
        self.put("rank0.pickle")
        slurm = {"SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0"}
        for expected, variables in (
            ("3-of-8", {"SLURM_PROCID": "2", "SLURM_NTASKS": "8"}),
            ("3-of-8", {"SLURM_PROCID": "2", "SLURM_NTASKS": "8", **slurm}),
            ("1-of-1", {"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "5"}),
            ("2-of-4", {"SLURM_ARRAY_TASK_ID": "12", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "4",
                        "SLURM_ARRAY_TASK_STEP": "2", "SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_JOB_ID": "5"}),
            ("6-of-8", {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": "4",
                        "SLURM_PROCID": "1", "SLURM_NTASKS": "2", **slurm}),
            ("2-of-4", {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "SLURM_PROCID": "0",
                        "SLURM_NTASKS": "1", **slurm}),
            ("4-of-4", {"PMIX_RANK": "3", "SLURM_NTASKS": "4"}),
            ("4-of-4", {"PMI_RANK": "3", "PMI_SIZE": "4"}),
            ("1-of-3", {"JOB_COMPLETION_INDEX": "0", "JOB_COMPLETIONS": "3"}),
            ("2-of-2", {"RANK": "1", "WORLD_SIZE": "2"}),
        ):
            with self.subTest(variables):
                self.assertEqual(self.part(**variables), expected)

    def test_count_by_hand(self):
        self.put("rank0.pickle")
        env = environment(JOB_COMPLETION_INDEX="4")
        out = self.folder / "out"
        self.assertEqual(batch(self.dumps, "-o", out, "--shard", "auto", env=env).returncode, 2)
        self.assertEqual(batch(self.dumps, "-o", out, "--shard", "auto/6", env=env).returncode, 0)
        self.assertTrue((out / "shards" / "outputs-5-of-6.txt").exists())
        self.assertEqual(batch(self.dumps, "-o", out, "--shard", "auto/4", env=env).returncode, 2)

    def test_each_file_is_done_once(self):
        for rank in range(40):
            self.put(f"rank{rank}.pickle")
        seen = []
        for shard in range(1, 6):
            self.run_batch("--shard", f"{shard}/5", out=f"part{shard}")
            seen += [page.name for page in (self.folder / f"part{shard}").glob("*.html")]
        self.assertEqual(sorted(seen), sorted(f"rank{rank}.html" for rank in range(40)))

    def test_a_shard_does_not_touch_files_of_others(self):
        """The batch knows foreign files from the directory listing, and does few operations by path on its own."""
        if shutil.which("strace") is None:
            self.skipTest("strace is not there")
        for rank in range(200):
            self.put(f"rank{rank}.pickle")
        log = self.folder / "calls"
        command = ["strace", "-f", "-qq", "-e", "trace=%file", "-o", str(log), STRATA, "batch", str(self.dumps), "-o",
                   str(self.folder / "out"), "--shard", "3/20", "-q"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=TIMEOUT_S)
        if "ptrace" in done.stderr:
            self.skipTest("strace may not trace here")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in log.read_text().splitlines() if "/dumps/rank" in line]
        touched = {line.split("/dumps/")[1].split('"')[0] for line in lines}
        pages = {page.stem + ".pickle" for page in (self.folder / "out").glob("*.html")}
        self.assertEqual(touched, pages)
        self.assertLess(len(pages), 40)
        self.assertLessEqual(len(lines), 6 * len(pages))

    def test_two_batches_on_the_same_part(self):
        first, worker = self.start_and_stop("rank0.pickle")
        self.assertIn("another strata batch", self.run_batch(code=1).stderr)
        os.kill(worker, signal.SIGCONT)
        self.assertEqual(first.wait(TIMEOUT_S), 0)


class Trouble(Folder):
    """What a batch leaves behind when it is interrupted or killed."""

    def start_set(self, *arguments):
        """Two small files and a long one, rank1, in the middle of which the worker is stopped. With -j 1 the others
        wait for it."""
        self.put("rank0.pickle")
        self.put("rank2.pickle")
        return self.start_and_stop("rank1.pickle", *arguments)

    def assert_whole(self):
        """Every file with its final name is complete, and a new run gives the right result."""
        out = self.folder / "out"
        for path in out.glob("rank*.html"):
            self.assertTrue(path.read_text().rstrip().endswith("</html>"), path)
        for path in out.glob("*.json"):
            json.loads(path.read_text())
        self.assertEqual(batch(self.dumps, "-o", out, "--resume").returncode, 0)
        self.assertEqual(batch(self.dumps, "-o", self.folder / "control").returncode, 0)
        self.assertEqual(contents(out, ()), contents(self.folder / "control", ()))

    def test_killed_worker_costs_one_file(self):
        process, worker = self.start_set("-j", "1")
        os.kill(worker, signal.SIGKILL)
        errors = process.stderr.read()
        self.assertEqual(process.wait(TIMEOUT_S), 4, errors)
        self.assertIn("killed by signal 9", errors)
        result = summary(self.folder / "out")
        self.assertEqual([row["rank"] for row in result["rows"]], [0, 2])
        self.assertEqual([entry["input"] for entry in result["failed"]], ["rank1.pickle"])
        self.assertEqual(hidden(self.folder / "out"), [])
        self.assert_whole()

    def test_a_file_that_takes_too_long_fails_alone(self):
        """The worker is stopped, as one that reads a bomb would go on for ever."""
        process, worker = self.start_set("-j2", "--max-time", "1")
        time.sleep(1.5)
        os.kill(worker, signal.SIGCONT)
        self.assertEqual(process.wait(TIMEOUT_S), 4)
        result = summary(self.folder / "out")
        self.assertEqual([row["rank"] for row in result["rows"]], [0, 2])
        self.assertEqual(result["failed"][0]["reason"], "took longer than 1 s; --max-time allows more")

    def test_more_workers_than_files_may_be_open(self):
        """Where there is no room for another worker, the batch waits for the end of one."""
        for rank in range(40):
            self.put(f"rank{rank}.pickle")
        done = batch(self.dumps, "-o", self.folder / "out", "-j40", "--max-memory", "8GiB",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(summary(self.folder / "out")["rows"]), 40)

    def test_interrupt(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                process, worker = self.start_set("-j", "2")
                workers = {worker, *children(process.pid)}
                process.send_signal(number)
                self.assertEqual(process.wait(TIMEOUT_S), code)
                for worker in workers:
                    self.assertFalse(pathlib.Path(f"/proc/{worker}").exists())
                self.assertEqual(hidden(self.folder / "out"), [])
                self.assertFalse((self.folder / "out" / "rank1.html").exists())
                self.assertFalse((self.folder / "out" / "index.html").exists())
        self.assert_whole()

    def test_killed_batch_takes_its_workers_along(self):
        process, worker = self.start_set()
        process.kill()
        process.wait(TIMEOUT_S)
        until(lambda: not pathlib.Path(f"/proc/{worker}").exists(), "the worker's end")
        self.assertFalse((self.folder / "out" / "rank1.html").exists())
        self.assert_whole()
        self.assertEqual(hidden(self.folder / "out"), [])

    def test_killed_at_any_moment(self):
        """Whichever process is killed, and when: every named file is complete, no hidden file and no process is left,
        and --resume finishes."""
        for rank in range(3):
            self.put(f"rank{rank}.pickle")
        self.put("rank3.pickle", long(60_000))
        dice, out, longest = random.Random(25), self.folder / "out", 0.05
        for number in range(200 if os.environ.get("STRATA_TEST_ALL") == "ON" else 24):
            if number % 6 == 0:
                shutil.rmtree(out, ignore_errors=True)
            begin = time.monotonic()
            process = self.start("--resume", "--png", "-j", "2")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=dice.uniform(0, longest))
            workers = children(process.pid)
            if process.poll() is None:
                victim = dice.choice([process.pid, process.pid, *workers])
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, dice.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
            process.communicate(timeout=TIMEOUT_S)
            longest = max(longest, time.monotonic() - begin)
            until(lambda: all(state_of(worker) in (None, "Z") for worker in workers), "the workers' end")
            # A killed batch cannot remove its temporary folder; the next batch does.
            for name in hidden(out) if out.exists() else []:
                self.assertRegex(name, r"^\.strata-[0-9a-f]{16}\.tmp$|^\.strata-1-of-1\.tmp$")
            for path in out.glob("*.html"):
                self.assertTrue(path.read_text().rstrip().endswith("</html>"), path)
            for path in [*out.glob("*.json"), *out.glob("shards/*.json")]:
                json.loads(path.read_text())
            for path in out.glob("*.png"):
                self.assertTrue(path.read_bytes().endswith(b"IEND\xaeB`\x82"), path)
        self.assertEqual(batch(self.dumps, "-o", out, "--resume", "--png").returncode, 0)
        self.assertEqual([], hidden(out))
        self.assertEqual(batch(self.dumps, "-o", self.folder / "control", "--png").returncode, 0)
        self.assertEqual(contents(out), contents(self.folder / "control"))

    def test_full_disk(self):
        self.put("rank0.pickle")
        self.put("rank1.pickle", long(600_000))  # its page does not fit
        self.put("rank2.pickle")
        out = self.folder / "out"
        out.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "strata-test", str(out)],
                               capture_output=True)
        if mount.returncode != 0:
            self.skipTest("cannot mount a small tmpfs here")
        try:
            done = self.start("-j", "1")
            errors = done.stderr.read()
            self.assertIn(done.wait(TIMEOUT_S), (1, 4), errors)
            self.assertIn("No space left on device", errors)
            self.assertEqual(hidden(out), [])
            for path in out.glob("rank*.html"):
                self.assertTrue(path.read_text().rstrip().endswith("</html>"), path)
            for path in out.glob("*.json"):
                json.loads(path.read_text())
            self.assertFalse((out / "rank1.html").exists())
        finally:
            subprocess.run(["umount", str(out)], check=True)
        self.assert_whole()

    def test_read_only_directory(self):
        self.put("rank0.pickle")
        out = self.folder / "out"
        out.mkdir(mode=0o555)
        options = {}
        program = STRATA
        # Root may write anywhere, so the test becomes the user nobody and runs a copy of the program that nobody can
        # reach.
        if os.geteuid() == 0:
            self.folder.chmod(0o755)
            program = shutil.copy(STRATA, self.folder / "strata")
            options = {"user": 65534, "group": 65534, "extra_groups": []}
        done = subprocess.run([program, "batch", str(self.dumps), "-o", str(out)], capture_output=True, text=True,
                              env=environment(), timeout=TIMEOUT_S, **options)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Permission denied", done.stderr)
        self.assertEqual(list(out.iterdir()), [])

    def test_little_memory(self):
        """A file that needs more than its share of memory is tried alone; one that needs more than the whole limit
        fails alone."""
        self.put("rank0.pickle")
        self.put("rank1.pickle", long(600_000))
        done = self.run_batch("--max-memory", "8MiB", "-j", 2, code=4)
        self.assertIn("--max-memory", done.stderr)
        self.assertEqual([row["rank"] for row in summary(self.folder / "out")["rows"]], [0])
        self.run_batch("--max-memory", "600MiB", "-j", 16)
        self.assertEqual([row["rank"] for row in summary(self.folder / "out")["rows"]], [0, 1])

    def test_an_unreadable_file_fails_alone(self):
        self.put("rank0.pickle")
        self.put("rank1.pickle", b"\x80\x04cos\nsystem\n.")
        self.run_batch(code=4)
        failed = summary(self.folder / "out")["failed"]
        self.assertEqual([entry["input"] for entry in failed], ["rank1.pickle"])
        self.assertIn("refused", failed[0]["reason"])


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
