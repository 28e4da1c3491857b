#!/usr/bin/env python3
"""Refuses memory at every place that allocates: its first and its last allocation fail, alone or with all that follow. A run may
exit with 0 only if it wrote the bytes of a good run. Otherwise it must say what was wrong, and leave neither a partial nor a
temporary file.

A place is a distinct stack of callers (faults/faults.c). The program is built so that arenas take each allocation from the host.

Environment: STRATA, path of the ordinary program, and STRATA_BARE, path of the special one; FAULTS, path of the library that makes
calls fail. By default a twentieth of the places fail (a twelfth for an index that is written anew), each in one way;
STRATA_TEST_ALL=ON lets all of them fail in all ways. FAULTS_ONLY=REGEX runs only the cases with matching names.
"""

import collections
import json
import os
import pathlib
import shutil
import struct
import sys
import unittest

sys.dont_write_bytecode = True
from batch_case import tiny  # noqa: E402
from faults_case import FAULTS, STRATA, STREAMS, Batch, Case, Streams, Verbs  # noqa: E402

BARE = os.environ.get("STRATA_BARE", str(pathlib.Path(STRATA).parent / "tests" / "strata_bare"))
ALL = os.environ.get("STRATA_TEST_ALL") == "ON"
PART, MENDED_PART, INDEX_PART = 20, 4, 12
# Runs that once answered a failure with a different picture; more of their places fail.
MENDED = ("picture of a diff",)
RUNS = 3 if ALL else 1  # the work is divided among threads differently in each run


class Places(Case):
    program = BARE

    @classmethod
    def setUpClass(cls):
        cls.met = set()
        cls.counts = collections.Counter()

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.__name__}: {len(cls.met)} places, {cls.counts['failures']} failures injected, {cls.counts['answers']} answered by "
              f"one", file=sys.stderr)

    def places(self, run):
        """{place: the most allocations there in one process} of a good run."""
        file, most = self.folder / "places", {}
        for _ in range(RUNS):
            file.unlink(missing_ok=True)
            done = run(places=file)
            self.assertEqual(done.returncode, 0, done.stderr)
            for (_, place), n in collections.Counter(struct.iter_unpack("QQ", file.read_bytes())).items():
                most[place] = max(most.get(place, 0), n)
        self.assertGreater(len(most), 50)
        return most

    def faults(self, most, part):
        """The faults to try at these places, or at one part of them."""
        for place, n in most.items():
            new = place not in self.met
            self.met.add(place)
            ways = [f"place:{place:x}:{nth}{how}" for how in ("", ":on") for nth in sorted({1, n})]
            turn = len(self.met) - 1
            if new and ALL:
                yield from ways
            elif new and turn % part == 0:
                yield ways[turn // part % len(ways)]

    def sweep(self, name, run, check):
        for fault in self.faults(self.places(run), MENDED_PART if name in MENDED else PART):
            with self.subTest(run=name, fault=fault):
                self.counts["failures"] += 1
                self.counts["answers"] += check(fault)


class VerbsMemory(Places, Verbs):
    def test_memory(self):
        for name, words in self.verbs.items():
            def run(**options):
                self.empty()
                return self.strata(*words, **options)

            self.program = STRATA
            run()
            good = self.outputs()
            self.assertEqual(len(good), 1, name)
            self.program = BARE
            run()
            self.assertTrue(self.outputs() == good, f"{name}: another output where arenas share nothing")
            self.sweep(name, run, lambda fault: self.check(words, fault, good))
        self.assertGreater(self.counts["answers"], self.counts["failures"] / 2)


class StreamsMemory(Places, Streams):
    def test_memory(self):
        for name, words in STREAMS.items():
            good = self.flow(words).stdout
            self.sweep(name, lambda **options: self.flow(words, **options), lambda fault: self.check(words, fault, good))
        self.assertGreater(self.counts["answers"], self.counts["failures"] / 2)


class BatchMemory(Places, Batch):
    def run_sweep(self, name, n_outputs):
        def run(**options):
            self.empty()
            return self.strata(*self.words, **options)

        self.begin(n_outputs)
        self.sweep(name, run, self.check)

    def test_memory(self):
        self.run_sweep("batch", 9)

    def index_sweep(self, words):
        """Lets the first allocation of each place fail in a run over an earlier run's outputs."""
        for place in list(self.places(lambda **options: self.strata(*words, **options)))[::1 if ALL else INDEX_PART]:
            fault = f"place:{place:x}:1"
            self.judge(self.strata(*words, fault=fault), fault)

    def test_differences(self):
        """Pages of odd ranks against the median."""
        (self.folder / "dumps" / "s.pickle").unlink()
        for rank in range(8):
            (self.folder / "dumps" / f"rank{rank}.pickle").write_bytes(tiny((1 << 20, 900 << 20 if rank == 5 else 2 << 20)))
        self.words = ["batch", "dumps", "-o", "out", "-j1"]
        self.begin(20)
        self.index_sweep([*self.words, "--resume"])  # Strata once left out a page of differences without a message
        self.run_sweep("differences", 20)
        self.assertTrue(self.besides(json.loads(self.good["summary.json"]))[0])

    def test_later_runs(self):
        """A run over an earlier run's outputs writes the same again, and removes nothing."""
        self.begin()
        for words in ([*self.words, "--resume"],):
            self.sweep(words[-1], lambda **options: self.strata(*words, **options), lambda fault: self.check_again(words, fault))

    def check_again(self, words, fault):
        done = self.strata(*words, fault=fault)
        self.assertLessEqual(set(self.good), set(self.outputs()), fault)
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        if done.returncode == 0:
            self.assertTrue(self.outputs() == self.good, f"{fault}: success, and other content")
        else:
            self.assertRegex(done.stderr, rb"strata: ", fault)
        return int(done.returncode != 0)


if __name__ == "__main__":
    for path in (FAULTS, BARE):
        if not pathlib.Path(path).exists():
            print(f"skipped: {path} is not there")
            sys.exit(0)
    unittest.main()
