#!/usr/bin/env python3
"""Measures Strata against CPython's unpickler on generated snapshots and prints tables, some of which bench/RESULTS.md has.

    scripts/bench [--sets 100k,1m,3m,10m,distinct,fragmented] [--runs N] [--no-page] [--against PROGRAM]

Commands of one set are run in turn, A B C A B C ..., and each ratio is taken within its round, so that a machine whose
speed drifts does not favour one of them. Figures are medians; memory is the largest resident set that the system saw.
--against names another build of strata, whose commands run in the same rounds; a table gives the ratios. With STRATA_CORPUS,
the sizes of pages of real snapshots are measured too.
"""

import argparse
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
STATE_DUMP = ROOT / "build" / "release" / "tests" / "state_dump"

SETS = {
    "100k": ["--story", "train", "--events", "100000"],
    "1m": ["--story", "train", "--events", "1000000"],
    "3m": ["--story", "train", "--events", "3000000"],
    "10m": ["--story", "train", "--events", "10000000"],
    "distinct": ["--story", "train", "--events", "1000000", "--distinct-stacks"],
    "fragmented": ["--story", "fragmented", "--events", "1000000", "--live", "50000"],
}

LOAD = "import gc, gzip, pickle, sys; {gc}pickle.load({open}(sys.argv[1], 'rb')); import os; os._exit(0)"
PICKLE, PICKLE_NO_GC, PICKLE_GZ = "pickle.load", "pickle.load, collector off", "pickle.load of the gz"
HASH = "xxhsum -H2" if shutil.which("xxhsum") else "cat"


