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
        block = self.next, mib * MIB
        self.next += mib * MIB
        self.event("alloc", *block, [(file, line, name)] + MAIN)
        return block

    def backward(self):
        places = [("", 0, "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)"),
                  (TORCH + "autograd/__init__.py", 347, "backward"), (HOME + "train.py", 95, "train_step"), MAIN[1]]
        block = self.next, 8 * MIB
        self.next += 8 * MIB
        self.event("alloc", *block, places)
        return block

    def free(self, block, line):
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
        path.write_bytes(pickle.dumps({"segments": [], "device_traces": [events], "external_annotations": self.marks}, 4))
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
        """The place of its free is not where memory was made, and nothing is event 0 before the first event."""
        def loaded(program):
            program.keep("big", 700, 3, "load_all")
            program.drop("big")
        made = Program(loaded=loaded)
        begin = next(i for i, event in enumerate(made.events) if event["action"] == "free_requested")
        older = made.write(self.folder.name, "older.pickle", begin)
        titles = self.titles(self.plain, older)
        self.assertEqual("+700 MiB: train.py:90 train_step (where it was freed): 1 allocation older than the recording; it was none before",
                         titles[0])
        self.assertRegex(titles[-1], r"the moments differ \(event \d+ and before the first event\)$")

    def test_a_step_that_was_cut_is_no_change(self):
        """In a recording that begins within a step, the lines of that step do not allocate less often."""
        cut = self.write("cut.pickle", skipped=21)
        for pair in ((self.plain, cut), (cut, self.plain)):
            self.assertFalse([title for title in self.titles(*pair) if "often" in title], pair)

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


if __name__ == "__main__":
    unittest.main()
