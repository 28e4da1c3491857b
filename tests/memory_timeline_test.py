#!/usr/bin/env python3
"""Memory timelines, which the profiler writes as JSON.

    STRATA=path/to/strata STATE_DUMP=path/to/state_dump [STRATA_CORPUS=folder] memory_timeline_test.py

The control is Python's own json module and a second replay, written here in another way.
"""

import gzip
import json
import pathlib
import random
import sys
import unittest

sys.dont_write_bytecode = True
from json_case import CORPUS, JsonTest  # noqa: E402

CATEGORIES = "parameter optimizer_state input temporary activation gradient autograd_detail unknown".split()


# ---- memory timelines ----


def raw_steps(rows):
    """Totals per category, before the first event and after each. Pairs that change nothing are no event."""
    totals, steps, at = [0] * 8, [], 0
    while at < len(rows):
        t, action, nbytes, category = rows[at]
        following = rows[at + 1] if at + 1 < len(rows) else [None] * 4
        pair = following[:2] == [t, action] and nbytes < 0 and following[2] == -nbytes
        at += 2 if pair else 1
        totals[category] += nbytes
        if pair:
            totals[following[3]] -= nbytes
            if following[3] == category:
                continue
        if t >= 0:
            steps.append(list(totals))
        else:
            start = list(totals)
            steps = []
    return ([0] * 8 if rows[0][0] >= 0 else start), steps


