#!/usr/bin/env python3
"""Measures processor time and memory of every verb as any two dimensions of a recording grow together, and their exponents over
the file's size. An exponent above 1.2 means that some work is done for every pair.

    bench/sweep.py [-p STRATA] [--base N] [--pairs A,B ...] [--verbs V ...]      Markdown on standard output
"""

import argparse
import itertools
import math
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCALES = (1, 3, 9)
NOISE_S, NOISE_KIB = 0.02, 8192  # a run takes this much in any case; no exponent is printed below

# How many of each dimension one unit of a scale is; devices and pools have limits (docs/inputs-reference.md).
DIMENSIONS = {"events": 20, "devices": 0.1, "streams": 1, "pools": 0.2, "segments": 1, "annotations": 1, "categories": 1, "stacks": 1,
              "depth": 0.1, "frames": 1, "texts": 1, "lines": 10, "ranks": 0.1, "files": 0.1}
VERBS = {"report": ["report", "--json"], "html": ["html"], "png": ["png"], "check": ["check"], "plan": ["plan", "--json"],
         "diff": ["diff", "--json"], "batch": ["batch"], **{kind: ["export", "--to", kind] for kind in ("csv", "sqlite", "pprof", "folded", "perfetto")}}
OF_LOGS = ("lines", "ranks")  # dimensions of a log, which diff, plan and export refuse


def log(n, at):
    path = at / "recording.log"
    path.write_text("".join(f"[rank{i % n['ranks']}]: step: {i // n['ranks']}  loss: 1.0  memory: {10 + i % 7}.5GiB(50.00%)\n" for i in range(n["lines"])))
    return path


def copies(path, count, at):
    """Copies of a recording, as many files as a batch is given."""
    folder = at / "files"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for i in range(count):
        shutil.copy(path, folder / f"rank_{i}{path.suffix}")
    return folder


def recording(size, at):
    """A snapshot, or a log, with so many of each dimension; a dimension that is not named has one."""
    n = {name: max(1, int(size.get(name, 0) * per)) for name, per in DIMENSIONS.items()}
    if any(name in OF_LOGS for name in size):
        return log(n, at)
    n_devices = min(n["devices"], 1000)
    frames = [{"filename": f"/home/me/f{i % n['frames']}.py", "line": i + 1, "name": f"f{i % n['frames']}"} for i in range(max(n["frames"], n["stacks"]))]
    outer = [{"filename": "/home/me/outer.py", "line": i + 1, "name": f"outer{i}"} for i in range(n["depth"])]
    stacks = [[frames[i % len(frames)], *outer] for i in range(n["stacks"])]
    n_events = max(n["events"], n_devices, n["streams"], n["stacks"], n["categories"], n["texts"], n["segments"])
    traces, segments = [[] for _ in range(n_devices)], []
    for i in range(n_events):
        event = {"addr": (1 << 40) + (i << 21), "size": 512 * (1 + i % 7), "stream": 8 * (i % n["streams"]), "time_us": i, "frames": stacks[i % len(stacks)],
                 "category": f"category {i % n['categories']}", "user_metadata": f"text {i % n['texts']}", "segment_pool_id": (0, i % n["pools"])}
        traces[i % n_devices].append({"action": "alloc", **event})
        if i % 3:
            traces[i % n_devices].append({"action": "free_completed", **event})
    for i in range(n["segments"]):
        segments.append({"device": i % n_devices, "address": (1 << 40) + (i << 21), "total_size": 1 << 21, "allocated_size": 0, "active_size": 0, "stream": 8 * (i % n["streams"]),
                         "segment_type": "small", "segment_pool_id": (0, i % n["pools"]), "blocks": [{"address": (1 << 40) + (i << 21), "size": 1 << 21, "requested_size": 0, "state": "inactive"}]})
    notes = [{"name": f"ProfilerStep#{i}", "stage": stage, "time_us": i + (stage == "END"), "device": 0} for i in range(n["annotations"]) for stage in ("START", "END")]
    path = at / "recording.pickle"
    path.write_bytes(pickle.dumps({"segments": segments, "device_traces": traces, "external_annotations": notes}))
    return path


def cost(program, verb, path):
    """Seconds of the processor, and the most KiB of memory."""
    words = [program, *VERBS[verb], *(["--rule", "peak < 1TiB"] if verb == "check" else []), *([path] if verb == "diff" else []), path]
    out = [] if verb in ("check", "diff", "plan", "report") else ["-o", path.parent / "pages"] if verb == "batch" else ["-f", "-o", path.parent / "out"]
    # A program inherits the memory high-water mark of the one that starts it, so time(1), which is small, starts it.
    done = subprocess.run(["/usr/bin/time", "-f", "%U %S %M", *map(str, words), *map(str, out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 3):
        return None
    user, system, kib = done.stderr.splitlines()[-1].split()
    return float(user) + float(system), int(kib)


def exponent(sizes, costs, noise):
    """The exponent of the last step, if that costs more than any run does."""
    if costs[-1] < 12 * noise or sizes[-1] <= sizes[-2]:
        return None
    return math.log(max(costs[-1] - noise, noise) / max(costs[-2] - noise, noise / 4)) / math.log(sizes[-1] / sizes[-2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-p", "--program", default=str(ROOT / "build" / "release" / "strata"))
    parser.add_argument("--base", type=int, default=400, help="of every dimension at the smallest scale (default: 400)")
    parser.add_argument("--pairs", nargs="*", default=[",".join(pair) for pair in itertools.combinations(DIMENSIONS, 2)])
    parser.add_argument("--verbs", nargs="*", default=list(VERBS), choices=list(VERBS))
    asked = parser.parse_args()
    print("| pair | verb | file | seconds | exponent | MiB | exponent |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for pair in asked.pairs:
            sizes, costs = [], {verb: [] for verb in asked.verbs}
            for scale in SCALES:
                size, at = {name: asked.base * scale for name in pair.split(",")}, pathlib.Path(folder)
                path = recording(size, at)
                n_files = max(1, int(size.get("files", 0) * DIMENSIONS["files"]))
                sizes.append(path.stat().st_size * n_files)
                for verb in asked.verbs:
                    costs[verb].append(cost(asked.program, verb, copies(path, n_files, at) if verb == "batch" else path))
            for verb, found in costs.items():
                if None in found:
                    print(f"| {pair} | {verb} | refused | | | | |")
                    continue
                time, memory = exponent(sizes, [s for s, _ in found], NOISE_S), exponent(sizes, [k for _, k in found], NOISE_KIB)
                if (time or 0) > 1.2 or (memory or 0) > 1.2:
                    print(f"| {pair} | {verb} | {sizes[-1] / 2**20:.1f} MiB | {found[-1][0]:.2f} | {time or 0:.2f} | {found[-1][1] / 1024:.0f} | {memory or 0:.2f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
