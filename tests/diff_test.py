#!/usr/bin/env python3
"""strata diff on pairs of generated training runs; the second run has one planted change. Strata must name that change
first, and the differences of all call sites must add up to the difference of the totals, to the byte. An independent
replay computes the sums again.

    STRATA=path/to/strata diff_test.py [PAIRS]
"""

import base64
import collections
import json
import lzma
import os
import pathlib
import pickle
import random
import re
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True
import peak_twins  # noqa: E402
import replay  # noqa: E402
from peak_twins import Case  # noqa: E402
from twins_ledger import Ledger  # noqa: E402

STRATA = os.environ.get("STRATA", "strata")
CORPUS = os.environ.get("STRATA_CORPUS")
RECORDINGS = pathlib.Path(__file__).resolve().parent / "realtorch" / "recordings"
SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "samples"
PAIRS = 30
CHANGES = ("new", "larger", "kept", "moved", "renamed", "order", "batch", "baseline")
MIB = 1 << 20
TORCH = "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"


def run(*words):
    return subprocess.run([STRATA, *map(str, words)], capture_output=True, timeout=120)


def diff(*words):
    done = run("diff", "--json", *words)
    if done.returncode != 0:
        raise AssertionError(f"{words} exits {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    return json.loads(done.stdout)


# ---- twins ----


class Site:
    def __init__(self, file, line, name, bytes_, role):
        self.file, self.line, self.name, self.bytes, self.role = file, line, name, bytes_, role

    def text(self):
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line} {self.name}"


def program_of(rng):
    """Call sites of a model: several lines of several files, each with the category of its memory."""
    sites, files = [], rng.sample(("attention", "mlp", "norm", "embed", "rotary", "router", "head", "conv"), rng.randint(3, 5))
    for file in files:
        line = rng.randint(20, 60)
        for name in rng.sample(("forward", "project", "mix", "split"), rng.randint(2, 3)):
            for _ in range(rng.randint(1, 2)):
                line += rng.randint(2, 9)
                sites.append(Site(f"/home/me/model/{file}.py", line, name, rng.randint(1, 24) * MIB // 4 + 512 * rng.randint(0, 9),
                                  rng.choice(("kept", "kept", "temporary"))))
            line += 20
    for wanted in ("kept", "temporary"):
        if not any(site.role == wanted for site in sites):
            sites[0 if wanted == "kept" else -1].role = wanted
    return sites


