#!/usr/bin/env python3
"""Speed of reading logs, in megabytes a second: of lines without a word about memory, of ordinary lines as tests have them, many
of which have such words, and of lines each of which is about memory.

    STRATA=path/to/strata bench/logs.py [MEGABYTES]
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import log_ordinary  # noqa: E402

STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
MEMORY = ("[Rank {0}] (after {1} iterations) memory (MB) | allocated: 20480.50 | max allocated: 29696.25 | reserved: 32000.00 | max reserved: 32000.00",
          "[2025-02-07 01:13:39,579] [INFO] [utils.py:781:see_memory_usage] before forward {1}",
          "[2025-02-07 01:13:39,579] [INFO] [utils.py:782:see_memory_usage] MA 4.89 GB         Max_MA 5.55 GB         CA 6.39 GB         Max_CA 6 GB",
          "[rank{0}]:2025-02-01 10:00:00,000 - root - INFO - step: {1}  loss:  8.13  memory: 47.50GiB(50.13%)  tps: 7,439  mfu: 10.35%",
          "(TaskRunner pid=11) step:{1} - actor/entropy:0.5 - perf/max_memory_allocated_gb:45.25 - perf/max_memory_reserved_gb:58.5")
LEVEL = MEMORY[0].format(0, 1)


def lines_of(megabytes, source):
    n = 0
    while n < megabytes * 1000000:
        for line in source:
            n += len(line) + 1
            yield line


def speed(text):
    """Megabytes a second of processor time, the best of three, less what a log of one line takes."""
    def seconds(path):
        best = float("inf")
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([STRATA, "report", path, "-o", os.devnull], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return best

    with tempfile.TemporaryDirectory() as folder:
        one, all_of_it = pathlib.Path(folder, "one.log"), pathlib.Path(folder, "all.log")
        one.write_text(LEVEL + "\n", encoding="utf-8")
        all_of_it.write_text(text, encoding="utf-8")
        return all_of_it.stat().st_size / 1e6 / max(seconds(all_of_it) - seconds(one), 1e-3)


def main():
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 40
    ordinary = [line for lines in log_ordinary.lines().values() for line in lines]
    memory = [line.format(i % 8, i) for i in range(500) for line in MEMORY]
    clean = [line for line in ordinary if line.startswith(("{'", " iteration", "INFO 0"))]
    plain, mixed = ("\n".join([LEVEL, *lines_of(megabytes, lines)]) + "\n" for lines in (clean, ordinary))
    told = "\n".join(lines_of(megabytes / 4, memory)) + "\n"
    print(f"without words about memory {speed(plain):.0f} MB/s, ordinary {speed(mixed):.0f}, about memory {speed(told):.1f}")


if __name__ == "__main__":
    main()
