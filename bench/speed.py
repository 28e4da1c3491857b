#!/usr/bin/env python3
"""Measures README's table of speed, in one call. It takes some minutes, on a machine that does nothing else.

    bench/speed.py [--against PROGRAM] [--runs N] [--write] [1m=FILE] [10m=FILE]

Runs pickle.load and the verbs in turn, N rounds (5 with one million events, 3 with ten), and prints README's table, the factors in
processor time, and with --against the time of another build, in pairs. --write puts the table into README.md. Files
that are not named are generated into build/bench.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from bench import CACHE, ROOT, STRATA, generate

LOAD = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb')); import os; os._exit(0)"
VERBS = ["report", "html", "png"]
SETS = {"1m": ("1 million", 5), "10m": ("10 million", 3)}


def run(command):
    """Seconds of the clock and of the processor, and peak resident bytes."""
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"{command} fails")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def rounds(path, programs, runs, folder):
    """{name: [(clock, processor, bytes)]} of pickle.load and of every program's verbs, run in turn."""
    commands = {"pickle.load": [sys.executable, "-c", LOAD, path]}
    for name, program in programs.items():
        commands |= {f"{name} {verb}": [program, verb, "-q", "-f", path, "-o", folder / f"out.{verb}"] for verb in VERBS}
    measured = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            measured[name].append(run(command))
    return measured


def median(rows, column):
    return statistics.median(row[column] for row in rows)


def factor(measured, verb, column, of="pickle.load"):
    return statistics.median(a[column] / b[column] for a, b in zip(measured[of], measured[f"strata {verb}"]))


def size(nbytes):
    return f"{nbytes / 2**30:.1f} GiB" if nbytes > 2**30 else f"{nbytes / 2**20:.0f} MiB"


def row(name, path, measured):
    load, nbytes = measured["pickle.load"], path.stat().st_size
    cells = [SETS[name][0], f"{nbytes / 1e9:.2f} GB" if nbytes > 1e9 else f"{nbytes / 1e6:.0f} MB",
             f"{median(load, 0):.2g} s, {size(median(load, 2))}"]
    cells += [f"{median(measured[f'strata {verb}'], 0):.2g} s, {factor(measured, verb, 0):.0f} x" for verb in VERBS]
    return "| " + " | ".join([*cells, size(median(measured["strata html"], 2))]) + " |"


def table(rows):
    return ["| events | file | `pickle.load` | `strata report` | `strata html` | `strata png` | memory of `html` |",
            "|---|---|---|---|---|---|---|", *rows]


def details(name, path, measured):
    for verb in VERBS:
        memory = median(measured[f"strata {verb}"], 2)
        text = (f"{name} {verb}: processor {median(measured[f'strata {verb}'], 1):.2f} s, {factor(measured, verb, 1):.1f} x; clock "
                f"{factor(measured, verb, 0):.1f} x; memory {memory / path.stat().st_size:.3f} of the file")
        if f"other {verb}" in measured:
            text += (f"; against the other {factor(measured, verb, 1, f'other {verb}'):.2f} x in processor time, "
                     f"{factor(measured, verb, 0, f'other {verb}'):.2f} x on the clock")
        yield text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="PROGRAM", type=pathlib.Path)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("files", nargs="*", metavar="NAME=FILE")
    arguments = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    named = dict(word.split("=", 1) for word in arguments.files)
    programs = {"strata": STRATA} | ({"other": arguments.against} if arguments.against else {})
    rows, notes = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in named or SETS:
            path = pathlib.Path(named[name]) if name in named else generate(name)
            measured = rounds(path, programs, arguments.runs or SETS[name][1], pathlib.Path(folder))
            rows.append(row(name, path, measured))
            notes += details(name, path, measured)
    print("\n".join([*table(rows), "", *notes]))
    if arguments.write:
        readme = ROOT / "README.md"
        text = re.sub(r"\| events \| file \|.*?(?=\n\n)", lambda _: "\n".join(table(rows)), readme.read_text(), flags=re.DOTALL)
        readme.write_text(text)


if __name__ == "__main__":
    main()