def generate(name):
    path = CACHE / f"{name}.pickle"
    if not path.exists():
        print(f"writing {path.name} ...", file=sys.stderr)
        unfinished = path.with_suffix(".new")
        subprocess.run([sys.executable, ROOT / "samples" / "generate.py", *SETS[name], "-o", unfinished], check=True,
                       stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        unfinished.rename(path)
    return path


def gzipped(path):
    packed = path.with_suffix(".pickle.gz")
    if not packed.exists():
        with open(packed.with_suffix(".new"), "wb") as file:
            subprocess.run(["gzip", "-1", "-c", path], check=True, stdout=file)
        packed.with_suffix(".new").rename(packed)
    return packed


def gzip9_size(path):
    """The size of `gzip -9` in bytes, kept beside the file because computing it takes minutes."""
    note = CACHE / f"{path.name}.gzip9"
    if not note.exists() or note.stat().st_mtime < path.stat().st_mtime:
        packed = subprocess.Popen(["gzip", "-9", "-c", path], stdout=subprocess.PIPE)
        note.write_text(str(sum(len(block) for block in iter(lambda: packed.stdout.read(1 << 20), b""))))
    return int(note.read_text())


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


def others_of(path, folder, other):
    """The verbs of another build that are compared."""
    return {
        "other report": [other, "report", "--json", path],
        "other html": [other, "html", "-q", "-f", path, "-o", folder / "other.html"],
        "other png": [other, "png", "-q", "-f", path, "-o", folder / "other.png"],
        "other report of the gz": [other, "report", "--json", gzipped(path)],
    }


def commands_of(path, folder, other):
    load = [sys.executable, "-c"]
    return {
        **(others_of(path, folder, other) if other else {}),
        PICKLE: [*load, LOAD.format(gc="", open="open"), path],
        PICKLE_NO_GC: [*load, LOAD.format(gc="gc.disable(); ", open="open"), path],
        "strata report": [STRATA, "report", "--json", path],
        "strata html": [STRATA, "html", "-q", "-f", path, "-o", folder / "page.html"],
        "strata png": [STRATA, "png", "-q", "-f", path, "-o", folder / "picture.png"],
        PICKLE_GZ: [*load, LOAD.format(gc="", open="gzip.open"), gzipped(path)],
        "strata report of the gz": [STRATA, "report", "--json", gzipped(path)],
        HASH: [*HASH.split(), path],
    }


class Measurement:
    """The runs over one set."""

    def __init__(self, name, runs, with_page, other):
        self.name, self.path = name, generate(name)
        self.size = self.path.stat().st_size
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            folder = pathlib.Path(folder)
            commands = commands_of(self.path, folder, other)
            self.rows = {command: [] for command in commands}
            run(commands[HASH])  # this run also brings the file into the page cache
            for _ in range(runs):
                for command, words in commands.items():
                    self.rows[command].append(run(words))
            self.page_size = (folder / "page.html").stat().st_size
            self.picture_size = (folder / "picture.png").stat().st_size
            times = [subprocess.run([STATE_DUMP, "--measure", self.path, "0"], capture_output=True, check=True).stdout.split()
                     for _ in range(min(runs, 3))]
            self.replay_ms, self.state_ms = (statistics.median(float(time[i]) for time in times) for i in range(2))
            self.page = page_measure(folder / "page.html") if with_page else {}
        self.page_share = (self.page_size - 150e3) / gzip9_size(self.path)

    def seconds(self, command):
        return statistics.median(seconds for seconds, _ in self.rows[command])

    def ratio(self, command, to):
        return statistics.median(base[0] / this[0] for base, this in zip(self.rows[to], self.rows[command]))

    def memory(self, command):
        """Memory as a share of the file."""
        return statistics.median(memory for _, memory in self.rows[command]) / self.size

    def table(self):
        lines = [f"### {self.name}: {self.size / 1e6:,.0f} MB, `{' '.join(SETS[self.name])}`", "",
                 "| command | seconds (min .. max) | pickle.load / this | collector off / this | peak memory | of the file |",
                 "|---|---|---|---|---|---|"]
        for command, runs in self.rows.items():
            seconds = [run[0] for run in runs]
            lines.append(f"| {command} | {self.seconds(command):.3f} ({min(seconds):.3f} .. {max(seconds):.3f}) | "
                         f"{self.ratio(command, PICKLE):.1f} | {self.ratio(command, PICKLE_NO_GC):.1f} | "
                         f"{mib(self.memory(command) * self.size)} MiB | {self.memory(command):.2f} |")
        lines += ["", f"Page: {mib(self.page_size)} MiB, that is 150 KB and {self.page_share:.2f} x `gzip -9` of the file "
                  f"({mib(gzip9_size(self.path))} MiB). Picture: {mib(self.picture_size)} MiB."]
        lines += ["", f"Replay of the allocator: {self.replay_ms:,.0f} ms; segments and blocks at an event: {self.state_ms:.1f} ms."]
        if self.page:
            page = self.page
            lines += ["", f"In headless Chromium at 1600x800: first picture after {page['ready']:.0f} ms; frames while panning "
                      f"{page['pan'][0]:.1f} ms (95th percentile {page['pan'][1]:.1f}), while zooming {page['zoom'][0]:.1f} ms "
                      f"({page['zoom'][1]:.1f}); hover answer {page['hover']:.2f} ms; map drawn anew in {page['map'][0]:.1f} ms "
                      f"({page['map'][1]:.1f}); WebAssembly memory "
                      f"{mib(page['memory'])} MiB."]
        return "\n".join(lines) + "\n"


def page_measure(page):
    """Measurements of the page in headless Chromium; empty if there is no browser."""
    script = ROOT / "bench" / "page.mjs"
    if shutil.which("node") is None or not (ROOT / "tests" / "node_modules" / "playwright-core").exists():
        return {}
    done = [subprocess.run(["node", str(script), str(page)], capture_output=True, text=True, timeout=600) for _ in range(5)]
    for one in done:
        if one.returncode != 0:
            print(f"page: {one.stderr[-400:]}", file=sys.stderr)
            return {}
    figures = [json.loads(one.stdout) for one in done]
    middle = lambda values: statistics.median(values)
    return {"ready": middle(one["ready"] for one in figures), "hover": middle(one["hover"] for one in figures),
            "memory": middle(one["memory"] for one in figures),
            **{key: [middle(one[key][i] for one in figures) for i in range(2)] for key in ("pan", "zoom")}}


def against_rows(measured):
    """Ratios of this build to the other one, each from runs of one round."""
    for name, one in measured.items():
        for command in [command for command in one.rows if command.startswith("other ")]:
            own = "strata " + command[6:]
            memory = one.memory(own) / one.memory(command)
            yield (f"| `{command[6:]}`, {name} | {one.seconds(command):.3f} | {one.seconds(own):.3f} | "
                   f"{1 / one.ratio(own, command):.2f} | {memory:.2f} |")


def mib(nbytes):
    return f"{nbytes / 2**20:,.1f}"


# ---- aims ----

WHY = """What is missed, and why:

- `report`: reading and hashing the bytes alone (the last row of each table below) is 24 to 27 times as fast as `pickle.load`.
  Parsing runs beside it and takes about as long, on a machine of two cores; what follows, a tenth, cannot begin before the end.
- `png` of a million events: fonts, painting and deflate take 30 ms whatever the size of the file. With three million
  events the aim is reached.
- *distinct* is made to be as bad as can be: the outermost frames of each stack are unlike those of all others, so that the
  prefix tree shares nothing and has a node of 4 bytes (and 4 for its call site) where a pickle has 2 or 5 bytes for a frame.
  Real stacks begin alike. `--max-memory` bounds it."""


def targets(measured):
    """(what, aim, value as text, is it reached) for every target whose set was measured."""
    for name, one in measured.items():
        if name in ("1m", "10m"):
            for command, aim in (("strata report", 25), ("strata html", 12), ("strata png", 20)):
                value = one.ratio(command, PICKLE)
                yield f"`{command[7:]}`, times as fast as `pickle.load`, {name}", f">= {aim}", f"{value:.1f}", value >= aim
            value = one.ratio("strata report", PICKLE_NO_GC)
            yield f"`report`, times as fast with the collector off, {name}", ">= 6", f"{value:.1f}", value >= 6
        for command, aim in (("strata report", 0.35), ("strata report of the gz", 0.35), ("strata html", 0.5)):
            value = one.memory(command)
            if name in ("10m", "distinct"):
                yield f"`{command[7:]}`, peak memory as a share of the file, {name}", f"<= {aim}", f"{value:.2f}", value <= aim
        yield f"page above 150 KB, as a share of `gzip -9`, {name}", "<= 0.4", f"{one.page_share:.2f}", one.page_share <= 0.4
        if name in ("10m", "fragmented"):
            yield f"replay of the allocator, {name}", "<= 1500 ms", f"{one.replay_ms:,.0f} ms", one.replay_ms <= 1500
            yield f"segments and blocks at an event, {name}", "<= 20 ms", f"{one.state_ms:.1f} ms", one.state_ms <= 20
        yield from page_targets(name, one)
    if {"1m", "10m"} <= measured.keys():
        for command in ("strata report", "strata html", "strata png"):
            value = measured["10m"].seconds(command) / measured["1m"].seconds(command)
            yield f"`{command[7:]}`, 10m against 1m", "<= 11", f"{value:.1f}", value <= 11


def page_targets(name, one):
    aims = {"1m": (1000, 16), "10m": (4000, 33), "fragmented": (None, 50)}
    if not one.page or name not in aims:
        return
    ready, frame = aims[name]
    if ready:
        yield f"page ready, {name}", f"<= {ready} ms", f"{one.page['ready']:.0f} ms", one.page["ready"] <= ready
    for kind in ("pan", "zoom"):
        median, late = one.page[kind]
        yield f"{kind} frame at 1600x800, {name}", f"<= {frame} ms", f"{median:.1f} ms", median <= frame
        yield f"the same, 95th percentile, {name}", f"<= {2 * frame} ms", f"{late:.1f} ms", late <= 2 * frame
    yield f"map at another moment, {name}", "<= 16 ms", f"{one.page['map'][0]:.1f} ms", one.page["map"][0] <= 16
    yield f"hover answer, {name}", "<= 4 ms", f"{one.page['hover']:.2f} ms", one.page["hover"] <= 4
    if name != "fragmented":
        events = int(SETS[name][-1])
        value = one.page["memory"] / events
        yield f"page memory, bytes per event, {name}", "<= 60", f"{value:.1f}", value <= 60


def limited_rows(path):
    """Rows about pages of limited size: how close they come to the limit, and at what cost."""
    for limit in (1, 5, 20):
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            page = pathlib.Path(folder) / "page.html"
            seconds, memory = run([STRATA, "html", "-q", "-f", "--max-html-size", f"{limit}MiB", path, "-o", page])
            yield (f"| {limit} MiB | {page.stat().st_size / 2**20:.2f} MiB | {seconds:.1f} s | "
                   f"{memory / path.stat().st_size:.2f} |")


def corpus_rows(folder):
    for path in sorted(folder.iterdir()):
        with tempfile.TemporaryDirectory(dir=CACHE) as target:
            page = pathlib.Path(target) / "page.html"
            if path.suffix not in (".pickle", ".pkl") or subprocess.run(
                    [STRATA, "html", "-q", path, "-o", page], capture_output=True).returncode != 0:
                continue
            size, packed = page.stat().st_size, gzip9_size(path)
            yield f"| {path.name} | {path.stat().st_size / 1e6:.2f} MB | {packed / 1e3:,.0f} KB | {size / 1e3:,.0f} KB | " \
                  f"{max(0, size - 150e3) / packed:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--no-page", action="store_true")
    parser.add_argument("--against", metavar="PROGRAM", type=pathlib.Path)
    arguments = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    measured = {}
    for name in arguments.sets.split(","):
        measured[name] = Measurement(name, arguments.runs, not arguments.no_page, arguments.against)
        print(measured[name].table(), flush=True)
    text = [f"By `scripts/bench`, {arguments.runs} runs each, medians, ratios taken round by round. Machine: {os.cpu_count()} "
            f"cores, {platform.machine()}; Python {platform.python_version()}. `{HASH}` is the floor: "
            "Strata reads and hashes every byte once, in a thread beside the one that parses.", "",
            "## Against the aims", "", "| what | aim | measured | |", "|---|---|---|---|",
            *(f"| {what} | {aim} | {value} | {'' if good else 'missed'} |" for what, aim, value, good in targets(measured)), "", WHY, ""]
    if arguments.against:
        text += [f"## Against `{arguments.against.name}`", "", "| command | that one, s | this one, s | ratio | ratio of memory |",
                 "|---|---|---|---|---|", *against_rows(measured), ""]
    if "10m" in measured:
        text += ["## Pages below a size", "", "The 10m set with `--max-html-size`.", "", "| limit | page | time | memory, of the file |",
                 "|---|---|---|---|", *limited_rows(measured["10m"].path), ""]
    if os.environ.get("STRATA_CORPUS"):
        text += ["## Pages of real snapshots", "", "The last column is the page above 150 KB as a share of `gzip -9`; the aim is 0.4.", "",
                 "| snapshot | size | `gzip -9` | page | share |", "|---|---|---|---|---|",
                 *corpus_rows(pathlib.Path(os.environ["STRATA_CORPUS"])), ""]
    print("\n".join(text))


if __name__ == "__main__":
    main()
