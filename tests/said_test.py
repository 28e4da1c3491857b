#!/usr/bin/env python3
"""Sentences of strata diff and strata batch about small programs with one planted fault, written event by event here.

    STRATA=path/to/strata said_test.py
"""

import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
STRATA = os.environ.get("STRATA", "strata")
MIB = 1 << 20
TORCH, HOME = "/opt/venv/lib/python3.11/site-packages/torch/", "/home/me/"
MAIN = [(HOME + "train.py", 88, "train_step"), (HOME + "train.py", 140, "main")]


def run(*words):
    return subprocess.run([STRATA, *map(str, words)], capture_output=True, text=True, timeout=120)


class Program:
    """A training loop: two layers, an optimizer without state, an annotation for each step. `hooks` are called with the program at
    "begin", "forward" (the end of each layer's), "optimizer" and "end"."""

    def __init__(self, steps=4, first=0, layers=2, numbered=True, **hooks):
        self.events, self.marks, self.held, self.now, self.next, self.hooks = [], [], {}, 1_700_000_000_000_000, 0x7F0000000000, hooks
        self.alive = {}
        self.weights = [self.make(8, HOME + "model.py", 21, "__init__") for _ in range(layers)]
        self.hook("loaded")
        for self.step in range(first, first + steps):
            self.mark("START", numbered)
            batch = self.make(2, HOME + "train.py", 86, "train_step")
            self.hook("begin")
            kept = []
            for _ in range(layers):
                kept.append(self.make(12, HOME + "model.py", 44, "attention"))
                self.hook("forward")
            kept.append(self.make(40, HOME + "loss.py", 19, "token_loss"))
            gradients = []
            for _ in range(layers):
                gradients.append(self.backward())
                self.free(kept.pop(), 95)
            self.free(kept.pop(), 95)
            self.hook("optimizer")
            self.free(self.make(8, TORCH + "optim/sgd.py", 100, "step"), 97)
            for each in gradients + [batch]:
                self.free(each, 99)
            self.hook("end")
            self.mark("END", numbered)

    def hook(self, name):
        if name in self.hooks:
            self.hooks[name](self)

    def mark(self, stage, numbered):
        self.now += 50
        if numbered:
            self.marks.append({"stage": stage, "name": f"ProfilerStep#{self.step}", "device": 0, "time_us": self.now})
        self.now += 50

    def event(self, action, address, nbytes, places):
        self.now += 10
        self.events.append({"action": action, "addr": address, "size": nbytes, "stream": 0, "time_us": self.now,
                            "frames": [{"filename": file, "line": line, "name": name} for file, line, name in places]})

    def make(self, mib, file, line, name):
        return self.alloc(mib * MIB, [(file, line, name)] + MAIN)

    def backward(self):
        return self.alloc(8 * MIB, [("", 0, "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)"),
                                    (TORCH + "autograd/__init__.py", 347, "backward"), (HOME + "train.py", 95, "train_step"), MAIN[1]])

    def alloc(self, nbytes, places):
        block, self.next = (self.next, nbytes), self.next + nbytes
        self.event("alloc", *block, places)
        self.alive[block] = self.events[-1]["frames"]
        return block

    def free(self, block, line):
        del self.alive[block]
        for action in ("free_requested", "free_completed"):
            self.event(action, *block, [(HOME + "train.py", line, "train_step"), MAIN[1]])

    def keep(self, key, mib, line, name):
        self.held.setdefault(key, []).append(self.make(mib, HOME + "block.py", line, name))

    def drop(self, *keys):
        for key in keys:
            for block in self.held.pop(key, []):
                self.free(block, 90)

    def write(self, folder, name, skipped=0, most=None):
        """Without the first `skipped` events, or only the last `most`."""
        path = pathlib.Path(folder, name)
        events = self.events[skipped:] if most is None else self.events[-most:]
        segments = [{"device": 0, "address": at, "total_size": size, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
                     "is_expandable": False, "frames": [],
                     "blocks": [{"address": at, "size": size, "requested_size": size, "state": "active_allocated", "frames": frames}]}
                    for (at, size), frames in self.alive.items()]
        path.write_bytes(pickle.dumps({"segments": segments, "device_traces": [events], "external_annotations": self.marks}, 4))
        return path


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.plain = Program().write(self.folder.name, "plain.pickle")

    def write(self, name, skipped=0, **program):
        return Program(**program).write(self.folder.name, name, skipped)


