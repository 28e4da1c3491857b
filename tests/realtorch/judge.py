#!/usr/bin/env python3
"""Judges what Strata says of recordings of the real PyTorch: judge.py STRATA [RECORDINGS]

For each row of suite.tsv that was recorded: claims that hold or do not.
  figures     peaks are torch's own counters
  named       the first finding about memory is the planted fault, and nothing is found that may not be
  saving      the told saving is within 10 % of the difference of the two recorded peaks
  quiet       a healthy program gets no finding of high or medium severity
  saves       each finding that is told of a healthy program saves something at the peak
  categories  at least 90 % of the bytes at the peak are in the right category
Prints a line for each claim that does not hold, and the counts. open.tsv names those of them that are known.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

from record import HERE, suite

CATEGORY = {"parameter": "parameters", "gradient": "gradients", "optimizer_state": "optimizer state", "input": "inputs"}
# These tell of the recording or of the allocator; a program without a fault has them too.
OF_THE_RECORDING = {"starts_late", "stops_at_peak", "history_full", "no_history", "out_of_memory", "retry_flush", "cache_churn", "cached_free"}


def report(strata, path):
    done = subprocess.run([strata, "report", "--format", "json", "--no-plan", str(path)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)["devices"][0]


def right_share(device, truth):
    """Share of the peak's bytes that the report puts into the category that they have.

    Memory older than the recording is in the truth of some recordings only: without it, it is left out."""
    said, true = {}, {}
    older = sum(c["older_bytes"] for c in device["categories_at_peak"])
    whole = device["peak_bytes"]
    made = whole - older if sum(truth["categories_at_peak"].values()) == whole - older else whole
    for c in device["categories_at_peak"]:
        key = CATEGORY.get(c["category"], "rest")
        said[key] = said.get(key, 0) + c["bytes"] - (c["older_bytes"] if made < whole else 0)
    for key, nbytes in truth["categories_at_peak"].items():
        key = {"buffers": "parameters", "cache": "rest"}.get(key, key)
        true[key] = true.get(key, 0) + nbytes
    return 1 - sum(abs(said.get(k, 0) - true.get(k, 0)) for k in said.keys() | true.keys()) / 2 / max(1, made)


def fault_claims(row, found, first, true_saving):
    forbidden = next((f for f in found if row["never"] and re.search(row["never"], f["kind"])), None)
    told = f"{first['kind']} {first['title']} {first.get('site') or ''} {first.get('detail') or ''}" if first else "nothing"
    named = bool(re.search(row["must"], told)) and not forbidden
    yield "named", named, f"{row['fault']}; said: {(forbidden or {}).get('title') or told[:140]}"
    if named and true_saving:
        got = first.get("saves_peak_bytes") or 0
        yield "saving", abs(got - true_saving) <= .1 * true_saving, f"{true_saving / 2**20:.0f} MiB can be saved, said: {got / 2**20:.0f}"


def healthy_claims(row, found):
    alarm = next((f for f in found if f["severity"] in ("high", "medium") and f["kind"] != "optimizer_temporaries"
                  or row["never"] and re.search(row["never"], f["kind"])), None)
    yield "quiet", not alarm, f"healthy, said: {alarm and alarm['kind'] + ' ' + alarm['title'][:120]}"
    idle = next((f for f in found if f["severity"] == "low" and not f.get("saves_peak_bytes")), None)
    yield "saves", not idle, f"saves nothing: {idle and idle['kind'] + ' ' + idle['title'][:120]}"


def claims(strata, row, folder):
    """(claim, holds, words) of one recording."""
    truth = json.loads((folder / f"{row['name']}.truth.json").read_text())
    device = report(strata, folder / f"{row['name']}.pickle.xz")
    late = bool(re.search(r" (late|ring)\b", f" {row['arguments']}"))
    if not late and truth["exit"] == "ok":
        exact = device["peak_bytes"] == truth["peak_requested"] and device["reserved_peak_bytes"] == truth["max_reserved"]
        yield "figures", exact, f"{device['peak_bytes']} and {device['reserved_peak_bytes']} for {truth['peak_requested']} and {truth['max_reserved']}"
    found = [f for f in device["findings"] if f["kind"] not in OF_THE_RECORDING or row["fault"] and re.search(row["must"], f["kind"])]
    if row["fault"]:
        mended = folder / f"{row['mended']}.truth.json"
        saving = truth["peak_requested"] - json.loads(mended.read_text())["peak_requested"] if row["mended"] and mended.exists() else 0
        yield from fault_claims(row, found, found[0] if found else None, saving)
    else:
        yield from healthy_claims(row, found)
    if row["stacks"] != "none":
        share = right_share(device, truth)
        yield "categories", share >= .9, f"{100 * share:.1f} % of the peak's bytes are in the right category"


def judge(strata, folder):
    """{(name, claim): (holds, words)} of all that were recorded."""
    return {(row["name"], claim): (holds, words) for row in suite() if (folder / f"{row['name']}.pickle.xz").exists()
            for claim, holds, words in claims(strata, row, folder)}


def known():
    """{(name, claim): reason} of open.tsv: what does not hold yet."""
    lines = [line.split("\t") for line in (HERE / "open.tsv").read_text().splitlines() if line and not line.startswith("#")]
    return {(name, claim): reason for name, claim, reason in lines}


def main():
    result = judge(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "recordings")
    for (name, claim), (holds, words) in result.items():
        if not holds:
            print(f"{name}\t{claim}\t{words}")
    for claim in ("figures", "named", "saving", "quiet", "saves", "categories"):
        held = [holds for (_, c), (holds, _) in result.items() if c == claim]
        print(f"{claim:10} {sum(held):3} of {len(held)}")


if __name__ == "__main__":
    main()
