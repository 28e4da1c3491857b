#!/usr/bin/env python3
"""Compares the filter of every verb with a simple second implementation, on simulated recordings.

    STRATA=path/to/strata filter_test.py [SEEDS]
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import replay  # noqa: E402
import simulate  # noqa: E402

STRATA = os.environ.get("STRATA", "strata")
SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "samples"
DEFAULT_SEEDS = 30
# Strata also searches what the simulator notes beside a stack, and names of categories and phases. The control knows only
# stacks, so no needle occurs in these.
NOTED = ("other parameter gradient optimizer_state activation temporary input autograd_detail unknown workspace result weight_copy "
         "forward backward", "torch-compiled region: 0/0", "step=3", "métadonnée", "noted", "call_function", "mm_1", "aten.mm.default",
         'file "train.py", line 3\n    y = x @ w\n')
SIZES = {"": 1, "B": 1, "KiB": 1 << 10, "K": 1 << 10, "k": 1 << 10, "kb": 1000, "MiB": 1 << 20, "MB": 10**6}


def run(*words):
    return subprocess.run([STRATA, *map(str, words)], capture_output=True, timeout=120)


def report(path, *words):
    done = run("report", "--json", "--top", "0", *words, path)
    if done.returncode != 0:
        raise AssertionError(f"{words} exits {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    return json.loads(done.stdout)


def texts(allocation):
    for frame in allocation.frames:
        file, line, name, _ = replay.frame_key(frame)
        yield file or "", f"{file or ''}:{line} {name or ''}" if line else f"{file or ''} {name or ''}"


class Words:
    """A random filter: its words, and a Python function that does the same."""

    def __init__(self, rng, device):
        self.rng, self.device = rng, device
        self.words, self.tests = [], []
        for _ in range(rng.choice((1, 1, 2, 3))):
            word, test = rng.choice((self.size, self.sizes, self.age, self.ages, self.text, self.file, self.regex, self.peak,
                                     self.end, self.address, self.stream))()
            sign = rng.choice(("", "", "", "-", "!", "not "))
            self.words.append(sign + word)
            self.tests.append((lambda test: lambda *it: not test(*it))(test) if sign else test)

    def text_of(self):
        return " ".join(self.words)

    def keeps(self, allocation):
        return all(test(allocation) for test in self.tests)

    def some(self):
        return self.rng.choice(self.device.allocations)

    def bound(self, value):
        unit, factor = self.rng.choice(list(SIZES.items()))
        number = value // factor
        return f"{number}{unit}", number * factor

    def size(self):
        text, value = self.bound(self.some().size)
        sign, test = self.rng.choice(((">", lambda a: a > value), (">=", lambda a: a >= value), ("<", lambda a: a < value),
                                      ("<=", lambda a: a <= value), ("", lambda a: a == value), ("=", lambda a: a == value)))
        return f"size:{sign}{text}", lambda allocation: test(allocation.size)

    def sizes(self):
        low, high = sorted((self.some().size, self.some().size))
        shape = self.rng.choice(("both", "kib", "low", "high"))
        if shape == "kib":
            low, high = low // 1024 * 1024, high // 1024 * 1024
            return f"size:{low // 1024}..{high // 1024}KiB", lambda allocation: low <= allocation.size <= high
        words = {"both": f"size:{low}..{high}", "low": f"size:{low}..", "high": f"size:..{high}"}
        return words[shape], lambda allocation: (shape == "high" or allocation.size >= low) and (shape == "low" or allocation.size <= high)

    def lived(self, allocation):
        return allocation.death - allocation.birth

    def age(self):
        value = self.lived(self.some())
        sign, test = self.rng.choice(((">", lambda a: a > value), ("<=", lambda a: a <= value), ("", lambda a: a == value)))
        return f"age:{sign}{value}", lambda allocation: test(self.lived(allocation))

    def ages(self):
        low, high = sorted((self.lived(self.some()), self.lived(self.some())))
        return f"age:{low}..{high}", lambda allocation: low <= self.lived(allocation) <= high

    def piece(self, text):
        begin = self.rng.randrange(max(1, len(text)))
        piece = text[begin : begin + self.rng.randint(1, 9)]
        fits = re.fullmatch(r"[A-Za-z0-9_./]+", piece) and not piece.startswith(("/", "0x"))
        return piece if fits and not any(piece.lower() in noted for noted in NOTED) else "py:"

    def frame_text(self, which):
        frames = [pair for allocation in (self.some(), self.some(), self.some()) for pair in texts(allocation)]
        return self.rng.choice(frames)[which] if frames else "nothing"

    def text(self):
        piece = self.piece(self.frame_text(1))
        shown = self.rng.choice((piece, piece.upper(), f'"{piece}"'))
        return shown, lambda allocation: any(piece.lower() in text.lower() for _, text in texts(allocation))

    def file(self):
        piece = self.piece(self.frame_text(0))
        return f"file:{piece}", lambda allocation: any(piece.lower() in file.lower() for file, _ in texts(allocation))

    def regex(self):
        piece = re.escape(self.piece(self.frame_text(1)))
        expression = self.rng.choice((piece, f"{piece}.*", r"py:\d+ ", r"(?:py|cpp):[\d]+ [\w<]", r"[\w.]+:[\d.]+ [^\s]", "^/|^<"))
        compiled = re.compile(expression, re.IGNORECASE | re.ASCII)
        return f"/{expression}/", lambda allocation: any(compiled.search(text) for _, text in texts(allocation))

    def peak(self):
        moment = self.device.curve.index(max(self.device.curve))
        return "alive:peak", lambda allocation: allocation.alive(moment)

    def end(self):
        return "alive:end", lambda allocation: allocation.death > len(self.device.curve) - 1

    def address(self):
        allocation = self.some()
        address = replay.unsigned(allocation.address) + self.rng.choice((0, max(0, allocation.size - 1), allocation.size // 2))
        def test(each):
            begin = replay.unsigned(each.address)
            return begin == address or begin < address < begin + each.size
        return f"0x{address:x}", test

    def stream(self):
        stream = self.some().stream
        handle = replay.unsigned(stream)
        return ("stream:default" if handle == 0 else f"stream:0x{handle:x}"), lambda allocation: allocation.stream == stream


def curve_of(device, allocations):
    change = [0] * (len(device.curve) + 1)
    for allocation in allocations:
        change[allocation.birth] += allocation.size
        if allocation.death < len(change):
            change[allocation.death] -= allocation.size
    curve, now = [], 0
    for step in change[: len(device.curve)]:
        now += step
        curve.append(now)
    return curve


def compare(seed, folder):
    rng = random.Random(f"filter {seed}")
    path = pathlib.Path(folder, f"seed{seed}.pickle")
    path.write_bytes(simulate.Simulation(simulate.settings_of(seed)).dump())
    failures = []
    whole = {each["device"]: each for each in report(path)["devices"]}
    for device in replay.read_devices(path):
        if not device.allocations:
            continue
        for _ in range(4):
            words = Words(rng, device)
            text = words.text_of()
            document = report(path, "-d", device.ordinal, "--filter", text)
            got = document["devices"][0]
            kept = [allocation for allocation in device.allocations if words.keeps(allocation)]
            curve = curve_of(device, kept)
            peak = device.curve.index(max(device.curve))
            wanted = {"filter": text, "filtered_allocations": len(kept), "filtered_peak_bytes": max(curve),
                      "filtered_peak_event": curve.index(max(curve)) - 1}
            wanted |= {name: whole[device.ordinal][name] for name in
                       ("peak_bytes", "peak_event", "allocations", "end_bytes", "live_at_peak", "reserved_peak_bytes")}
            if {name: got[name] for name in wanted} != wanted:
                failures.append(f"seed {seed}, {text}: {wanted} but {[got[n] for n in wanted]}")
            if sum(each["bytes"] for each in got["top_at_peak"]) != curve[peak]:
                failures.append(f"seed {seed}, {text}: the groups sum up to another figure than {curve[peak]}")
            if sum(each["bytes"] for each in got["categories_at_peak"]) != curve[peak] or document["filter"] != text:
                failures.append(f"seed {seed}, {text}: categories, or the document's filter")
    return failures


def negations_are_the_rest():
    """A word and its negation share the allocations, whatever the word's kind, and the signs mean the same."""
    failures = []
    for word in ("alive:end", "phase:backward", "size:<1MiB", "attention", '"size:"', "category:gradient", "/attn|mlp/", "step:2", "layer:3",
                 "own:yes", "stream:0", "pool:default", "age:<100", "file:model", "0x7f0000000000", "block:x"):
        counts = [report(SAMPLES / "train.pickle", "--filter", words)["devices"][0]["filtered_allocations"]
                  for words in (word, f"-{word}", f"!{word}", f"not {word}", f"NOT  {word} -{word}", f'{word} -"nothing of the kind"')]
        whole = report(SAMPLES / "train.pickle")["devices"][0]["allocations"]
        if counts[0] + counts[1] != whole or len({counts[1], counts[2], counts[3], counts[4]}) != 1 or counts[5] != counts[0]:
            failures.append(f"{word}: {counts} of {whole}")
    return failures


