#!/usr/bin/env python3
"""strata batch on directories of ranks: what it finds, how it names, what it says is different, and what is left
behind when a worker dies, the disk is full or somebody presses Ctrl-C.

Environment: STRATA, path of the program (default: build/release/strata).
"""

import functools
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
TIMEOUT_S = 300
MIB = 1 << 20

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "samples"))
from simulator.stories import STORIES  # noqa: E402

SCHEDULERS = ("OMPI_", "PMI_", "PMIX_", "SLURM_", "JOB_COMPLETION", "RANK", "WORLD_SIZE")


def environment(**more):
    """Ours without what a scheduler may have set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SCHEDULERS)}
    return {**kept, **more}


def strata(*arguments, env=None, **options):
    return subprocess.run([STRATA, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          timeout=TIMEOUT_S, env=env or environment(), **options)


def batch(*arguments, **options):
    return strata("batch", *arguments, **options)


def tiny(sizes=(MIB,)):
    """A snapshot of a few allocations, quick to write and to read."""
    frames = [{"name": "forward", "filename": "/home/user/train.py", "line": 41}]
    trace = [{"action": "alloc", "addr": 0x7F0000000000 + (i << 32), "size": size, "stream": 0, "time_us": i,
              "frames": frames} for i, size in enumerate(sizes)]
    return pickle.dumps({"segments": [], "device_traces": [trace]})


@functools.lru_cache
def long(n_events):
    """A snapshot that takes a while to convert."""
    frames = [[{"name": f"layer{i}", "filename": "model.py", "line": i + 1}] for i in range(50)]
    trace = []
    for i in range(n_events // 2):
        event = {"addr": 0x7F0000000000 + (i % 1000) * MIB, "size": 4096 + i % 7, "stream": 0, "time_us": i,
                 "frames": frames[i % 50]}
        trace += [{"action": "alloc", **event}, {"action": "free_completed", **event}]
    return pickle.dumps({"segments": [], "device_traces": [trace]})


def contents(folder, without=("shards",)):
    """Every file below a folder with its bytes; hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.relative_to(folder).parts[0] not in without}


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def children(pid):
    """Processes whose parent is `pid`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(entry.name))
        except (OSError, IndexError):
            pass
    return found


def until(probe, what):
    for _ in range(600):
        answer = probe()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"did not happen: {what}")


class Folder(unittest.TestCase):
    """A fresh folder for each test, with `dumps` for the inputs."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strata-batch-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.dumps = self.folder / "dumps"
        self.dumps.mkdir()

    def put(self, name, data=None):
        path = self.dumps / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tiny() if data is None else data)
        os.utime(path, ns=(10**18, 10**18))
        return path

    def run_batch(self, *arguments, code=0, out="out", **options):
        done = batch(self.dumps, "-o", self.folder / out, *arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done


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
        """The peak of the steps that all ranks have, by the reports' own steps."""
        findings = [finding["title"] for finding in summary(self.plain)["findings"]]
        row = self.row(3)
        self.assertEqual(row["odd"], ["peak", "end"])
        self.assertIn(row["finding"], findings)
        self.assertRegex(row["finding"],
                         r"^rank 3 peaks [\d.]+ GiB above the median; [\d.]+ \w+ of it from \w+\.py:\d+ \w+")
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
        self.assertRegex(row["finding"], "rank 7 ran out of memory: asked for .* with .* free")
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
            self.assertEqual([entry[0] for entry in device["sites"][:5]],
                             [group["bytes"] for group in figures["top_at_peak"][:5]])

    def test_same_bytes_again(self):
        self.assertEqual(batch(self.dumps, "-o", self.folder / "again", "--png", "-j", 7).returncode, 4)
        self.assertEqual(contents(self.folder / "again", ()), contents(self.plain, ()))
        before = contents(self.plain, ())
        self.assertEqual(batch(self.dumps, "-o", self.plain, "--png").returncode, 4)
        self.assertEqual(contents(self.plain, ()), before)
        self.assertEqual(batch("--index", self.plain).returncode, 4)
        self.assertEqual(contents(self.plain, ()), before)

    def test_shards_give_what_a_plain_run_gives(self):
        out = self.folder / "shards"
        codes = [batch(self.dumps, "-o", out, "--png", "--shard", f"{i}/4").returncode for i in (3, 1, 4, 2)]
        self.assertEqual(sorted(codes), [0, 0, 0, 4])
        self.assertFalse((out / "index.html").exists())
        self.assertEqual(batch("--index", out).returncode, 4)
        self.assertEqual(contents(out), contents(self.plain))

    def test_missing_shards_are_named(self):
        out = self.folder / "missing"
        for i in (1, 4):
            batch(self.dumps, "-o", out, "--shard", f"{i}/4")
        done = batch("--index", out)
        self.assertEqual(done.returncode, 4)
        self.assertEqual(summary(out)["notes"], ["shards that have not finished: 2-3 of 4"])
        self.assertIn("2-3 of 4", done.stderr)
        self.assertIn("2-3 of 4", (out / "index.html").read_text())

    def test_nothing_hidden_is_left(self):
        self.assertEqual(hidden(self.plain), [])

    def test_index_fetches_and_tells_nothing(self):
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
        ("run/2024_step_30.pickle", None, 30, "run_2024_step_30"),  # a year is no rank
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

    def test_numbers_that_no_word_explains(self):
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
        """The first file's outputs get other names; --index counts it once."""
        self.put("rank3.pickle")
        self.run_batch()
        self.put("oom_rank3.pickle", tiny([5 * MIB]))
        self.run_batch("--resume")
        rows = summary(self.folder / "out")["rows"]
        self.assertEqual([row["page"] for row in rows], ["rank3-oom_rank3.html", "rank3-rank3.html"])
        self.assertEqual(batch("--index", self.folder / "out").returncode, 0)
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

    def test_group_by(self):
        """Which ranks are compared with each other is the reader's choice; nothing is converted again for it."""
        names = [f"node{tp}/dp{dp}_tp{tp}_pp{pp}/rank{8 * dp + 4 * tp + pp}.pickle"
                 for dp in range(2) for tp in range(2) for pp in range(2)]
        for name in names:
            self.put(name)
        groups = {(): {"pp0", "pp1"}, ("--group-by", "tp"): {"tp0", "tp1"}, ("--group-by", "host,pp"): {
            "node0 pp0", "node0 pp1", "node1 pp0", "node1 pp1"}, ("--group-by", "program"): {None}, ("--group-by", "all"): {"all"}}
        for options, wanted in groups.items():
            with self.subTest(options=options):
                self.run_batch("--resume", *options, "-q")
                rows = summary(self.folder / "out")["rows"]
                self.assertEqual({row["group"] for row in rows}, wanted)
                self.assertEqual(len({row["cohort"] for row in rows}), len(wanted))
                again = batch("-q", "--index", self.folder / "out", *(options or ("--group-by", "pp,stage,role")))
                self.assertEqual(again.returncode, 0, again.stderr)
                self.assertEqual(summary(self.folder / "out")["rows"], rows)
        self.assertIn("--group-by", self.run_batch("--group-by", "tp=1", code=2).stderr)

    def test_a_host_that_is_odd_is_named(self):
        """Where the odd ranks are those of one host, the host is what is odd."""
        for rank in range(16):
            more = 512 * MIB if rank // 4 == 2 else 0
            self.put(f"node{rank // 4}/rank{rank}.pickle", tiny([64 * MIB + 512 * rank + more]))
        self.run_batch("-q")
        titles = [finding["title"] for finding in summary(self.folder / "out")["findings"]]
        self.assertTrue(any(title.startswith("ranks 8-11 (all of node2) are alike") for title in titles), titles)
        (self.dumps / "node3" / "rank12.pickle").write_bytes(tiny([576 * MIB + 512 * 12]))
        self.run_batch("-q")
        titles = [finding["title"] for finding in summary(self.folder / "out")["findings"]]
        self.assertTrue(titles and not any("all of" in title for title in titles), titles)

    def test_many_files_are_dealt_to_folders(self):
        """From 2,000 files on; what is no snapshot counts, since whether it is one is not known before it is read."""
        for rank in range(0, 60, 5):
            self.put(f"rank{rank}.pickle", tiny([MIB + 512 * rank]))
        for i in range(1990):
            self.put(f"notes/{i}.txt", b"no snapshot")
        self.run_batch("-q")
        out = self.folder / "out"
        rows = summary(out)["rows"]
        self.assertEqual([row["rank"] for row in rows], list(range(0, 60, 5)))
        folders = {row["page"].split("/")[0] for row in rows}
        self.assertGreater(len(folders), 1)
        for row in rows:
            self.assertRegex(row["page"], r"^pages-[0-9a-f]{2}/rank\d+\.html$")
            self.assertTrue((out / row["page"]).exists() and (out / row["sidecar"]).exists())
        whole = contents(out)
        again = self.run_batch("-q", "--resume", "-v")
        self.assertEqual(contents(out), whole, again.stderr)
        shutil.rmtree(out)
        for part in (1, 2):
            self.run_batch("-q", "--shard", f"{part}/2")
        self.assertEqual(batch("-q", "--index", out).returncode, 0)
        self.assertEqual(contents(out), whole)
        # Results beside the snapshots are not taken for snapshots.
        self.assertEqual(batch("-q", "--resume", self.dumps, out, "-o", out).returncode, 0)
        self.assertEqual(len(summary(out)["rows"]), len(rows))

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
        self.run_batch("--recursive", out="a")
        self.assertEqual(summary(self.folder / "a")["totals"]["done"], 2)
        self.run_batch("--no-recursive", out="b")
        self.assertEqual(summary(self.folder / "b")["totals"]["done"], 1)

    def test_reports_are_not_taken_for_snapshots(self):
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

    def test_what_is_named_must_be_one(self):
        path = self.put("notes.txt", b"hello")
        good = self.put("rank0.pickle")
        done = batch(path, good, "-o", self.folder / "out")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(summary(self.folder / "out")["failed"][0]["input"], "notes.txt")

    def test_nothing_there(self):
        self.assertIn("no snapshot", self.run_batch(code=1).stderr)
        self.put("notes.txt", b"hello")
        self.assertIn("no snapshot", self.run_batch(code=1).stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_a_page_behind_a_comment_is_read(self):
        """What the other verbs read, a batch takes."""
        path = self.put("rank0.pickle")
        page = self.dumps / "page.html"
        strata("html", "-q", path, "-o", page)
        page.write_text("<!-- saved from a mail -->\n" + page.read_text())
        self.put("changelog.txt", b"changelog\nversion\nall the news\n")
        self.run_batch()
        result = summary(self.folder / "out")
        self.assertEqual(sorted(row["input"] for row in result["rows"]), ["page.html", "rank0.pickle"])
        self.assertEqual([entry["input"] for entry in result["skipped"]], ["changelog.txt"])

    def test_a_path_that_is_gone_costs_only_itself(self):
        path = self.put("rank0.pickle")
        out = self.folder / "a" / "b"
        self.assertEqual(batch(self.folder / "gone.pickle", path, "-o", out).returncode, 4)
        self.assertEqual([row["rank"] for row in summary(out)["rows"]], [0])
        self.assertIn("cannot open", summary(out)["failed"][0]["reason"])
        self.assertEqual(batch(self.folder / "gone", "-o", self.folder / "out").returncode, 1)
        self.assertEqual(batch("--index", self.dumps).returncode, 1)

    def test_usage(self):
        for arguments in ((self.dumps,), ("-o", "x"), ("-", "-o", "x"), (self.dumps, "-o", "-"),
                          (self.dumps, "-o", "x", "-j", "0"), (self.dumps, "-o", "x", "--shard", "0/4"),
                          (self.dumps, "-o", "x", "--shard", "5/4"), (self.dumps, "-o", "x", "--shard", "auto"),
                          (self.dumps, "--index", "x"), ("--index", "x", "--shard", "1/2"),
                          (self.dumps, "-o", "x", "--jbos", "2")):
            with self.subTest(arguments):
                self.assertEqual(batch(*arguments, cwd=self.folder).returncode, 2)
        self.assertFalse((self.folder / "x").exists())
        self.assertIn("--shard", batch("-h").stdout)


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

    def test_rules_count_by_what_they_say(self):
        self.put("rank0.pickle")
        rules = self.folder / "rules"
        rules.write_text("input file .\n")
        self.run_batch("--rules", str(rules))
        first = self.times()
        rules.write_text("input file .\n")
        self.run_batch("--resume", "--rules", str(rules))
        self.assertEqual(self.times(), first)
        rules.write_text("other file .\n")
        self.run_batch("--resume", "--rules", str(rules))
        second = self.times()
        self.assertNotEqual(second, first)
        self.run_batch("--resume")
        self.assertNotEqual(self.times(), second)
        rules.unlink()
        self.run_batch("--resume", "--rules", str(rules), code=1)

    def test_a_lost_page_is_made_again(self):
        self.put("rank0.pickle")
        self.run_batch()
        (self.folder / "out" / "rank0.html").unlink()
        self.run_batch("--resume")
        self.assertTrue((self.folder / "out" / "rank0.html").exists())

    def test_results_of_a_file_that_broke_are_no_results(self):
        self.put("rank0.pickle")
        self.put("rank1.pickle")
        self.run_batch()
        self.put("rank1.pickle", b"")
        self.run_batch("--resume", code=4)
        for _ in range(2):
            result = summary(self.folder / "out")
            self.assertEqual([row["rank"] for row in result["rows"]], [0])
            self.assertEqual(result["failed"][0]["input"], "rank1.pickle")
            self.assertEqual(batch("--index", self.folder / "out").returncode, 4)

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


class Shards(Folder):
    def part(self, **variables):
        done = batch(self.dumps, "-o", self.folder / "out", "--shard", "auto", env=environment(**variables))
        self.assertEqual(done.returncode, 0, done.stderr)
        records = sorted(path.stem for path in (self.folder / "out" / "shards").iterdir())
        shutil.rmtree(self.folder / "out")
        self.assertEqual(len(records), 1)
        return records[0].removeprefix("shard-")

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
        self.assertTrue((out / "shards" / "shard-5-of-6.json").exists())
        self.assertEqual(batch(self.dumps, "-o", out, "--shard", "auto/4", env=env).returncode, 2)

    def test_each_file_is_done_once(self):
        for rank in range(40):
            self.put(f"rank{rank}.pickle")
        seen = []
        for shard in range(1, 6):
            self.run_batch("--shard", f"{shard}/5", out=f"part{shard}")
            seen += [page.name for page in (self.folder / f"part{shard}").glob("*.html")]
        self.assertEqual(sorted(seen), sorted(f"rank{rank}.html" for rank in range(40)))

    def test_a_shard_asks_nothing_of_the_files_of_others(self):
        """Files of others are known from the listing; of its own, few operations by path."""
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

    def test_shards_that_saw_other_files_are_told(self):
        self.put("rank0.pickle")
        self.run_batch("--shard", "1/2")
        self.put("rank1.pickle")
        self.run_batch("--shard", "2/2")
        self.assertEqual(batch("--index", self.folder / "out").returncode, 4)
        self.assertIn("did not see the same files", summary(self.folder / "out")["notes"][0])

    def test_two_at_the_same_part(self):
        self.put("rank0.pickle", long(600_000))
        command = [STRATA, "batch", str(self.dumps), "-o", str(self.folder / "out")]
        first = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment())
        until(lambda: children(first.pid), "a worker")
        self.assertIn("another strata batch", batch(*command[2:]).stderr)
        self.assertEqual(first.wait(TIMEOUT_S), 0)
        first.stderr.close()


class Trouble(Folder):
    """What is left behind."""

    def start(self, *arguments):
        process = subprocess.Popen([STRATA, "batch", str(self.dumps), "-o", str(self.folder / "out"), *arguments],
                                   stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def put_set(self):
        """Two quick files and one that takes long enough to be met at work. Smaller ones wait for it with -j 1."""
        self.put("rank0.pickle")
        self.put("rank1.pickle", long(600_000))
        self.put("rank2.pickle")

    def assert_whole(self):
        """Whatever is there under its own name is complete; and what a new run makes of it is right."""
        out = self.folder / "out"
        for path in out.glob("rank*.html"):
            self.assertTrue(path.read_text().rstrip().endswith("</html>"), path)
        for path in out.glob("*.json"):
            json.loads(path.read_text())
        self.assertEqual(batch(self.dumps, "-o", out, "--resume").returncode, 0)
        self.assertEqual(batch(self.dumps, "-o", self.folder / "control").returncode, 0)
        self.assertEqual(contents(out, ()), contents(self.folder / "control", ()))

    def test_killed_worker_costs_one_file(self):
        self.put_set()
        process = self.start("-j", "1")
        worker = until(lambda: children(process.pid), "a worker")[0]
        os.kill(worker, signal.SIGKILL)
        errors = process.stderr.read()
        self.assertEqual(process.wait(TIMEOUT_S), 4, errors)
        self.assertIn("killed by signal 9", errors)
        result = summary(self.folder / "out")
        self.assertEqual([row["rank"] for row in result["rows"]], [0, 2])
        self.assertEqual([entry["input"] for entry in result["failed"]], ["rank1.pickle"])
        self.assertEqual(hidden(self.folder / "out"), [])
        self.assert_whole()

    def test_interrupt(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                self.put_set()
                process = self.start("-j", "2")
                workers = until(lambda: children(process.pid), "a worker")
                process.send_signal(number)
                self.assertEqual(process.wait(TIMEOUT_S), code)
                for worker in workers:
                    self.assertFalse(pathlib.Path(f"/proc/{worker}").exists())
                self.assertEqual(hidden(self.folder / "out"), [])
                self.assertFalse((self.folder / "out" / "rank1.html").exists())
                self.assertFalse((self.folder / "out" / "index.html").exists())
        self.assert_whole()

    def test_killed_batch_takes_its_workers_along(self):
        self.put_set()
        process = self.start()
        worker = until(lambda: children(process.pid), "a worker")[0]
        process.kill()
        process.wait(TIMEOUT_S)
        until(lambda: not pathlib.Path(f"/proc/{worker}").exists(), "the worker's end")
        self.assertFalse((self.folder / "out" / "rank1.html").exists())
        self.assert_whole()
        self.assertEqual(hidden(self.folder / "out"), [])

    def test_full_disk(self):
        self.put_set()
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
        if os.geteuid() == 0:  # root may write anywhere: become nobody, who can reach a copy of the program
            self.folder.chmod(0o755)
            program = shutil.copy(STRATA, self.folder / "strata")
            options = {"user": 65534, "group": 65534, "extra_groups": []}
        done = subprocess.run([program, "batch", str(self.dumps), "-o", str(out)], capture_output=True, text=True,
                              env=environment(), timeout=TIMEOUT_S, **options)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Permission denied", done.stderr)
        self.assertEqual(list(out.iterdir()), [])

    def test_little_memory(self):
        """A file that does not fit into its share is tried alone; one that does not fit at all costs itself."""
        self.put("rank0.pickle")
        self.put("rank1.pickle", long(600_000))
        done = self.run_batch("--max-memory", "8MiB", "-j", 2, code=4)
        self.assertIn("--max-memory", done.stderr)
        self.assertEqual([row["rank"] for row in summary(self.folder / "out")["rows"]], [0])
        self.run_batch("--max-memory", "600MiB", "-j", 16)
        self.assertEqual([row["rank"] for row in summary(self.folder / "out")["rows"]], [0, 1])

    def test_unreadable_file_costs_itself(self):
        self.put("rank0.pickle")
        self.put("rank1.pickle", b"\x80\x04cos\nsystem\n.")
        self.run_batch(code=4)
        failed = summary(self.folder / "out")["failed"]
        self.assertEqual([entry["input"] for entry in failed], ["rank1.pickle"])
        self.assertIn("refused", failed[0]["reason"])


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