class Diff(Folder):
    def titles(self, *words):
        done = run("diff", "--json", *words)
        self.assertEqual(0, done.returncode, done.stderr)
        return [cause["title"] for cause in json.loads(done.stdout)["causes"]]

    def text(self, *words):
        done = run("diff", *words)
        return " ".join(done.stdout.split()), done.stderr

    def test_sizes_of_what_is_alive(self):
        def forward(program):
            if program.step == 0 and "big" not in program.held:
                program.keep("big", 30, 5, "new")
                program.drop("big")
            program.keep("small", 3, 5, "new")
        other = self.write("other.pickle", forward=forward, end=lambda program: program.drop("small"))
        self.assertEqual(["+6 MiB: block.py:5 new is new: 2 allocations of 3 MiB"], self.titles(self.plain, other))
        self.assertEqual(["-6 MiB: block.py:5 new is gone: 2 allocations of 3 MiB"], self.titles(other, self.plain))

    def test_kept_to_different_places(self):
        """The longest-kept line is not what the others do."""
        def forward(program):
            for i, key in enumerate("abc"):
                program.keep(key, 6, 10 * (i + 1), "f" + key)
        a = self.write("a.pickle", forward=lambda program: (forward(program), program.drop(*"abc")))
        b = self.write("b.pickle", forward=forward, begin=lambda program: program.drop("a"),
                       optimizer=lambda program: program.drop("b"), end=lambda program: program.drop("c"))
        for title, words in ((self.titles(a, b)[0], "kept longer"), (self.titles(b, a)[0], "freed earlier")):
            self.assertRegex(title, f"block.py:10 fa and 2 other call sites are {words}: (the first is|of the first,) ")

    def test_figures_of_several_sites_are_the_first_ones(self):
        def forward(program):
            for i, times in enumerate((1, 1, 2)):
                for _ in range(times):
                    program.keep("all", 1, 10 * (i + 1), "f")
        end = {"forward": forward, "end": lambda program: program.drop("all")}
        titles = self.titles(self.write("two.pickle", **end), self.write("four.pickle", layers=4, **end))
        self.assertTrue(any("other call sites allocate more often: the first 4 times a step; it was 2 before" in each for each in titles),
                        titles)

    def test_older_than_the_recording(self):
        """The place of its free is not where memory was made."""
        def loaded(program):
            program.keep("big", 700, 3, "load_all")
            program.drop("big")
        made = Program(loaded=loaded)
        begin = next(i for i, event in enumerate(made.events) if event["action"] == "free_requested")
        older = made.write(self.folder.name, "older.pickle", begin)
        titles = self.titles(self.plain, older)
        self.assertEqual("+700 MiB: train.py:90 train_step (where it was freed): 1 allocation older than the recording; it was none before",
                         titles[0])
        self.assertRegex(titles[-1], " at these moments$")

    def test_a_step_that_was_cut_is_no_change(self):
        """In a recording that begins within a step, the lines of that step do not allocate less often."""
        cut = self.write("cut.pickle", skipped=21)
        for pair in ((self.plain, cut), (cut, self.plain)):
            self.assertFalse([title for title in self.titles(*pair) if "often" in title], pair)

    def test_what_the_first_step_makes_to_stay(self):
        """As an optimizer's state beside its temporaries: no step makes the mean of the steps."""
        def optimizer(program, n_states):
            for _ in range(n_states if program.step == 0 else 0):
                program.keep("state", 8, 60, "update")
            program.keep("temporary", 8, 60, "update")
            program.drop("temporary")
        a = self.write("a.pickle", optimizer=lambda program: optimizer(program, 2))
        b = self.write("b.pickle", optimizer=lambda program: optimizer(program, 8))
        self.assertEqual(["+48 MiB: block.py:60 update allocates more often: 12 times; it was 6 before"], self.titles(a, b))
        self.assertEqual(["-48 MiB: block.py:60 update allocates less often: 6 times; it was 12 before"], self.titles(b, a))

    def test_which_step_is_compared(self):
        later = self.write("later.pickle", first=10)
        text, _ = self.text("--align", "step", self.plain, later)
        self.assertRegex(text, "Compared each at the peak of its step: - A: plain.pickle, device 0, step 0, .* - B: later.pickle, device 0, step 10,")
        text, _ = self.text(f"{self.plain}#step=1", f"{self.plain}#step=3")
        self.assertRegex(text, "Compared each at the peak of its step: .* step 1, .* step 3,")
        self.assertNotIn("the same step", text)

    def test_an_annotation_of_another_name(self):
        self.write("later.pickle", first=10)
        text, said = self.text("--align", "annotation", self.plain, pathlib.Path(self.folder.name, "later.pickle"))
        self.assertIn("shares no annotation around the first's peak; each is compared at its peak", said)
        self.assertIn("Compared each at its peak", text)


class Batch(Folder):
    def summary(self):
        done = run("batch", self.folder.name, "-o", pathlib.Path(self.folder.name, "out"), "--pages", "none", "-j", 2)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(pathlib.Path(self.folder.name, "out/summary.json").read_text()), done.stderr

    def ranks(self, odd, skipped=0, most=None, **program):
        """Writes six ranks, of which number 4 is `odd`, and returns the titles of the findings."""
        for rank in range(6):
            if rank == 4:
                Program(**odd).write(self.folder.name, "rank4.pickle", skipped, most)
            else:
                Program(**program).write(self.folder.name, f"rank{rank}.pickle", most=most)
        self.plain.unlink()
        return [finding["title"] for finding in self.summary()[0]["findings"]]

    def test_a_recording_that_begins_late_did_not_stop_early(self):
        """Nor is the line of a free a line that no other rank has."""
        self.assertEqual(["rank 4 has 3 complete steps, the median is 4"], self.ranks({"numbered": False}, 24, numbered=False))

    def test_a_full_buffer_did_not_stop_early(self):
        def forward(program):
            for _ in range(3):
                program.keep("debug", 2, 3, "check")
                program.drop("debug")
        self.assertEqual(["rank 4 has 5 complete steps, the median is 9"],
                         self.ranks({"steps": 9, "numbered": False, "forward": forward}, most=190, steps=9, numbered=False))

    def test_a_rank_that_stopped_early(self):
        self.assertEqual(["rank 4 stopped early: 3 complete steps, the median is 4"], self.ranks({"steps": 3}))

    def test_copies_are_not_compared(self):
        for rank in range(2):
            self.write(f"rank{rank}.pickle", layers=2 + rank)
        self.plain.rename(self.plain.with_name("rank0_copy.pickle"))
        summary, said = self.summary()
        self.assertEqual((3, 1), (summary["totals"]["files"], summary["totals"]["copies"]))
        self.assertIn("compares 2 recordings\nstrata: 1 more is a copy\n", said)


if __name__ == "__main__":
    unittest.main()
