#!/usr/bin/env python3
"""strata plan over real recordings and samples, at five budgets each. The test computes memory in use under a change
again from the rows of an export, by the rules of docs/plan.md.
It also checks what must hold for every plan.

    plan_corpus_test.py --table     prints the figures of docs/plan.md
"""

import collections
import csv
import io
import json
import os
import pickle
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
STRATA = os.environ.get("STRATA", str(HERE.parent / "build" / "release" / "strata"))
CORPUS = Path(os.environ["STRATA_CORPUS"]) if os.environ.get("STRATA_CORPUS") else None
BUDGETS = (None, 95, 85, 70, 50)  # percent of the reserved peak
VALUES = 4096
COSTS = ("none", "time", "precision", "elsewhere")
SERVED = ("yes", "with_retries", "request")
NEVER = 1 << 60
counts = collections.Counter()


def run(*words):
    return subprocess.run([STRATA, *map(str, words)], capture_output=True)


def parts(nbytes, by):
    return -(-nbytes // by)


class Life:
    def __init__(self, row):
        self.id = int(row["id"])
        self.birth = int(row["alloc_event"]) if row["alloc_event"] else -1
        self.death = int(row["free_event"]) if row["free_event"] else NEVER
        self.nbytes, self.category, self.phase, self.stack = int(row["bytes"]), row["category"], row["phase"], row["stack"]


def lives_of(path, device, *words):
    done = run("export", "--to", "csv", "-d", device, *words, path, "-o", "-")
    assert done.returncode == 0, done.stderr
    rows, stacks = list(csv.DictReader(io.StringIO(done.stdout.decode("utf-8", "replace"), newline=""))), {}
    for row in rows:  # the first row of a stack has its text
        row["stack"] = stacks.setdefault(row["stack_id"], row["stack"])
    return [Life(row) for row in rows]


def peak(spans, failed):
    """The peak of (birth, death, bytes), up to and including the failed request. At one event frees come first."""
    end = failed[0] if failed else NEVER
    steps = [step for birth, death, nbytes in spans if birth < death and nbytes
             for step in ((birth, 1, nbytes), (death, 0, -nbytes)) if (step[0][0] if isinstance(step[0], tuple) else step[0]) < end]
    live = most = 0
    for _, _, nbytes in sorted(steps):
        live += nbytes
        most = max(most, live)
    return max(most, live + failed[1]) if failed else most


def whole(life):
    return life.birth, life.death, life.nbytes


def resized(lives, categories, size):
    return [(life.birth, life.death, size(life.nbytes) if life.category in categories else life.nbytes) for life in lives]


def eight_bits(width):
    return lambda nbytes: nbytes if nbytes // width < VALUES else parts(nbytes, width) + 4 * parts(nbytes, 256 * width)


def without_foreach(lives, ends):
    """Removes the temporaries of the optimizer's foreach, or lets each live until the second one after it is made."""
    for i, life in enumerate(lives):
        there = life.birth >= 0 and life.phase == "optimizer" and life.category == "temporary" and " _multi_tensor_" in life.stack
        second = lives[i + 2].birth if i + 2 < len(lives) else NEVER
        yield whole(life) if not there else (life.birth, min(life.death, second) if ends else life.birth, life.nbytes)


def untrained(lives):
    for i, life in enumerate(lives):
        held = life.birth >= 0 and life.category == "activation" and life.phase == "forward" and i + 2 < len(lives)
        yield (life.birth, min(life.death, lives[i + 2].birth), life.nbytes) if held else whole(life)


STATE = {"optimizer_state"}
EDITS = {  # for each change, functions that give the least and the most that it leaves
    "optimizer:fused": lambda lives: (without_foreach(lives, False), without_foreach(lives, True)),
    "state:8bit": lambda lives: (resized(lives, STATE, eight_bits(4)), resized(lives, STATE, eight_bits(2))),
    "offload:state": lambda lives: (resized(lives, STATE, lambda _: 0),),
}


def together(lives, changes):
    """The spans under several changes at once, at the least and at the most. No two changes affect the same
    allocation."""
    for form in (0, 1):
        spans = [whole(life) for life in lives]
        for each in changes:
            for i, span in enumerate(EDITS[each](lives)[-form]):
                spans[i] = span if span != whole(lives[i]) else spans[i]
        yield spans


class Blocks:
    """The blocks (layers) of a device. The filter layer:K tells which rows belong to a block, CPython's pickle the kind
    of each event."""

    def __init__(self, path, device, lives):
        self.lives, self.forwards = lives, []
        self.events = [kind_of(event["action"]) for event in pickle.loads(path.read_bytes())["device_traces"][device["device"]]]
        n, starts = max(one["n"] for one in device["blocks"]), [one["event"] for one in device["blocks"]] + [NEVER]
        rows = [[row.id for row in lives_of(path, device["device"], "--filter", f"layer:{k}")] for k in range(n)]
        for own, start, until in zip(device["blocks"], starts, starts[1:]):
            blocks = [[i for i in rows[k] if start <= lives[i].birth < until] for k in range(own["n"])]
            assert all(block == list(range(block[0], block[-1] + 1)) for block in blocks), "they lie together"
            self.forwards.append((blocks, *self.behind(blocks[-1][-1] + 1, until)))

    def behind(self, at, until):
        """The end of the forward, the first event of backward, and the first event after backward."""
        lives, count = self.lives, len(self.lives)
        while at < count and lives[at].phase not in ("backward", "optimizer") and lives[at].birth < until:
            at += 1
        end, backward = at, at < count and lives[at].phase == "backward"
        while backward and at < count and lives[at].phase not in ("forward", "optimizer"):
            at += 1
        return end, lives[end].birth if backward else None, lives[at].birth if backward and at < count else None

    def goes(self, block, over, uncast):
        """What checkpointing drops: activations, and autocast's copies of weights that outlive its cache."""
        lives, output = self.lives, max((i for i in block if self.lives[i].category == "activation"), default=None)
        return [i for i in block if lives[i].category in ("activation", "weight_copy") and i != output and lives[i].death > lives[block[-1] + 1].birth
                and (over is None or lives[i].death <= over)
                and (lives[i].category == "activation" or (uncast is not None and lives[i].death > uncast))], output

    def uncast(self, first, end, backward):
        """When autocast drops its copies: the first of them that goes after the last one was made, before backward."""
        copies = [life for life in self.lives[first:end] if life.category == "weight_copy"]
        last = max((life.birth for life in copies), default=None)
        return min((life.death for life in copies if life.death > last and (backward is None or life.death <= backward) and life.death != NEVER), default=None)

    def dropped_at(self, i, block, form, uncast):
        soon = i + 2 if form == 0 and i + 2 <= block[-1] else block[-1] + 1
        return uncast if self.lives[i].category == "weight_copy" else self.lives[soon].birth

    def moments(self, block, end, backward, first_death):
        """The earliest and the latest event after which checkpointing makes a block again."""
        lives = self.lives
        most = max([backward - 1] + [lives[i].death for i in range(block[-1] + 1, end)
                                     if lives[i].category == "activation" and lives[i].death < first_death])
        least = first_death - 1
        for kind in ("free", "makes"):
            while least > most and self.events[least] == kind:
                least -= 1
        return least, most

    def again(self, n_blocks, form):
        """The lives that checkpointing shortens, and the new ones that it makes. A position is (event, after it,
        number)."""
        changed, made, number = {}, [], 0
        for blocks, end, backward, over in self.forwards:
            uncast = self.uncast(blocks[0][0], end, backward)
            for block in reversed(blocks[:n_blocks]):
                lives, (gone, output) = self.lives, self.goes(block, over, uncast) if block[-1] + 1 < len(self.lives) else ([], None)
                if not gone:
                    continue
                first_death, last_death = min(lives[i].death for i in gone), max(lives[i].death for i in gone)
                changed |= {i: [((lives[i].birth, 0, 0), (self.dropped_at(i, block, form, uncast), 0, 0))] for i in gone}
                if backward is None or first_death == NEVER or first_death < backward:
                    continue
                at = self.moments(block, end, backward, first_death)[form]
                last = block[-1] if form else max(gone)

                def behind(event, at=at, shift=number - lives[block[0]].birth):
                    return at, 1, shift + event

                for i in range(block[0], last + 1):
                    life, stop = lives[i], lives[last].birth + 1
                    if i in gone:
                        changed[i].append((behind(life.birth), (life.death, 0, 0)))
                    elif life.category not in ("parameter", "workspace", "gradient", "optimizer_state"):
                        dead = (last_death, 0, 0) if form and i == output else behind(min(life.death, stop))
                        made.append((behind(life.birth), dead, i))
                number += lives[last].birth - lives[block[0]].birth + 3
        return changed, made

    def spans(self, n_blocks, edits):
        for form, others in enumerate(together(self.lives, edits)):
            changed, made = self.again(n_blocks, form)
            yield [(begin, end, nbytes) for i, (birth, death, nbytes) in enumerate(others)
                   for begin, end in changed.get(i, [((birth, 0, 0), (death, 0, 0))])] + [
                       (begin, end, others[i][2]) for begin, end, i in made]


def kind_of(action):
    return "free" if action.startswith("free") else "makes" if action == "alloc" or action.startswith("segment") else "other"


def bounds(figures):
    return figures["live_peak_bytes_min"], figures["live_peak_bytes_max"]


class Recordings(unittest.TestCase):
    def paths(self):
        yield from sorted((HERE.parent / "samples").glob("*.pickle"))
        if CORPUS:
            yield from (path for path in sorted(CORPUS.iterdir()) if path.name != "MANIFEST.json")

    def test_each(self):
        for path in self.paths():
            done = run("plan", "--json", path)
            if done.returncode != 0:
                self.assertEqual(1, done.returncode)
                self.assertRegex(done.stderr, rb"\Astrata: ")
                continue
            for device in json.loads(done.stdout)["devices"]:
                if device["refused"] is not None:
                    self.assertEqual(([], []), (device["changes"], device["plans"]))
                    continue
                with self.subTest(path=path.name, device=device["device"]):
                    self.in_use(path, device)
                    self.settings(device)
                    self.budgets(path, device)

    def in_use(self, path, device):
        lives = lives_of(path, device["device"])
        oom = json.loads(run("report", "--json", "--no-plan", "-d", device["device"], path).stdout)["devices"][0]["oom"]
        failed = (oom[0]["event"], oom[0]["requested_bytes"]) if oom else None
        able = path.suffix == ".pickle" and any(one["id"].startswith("checkpoint:") for one in device["changes"])
        self.program = lives, failed, Blocks(path, device, lives) if able else None
        self.assertEqual([peak(map(whole, lives), failed)] * 2, list(bounds(device["as_recorded"])))
        counts["as recorded"] += 1
        for change in device["changes"]:
            if change["id"] in EDITS:
                peaks = [peak(spans, failed) for spans in EDITS[change["id"]](lives)]
                self.assertEqual((min(peaks), max(peaks)), bounds(change), change["id"])
                counts[change["id"]] += 1
            elif change["id"].startswith("checkpoint:") and self.program[2]:
                self.assertEqual(self.set_peaks([change["id"]]), bounds(change), change["id"])
                counts["checkpoint"] += 1
            elif change["id"] == "no_grad":
                most = peak(untrained(lives), failed)
                self.assertEqual(most - most // 100, change["live_peak_bytes_min"])
                counts[change["id"]] += 1

    def settings(self, device):
        """Settings leave the memory in use as recorded."""
        for change in device["changes"]:
            if change["id"].startswith("settings:"):
                self.assertEqual(bounds(device["as_recorded"]), bounds(change))
                counts["settings"] += 1

    def budgets(self, path, unlimited):
        for percent in BUDGETS:
            words = []
            if percent is not None:
                size = unlimited["recorded"]["peak_reserved_bytes"] * percent // 100
                if size < 1 << 20:
                    continue
                words = ["--gpu", f"{size}B", "--keep", "0"]
            device, = json.loads(run("plan", "--json", "-d", unlimited["device"], *words, path).stdout)["devices"]
            with self.subTest(percent=percent):
                self.sound(device)
                self.sets(device)
                if percent is not None:
                    self.sets(json.loads(run("plan", "--json", "-d", unlimited["device"], *words, "--without", "checkpoint,findings",
                                             path).stdout)["devices"][0])
            counts["plans asked for"] += 1
            counts["plans told"] += len(device["plans"])

    def set_peaks(self, edits):
        """The peaks under a set of edits; None: this test cannot add them up."""
        lives, failed, blocks = self.program
        n_blocks = [int(each.split(":")[1]) for each in edits if each.startswith("checkpoint:")]
        others = [each for each in edits if not each.startswith("checkpoint:")]
        if not edits or any(each not in EDITS for each in others) or (n_blocks and not blocks):
            return None
        peaks = [peak(spans, failed) for spans in (blocks.spans(n_blocks[0], others) if n_blocks else together(lives, others))]
        return min(peaks), max(peaks)

    def sets(self, device):
        """Memory in use under sets of changes equals the test's own sum; a setting changes nothing."""
        for plan in filter(None, [*device["plans"], device["nearest"]]):
            peaks = self.set_peaks([each for each in plan["changes"] if not each.startswith("settings:")])
            if peaks:
                self.assertEqual(peaks, bounds(plan), plan["changes"])
                counts["sets with checkpointing" if any(each.startswith("checkpoint:") for each in plan["changes"]) else "sets"] += 1

    def sound(self, device):
        has, plans, changes = device["budget"]["used_bytes"], device["plans"], {one["id"]: one for one in device["changes"]}
        self.assertEqual(device["fits"], device["as_recorded"]["fits"])
        if has is None or device["fits"] in SERVED:
            self.assertEqual(([], None), (plans, device["nearest"]))
            return
        self.assertNotEqual(bool(plans), device["nearest"] is not None)
        self.assertEqual(sorted(plans, key=lambda plan: COSTS.index(plan["cost"])), plans)
        sizes = [len(plan["changes"]) for plan in plans]
        self.assertEqual(sorted(set(sizes), reverse=True), sizes, "a dearer plan has fewer changes")
        for plan in plans:
            self.assertIn(plan["fits"], SERVED)
            self.assertTrue(plan["fits"] == "request" or (plan["fits"] == "with_retries") == (plan["retries"] > 0))
            self.assertLessEqual(plan["live_peak_bytes_max"], has)
            of = [changes[each if not each.startswith("checkpoint:") else next(id for id in changes if id.startswith("checkpoint:"))]
                  for each in plan["changes"]]
            self.assertEqual(max(COSTS.index(one["cost"]) for one in of), COSTS.index(plan["cost"]))
            self.assertNotIn("bound", [one["certainty"] for one in of])
            # A plan of two or more changes is given only if no single change of the same cost suffices.
            cheap = [one for one in device["changes"] if COSTS.index(one["cost"]) <= COSTS.index(plan["cost"])]
            self.assertFalse(len(of) > 1 and any(one["fits"] in SERVED for one in cheap), plan["changes"])
            if plan["changes"][0] in changes and len(of) == 1:
                self.assertEqual(bounds(of[0]), bounds(plan))
        for one in device["changes"]:
            if one["certainty"] != "bound" and one["live_peak_bytes_min"] > has:
                self.assertEqual("no", one["fits"])


if __name__ == "__main__":
    if "--table" in sys.argv:
        sys.argv.remove("--table")
        unittest.main(exit=False)
        print("\n".join(f"{name}: {n}" for name, n in counts.items()))
    else:
        unittest.main()
