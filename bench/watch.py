#!/usr/bin/env python3
"""Measures the cost of `strata run`: its processor time while it watches 200 processes, next to that of `ps` in the same run, and the
time of a program's steps with and without it, in turn. Prints the figures of bench/RESULTS.md.

    bench/watch.py [--processes 200] [--seconds 30] [--rounds 5]
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = ROOT / "build" / "release" / "strata"
MANY = """
import os, sys, time
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0: break
held = bytearray(b'x' * (8 << 20))
time.sleep(float(sys.argv[2]))
"""
# Steps of the tests' torch: each records 100 allocations and their frees with stacks, and computes for some milliseconds.
STEPS = """
import statistics, time, torch
from torch import _C
class SGD(torch.optim.Optimizer): pass
optimizer, times = SGD(), []
for step in range(40):
    begin = time.perf_counter()
    for address in [_C.allocate(1 << 20) for _ in range(100)]: _C.free(address)
    sum(range(400000))
    optimizer.step()
    times.append(time.perf_counter() - begin)
print(statistics.median(times[10:]))
"""


def cpu_s(children):
    return children.ru_utime + children.ru_stime


def cost_of(command, **how):
    """Processor time of a command, without that of processes that it leaves running."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how)
    return cpu_s(resource.getrusage(resource.RUSAGE_CHILDREN)) - cpu_s(before)


def watching(n_processes, seconds, folder):
    """Shares of a core: that of `strata run` with one look a second, and that of `ps` run once a second."""
    watch = subprocess.Popen([STRATA, "run", "-q", "--no-report", "--out", folder, "--", sys.executable, "-c", MANY,
                              str(n_processes), str(seconds)], stderr=subprocess.DEVNULL)
    looks = statistics.median(cost_of(["ps", "-e", "-o", "pid,ppid,rss,comm"]) for _ in range(int(seconds / 2)))
    ticks = 0
    while watch.poll() is None:
        try:
            words = pathlib.Path(f"/proc/{watch.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            break
        ticks = max(ticks, int(words[11]) + int(words[12]))
        try:
            watch.wait(0.2)
        except subprocess.TimeoutExpired:
            pass
    return ticks / os.sysconf("SC_CLK_TCK") / seconds, looks


def stepping(rounds, folder):
    """Seconds of a step without and with `strata run`, one pair for each round."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "stand_in_torch"), "RANK": "0"}
    alone = [sys.executable, "-c", STEPS]
    watched = [STRATA, "run", "-q", "--no-report", "--out", folder, "--steps", "5", "--", *alone]
    for _ in range(rounds):
        yield [float(subprocess.run(command, env=environment, check=True, capture_output=True).stdout) for command in (alone, watched)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ours, ps = watching(options.processes, options.seconds, folder + "/a")
        print(f"{options.processes} processes, one look a second for {options.seconds} s: strata {ours:.2%} of a core, "
              f"ps {ps:.2%}: {ours / ps:.2f} of it")
        pairs = list(stepping(options.rounds, folder + "/b"))
    ratio = statistics.median(watched / alone for alone, watched in pairs)
    print(f"a step: {statistics.median(a for a, _ in pairs) * 1e3:.2f} ms alone, {statistics.median(w for _, w in pairs) * 1e3:.2f} ms "
          f"under strata run: {ratio:.3f} of it (median of {options.rounds} rounds)")


if __name__ == "__main__":
    main()
