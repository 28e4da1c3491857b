#!/usr/bin/env python3
"""What `strata run` costs a training in the real PyTorch on the stand-in runtime; scripts/record-real calls it.

    cost.py STRATA PYTHON STUBS [REPETITIONS]

Prints the time of a step of programs/gpt without and with `strata run`: the difference of a long and a short run by the number of
steps between them, the least of all repetitions, by the clock and by the processor. Kernels compute nothing there, so a step takes only
what PyTorch itself does on the host: the share is the largest that can be. Then an out-of-memory and an exit: is it dumped, is the
exit code passed on?
"""
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import HERE

STEPS = (10, 310)


def run(before, python, stubs, script, arguments, capacity="80G"):
    """(exit code, seconds by the clock, seconds of the processor)."""
    env = dict(os.environ, LD_LIBRARY_PATH=str(stubs), FAKECUDA_MEM=capacity, OMP_NUM_THREADS="1", PYTHONPATH=str(HERE / "programs/common"))
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([*before, python, *script, *arguments.split()], env=env, capture_output=True, text=True, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.returncode, time.monotonic() - began, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime


def main():
    strata, python, stubs = (os.path.abspath(a) for a in sys.argv[1:4])
    train = [str(HERE / "programs/gpt/train.py")]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        ways = {"without": [], "with": [strata, "run", "--out", folder, "--"], "with --stacks all": [strata, "run", "--out", folder, "--stacks", "all", "--"]}
        best = {(way, n): [float("inf")] * 2 for way in ways for n in STEPS}
        for _ in range(int(sys.argv[4]) if len(sys.argv) > 4 else 5):
            for (way, n), least in best.items():
                code, *seconds = run(ways[way], python, stubs, train, f"--steps {n} --batch 1")
                failed |= code != 0
                best[way, n] = [min(pair) for pair in zip(least, seconds)]
        for way in ways:
            clock, processor = ((b - a) / (STEPS[1] - STEPS[0]) * 1000 for a, b in zip(best[way, STEPS[0]], best[way, STEPS[1]]))
            print(f"{way:18} {clock:7.2f} ms a step by the clock, {processor:7.2f} of the processor")
        out = Path(folder) / "oom"
        code = run([strata, "run", "--out", str(out), "--"], python, stubs, train, "--steps 3", "4G")[0]
        dumps = sorted(p.name for p in out.glob("*.pickle*"))
        print(f"out of memory: exit code {code}, {' '.join(dumps) or 'no dump'}")
        other = run([strata, "run", "--out", str(out), "--"], python, stubs, ["-c", "import torch; torch.ones(9, device='cuda'); raise SystemExit(7)"], "")[0]
        print(f"exit code 7: {other}")
        failed |= code != 1 or not any("oom" in d for d in dumps) or other != 7
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