def coalesce(rows):
    """The format that torch.profiler writes from the same events if the file's name does not end in raw.json.gz."""
    times, sizes, first = [], [], min(row[0] // 1000 for row in rows if row[0] >= 0)
    for t, _action, nbytes, category in rows:
        us = -1 if t < 0 else t // 1000
        if not times or times[-1] != us:
            sizes.append(list(sizes[-1]) if times else [0] * 9)
            times.append(us)
        sizes[-1][category + 1] += nbytes
    return [[first if us < 0 else us for us in times], sizes]


def coalesced_steps(times, sizes):
    rows = [row[1:] for row in sizes]
    start = rows.pop(0) if len(times) > 1 and times[0] == times[1] else [0] * 8
    before, steps = start, []
    for row in rows:
        if row != before:
            steps.append(row)
        before = row
    return start, steps


class TimelineTest(JsonTest):
    def check(self, path, start, steps):
        totals = [sum(step) for step in [start, *steps]]
        report = self.report(path)
        self.assertEqual("memory_timeline", report["kind"])
        device = self.device(report, 0)
        self.assertEqual(len(steps), device["events"])
        self.assertEqual(totals[0], device["start_bytes"])
        self.assertEqual(totals[-1], device["end_bytes"])
        self.assertEqual(max(totals), device["peak_bytes"])
        self.assertEqual(totals.index(max(totals)) - 1, device["peak_event"])
        peak = [start, *steps][device["peak_event"] + 1]
        sites = {group["site"]: group["bytes"] for group in device["top_at_peak"]}
        self.assertEqual({name: nbytes for name, nbytes in zip(CATEGORIES, peak) if nbytes}, sites)
        events = self.sample(len(steps))
        for event, allocations in zip(events, self.allocations_at(path, 0, events)):
            found = [0] * 8
            for address, size in allocations:
                found[(address - 1) % 8] += size
            self.assertEqual([start, *steps][event + 1], found, f"categories after event {event}")

    def test_raw(self):
        rows = [[-1, 1, 1000, 0], [-1, 1, 300, 1], [-1, 1, 24, 0], [5000, 2, 512, 4], [6000, 2, 512, 4], [6000, 3, -512, 4],
                [6000, 3, 512, 5], [7000, 3, -8, 0], [7000, 3, 8, 0], [8000, 4, -700, 0], [9000, 4, -512, 5], [9500, 4, -12, 4]]
        self.check(self.write(rows), *raw_steps(rows))

    def test_numbers_of_actions_do_not_matter(self):
        """torch_npu counts actions from 0."""
        rows = [[-1, 0, 4096, 0], [2000, 1, 512, 4], [3000, 2, -512, 4], [3000, 2, 512, 5], [4000, 3, -512, 5]]
        self.check(self.write(rows), *raw_steps(rows))

    def test_coalesced(self):
        times, sizes = [10, 10, 12, 15], [[0, 5, 0, 0, 0, 0, 0, 0, 9], [0, 5, 0, 0, 0, 7, 0, 0, 9], [0, 2, 3, 0, 0, 7, 0, 0, 9],
                                          [0, 2, 3, 0, 0, 0, 0, 0, 0]]
        self.check(self.write([times, sizes]), *coalesced_steps(times, sizes))

    def test_coalesced_of_four_times_is_not_a_raw_row(self):
        times, sizes = [1, 2, 3, 4], [[0] + [i] * 8 for i in (1, 3, 2, 5)]
        self.check(self.write([times, sizes]), *coalesced_steps(times, sizes))

    def test_random_timelines(self):
        for seed in range(30):
            rng, rows, open_bytes, t = random.Random(seed), [], [[] for _ in range(8)], 1_700_000_000_000_000_000
            for _ in range(rng.randrange(20)):
                category, nbytes = rng.randrange(8), rng.choice([8, 512, 1 << 20])
                rows.append([-1, 1, nbytes, category])
                open_bytes[category].append(nbytes)
            for _ in range(rng.randrange(1, 400)):
                t += rng.choice([0, 400, 5000])
                category = rng.randrange(8)
                if open_bytes[category] and rng.random() < 0.5:
                    nbytes = open_bytes[category].pop(rng.randrange(len(open_bytes[category])))
                    if rng.random() < 0.4:
                        to = rng.randrange(8)
                        rows += [[t, 3, -nbytes, category], [t, 3, nbytes, to]]
                        open_bytes[to].append(nbytes)
                    else:
                        rows.append([t, 4, -nbytes, category])
                else:
                    nbytes = rng.choice([8, 512, 4096, 3 << 20])
                    rows.append([t, 2, nbytes, category])
                    open_bytes[category].append(nbytes)
            with self.subTest(seed=seed):
                self.check(self.write(rows), *raw_steps(rows))
                if any(row[0] >= 0 for row in rows):
                    self.check(self.write(coalesce(rows)), *coalesced_steps(*coalesce(rows)))

    def test_below_zero(self):
        report = self.report(self.write([[1000, 2, 100, 4], [2000, 4, -150, 4], [3000, 2, 80, 4]]))
        self.assertEqual((100, 30), (report["devices"][0]["peak_bytes"], report["devices"][0]["end_bytes"]))
        self.assertIn("below_zero", self.codes(report))

    def test_gzip(self):
        rows = [[-1, 1, 1000, 0], [5000, 2, 512, 4]]
        self.check(self.write(gzip.compress(json.dumps(rows).encode())), *raw_steps(rows))

    def test_invalid_rows_are_left_out(self):
        report = self.report(self.write([[1000, 2, 100, 4], [2000, 2], "x", [2000, 2, "a", 4], [3000, 2, 80, 4]]))
        self.assertEqual(180, report["devices"][0]["peak_bytes"])
        self.assertIn("bad_json", self.codes(report))

    def test_other_lists(self):
        self.refused([[1, 2, 3], [4, 5]], "memory timeline")
        self.refused([1, 2, 3], "JSON")

    @unittest.skipUnless(CORPUS, "STRATA_CORPUS is not set")
    def test_corpus(self):
        files = sorted(pathlib.Path(CORPUS).glob("memory_timeline_*.raw.json.gz"))
        self.assertGreaterEqual(len(files), 3)
        for path in files:
            with self.subTest(file=path.name):
                rows = json.loads(gzip.decompress(path.read_bytes()))
                self.check(path, *raw_steps(rows))
                times, sizes = coalesce(rows)
                self.check(self.write([times, sizes]), *coalesced_steps(times, sizes))


if __name__ == "__main__":
    if not CORPUS:
        print("skipped: the corpus (STRATA_CORPUS is not set)", file=sys.stderr)
    unittest.main()
