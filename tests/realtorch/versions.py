#!/usr/bin/env python3
"""Compares what Strata says of the same programs, recorded by several versions of PyTorch: versions.py STRATA FOLDER...

FOLDER/recordings are record.py's. Prints a table with a row for each version, and what differs from the first version that has
the program. A claim of the table: told and true are the same; of steps and findings: the same as with the first version.
"""
import json
import sys
from pathlib import Path

from judge import OF_THE_RECORDING, report

COLUMNS = ("figures", "replay", "phase", "steps", "findings")


def phase_at(device, event):
    """The phase that the report gives an event: of those around it, the one that begins last."""
    around = [p for p in device["phases"] or [] if p["from_event"] <= event <= p["to_event"]]
    return max(around, key=lambda p: p["from_event"])["kind"] if around else None


def facts(strata, path):
    """What Strata says of one recording, and what is true; `path` is the truth."""
    truth = json.loads(path.read_text())
    device = report(strata, path.with_name(path.name.replace(".truth.json", ".pickle.xz")))
    steps = sum(s["kind"] == "step" for s in device["steps"] or [])
    told = (device["peak_bytes"], device["reserved_peak_bytes"])
    true = (truth["peak_requested"], truth["max_reserved"])
    return {"torch": truth["torch"], "peak": told[0], "figures": told == true or truth["exit"] == "oom" and told[0] == true[0],
            "replay": (device["replay"] or {}).get("grade"), "phase": phase_at(device, device["peak_event"]), "true phase": truth["phase_at_peak"], "steps": steps,
            "true steps": truth["steps"], "exit": truth["exit"],
            "findings": sorted(f"{f['kind']} {Path(f.get('site') or '').name}".strip() for f in device["findings"]
                               if f["severity"] in ("high", "medium") and f["kind"] not in OF_THE_RECORDING)}


def main():
    strata, *folders = sys.argv[1:]
    first, differences = {}, []
    print("| torch | programs | both peaks are torch's counters | replay exact | phase at the peak is true | steps | findings of high or medium severity |")
    print("|---|---|---|---|---|---|---|")
    for folder in map(Path, folders):
        found = {p.name.removesuffix(".truth.json"): facts(strata, p) for p in sorted((folder / "recordings").glob("*.truth.json"))}
        if not found:
            continue
        for name, f in found.items():
            base = first.setdefault(name, f)
            holds = {"figures": f["figures"], "replay": f["replay"] == "exact", "phase": f["phase"] == f["true phase"], "steps": f["steps"] == base["steps"],
                     "findings": f["findings"] == base["findings"]}
            f["holds"] = holds
            differences += [f"{folder.name} {name}: {c}: {f[c]} ({ {'phase': f['true phase']}.get(c, base.get(c)) })" for c in COLUMNS if not holds[c]]
            if f["peak"] != base["peak"]:
                differences.append(f"{folder.name} {name}: peak {f['peak'] / 2**20:.1f} MiB ({base['peak'] / 2**20:.1f})")
        cells = [f"{sum(f['holds'][c] for f in found.values())} of {len(found)}" for c in COLUMNS]
        print(f"| {folder.name} | {len(found)} | {' | '.join(cells)} |")
    print("\n".join(differences))


if __name__ == "__main__":
    main()
