#!/usr/bin/env python3
"""strata batch on directories of ranks: what it finds, how it names outputs, and what it reports as different."""

import json
import os
import pathlib
import pickle
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from batch_case import Folder, MIB, ROOT, batch, contents, hidden, strata, summary, tiny  # noqa: E402
sys.path.insert(0, str(ROOT / "samples"))
from simulator.stories import STORIES  # noqa: E402


class SixteenRanks(unittest.TestCase):
    """Sixteen ranks, five of them in trouble. Converted once; the tests look at the result."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="strata-ranks-"))
        cls.dumps = cls.folder / "dumps"
        cls.dumps.mkdir()
        for rank in range(16):
            story = {3: "leak_graph", 7: "oom"}.get(rank, "train")
            cls.write(rank, pickle.dumps(STORIES[story](100 + rank), protocol=4))
        whole = cls.path(5).read_bytes()
        cls.write(5, whole[:len(whole) // 4])
        cls.write(9, b"")
        (cls.dumps / "launch.log").write_text("[INFO] rank 11 says hello\n")
        cls.write(11, b"[INFO] this is a log, whatever its name says\n")
        cls.plain = cls.folder / "plain"
        cls.done = batch(cls.dumps, "-o", cls.plain, "--png")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def path(cls, rank):
        return cls.dumps / f"rank{rank}_memory_snapshot.pickle"

    @classmethod
    def write(cls, rank, data):
        cls.path(rank).write_bytes(data)
        os.utime(cls.path(rank), ns=(10**18 + rank, 10**18 + rank))

    def row(self, rank):
        return next(row for row in summary(self.plain)["rows"] if row["rank"] == rank)

    def test_exit_code_and_totals(self):
        self.assertEqual(self.done.returncode, 4, self.done.stderr)
        totals = summary(self.plain)["totals"]
        self.assertEqual((totals["files"], totals["done"], totals["failed"], totals["skipped"]), (17, 14, 1, 2))

    def reports(self):
        """Reports of the ranks that can be read to their end."""
        return {rank: json.loads(strata("report", "--json", "--top", 0, self.path(rank)).stdout)["devices"][0]
                for rank in range(16) if rank not in (5, 9, 11)}

    def test_straggler_is_named_in_words(self):
        """The finding's figure is the peak over the steps that all ranks have, computed from the reports."""
        findings = [finding["title"] for finding in summary(self.plain)["findings"]]
        row = self.row(3)
        self.assertEqual(row["odd"], ["peak", "end"])
        self.assertIn(row["finding"], findings)
        self.assertRegex(row["finding"],
                         r"^rank 3 peaks [\d.]+ GiB above the median; \w+\.py:\d+ \w+ holds [\d.]+ \w+ more$")
        reports = self.reports()
        common = sorted(len(report["steps"]) for rank, report in reports.items() if rank != 7)[6]
        peaks = {rank: max(step["peak_bytes"] for step in report["steps"][:common])
                 for rank, report in reports.items()}
        values = sorted(peaks.values())
        self.assertIn(f"{(peaks[3] - values[len(values) // 2]) / (1 << 30):.1f} GiB above", row["finding"])

    def test_differences_have_both_signs_and_do_not_exceed_the_whole(self):
        entries = self.row(3)["differences"]
        changes = [entry["bytes"] - entry["median_bytes"] for entry in entries]
        more = [change for change in changes if change > 0]
        less = [change for change in changes if change < 0]
        self.assertTrue(more)
        self.assertEqual(changes, sorted(more, reverse=True) + sorted(less))

    def test_out_of_memory_is_named(self):
        row = self.row(7)
        self.assertEqual(row["oom"], 1)
        self.assertIn("oom", row["odd"])
        self.assertRegex(row["finding"], "rank 7 ran out of memory: .* requested, .* free")
        first = summary(self.plain)["findings"][0]
        self.assertEqual((first["kind"], first["title"], first["ranks"]), ("out_of_memory", row["finding"], [7]))

    def test_truncated_file_is_shown_as_such(self):
        row = self.row(5)
        self.assertIn("truncated", row["odd"])
        self.assertIn("cut short", row["finding"])
        self.assertIn("cut off", row["truncation"])

    def test_refused_files_have_reasons(self):
        result = summary(self.plain)
        self.assertEqual(result["failed"], [{"input": self.path(9).name, "reason": "the file is empty"}])
        self.assertEqual([entry["input"] for entry in result["skipped"]], ["launch.log", self.path(11).name])
        self.assertIn(f'"{self.path(9)}": the file is empty', self.done.stderr)

    def test_quiet_ranks_are_not_called_different(self):
        odd = {row["rank"] for row in summary(self.plain)["rows"] if row["odd"]}
        self.assertEqual(odd, {3, 5, 7})

    def test_outputs_are_those_of_the_other_verbs(self):
        for rank in (0, 3, 7):
            for verb, ending in (("html", ".html"), ("png", ".png")):
                alone = self.folder / f"alone{ending}"
                strata(verb, "-q", "-f", self.path(rank), "-o", alone)
                self.assertEqual(alone.read_bytes(), (self.plain / f"rank{rank}{ending}").read_bytes())
            sidecar = json.loads((self.plain / f"rank{rank}.strata.json").read_text())
            del sidecar["batch"]
            self.assertEqual(sidecar, json.loads(strata("report", "--json", self.path(rank)).stdout))

    def test_curve_keeps_the_peak(self):
        for rank in (0, 3, 7):
            sidecar = json.loads((self.plain / f"rank{rank}.strata.json").read_text())
            figures, device = sidecar["devices"][0], sidecar["batch"]["devices"][0]
            self.assertLessEqual(len(device["curve"]), 256)
            self.assertEqual(max(device["curve"]), figures["peak_bytes"])
            self.assertEqual(device["curve"].index(figures["peak_bytes"]),
                             (figures["peak_event"] + 1) * len(device["curve"]) // (figures["events"] + 1))

    def test_same_bytes_again(self):
        self.assertEqual(batch(self.dumps, "-o", self.folder / "again", "--png", "-j", 7).returncode, 4)
        self.assertEqual(contents(self.folder / "again", ()), contents(self.plain, ()))
        before = contents(self.plain, ())
        self.assertEqual(batch(self.dumps, "-o", self.plain, "--png").returncode, 4)
        self.assertEqual(contents(self.plain, ()), before)
        self.assertEqual(batch(self.dumps, "-o", self.plain, "--png", "--resume").returncode, 4)
        self.assertEqual(contents(self.plain, ()), before)

    def test_shards_give_what_a_plain_run_gives(self):
        out = self.folder / "shards"
        codes = [batch(self.dumps, "-o", out, "--png", "--shard", f"{i}/4").returncode for i in (3, 1, 4, 2)]
        self.assertEqual(sorted(codes), [0, 0, 0, 4])
        self.assertFalse((out / "index.html").exists())
        self.assertEqual(batch(self.dumps, "-o", out, "--png", "--resume").returncode, 4)
        self.assertEqual(contents(out), contents(self.plain))

    def test_nothing_hidden_is_left(self):
        self.assertEqual(hidden(self.plain), [])

    def test_index_fetches_nothing_and_has_no_paths(self):
        page = (self.plain / "index.html").read_text()
        self.assertIn("default-src 'none'", page)
        for word in ("http://", "https://", str(self.folder), "<script src", "<link rel=\"stylesheet\""):
            self.assertNotIn(word, page)


class Names(Folder):
    CASES = (
        ("rank0_memory_snapshot.pickle", 0, None, "rank0"),
        ("snapshot_oom_rank-3.pickle", 3, None, "rank3"),
        ("oom_rank4.pickle", 4, None, "rank4"),
        ("prof_memsnap_r12.pkl", 12, None, "rank12"),
        ("rank-1_itrn-3.Mar_01_06_10_09.3747.snapshot.pickle", 1, 3, "rank1-step3"),
        ("snapshot_20.pickle", 20, None, "rank20"),
        ("iteration_10/rank0_memory_snapshot.pickle", 0, 10, "rank0-step10"),
        ("rank30/snapshot_200.pickle", 30, 200, "rank30-step200"),
        ("Global_Step100/RANK_0031.pickle", 31, 100, "rank31-step100"),
        ("frank7/prank8.pickle", None, None, "frank7_prank8"),
        ("host-a.12345.pickle", None, None, "host-a.12345"),
        ("41.pickle", 41, None, "rank41"),
        ("index.pickle", None, None, None),  # index.html is taken
        ("rank 5.pickle", 5, None, "rank5"),
        ("rank6.100.memory_snapshot.pickle", 6, 100, "rank6-step100"),
        ("snapshot_2025-06-01-12-30_13.pickle", 13, None, "rank13"),
        ("snapshot_20261121101500_14.pickle", 14, None, "rank14"),
        ("snapshot_20261121101500.pickle", None, None, "snapshot_20261121101500"),
        ("snapshot_7_15.pickle", 15, 7, "rank15-step7"),
        ("steps1-3/rank16.pickle", 16, None, "rank16"),
        ("dp0_tp1_pp2/rank17.pickle", 17, None, "rank17"),
        ("actor18_memory.pickle", 18, None, "rank18"),
        ("node1/local_rank_3.pickle", None, None, "node1_local_rank_3"),
        ("step_20/000021_step_20.pickle", 21, 20, "rank21-step20"),
        ("run/2024_step_30.pickle", None, 30, "run_2024_step_30"),  # a year is not a rank
    )
    LOOSE = (
        ("m0/mem-0.pickle", 0, None, None),
        ("m1/mem_0.pickle", 0, None, None),
        ("m2/memory_trace_0.pickle", 0, None, None),
        ("m3/19_memory_snapshot.pickle", 19, None, "rank19"),
        ("s0/memory_snapshot_0.pickle", 0, None, None),
        ("s0/memory_snapshot_1.pickle", 1, None, None),
        ("s1/memory_snapshot_150.pickle", None, 150, None),
        ("s2/cuda_memory_snapshot_100.pickle", None, 100, None),
        ("s2/cuda_memory_snapshot_200.pickle", None, 200, None),
        ("s3/snapshot_100.pickle", None, 100, None),
        ("s3/snapshot_200.pickle", None, 200, None),
    )

    def test_loose_numbers(self):
        for name, *_ in self.LOOSE:
            self.put(name)
        self.run_batch()
        rows = {row["input"]: row for row in summary(self.folder / "out")["rows"]}
        for name, rank, step, _ in self.LOOSE:
            with self.subTest(name):
                self.assertEqual((rows[name]["rank"], rows[name]["step"]), (rank, step))

    def test_names_in_use(self):
        for name, *_ in self.CASES:
            self.put(name)
        self.run_batch()
        rows = {row["input"]: row for row in summary(self.folder / "out")["rows"]}
        for name, rank, step, output in self.CASES:
            with self.subTest(name):
                row = rows[name]
                self.assertEqual((row["rank"], row["step"]), (rank, step))
                if output:
                    self.assertEqual(row["page"], output + ".html")
                self.assertTrue((self.folder / "out" / row["page"]).exists())
        self.assertRegex(rows["index.pickle"]["page"], r"^index-[0-9a-f]{16}\.html$")
        ranks = [row["rank"] for row in summary(self.folder / "out")["rows"]]
        known = [rank for rank in ranks if rank is not None]
        self.assertEqual(ranks, sorted(known) + [None] * (len(ranks) - len(known)))

    def test_two_files_of_one_rank_are_both_kept(self):
        self.put("rank3.pickle")
        self.put("oom_rank3.pickle", tiny([5 * MIB]))
        self.put("rank4.pickle")
        self.run_batch()
        rows = summary(self.folder / "out")["rows"]
        self.assertEqual([row["page"] for row in rows], ["rank3-oom_rank3.html", "rank3-rank3.html", "rank4.html"])

    def test_a_later_second_file_of_a_rank(self):
        """The first file's outputs get other names, and it counts once."""
        self.put("rank3.pickle")
        self.run_batch()
        self.put("oom_rank3.pickle", tiny([5 * MIB]))
        self.run_batch("--resume")
        rows = summary(self.folder / "out")["rows"]
        self.assertEqual([row["page"] for row in rows], ["rank3-oom_rank3.html", "rank3-rank3.html"])
        self.assertFalse((self.folder / "out" / "rank3.html").exists())
        self.run_batch("--resume")
        self.assertEqual(summary(self.folder / "out")["rows"], rows)

    def test_rank_regex(self):
        self.put("node07-it3.pickle")
        self.put("node08-it4.pickle")
        for regex in (r"node(\d+)-it(\d+)", r"node(?P<rank>[0-9]+)-it(?P<step>\d+)",
                      r"(?<rank>\d+)-it(?<step>\d+)"):
            self.run_batch("--rank-regex", regex, "-q")
            self.assertEqual([row["page"] for row in summary(self.folder / "out")["rows"]],
                             ["rank7-step3.html", "rank8-step4.html"])
        self.run_batch("--rank-regex", r"it(?P<step>\d)|node(?P<rank>\d+)", code=0)
        for wrong in ("node(", "node"):
            self.assertIn("--rank-regex", self.run_batch("--rank-regex", wrong, code=2).stderr)

    def test_a_host_that_is_odd_is_named(self):
        """If the odd ranks are exactly those of one host, the finding names the host."""
        for rank in range(16):
            more = 512 * MIB if rank // 4 == 2 else 0
            self.put(f"node{rank // 4}/rank{rank}.pickle", tiny([64 * MIB + 512 * rank + more]))
        titles = self.titles()
        self.assertTrue(any(title.startswith("ranks 8-11 (all of node2) are alike") for title in titles), titles)
        (self.dumps / "node3" / "rank12.pickle").write_bytes(tiny([576 * MIB + 512 * 12]))
        titles = self.titles()
        self.assertTrue(titles and not any("(all of" in title for title in titles), titles)

    def test_dumps_of_one_process_are_no_ranks(self):
        """Two dumps of one process are two moments of it. Dumps of several ranks are compared with those that are called
        alike."""
        self.put("rank11385_steps.pickle", tiny([256 * MIB]))
        self.put("rank11385_exit.pickle", tiny([700 * MIB]))
        self.assertEqual(self.titles(), [])
        (self.dumps / "rank11385_exit.pickle").unlink()
        (self.dumps / "rank11385_steps.pickle").unlink()
        for rank in range(8):
            self.put(f"rank{rank}_steps.pickle", tiny([256 * MIB]))
            self.put(f"rank{rank}_exit.pickle", tiny([(900 if rank == 3 else 700) * MIB]))
        titles = self.titles()
        self.assertEqual(len(titles), 1, titles)
        self.assertRegex(titles[0], r"^rank 3 \(rank3_exit\.pickle\) peaks 200 MiB above the median")

    def test_two_recordings_of_one_rank_are_distinguished(self):
        """With two jobs in one directory each rank has two recordings, and no step tells them apart."""
        for job in range(2):
            for rank in range(8):
                self.put(f"job{job}/rank{rank}.pickle", tiny([64 * MIB + 512 * (rank + 8 * job)]))
        odd = self.dumps / "job1" / "rank5.pickle"
        odd.write_bytes(tiny([576 * MIB]))
        titles = self.titles()
        self.assertTrue(titles and all(title.startswith("rank 5 (job1/rank5.pickle) ") for title in titles), titles)
        (self.dumps / "job0" / "rank5.pickle").write_bytes(tiny([577 * MIB]))
        titles = self.titles()
        self.assertTrue(titles and all(title.startswith("rank 5, 2 recordings, as in job0/rank5.pickle: peaks ") for title in titles), titles)
        # Known steps tell them apart.
        for rank in range(8):
            for step in (10, 20):
                self.put(f"steps/iteration_{step}/rank{rank}.pickle", tiny([(64 + step + 512 * (rank == 5)) * MIB + 512 * rank]))
        for job in range(2):
            shutil.rmtree(self.dumps / f"job{job}")
        titles = self.titles()
        self.assertTrue(titles and all(title.startswith("rank 5, 2 steps, as in step 10: peaks ") for title in titles), titles)

    def titles(self):
        """The titles of findings about ranks, from a batch of the whole folder."""
        self.run_batch("-q")
        return [finding["title"] for finding in summary(self.folder / "out")["findings"] if finding["kind"].startswith("rank_")]

    def test_links_and_repeats_are_converted_once(self):
        path = self.put("rank0.pickle")
        (self.dumps / "latest.pickle").symlink_to(path.name)
        (self.dumps / "loop").symlink_to(".")
        self.assertEqual(batch(self.dumps, path, self.dumps, "-o", self.folder / "out").returncode, 0)
        result = summary(self.folder / "out")
        self.assertEqual(result["totals"]["done"], 1)
        self.assertEqual([entry["reason"][:16] for entry in result["skipped"]], ["is the same file"])

    def test_hostile_names(self):
        name = "rank1 <script>alert(1)<\\script>&'\"\n\u202e\x1b[31m.pickle"
        self.put(name)
        self.put("rank1.pickle")
        os.close(os.open(os.fsencode(self.dumps) + b"/rank2\xff\xfe.pickle", os.O_CREAT | os.O_WRONLY))
        done = self.run_batch(code=4)
        page = (self.folder / "out" / "index.html").read_text()
        self.assertNotIn("<script>alert", page)
        self.assertNotIn("\x1b", done.stderr)
        self.assertIn(name, [row["input"] for row in summary(self.folder / "out")["rows"]])
        for path in (self.folder / "out").iterdir():
            self.assertRegex(path.name, r"^[A-Za-z0-9._-]+$")


class Finding(Folder):
    def test_directories_are_entered_unless_told_not_to(self):
        self.put("rank0.pickle")
        self.put("deep/er/rank1.pickle")
        self.put(".hidden/rank2.pickle")
        self.run_batch()
        self.assertEqual(summary(self.folder / "out")["totals"]["done"], 2)
        self.run_batch("--no-recursive", out="b")
        self.assertEqual(summary(self.folder / "b")["totals"]["done"], 1)

    def test_reports_are_not_read_as_snapshots(self):
        """A page of Strata can be read, so the results beside the dumps must be passed over."""
        self.put("rank0.pickle")
        for _ in range(2):
            self.run_batch(out="dumps/report")
            self.run_batch(out="dumps")
        for out in ("dumps/report", "dumps"):
            self.assertEqual(summary(self.folder / out)["totals"]["files"], 1)

    def test_kind_is_found_by_content(self):
        self.put("rank0.txt")
        self.put("rank1.pickle", b"\x7fELF and so on")
        self.put("rank2.pickle", pickle.dumps({"weights": [1, 2, 3]}))
        self.put("config.json", b'{"model": {"layers": 3}}')
        self.put(".gitkeep", b"")
        self.put("empty.txt", b"")
        self.run_batch()
        result = summary(self.folder / "out")
        self.assertEqual([row["input"] for row in result["rows"]], ["rank0.txt"])
        self.assertEqual([entry["input"] for entry in result["skipped"]],
                         ["config.json", "empty.txt", "rank1.pickle", "rank2.pickle"])

    def test_a_named_file_must_be_a_snapshot(self):
        path = self.put("notes.txt", b"hello")
        good = self.put("rank0.pickle")
        done = batch(path, good, "-o", self.folder / "out")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(summary(self.folder / "out")["failed"][0]["input"], "notes.txt")

    def test_an_empty_folder(self):
        self.assertIn("no snapshot", self.run_batch(code=1).stderr)
        self.put("notes.txt", b"hello")
        self.assertIn("no snapshot", self.run_batch(code=1).stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_a_page_behind_a_comment_is_read(self):
        """A batch takes every file that the other verbs read."""
        path = self.put("rank0.pickle")
        page = self.dumps / "page.html"
        strata("html", "-q", path, "-o", page)
        page.write_text("<!-- saved from a mail -->\n" + page.read_text())
        self.put("changelog.txt", b"changelog\nversion\nall the news\n")
        self.run_batch()
        result = summary(self.folder / "out")
        self.assertEqual(sorted(row["input"] for row in result["rows"]), ["page.html", "rank0.pickle"])
        self.assertEqual([entry["input"] for entry in result["skipped"]], ["changelog.txt"])

    def test_a_missing_path_fails_alone(self):
        path = self.put("rank0.pickle")
        out = self.folder / "a" / "b"
        self.assertEqual(batch(self.folder / "gone.pickle", path, "-o", out).returncode, 4)
        self.assertEqual([row["rank"] for row in summary(out)["rows"]], [0])
        self.assertIn("cannot open", summary(out)["failed"][0]["reason"])
        self.assertEqual(batch(self.folder / "gone", "-o", self.folder / "out").returncode, 1)

    def test_usage(self):
        for arguments in ((self.dumps,), ("-o", "x"), ("-", "-o", "x"), (self.dumps, "-o", "-"),
                          (self.dumps, "-o", "x", "-j", "0"), (self.dumps, "-o", "x", "--shard", "0/4"),
                          (self.dumps, "-o", "x", "--shard", "5/4"), (self.dumps, "-o", "x", "--shard", "auto"),
                          (self.dumps, "-o", "x", "--jbos", "2")):
            with self.subTest(arguments):
                self.assertEqual(batch(*arguments, cwd=self.folder).returncode, 2)
        self.assertFalse((self.folder / "x").exists())
        self.assertIn("--shard", batch("-h").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
