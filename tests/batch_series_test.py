#!/usr/bin/env python3
"""Several dumps of one rank in a batch: which are joined, which memory stayed from one to the next, and which are never
joined.

Environment: STRATA, path of the program (default: build/release/strata).
"""

import copy
import json
import os
import pathlib
import pickle
import random
import sys
import unittest

sys.dont_write_bytecode = True
import batch_case  # noqa: E402
import replay  # noqa: E402
from series_test import dump_at, live_at, snapshot_of  # noqa: E402

STEPS = (10, 20, 30)


def later(snapshot, us):
    """The same recording at another time of the day, as another run would have it."""
    other = copy.deepcopy(snapshot)
    for event in other["device_traces"][0]:
        event["time_us"] += us
    return other


def dumps_of(snapshot, window, count=len(STEPS)):
    n = len(snapshot["device_traces"][0])
    events = [n * (i + 1) // count for i in range(count)]
    return events, [dump_at(snapshot, event, window) for event in events]


class BatchSeries(batch_case.Folder):
    def write(self, dumps, name="iteration_{step}/rank{rank}_memory_snapshot.pickle", rank=0, steps=STEPS):
        for step, dump in zip(steps, dumps):
            self.put(name.format(step=step, rank=rank), pickle.dumps(dump, 4))

    def series(self, *arguments, out="out", **options):
        self.run_batch(*arguments, out=out, **options)
        return batch_case.summary(self.folder / out)

    def assert_dumps(self, series, summary, snapshot, events, window):
        """Compares the bytes in use, stayed, new and gone of each dump with states from a plain replay."""
        states = [{(a, size) for a, (size, _) in live_at(snapshot, e).items()} for e in events]
        allocations = replay.devices_of(snapshot)[0].allocations
        self.assertEqual(len(series["dumps"]), len(events))
        for i, dump in enumerate(series["dumps"]):
            self.assertEqual(summary["rows"][dump["row"]]["step"], STEPS[i])
            self.assertEqual(dump["live_bytes"], sum(size for _, size in states[i]))
            if i == 0:
                self.assertEqual([dump[key] for key in ("stayed_bytes", "new_bytes", "gone_bytes")], [None] * 3)
            else:
                # Allocations that stayed existed when the window began, were in the dump before, and still exist.
                begin = max(events[i - 1], events[i] - window)
                stayed = {(allocation.address, allocation.size) for allocation in allocations if allocation.birth <= begin and allocation.death > events[i]}
                self.assertEqual(dump["stayed_bytes"], sum(size for _, size in stayed & states[i - 1]))
                self.assertEqual(dump["stayed_bytes"] + dump["new_bytes"], dump["live_bytes"])
                self.assertEqual(dump["stayed_bytes"] + dump["gone_bytes"], series["dumps"][i - 1]["live_bytes"])

    def test_windows_that_overlap_form_one_run_and_others_are_states(self):
        truth = {}
        for rank, (name, part) in enumerate((("train", 2), ("leak_graph", 10), ("streams", 1))):
            snapshot = snapshot_of(name)
            window = len(snapshot["device_traces"][0]) // part
            events, dumps = dumps_of(snapshot, window)
            truth[rank] = (snapshot, events, window)
            self.write(dumps, rank=rank)
        summary = self.series()
        self.assertEqual(summary["totals"]["done"], 9)  # a series is not a recording of its own
        self.assertEqual([series["rank"] for series in summary["series"]], [0, 1, 2])
        for series in summary["series"]:
            with self.subTest(series["title"]):
                self.assert_dumps(series, summary, *truth[series["rank"]])
                gaps = [dump["events_missing_behind"] for dump in series["dumps"]]
                self.assertEqual(gaps, [series["rank"] == 1] * 2 + [False])
                report = json.loads((self.folder / "out" / series["sidecar"]).read_text())
                self.assertEqual((report["kind"], report["batch"]["page"]), ("series", f"rank{series['rank']}.html"))
                self.assertTrue((self.folder / "out" / series["page"]).exists())

    def test_a_leak_that_no_dump_shows_alone_is_named(self):
        snapshot = snapshot_of("leak_graph")
        self.write(dumps_of(snapshot, len(snapshot["device_traces"][0]) // 5, 4)[1], steps=(10, 20, 30, 40))
        summary = self.series()
        alone = {note["site"] for row in summary["rows"] for note in json.loads(
            (self.folder / "out" / row["sidecar"]).read_text())["devices"][0]["findings"] if note["kind"] == "leak"}
        found = [finding for finding in summary["findings"] if finding["kind"] == "leak"]
        self.assertEqual([(finding["series"], finding["rows"]) for finding in found], [(0, [3])])
        self.assertTrue(found[0]["title"].startswith("rank 0, all 4 dumps: "), found[0]["title"])
        self.assertNotIn(found[0]["site"], alone)
        self.assertTrue(found[0]["view"])

    def test_the_timeline_equals_that_of_the_dumps(self):
        snapshot = snapshot_of("train")
        _, dumps = dumps_of(snapshot, len(snapshot["device_traces"][0]) // 2)
        self.write(dumps)
        series = self.series()["series"][0]
        paths = [self.dumps / f"iteration_{step}" / "rank0_memory_snapshot.pickle" for step in STEPS]
        done = batch_case.strata("report", "--json", *paths, "-o", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        wanted, found = json.loads(done.stdout), json.loads((self.folder / "out" / series["sidecar"]).read_text())
        self.assertEqual(found["devices"], [
            {**device, "series": [{**dump, "file": name} for dump, name in zip(
                device["series"], [f"rank0-step{step}.html" for step in STEPS])]} for device in wanted["devices"]])
        again = batch_case.strata("report", "--json", self.folder / "out" / series["page"])
        self.assertEqual(json.loads(again.stdout)["devices"], found["devices"])

    def test_dumps_that_are_never_joined(self):
        train, other = snapshot_of("train"), snapshot_of("streams")
        half = len(train["device_traces"][0]) // 2
        _, dumps = dumps_of(train, half)
        cases = {
            "steps of one time but of two runs": {"step_1/rank0.pickle": dumps[2], "step_2/rank0.pickle": dump_at(
                other, len(other["device_traces"][0]), 10**9)},
            "before and after a change": {"before/rank0.pickle": dumps[2], "after/rank0.pickle": later(dumps[2], 10**9)},
            "two variants in one folder": {"rank0_base.pickle": dumps[2], "rank0_fixed.pickle": later(dumps[2], 10**9)},
            "steps of two runs": {"run3/rank0_step3.pickle": dumps[0], "run4/rank0_step4.pickle": later(dumps[1], 10**9)},
            "ranks": {"step_1/rank0.pickle": dumps[0], "step_2/rank1.pickle": dumps[1]},
            "nodes": {"node1/step_1/rank0.pickle": dumps[0], "node2/step_2/rank0.pickle": dumps[1]},
            "steps in the wrong order": {"step_2/rank0.pickle": dumps[0], "step_1/rank0.pickle": later(dumps[1], 10**9)},
        }
        for i, (case, files) in enumerate(cases.items()):
            with self.subTest(case):
                for name, dump in files.items():
                    self.put(f"{i}/{name}", pickle.dumps(dump, 4))
                done = batch_case.batch(self.dumps / str(i), "-o", self.folder / f"out{i}")
                self.assertEqual(done.returncode, 0, done.stderr)
                summary = batch_case.summary(self.folder / f"out{i}")
                self.assertEqual((summary["series"], summary["notes"]), ([], []))
                self.assertFalse(list((self.folder / f"out{i}").glob("series/*")))

    def test_dumps_without_a_step_in_their_names(self):
        """Dumps of one rank in one folder: only their events tell that they belong together. A date in the name is a
        moment."""
        train = snapshot_of("train")
        _, dumps = dumps_of(train, len(train["device_traces"][0]) // 2)
        self.write(dumps, name="server/rank{rank}_{step}.pickle", steps=("loaded", "warm", "served"))
        self.write(dumps, name="dated/snapshot_{step}_5.pickle", steps=("20260101101500", "20260101101600", "20260101101700"))
        summary = self.series()
        self.assertEqual([(s["title"], len(s["dumps"])) for s in summary["series"]], [("rank 0", 3), ("rank 5", 3)])
        order = [summary["rows"][dump["row"]]["input"] for dump in summary["series"][0]["dumps"]]
        self.assertEqual(order, [f"server/rank0_{name}.pickle" for name in ("loaded", "warm", "served")])

    def test_shards_resume_and_off(self):
        for rank, name in enumerate(("train", "leak_graph", "streams")):
            snapshot = snapshot_of(name)
            self.write(dumps_of(snapshot, len(snapshot["device_traces"][0]) // 3)[1], rank=rank)
        plain = self.series("--png")
        self.assertEqual(len(plain["series"]), 3)
        self.assertTrue((self.folder / "out" / plain["series"][0]["png"]).exists())
        for shard in (1, 2, 3):
            self.run_batch("--png", "--shard", f"{shard}/3", out="parts")
        self.assertFalse((self.folder / "parts" / "series").exists())
        for _ in range(2):
            done = batch_case.batch("--index", self.folder / "parts", "--png")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(batch_case.contents(self.folder / "out"), batch_case.contents(self.folder / "parts"))
        pages = sorted((self.folder / "out" / "series").glob("*"))
        times = [page.stat().st_mtime_ns for page in pages]
        self.series("--png", "--resume")
        self.assertEqual(times, [page.stat().st_mtime_ns for page in pages])
        self.write(dumps_of(snapshot_of("oom"), 10**9)[1], rank=1)
        self.series("--png", "--resume")
        changed = [page.name for page, time in zip(pages, times) if page.stat().st_mtime_ns != time]
        self.assertEqual(changed, ["rank1.html", "rank1.png", "rank1.strata.json"])
        self.assertEqual(self.series("--png", "--resume", "--series=off")["series"], [])
        self.assertFalse(list((self.folder / "out" / "series").glob("*")))

    def test_redacted_dumps_make_redacted_timelines(self):
        snapshot = snapshot_of("train")
        owned = "strata-owned"
        for step, dump in zip(STEPS, dumps_of(snapshot, 10**9)[1]):
            for event in dump["device_traces"][0]:
                event["frames"] = [{**frame, "filename": f"/home/{owned}/{frame['filename']}"} for frame in event["frames"]]
            self.put(f"iteration_{step}/rank0_memory_snapshot.pickle", pickle.dumps(dump, 4))
        plain = self.series(out="plain")["series"][0]
        self.assertIn(owned, (self.folder / "plain" / plain["sidecar"]).read_text())
        series = self.series("--redact=all", out="redacted")["series"][0]
        self.assertNotIn(owned, (self.folder / "redacted" / series["sidecar"]).read_text())

    def test_dumps_that_cannot_be_joined_are_reported(self):
        """A page that was cut down to a size limit no longer identifies each allocation, so it cannot be joined."""
        chance = random.Random(1)
        trace = [{"action": "alloc", "addr": 0x7F0000000000 + (i << 20), "size": chance.randrange(1 << 20), "stream": 0,
                  "time_us": i, "frames": [{"name": "f", "filename": "train.py", "line": i % 97}]} for i in range(20000)]
        for step in (1, 2):
            self.put(f"step_{step}/rank0.pickle", pickle.dumps({"segments": [], "device_traces": [trace[:10000 * step]]}, 4))
        self.assertEqual(len(self.series()["series"]), 1)
        summary = self.series("--max-html-size", "288KB", out="small")
        self.assertEqual(summary["series"], [])
        self.assertEqual(len(summary["notes"]), 1, summary["notes"])
        self.assertIn("no timeline of the 2 dumps of rank 0", summary["notes"][0])
        self.assertIn("merged", summary["notes"][0])

    def test_a_page_that_the_index_lacks_changes_the_exit_code(self):
        """If a foreign file has the name of a timeline or a difference, only that page is missing."""
        for rank in range(8):
            self.put(f"rank{rank}.pickle", batch_case.tiny((1 << 20, 900 << 20 if rank == 5 else 2 << 20)))
        for step in (1, 2):
            self.put(f"more/step_{step}/rank9.pickle", batch_case.tiny())
        whole = self.series("-f")
        out = self.folder / "out"
        for link in (whole["findings"][0]["diff"], whole["series"][0]["page"]):
            with self.subTest(link):
                kept = (out / link).read_bytes()
                (out / link).write_text("mine")
                done = self.run_batch(code=4)
                self.assertIn("is not Strata's", done.stderr)
                self.assertEqual((out / link).read_text(), "mine")
                lacking = batch_case.summary(out)
                self.assertEqual(len(lacking["rows"]), len(whole["rows"]))
                self.assertNotIn(link, json.dumps(lacking["findings"]) + json.dumps(lacking["series"]))
                (out / link).write_bytes(kept)
        self.assertEqual(self.series(), whole)

    def test_pages_of_the_last_index_are_removed_if_unused(self):
        """Pages of differences are removed too, but never other files, even if they have such a name and Strata wrote
        them."""
        for rank in range(8):
            self.put(f"rank{rank}.pickle", batch_case.tiny((1 << 20, 900 << 20 if rank == 5 else 2 << 20)))
        self.series()
        out = self.folder / "out"
        made = sorted(path.name for path in out.glob("diff-*.html"))
        self.assertEqual(len(made), 1, made)
        kept = {"diff-mine.html": (out / made[0]).read_bytes(), "series/mine.html": (out / "rank0.html").read_bytes(),
                "series/note.txt": b"note"}
        (out / "series").mkdir()
        for name, data in kept.items():
            (out / name).write_bytes(data)
        listed = json.loads((out / "shards" / "index.json").read_text())
        self.assertEqual(listed["made"], made)
        # A list that somebody has edited cannot make the batch remove other files.
        listed["made"] += ["rank0.html", "series/../rank1.html", "../dumps/rank2.pickle", "series/note.txt", 7]
        (out / "shards" / "index.json").write_text(json.dumps(listed))
        self.put("rank5.pickle", batch_case.tiny((1 << 20, 2 << 20)))
        self.series()
        self.assertEqual(sorted(path.name for path in out.glob("diff-*.html")), ["diff-mine.html"])
        self.assertEqual({name: (out / name).read_bytes() for name in kept}, kept)
        self.assertTrue(all((out / f"rank{rank}.html").exists() for rank in range(8)))

    def test_dumps_are_inputs_and_timelines_are_not(self):
        """If results lie beside the dumps, a second batch does not read the first one's timelines as recordings."""
        self.write(dumps_of(snapshot_of("train"), 10**9)[1])
        for _ in range(2):
            done = batch_case.batch(self.dumps, "-o", self.dumps)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(batch_case.summary(self.dumps)["totals"]["files"], 3)


if __name__ == "__main__":
    unittest.main()
