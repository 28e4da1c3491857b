#!/usr/bin/env python3
"""Measures Strata against CPython's unpickler on generated snapshots and writes bench/RESULTS.md.

    scripts/bench [--sets 100k,1m,3m,10m,distinct,fragmented] [--runs N] [--no-page]

Commands of one set are run in turn, A B C A B C ..., and each ratio is taken within its round, so that a machine whose
speed drifts does not favour one of them. Figures are medians; memory is the largest resident set that the system saw.
"""

import argparse
import gzip
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "bench"
STRATA = ROOT / "build" / "release" / "strata"

SETS = {
    "100k": ["--story", "train", "--events", "100000"],
    "1m": ["--story", "train", "--events", "1000000"],
    "3m": ["--story", "train", "--events", "3000000"],
    "10m": ["--story", "train", "--events", "10000000"],
    "distinct": ["--story", "train", "--events", "1000000", "--distinct-stacks"],
    "fragmented": ["--story", "fragmented", "--events", "1000000", "--live", "50000"],
}

LOAD = "import gc, pickle, sys; {gc}pickle.load(open(sys.argv[1], 'rb')); import os; os._exit(0)"


def generate(name):
    path = CACHE / f"{name}.pickle"
    if not path.exists():
        print(f"writing {path.name} ...", file=sys.stderr)
        unfinished = path.with_suffix(".new")
        subprocess.run([sys.executable, ROOT / "samples" / "generate.py", *SETS[name], "-o", unfinished], check=True,
                       stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        unfinished.rename(path)
    return path


def run(command):
    """Wall seconds and peak resident bytes of one run, as the system accounts for it."""
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    message = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"{command} fails: {message.decode(errors='replace')}")
    return seconds, usage.ru_maxrss * 1024


def commands_of(path, folder):
    load = [sys.executable, "-c"]
    return {
        "pickle.load": [*load, LOAD.format(gc=""), path],
        "pickle.load, collector off": [*load, LOAD.format(gc="gc.disable(); "), path],
        "strata report": [STRATA, "report", "--json", path],
        "strata html": [STRATA, "html", "-q", "-f", path, "-o", folder / "page.html"],
        "strata png": [STRATA, "png", "-q", "-f", path, "-o", folder / "picture.png"],
        "cat": ["cat", path],
    }


def measure(path, runs):
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        folder = pathlib.Path(folder)
        commands = commands_of(path, folder)
        rows = {name: [] for name in commands}
        for name in commands:
            if name != "pickle.load":
                run(commands[name])  # the file is in the page cache from here on
        for _ in range(runs):
            for name, command in commands.items():
                rows[name].append(run(command))
        page = (folder / "page.html").stat().st_size
        page_rows = page_measure(folder / "page.html") if PAGE else {}
    return rows, page, page_rows


def page_measure(page):
    """What the page does in headless Chromium; empty where there is none."""
    script = ROOT / "bench" / "page.mjs"
    if shutil.which("node") is None or not (ROOT / "tests" / "node_modules" / "playwright-core").exists():
        return {}
    done = subprocess.run(["node", str(script), str(page)], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        print(f"page: {done.stderr[-400:]}", file=sys.stderr)
        return {}
    return json.loads(done.stdout)


def gzip_size(path):
    size = 0

    class Counter:
        def write(self, data):
            nonlocal size
            size += len(data)
            return len(data)

        def flush(self):
            pass

    with gzip.GzipFile(fileobj=Counter(), mode="wb", compresslevel=9) as packed, open(path, "rb") as source:
        shutil.copyfileobj(source, packed, 1 << 20)
    return size


def mib(nbytes):
    return f"{nbytes / 2**20:,.1f}"


def table_of(name, path, rows, page, page_rows):
    size = path.stat().st_size
    packed = gzip_size(path)
    lines = [f"## {name}: {size / 1e6:,.0f} MB, `{' '.join(SETS[name])}`", "",
             "| command | seconds (min .. max) | pickle.load / this | collector off / this | peak memory | of the file |",
             "|---|---|---|---|---|---|"]
    for command, runs in rows.items():
        seconds = [run[0] for run in runs]
        ratios = [statistics.median(base[0] / this[0] for base, this in zip(rows[other], runs))
                  for other in ("pickle.load", "pickle.load, collector off")]
        memory = statistics.median(run[1] for run in runs)
        lines.append(f"| {command} | {statistics.median(seconds):.3f} ({min(seconds):.3f} .. {max(seconds):.3f}) | "
                     f"{ratios[0]:.1f} | {ratios[1]:.1f} | {mib(memory)} MiB | {memory / size:.2f} |")
    lines += ["", f"Page: {mib(page)} MiB, {(page - 150e3) / packed:.2f} x `gzip -9` of the file "
              f"({mib(packed)} MiB) plus 150 KB."]
    if page_rows:
        lines += ["", f"In headless Chromium at 1600x800: first picture after {page_rows['ready']:.0f} ms; frames while "
                  f"panning {page_rows['pan'][0]:.1f} ms (95th percentile {page_rows['pan'][1]:.1f}), while zooming "
                  f"{page_rows['zoom'][0]:.1f} ms ({page_rows['zoom'][1]:.1f}); hover answer {page_rows['hover']:.2f} ms; "
                  f"WebAssembly memory {mib(page_rows['memory'])} MiB."]
    return "\n".join(lines) + "\n"


def main():
    global PAGE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--no-page", action="store_true")
    arguments = parser.parse_args()
    PAGE = not arguments.no_page
    CACHE.mkdir(parents=True, exist_ok=True)
    text = ["# Measured", "",
            f"By `scripts/bench`, {arguments.runs} runs each, medians, ratios taken round by round. Machine: {os.cpu_count()} "
            f"cores, {platform.machine()}; Python {platform.python_version()}. `cat` is the floor: reading the bytes.", ""]
    for name in arguments.sets.split(","):
        path = generate(name)
        section = table_of(name, path, *measure(path, arguments.runs))
        print(section, flush=True)
        text.append(section)
    (ROOT / "bench" / "RESULTS.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