def parts_make_the_whole():
    """Words that no plain replay can check (categories, own lines, steps): the parts of each add up to the whole."""
    failures = []
    for sample in ("train", "leak_zero_grad", "oom"):
        path = SAMPLES / f"{sample}.pickle"
        (device,) = report(path, "-d", 0)["devices"]
        ask = lambda words: report(path, "-d", 0, "--filter", words)["devices"][0]  # noqa: E731
        own, foreign = ask("own:yes"), ask("own:no")
        if own["filtered_allocations"] + foreign["filtered_allocations"] != device["allocations"]:
            failures.append(f"{sample}: own and not own are not all")
        hidden = report(path, "-d", 0, "--hide-internal")["devices"][0]
        if hidden != own:
            failures.append(f"{sample}: --hide-internal is not own:yes")
        for name in {each["category"] for each in device["categories_at_peak"]}:
            wanted = [each for each in device["categories_at_peak"] if each["category"] == name]
            only = ask(f"category:{name}")["categories_at_peak"]
            if only != wanted:
                failures.append(f"{sample}: {wanted} but {only}")
    return failures


def words_that_are_none():
    failures = []
    for words, says in (("size:>x", "size:>x"), ("age:<", "age:<"), ("alive:now", "alive:now"), ("own:maybe", "own:maybe"),
                        ("pool:x", "pool:x"), ("step:a", "step:a"), ("/(/", "regular expression"), ("a " * 40, "one word more"),
                        ("category:", "needs a value"), ("x" * 300, "too long"), ("stream:0xz", "stream:0xz"),
                        ("categry:gradient", "no such key"), ("-categry:x", "no such key"), ("not site:x", "no such key"), ("-size:>x", "size:>x"),
                        ("category:gradeint", "did you mean"), ("!category:gradeint", "did you mean")):
        done = run("report", "--filter", words, SAMPLES / "train.pickle")
        if done.returncode != 2 or says not in done.stderr.decode():
            failures.append(f"{words!r}: exits {done.returncode}, says {done.stderr!r}")
    for words in ("train.py:41", "at::native", "", "  ", "/home/me/a.py", '"size:>x"', "a:b:c", "/", "//", '"', "µ", "-", "!", "not", '"-x"', "http://x", "C:x"):
        done = run("report", "--filter", words, SAMPLES / "train.pickle")
        if done.returncode != 0:
            failures.append(f"{words!r} is a text, but {done.stderr!r}")
    return failures


def main(arguments):
    seeds = int(arguments[0]) if arguments else DEFAULT_SEEDS
    failures = negations_are_the_rest() + parts_make_the_whole() + words_that_are_none()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, seeds + 1):
            failures += compare(seed, folder)
    for failure in failures[:20]:
        print(failure)
    print(f"{seeds} recordings, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