class Run:
    """Writes the events of a loop. Activations are freed in the backward pass, temporaries at once."""

    def __init__(self, sites, layers, steps, order=None):
        self.sites, self.layers, self.events, self.open, self.next = sites, layers, [], {}, 0x7F00_0000_0000
        self.weights = [self.alloc(Site("/home/me/train.py", 12, "build", 2 * MIB + 512 * i, "weight")) for i in range(layers)]
        for step in order or range(steps):
            self.step(step)
        self.alloc(Site("/home/me/train.py", 90, "finish", 512, "weight"))

    def frames(self, site):
        caller = {"filename": "/home/me/model/block.py", "line": 31, "name": "forward"}
        root = {"filename": "/home/me/train.py", "line": 40, "name": "main"}
        own = {"filename": site.file, "line": site.line, "name": site.name}
        return [own, {"filename": TORCH, "line": 1532, "name": "_call_impl"}, caller, root]

    def alloc(self, site, bytes_=None):
        bytes_ = bytes_ or site.bytes
        address, self.next = self.next, self.next + (bytes_ + 511) // 512 * 512
        self.events.append({"action": "alloc", "addr": address, "size": bytes_, "stream": 0, "frames": self.frames(site)})
        self.open[address] = bytes_
        return address

    def free(self, address):
        bytes_ = self.open.pop(address)
        for action in ("free_requested", "free_completed"):
            self.events.append({"action": action, "addr": address, "size": bytes_, "stream": 0, "frames": []})

    def step(self, number):
        held = []
        scale = (3, 4)[number % 2]
        for _ in range(self.layers):
            for site in self.sites:
                address = self.alloc(site, site.bytes * scale // 4 // 512 * 512 + 512)
                if site.role == "kept":
                    held.append(address)
                else:
                    self.free(address)
        gradient = Site("/home/me/train.py", 55, "backward", MIB, "temporary")
        for address in reversed(held):
            new = self.alloc(gradient)
            self.free(address)
            self.free(new)

    def write(self, path, skipped, older=()):
        """The snapshot without its first `skipped` events; their allocations become older than the recording. `older`
        existed before the program began, and only the final blocks show it."""
        for i, event in enumerate(self.events):
            event["time_us"] = 1_700_000_000_000_000 + 10 * i
        with open(path, "wb") as file:
            segments = [self.segment(0x6F00_0000_0000 + (i << 32), site) for i, site in enumerate(older)]
            pickle.dump({"segments": segments, "device_traces": [self.events[skipped:]]}, file, protocol=4)

    def segment(self, address, site):
        block = {"size": site.bytes, "requested_size": site.bytes, "address": address, "state": "active_allocated", "frames": self.frames(site)}
        return {"device": 0, "address": address, "total_size": site.bytes, "allocated_size": site.bytes, "active_size": site.bytes,
                "requested_size": site.bytes, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False,
                "frames": [], "blocks": [block]}


def changed(rng, sites, change):
    """The second twin's sites, and the planted one."""
    twins = [Site(s.file, s.line, s.name, s.bytes, s.role) for s in sites]
    planted = rng.choice([s for s in twins if s.role == ("temporary" if change == "kept" else "kept")])
    if change == "new":
        after = rng.choice(twins)
        planted = Site(after.file, after.line + 1, after.name, rng.randint(2, 9) * MIB, "kept")
        twins.insert(twins.index(after) + 1, planted)
    elif change == "larger":
        planted.bytes = planted.bytes * 2 + 3 * MIB
    elif change == "kept":
        planted.role = "kept"
    elif change == "moved":
        by = rng.choice((-3, 1, 4, 17))
        for site in twins:
            if (site.file, site.name) == (planted.file, planted.name):
                site.line += by
    elif change == "renamed":
        old = planted.file
        for site in twins:
            if site.file == old:
                site.file = old.replace(".py", "_v2.py")
    elif change == "batch":
        for site in twins:
            site.bytes *= 2
    return twins, planted


class Pair:
    def __init__(self, seed, folder):
        rng = random.Random(f"diff {seed}")
        self.change = CHANGES[seed % len(CHANGES)]
        self.rng = rng
        sites = program_of(rng)
        layers, steps = rng.randint(2, 5), rng.randint(3, 6)
        order = list(range(steps))
        other = order[::-1] if self.change == "order" else order
        twins, self.planted = changed(rng, sites, self.change)
        skipped = rng.choice((0, 0, layers, layers // 2))
        self.paths = [pathlib.Path(folder, f"{seed}{letter}.pickle") for letter in "ab"]
        before, after = [], []
        if self.change == "baseline":
            self.planted = Site("/home/me/earlier.py", 70, "warm_up", rng.randint(2, 40) * MIB, "older")
            before, after = [self.planted] * rng.randint(0, 1), [self.planted] * rng.randint(2, 4)
        Run(sites, layers, steps, order).write(self.paths[0], skipped, before)
        Run(twins, layers, steps, other).write(self.paths[1], skipped, after)
        self.document = diff(*self.paths)
        self.failures = []

    def expect(self, right, what):
        if not right:
            self.failures.append(f"{self.paths[0].stem} {self.change}: {what}; causes "
                                 f"{[c['title'] for c in self.document['causes'][:3]]}")

    def check(self):
        self.check_sums()
        self.check_sites()
        getattr(self, f"check_{self.change}")()
        return self.failures

    def check_sums(self):
        d = self.document
        self.expect(d["delta_bytes"] == d["b_bytes"] - d["a_bytes"], "delta is not b - a")
        for part in ("sites", "categories"):
            self.expect(sum(each["delta_bytes"] for each in d[part]) == d["delta_bytes"], f"{part} do not sum up")
        self.expect([abs(s["delta_bytes"]) for s in d["sites"]] == sorted((abs(s["delta_bytes"]) for s in d["sites"]), reverse=True),
                    "sites are not in order")

    def check_sites(self):
        """Both peaks, from a plain replay."""
        for letter, path in zip("ab", self.paths):
            (device,) = replay.read_devices(path)
            peak = device.curve.index(max(device.curve))
            wanted = collections.Counter()
            for allocation in device.allocations:
                if allocation.alive(peak):
                    wanted[self.site_of(allocation)] += allocation.size
            got = collections.Counter()
            for row in self.document["sites"]:
                got[row.get("a_site", row["site"]) if letter == "a" else row["site"]] += row[f"{letter}_bytes"]
            self.expect(+got == +wanted, f"sites of {letter} differ from the replay's")
            self.expect(self.document[letter]["event"] == peak - 1, "another peak")

    def site_of(self, allocation):
        for frame in allocation.frames:
            if "/torch/" not in frame["filename"]:
                return f"{frame['filename'].rsplit('/', 1)[-1]}:{frame['line']} {frame['name']}"
        return "(no stack recorded)"

    def first(self):
        return self.document["causes"][0] if self.document["causes"] else {"site": None, "kind": None, "sites": 0, "bytes": 0}

    def check_cause(self, *kinds):
        first = self.first()
        self.expect(first["site"] == self.planted.text() and first["kind"] in kinds and first["sites"] == 1,
                    f"{self.planted.text()} is not the first cause")
        self.expect(first["bytes"] > 0 and self.planted.text() in first["title"], "wrong bytes or title")

    def check_new(self):
        self.check_cause("new")

    def check_larger(self):
        self.check_cause("size")

    def check_kept(self):
        self.check_cause("kept")

    def check_moved(self):
        self.expect(self.document["delta_bytes"] == 0 and {c["kind"] for c in self.document["causes"]} == {"moved"}, "not moved")
        self.expect(any(c["site"] == self.planted.text() for c in self.document["causes"]), "the line is not named")
        self.expect(all(s["change"] == "same" for s in self.document["sites"]), "a site is not the same")

    check_renamed = check_moved

    def check_order(self):
        self.expect({c["kind"] for c in self.document["causes"]} <= {"moment"}, "an order is not a cause")

    def check_baseline(self):
        self.check_cause("older", "new")

    def check_batch(self):
        first = self.first()
        self.expect(first["kind"] == "size" and first["sites"] > 1 and first["bytes"] > 0, "the batch is not the first cause")


class Twins(unittest.TestCase):
    def test_pairs(self):
        failures = []
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(PAIRS):
                failures += Pair(seed, folder).check()
        self.assertEqual([], failures[:8], f"{len(failures)} failures in {PAIRS} pairs")


class SampleTwins(unittest.TestCase):
    def test_mistakes_against_their_healthy_twins(self):
        for name, site in (("held_over", "transformer.py:57"), ("kept_per_layer", "probe.py:27"), ("leak_forward_only", "history.py:22")):
            document = diff(SAMPLES / f"{name}_healthy.pickle", SAMPLES / f"{name}.pickle")
            first = document["causes"][0]
            self.assertEqual((site, "kept"), (first["site"].split(" ")[0], first["kind"]), first["title"])
            self.assertEqual(document["delta_bytes"], sum(each["delta_bytes"] for each in document["sites"]))


class RealTwins(unittest.TestCase):
    """Real programs and the same without their mistake: the sentences name it, and claim nothing else."""

    def test_what_only_one_has(self):
        for name, finding, site in (("outputs_kept", "model.py:65 forward keeps 128 MiB more each step", "model.py:65 forward"),
                                    ("eval_outputs", "are a graph that no backward used", "train.py:32 forward")):
            with tempfile.TemporaryDirectory() as folder:
                pair = [pathlib.Path(folder, each + ".pickle") for each in (name, name + "_fixed")]
                for path in pair:
                    path.write_bytes(lzma.decompress((RECORDINGS / (path.name + ".xz")).read_bytes()))
                for side, paths, ends in (("A", pair, "freed earlier"), ("B", pair[::-1], "kept longer")):
                    said = " ".join(run("diff", *paths).stdout.decode().split())
                    self.assertLess(said.index(f"- only {side} has this finding: "), said.index(site + " "), said[:900])
                    self.assertIn(finding, said)
                    self.assertNotRegex(said, "is (new|gone): ")  # the same memory, with and without stacks
                    first = diff(*paths)["causes"][0]
                    self.assertEqual((site, "kept"), (first["site"], first["kind"]), first["title"])
                    self.assertIn(ends, first["title"])

    def test_steps_of_other_sizes(self):
        causes = diff(f"{SAMPLES / 'oom.pickle'}#step=2", f"{SAMPLES / 'oom.pickle'}#step=3")["causes"]
        self.assertEqual([("size", False), ("size", True), ("size", True)], [(each["kind"], each["follows"]) for each in causes])
        self.assertIn("(288 MiB instead of 72 MiB)", causes[1]["title"])


class Halved(Ledger):
    """The same program in a data type of half the width; token ids stay numbers."""

    def malloc(self, nbytes, *rest, **named):
        whole = self.role == "input" or self.now.kind == "optimizer"  # a copy of memory that is halved
        return super().malloc(nbytes if whole else max(1, nbytes // 2), *rest, **named)


def trained(program):
    for _ in range(2):
        program.train()


class OneCause(unittest.TestCase):
    """One change of a program is reported as one cause, first and by its right name, in every style of stacks."""

    def each(self, change, **fields):
        """(style, difference of the plain program and the changed one)."""
        for style in peak_twins.STYLES:
            with tempfile.TemporaryDirectory() as folder:
                yield style, Case("foreach", style, **fields), Case("foreach", style, **{**fields, **change}), folder

    def difference(self, folder, *played):
        paths = [pathlib.Path(folder, name) for name in ("a.pickle", "b.pickle")]
        for path, each in zip(paths, played):
            path.write_bytes(pickle.dumps(each.snapshot, protocol=4))
        document = diff(*paths)
        self.assertEqual(document["delta_bytes"], sum(each["delta_bytes"] for each in document["sites"]))
        self.assertEqual(document["delta_bytes"], max(played[1].curve) - max(played[0].curve))
        return document

    def test_a_data_type(self):
        for _, a, b, folder in self.each({}, rows=16):
            document = self.difference(folder, peak_twins.play(a, True, trained), peak_twins.play(b, True, trained, Halved))
            first = document["causes"][0]
            self.assertEqual("dtype", first["kind"], document["causes"][:3])
            self.assertIn("data type", first["title"])
            self.assertGreater(-first["bytes"] * 10, -document["delta_bytes"] * 9)

    def test_a_batch_is_no_data_type(self):
        for _, a, b, folder in self.each({"rows": 32}, rows=16):
            document = self.difference(folder, peak_twins.play(a, True, trained), peak_twins.play(b, True, trained))
            self.assertEqual("size", document["causes"][0]["kind"])
            self.assertNotIn("data type", " ".join(each["title"] for each in document["causes"]))

    def test_a_sequence_is_one_cause(self):
        """A tensor that grows with the square of the sequence length is explained by that length."""
        def longer(program):
            program.resize(tokens=256)
            trained(program)

        for _, a, b, folder in self.each({}, rows=16):
            document = self.difference(folder, peak_twins.play(a, True, trained), peak_twins.play(b, True, longer))
            first, *rest = document["causes"]
            self.assertEqual(("size", False), (first["kind"], first["follows"]))
            squares = [each for each in rest if "square" in each["title"]]
            self.assertTrue(all(each["follows"] for each in squares) and squares, rest)

    def test_phase_with_phase(self):
        """Both peaks are in the optimizer, and forward needs twice as much."""
        for _, a, b, folder in self.each({"rows": 8}, rows=2, layers=8, width=1024):
            played = peak_twins.play(a, True, trained), peak_twins.play(b, True, trained)
            document = self.difference(folder, *played)
            self.assertLess(document["delta_bytes"] * 50, document["a_bytes"])
            phases = {each["phase"]: each for each in document["phases"]}
            for letter, each in zip("ab", played):
                inside = [each.curve[event] for phase in each.world.phases if phase.kind == "forward" for event in range(phase.begin, phase.end)]
                self.assertLessEqual(abs(phases["forward"][f"{letter}_bytes"] - max(inside)), max(inside) // 50)
            first = document["causes"][0]
            self.assertEqual("elsewhere", first["kind"], document["causes"][:2])
            self.assertIn("other call sites allocate more at a time", first["title"])
            self.assertIn("in backward" if phases["backward"]["delta_bytes"] > phases["forward"]["delta_bytes"] else "in forward", first["title"])

    def test_the_same_parameters_at_another_place(self):
        places = (("/srv/other/zoo.py", "assemble", 300), ("/srv/other/run.py", "start", 12))

        class Elsewhere(Ledger):
            def malloc(self, nbytes, stack, *rest, **named):
                return super().malloc(nbytes, self.stacks.alloc("to", places) if self.role == "parameter" else stack, *rest, **named)

        for _, a, b, folder in self.each({}):
            document = self.difference(folder, peak_twins.play(a, True, trained), peak_twins.play(b, True, trained, Elsewhere))
            (row,) = [each for each in document["sites"] if each["site"] == "zoo.py:300 assemble"]
            self.assertEqual((0, "sizes"), (row["delta_bytes"], row["match"]))
            self.assertEqual({"moved"}, {each["kind"] for each in document["causes"]})

    def test_no_backward(self):
        for style, a, b, folder in self.each({}, rows=16):
            document = self.difference(folder, peak_twins.play(a, True, trained), peak_twins.play(b, True, lambda program: program.infer(False)))
            kinds = [each["kind"] for each in document["causes"]]
            self.assertIn("phase", kinds)
            self.assertTrue(any("only A runs" in each["title"] for each in document["causes"]), document["causes"])


class Operands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)
        self.train, self.leak = SAMPLES / "train.pickle", SAMPLES / "leak_zero_grad.pickle"

    def identity(self, document):
        for each in document.get("comparisons", [document]):
            self.assertEqual(each["delta_bytes"], each["b_bytes"] - each["a_bytes"])
            self.assertEqual(each["delta_bytes"], sum(s["delta_bytes"] for s in each["sites"]))

    def test_moments_steps_and_devices(self):
        for a, b, by in (("#at=100", "#at=peak", "event"), ("#step=1", "#step=2", "step"), ("#at=oom", "", "event")):
            path = SAMPLES / "oom.pickle"
            document = diff(f"{path}{a}", f"{path}{b}")
            self.identity(document)
            self.assertEqual(by, document["aligned_by"])
        self.assertEqual(100, diff(f"{self.train}#at=100", self.train)["a"]["event"])
        document = diff(f"{SAMPLES / 'two_devices.pickle'}#device=0", f"{SAMPLES / 'two_devices.pickle'}#device=1#at=5")
        self.assertEqual((0, 1, 5), (document["a"]["device"], document["b"]["device"], document["b"]["event"]))
        self.identity(document)

    def test_an_existing_path_wins(self):
        path = self.at / "run#step=3"
        path.write_bytes(self.train.read_bytes())
        self.assertEqual(0, diff(path, self.train)["delta_bytes"])

    def test_the_same_file(self):
        document = diff(self.train, self.train)
        self.assertEqual((0, 0, []), (document["delta_bytes"], document["peak_delta_bytes"], document["causes"]))
        self.assertEqual({"same"}, {s["change"] for s in document["sites"]})

    def test_several(self):
        document = diff(self.train, self.leak, SAMPLES / "oom.pickle")
        self.assertEqual(2, len(document["comparisons"]))
        self.identity(document)

    def test_several_as_a_table(self):
        """The table comes first, with a row for each file and the figures of its own difference."""
        others = [self.train, SAMPLES / "oom.pickle", SAMPLES / "streams.pickle"]
        for form in ((), ("--markdown",)):
            text = subprocess.run([STRATA, "diff", *form, self.leak, *others], capture_output=True, timeout=120,
                                  env={**os.environ, "COLUMNS": "1000"}).stdout.decode()
            head = text[: text.index("holds")]
            self.assertIn("3 recordings against", head)
            for other in others:
                row = next(line for line in head.splitlines() if other.name in line)
                cause = diff(self.leak, other)["causes"][0]["title"]
                self.assertIn(cause, row.replace("\\", ""))
            self.assertEqual(3, text.count("Compared each at its peak"))
        documents = diff(self.leak, *others)["comparisons"]
        self.assertEqual([diff(self.leak, other)["sites"] for other in others], [each["sites"] for each in documents])

    def test_a_cause_has_the_direction_of_its_bytes(self):
        """More or larger allocations give more bytes, fewer or smaller ones fewer bytes, whichever samples are
        compared."""
        names = ("leak_graph", "train", "oom", "leak_zero_grad", "leak_zero_grad_healthy", "held_over", "held_over_healthy")
        signs = {"more often": 1, "more at a time": 1, "kept longer": 1, "less often": -1, "less at a time": -1,
                 "freed earlier": -1, "gone": -1, "new": 1}
        seen = set()
        for a in names:
            for b in names:
                for cause in diff(*(SAMPLES / f"{name}.pickle" for name in (a, b)))["causes"]:
                    for words, sign in signs.items():
                        if re.search(rf"\b{words}\b", cause["title"]) and cause["bytes"]:
                            seen.add(words)
                            self.assertEqual(sign, 1 if cause["bytes"] > 0 else -1, (a, b, cause))
        self.assertLess({"more often", "less often", "more at a time", "less at a time"}, seen)

    def test_both_ways(self):
        there, back = diff(self.train, self.leak), diff(self.leak, self.train)
        self.assertEqual(there["delta_bytes"], -back["delta_bytes"])

    def test_align(self):
        for how in ("peak", "step", "annotation"):
            document = diff("--align", how, self.leak, self.train)
            self.assertEqual(how, document["aligned_by"])
            self.identity(document)

    def test_formats(self):
        for name, begins in (("x.json", b"{"), ("x.md", b"### "), ("x.txt", b"train")):
            self.assertEqual(0, run("diff", self.leak, self.train, "-o", self.at / name).returncode)
            self.assertEqual(begins, (self.at / name).read_bytes()[: len(begins)])
        text = run("diff", self.leak, self.train).stdout.decode()
        self.assertLess(text.index("B holds"), text.index("Call sites"))

    def test_pictures(self):
        """The picture can have any size, is the same when drawn again, and does not replace a file."""
        first = self.at / "a.png"
        for words in ((), ("--width", "320", "--height", "240"), ("--scale", "2", "--theme", "dark"), ("--filter", "attention")):
            done = run("diff", *words, "-f", "-o", first, self.leak, SAMPLES / "one_event.pickle")
            self.assertEqual((0, b"\x89PNG"), (done.returncode, first.read_bytes()[:4]), done.stderr)
            before = first.read_bytes()
            run("diff", *words, "-f", "-o", first, self.leak, SAMPLES / "one_event.pickle")
            self.assertEqual(before, first.read_bytes())
        self.assertEqual(1, run("diff", "-o", first, self.leak, self.train).returncode)
        for words in (("-o", self.at / "x.png", self.leak, self.train, self.leak), ("-o", self.at / "x.html", self.leak, self.train, self.leak),
                      ("--json", "-o", self.at / "x.html", self.leak, self.train), ("--json", "-o", self.at / "x.png", self.leak, self.train)):
            self.assertEqual(2, run("diff", *words).returncode)

    def test_pages(self):
        """The page is the same when made again, keeps its size limit, has no redacted paths, and is refused as a
        recording."""
        first, second = self.at / "a.html", self.at / "b.html"
        self.assertEqual(0, run("diff", "-o", first, self.leak, self.train).returncode)
        most = first.stat().st_size - 4096
        for words in ((), ("--redact",), ("--filter", "attention"), ("--max-html-size", f"{most}B")):
            for path in (first, second):
                done = run("diff", "-f", *words, "-o", path, self.leak, self.train)
                self.assertEqual((0, b""), (done.returncode, done.stdout), done.stderr)
            self.assertEqual(first.read_bytes(), second.read_bytes(), words)
        self.assertLessEqual(first.stat().st_size, most)
        self.assertEqual(1, run("diff", "-o", first, self.leak, self.train).returncode, "kept without -f")
        done = run("diff", "-f", "--max-html-size", "100KiB", "-o", first, self.leak, self.train)
        self.assertEqual(1, done.returncode)
        self.assertIn(b"--max-html-size", done.stderr)
        for verb in ("report", "html", "png"):
            done = run(verb, second, "-f", "-o", self.at / "again")
            self.assertEqual(1, done.returncode)
            self.assertIn(b"difference of two recordings", done.stderr)

    def test_a_page_has_the_figures_of_the_json(self):
        page = self.at / "figures.html"
        self.assertEqual(0, run("diff", "-f", "-o", page, f"{self.leak}#step=1", f"{self.train}#step=2").returncode)
        carried = re.search(rb'id="figures">([^<]*)<', page.read_bytes()).group(1)
        figures = json.loads(zlib.decompress(base64.b64decode(carried)))
        self.assertIsInstance(figures.pop("matches"), list)
        self.assertEqual(diff(f"{self.leak}#step=1", f"{self.train}#step=2"), figures)

    def by_replay(self, path, by):
        """Bytes and counts at the peak per file, stream, pool and layer, from a plain replay."""
        (device,) = replay.read_devices(path)
        peak = device.curve.index(max(device.curve))
        sums = collections.defaultdict(lambda: [0, 0])
        for allocation in device.allocations:
            if not allocation.alive(peak):
                continue
            own = [frame for frame in allocation.frames
                   if frame["filename"].endswith(".py") and "/torch/" not in frame["filename"]]
            name = {"file": own[0]["filename"].rsplit("/", 1)[-1] if own else "(no file recorded)",
                    "stream": f"stream {allocation.stream}" if allocation.stream else "default stream",
                    "module": bool(own) and own[0]["filename"].endswith(("/attention.py", "/block.py", "/feed_forward.py"))}[by]
            sums[name][0] += allocation.size
            sums[name][1] += 1
        return {name: tuple(each) for name, each in sums.items()}

    def test_rows_of_other_keys(self):
        """They add up to the difference, and are what a plain replay counts; in text, Markdown and the page too."""
        pair = (SAMPLES / "oom.pickle", self.train)
        for by in ("file", "stream", "pool", "category", "module"):
            document = diff("--group", by, *pair)
            self.identity(document)
            rows = document["groups"]
            self.assertEqual(by, document["group"])
            for key in ("a_bytes", "b_bytes", "delta_bytes"):
                self.assertEqual(document[key], sum(row[key] for row in rows), by)
            if by == "category":
                self.assertEqual(document["categories"], [{"category": row.pop("name"), **row} for row in rows])
            if by in ("file", "stream"):
                for letter, path in zip("ab", pair):
                    got = {row["name"]: (row[f"{letter}_bytes"], row[f"{letter}_count"]) for row in rows if row[f"{letter}_count"]}
                    self.assertEqual(self.by_replay(path, by), got)
        layers = [row for row in diff("--group", "module", *pair)["groups"] if row["name"].startswith("layer ")]
        self.assertEqual([f"layer {k} of transformer.py" for k in range(4)], [row["name"] for row in layers])
        for letter, path in zip("ab", pair):
            got = tuple(sum(row[f"{letter}_{what}"] for row in layers) for what in ("bytes", "count"))
            self.assertEqual(self.by_replay(path, "module")[True], got)
            report = json.loads(run("report", "--json", "--group", "module", path).stdout)["devices"][0]
            self.assertEqual(report["peak_bytes"], sum(row["bytes"] for row in report["top_at_peak"]))
            self.assertEqual({(row["name"], row[f"{letter}_bytes"], row[f"{letter}_count"]) for row in layers},
                             {(row["group"], row["bytes"], row["count"]) for row in report["top_at_peak"] if row["group"].startswith("layer ")})
        for words in ((), ("--markdown",)):
            text = run("diff", "--group", "module", *words, *pair).stdout.decode().replace("\N{NO-BREAK SPACE}", " ")
            self.assertRegex(text, r"384\.0 MiB.*1,024\.1 MiB.*640\.1 MiB.*14.*14.*layer 3")
            self.assertNotIn("Call site", text)
        no_layers = run("diff", "--group", "module", SAMPLES / "one_event.pickle", self.train).stdout.decode()
        self.assertIn("Nothing of a module is alive in A.", no_layers)
        done = run("diff", "--group", "stack", *pair)
        self.assertEqual(2, done.returncode)
        self.assertIn(b"--group site", done.stderr)

    def test_modules_have_the_names_of_annotations(self):
        """`record_function("blocks.3.mlp")`, innermost; else the forward() that made the memory, else the side of the step."""
        snapshot = pickle.loads((SAMPLES / "train.pickle").read_bytes())
        times = [event["time_us"] for event in snapshot["device_traces"][0]]
        whole = json.loads(run("report", "--json", "--group", "module", SAMPLES / "train.pickle").stdout)["devices"][0]
        inner = times[whole["peak_event"] // 2]
        snapshot["external_annotations"] = [{"stage": stage, "name": name, "device": 0, "time_us": at} for stage, name, at in (
            ("START", "## blocks.3 ##", times[0] - 1), ("START", "training", times[0]), ("START", "blocks.3.mlp", inner),
            ("END", "blocks.3.mlp", times[-1] + 1), ("END", "training", times[-1] + 2), ("END", "## blocks.3 ##", times[-1] + 3))]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "named.pickle"
            path.write_bytes(pickle.dumps(snapshot, protocol=4))
            named = json.loads(run("report", "--json", "--group", "module", path).stdout)["devices"][0]
        bytes_of = {row["group"]: row["bytes"] for row in named["top_at_peak"]}
        self.assertEqual({"blocks.3", "blocks.3.mlp"}, bytes_of.keys() - {"older than the recording"})
        self.assertEqual(named["peak_bytes"], sum(bytes_of.values()))
        self.assertIn("transformer.py:57 forward", {row["group"] for row in whole["top_at_peak"]})

    def test_metadata(self):
        """A row for each text that the user gave, as recorded; a dict is its JSON; a name is one line."""
        snapshot = pickle.loads((SAMPLES / "train.pickle").read_bytes())
        texts, sums = ["", "weights", "two\nlines", {"layer": 3}], collections.Counter()
        for i, event in enumerate(snapshot["device_traces"][0]):
            event["user_metadata"] = texts[i % 4]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "noted.pickle"
            path.write_bytes(pickle.dumps(snapshot, protocol=4))
            (device,) = replay.read_devices(path)
            peak = device.curve.index(max(device.curve))
            for allocation in device.allocations:
                if allocation.alive(peak):
                    sums[allocation.birth and ("(no metadata)", "weights", "two lines", '{"layer":3}')[(allocation.birth - 1) % 4]] += allocation.size
            rows = json.loads(run("report", "--json", "--group", "metadata", path).stdout)["devices"][0]["top_at_peak"]
            both = diff("--group", "metadata", path, self.train)["groups"]
        sums["(no metadata)"] += sums.pop(0, 0)
        self.assertEqual(dict(sums), {row["group"].replace(": ", ":"): row["bytes"] for row in rows})
        self.assertEqual(dict(sums) , {row["name"].replace(": ", ":"): row["a_bytes"] for row in both})

    def test_a_filter_counts_on_both_sides(self):
        document = diff("--filter", "attention", self.leak, self.train)
        self.assertTrue(all("attention" in s["site"] for s in document["sites"]), document["sites"])
        self.identity(document)
        self.assertEqual("attention", document["filter"])

    def test_redacted(self):
        plain, redacted = diff(self.leak, self.train), diff("--redact", self.leak, self.train)
        self.assertEqual(plain["sites"], redacted["sites"])

    def test_hostile_and_empty(self):
        empty, none, text = self.at / "empty", self.at / "none.pickle", self.at / "text"
        empty.write_bytes(b"")
        text.write_bytes(b"hello")
        none.write_bytes(pickle.dumps({"segments": [], "device_traces": [[]]}))
        for path in (empty, none, text, self.at / "missing"):
            for pair in ((path, self.train), (self.train, path)):
                done = run("diff", *pair)
                self.assertEqual((1, b""), (done.returncode, done.stdout), pair)
        for name in ("one_event", "hostile_names", "overflow", "streams", "private_pools", "expandable"):
            self.identity(diff(SAMPLES / f"{name}.pickle", self.train))
            self.identity(diff(self.train, SAMPLES / f"{name}.pickle"))

    def test_usage(self):
        for words in (("diff", self.train), ("diff", f"{self.train}#step=x", self.train), ("diff", f"{self.train}#nothing", self.train),
                      ("diff", f"{self.train}#step=999", self.train), ("diff", f"{self.train}#device=9", self.train),
                      ("diff", f"{self.train}#step=1#at=5", self.train), ("diff", "--align", "x", self.train, self.leak),
                      ("diff", "--json", "--markdown", self.train, self.leak)):
            done = run(*words)
            self.assertEqual(2, done.returncode, (words, done.stderr))

    @unittest.skipUnless(CORPUS, "skipped: STRATA_CORPUS is not set")
    def test_real_pairs(self):
        paths = sorted(pathlib.Path(CORPUS).glob("npu_*"))[:2] + sorted(pathlib.Path(CORPUS).glob("oom_expandable_4dev*"))[:1]
        for path in paths:
            for other in paths:
                self.identity(diff(path, other))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        PAIRS = int(sys.argv.pop(1))
    unittest.main()
