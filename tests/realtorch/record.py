#!/usr/bin/env python3
"""Records programs of suite.tsv with the real PyTorch on the stand-in CUDA runtime; scripts/record-real calls it.

    record.py PYTHON STUBS OUT [NAME...]

PYTHON is the interpreter of an environment with torch, STUBS the folder that build.py made for it. Writes OUT/NAME.pickle.xz
and OUT/NAME.truth.json: torch's own counters, and the bytes of each category at the peak, known by the addresses of the
real tensors. Paths in the recording are made the same on every machine.
"""
import bisect
import json
import lzma
import os
import pickle
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLUMNS = ("name", "program", "arguments", "capacity", "settings", "stacks", "mended", "fault", "must", "never")


def suite():
    """Rows of suite.tsv as dicts by COLUMNS."""
    for line in (HERE / "suite.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            yield dict(zip(COLUMNS, line.split("\t") + [""] * len(COLUMNS)))


def lines_of(program):
    """(file, line, words) of each '# truth: words' in the program's folder."""
    marks = []
    for path in sorted(program.parent.glob("*.py")):
        for i, line in enumerate(path.read_text().splitlines(), 1):
            if m := re.search(r"# truth: (.*)$", line):
                marks.append((path.name, i, m.group(1).strip()))
    return marks


def allocations(snapshot):
    """[address, bytes, event of its allocation, event of its free or None, frames] of each allocation; the event of what is
    older than the recording is -1."""
    rows, live, events = [], {}, snapshot["device_traces"][0]
    born = set()
    for e in events:
        if e["action"] == "alloc":
            born.add(e["addr"])
        elif e["action"] == "free_requested" and e["addr"] not in born:
            live[e["addr"]] = len(rows)
            rows.append([e["addr"], e["size"], -1, None, []])
            born.add(e["addr"])
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            at = block.get("address", at)
            if segment["device"] == 0 and block["state"] == "active_allocated" and at not in born:
                rows.append([at, block["requested_size"], -1, None, []])
            at += block["size"]
    for i, e in enumerate(events):
        if e["action"] == "alloc":
            live[e["addr"]] = len(rows)
            rows.append([e["addr"], e["size"], i, None, e.get("frames") or []])
        elif e["action"] == "free_requested" and e["addr"] in live:
            rows[live[e["addr"]]][3] = i
        elif e["action"] == "free_completed":
            live.pop(e["addr"], None)
    return rows


def peak_of(rows):
    """(bytes, event) of the first moment at which most is alive."""
    level = peak = at = 0
    changes = [(begin, size) for _, size, begin, _, _ in rows] + [(end, -size) for _, size, _, end, _ in rows if end is not None]
    for event, change in sorted(changes):
        level += change
        if level > peak:
            peak, at = level, event
    return peak, at


def truth_of(snapshot, noted, program):
    events = snapshot["device_traces"][0]
    times = [e.get("time_us", 0) for e in events]
    rows = allocations(snapshot)
    peak, at = peak_of(rows)
    by_address = {}
    for category, address, size, seen in noted["seen"]:
        by_address.setdefault(address, []).append((category, size, [t // 1000 for t in seen]))
    named = {(f, i): w for f, i, w in lines_of(program) if w in ("inputs", "cache")}
    totals = {}
    for address, size, begin, end, frames in rows:
        if begin > at or end is not None and end <= at:
            continue
        first, last = times[max(0, begin)] - 5, times[end] + 5 if end is not None else float("inf")
        label = next((c for c, n, seen in by_address.get(address, []) if n == size and any(first <= t <= last for t in seen)), None)
        label = label or next((w for f in frames if (w := named.get((os.path.basename(f["filename"]), f["line"])))), None)
        label = label or ("inputs" if any(f["name"] == "send_to_device" for f in frames) else "rest")  # accelerate's, for Trainer
        totals[label] = totals.get(label, 0) + size
    stamps = [t // 1000 for t, _ in noted["marks"]]
    now = []
    for _, what in noted["marks"][:bisect.bisect_right(stamps, (times[max(0, at)] if times else 0) + 1)]:
        if not what.endswith(" end"):
            now.append(what)
        elif what[:-4] in now:
            now.remove(what[:-4])
    phase = next((p for p in ("optimizer", "backward", "forward") if p in now), "other")
    return {"peak_requested": peak, "peak_event": at, "events": len(events), "categories_at_peak": totals, "phase_at_peak": phase}


def portable(value, folders, memo):
    """The snapshot with each folder of this machine written as on any; equal lists of frames stay one object."""
    if isinstance(value, str):
        for here, there in folders:
            value = value.replace(here, there)
        return sys.intern(value)
    if id(value) in memo:
        return memo[id(value)][1]
    if isinstance(value, dict):
        made = {k: portable(v, folders, memo) for k, v in value.items()}
    elif isinstance(value, (list, tuple)):
        made = type(value)(portable(v, folders, memo) for v in value)
    else:
        return value
    memo[id(value)] = (value, made)
    return made


def run(python, stubs, program, arguments, dump, capacity="80G", settings="", stacks="python", **more):
    """Runs a program, which writes `dump`; returns what the hook noted. RuntimeError: it did not run."""
    env = dict(os.environ, LD_LIBRARY_PATH=str(stubs), FAKECUDA_MEM=str(capacity), FAKECUDA_CONTEXT="500M", FAKECUDA_OUT=str(dump), FAKECUDA_STACKS=stacks,
               PYTHONPATH=f"{HERE / 'hook'}:{HERE / 'programs/common'}", PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1",
               TRANSFORMERS_VERBOSITY="error", TORCH_SYMBOLIZE_MODE="dladdr", **more)
    if settings:
        env["PYTORCH_CUDA_ALLOC_CONF"] = settings
    done = subprocess.run([str(python), str(HERE / "programs" / program), *arguments.split()], env=env, capture_output=True, text=True, timeout=300)
    result = Path(f"{dump}.run.json")
    noted = json.loads(result.read_text()) if result.exists() else {"exit": "error"}
    result.unlink(missing_ok=True)
    if noted["exit"] == "error":
        raise RuntimeError(f"{program} {arguments}: {done.stderr[-2000:]}")
    return noted


def record(row, python, stubs, out):
    """Runs the program of the row and writes its recording and truth; returns the truth. RuntimeError: it did not run."""
    program = HERE / "programs" / row["program"]
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "x.pickle"
        noted = run(python, stubs, row["program"], row["arguments"], dump, row["capacity"] or "80G", row["settings"], row["stacks"] or "python")
        snapshot = pickle.loads(dump.read_bytes())
    truth = {**{k: row[k] for k in ("program", "arguments", "capacity", "settings")},
             **{k: v for k, v in noted.items() if k not in ("marks", "seen", "seconds", "where")}, **truth_of(snapshot, noted, program)}
    prefix = Path(python).parent.parent
    folders = [(str(HERE / "programs"), "/train"), (str(prefix), "/venv"), (str(prefix.resolve()), "/venv")]
    with lzma.open(out / f"{row['name']}.pickle.xz", "wb", preset=9) as f:
        pickle.dump(portable(snapshot, folders, {}), f, protocol=4)
    (out / f"{row['name']}.truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    return truth


def main():
    python, stubs, out = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for row in suite():
        if len(sys.argv) > 4 and row["name"] not in sys.argv[4:]:
            continue
        try:
            t = record(row, python, stubs, out)
            print(f"{row['name']:24} {t['exit']:4} peak {t['peak_requested'] / 2**20:9.1f} MiB, {t['events']:6} events, {t['phase_at_peak']}", flush=True)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"{row['name']:24} FAILED {str(error)[-600:]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
