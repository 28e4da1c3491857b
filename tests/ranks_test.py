#!/usr/bin/env python3
"""Odd ranks, in sets with known truth (samples/ranks.py). Strata must name every planted oddity with its line, and say nothing of
ranks that are like the others. Prints a table.

Usage: ranks_test.py [all]       without an argument every tenth set, and those of few ranks
Environment: STRATA, path of the program (default: build/release/strata).
"""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "samples"))
import ranks  # noqa: E402

NAMING = ("rank_odd", "out_of_memory")


def carried(page):
    """The descriptions of the two recordings in a page of a difference."""
    packed = re.search(rb'id="figures">([^<]*)<', page.read_bytes()).group(1)
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def judge_diffs(out, summary):
    """Checks the pages of odd ranks against the median: they show the right two recordings and are linked. Returns
    faults as sentences."""
    wrong = []
    for finding in summary["findings"]:
        against, diff = finding["against"], finding["diff"]
        if (diff is None) != (against is None) and not finding["kind"].startswith("rank_"):
            wrong.append(f"a difference of {finding['kind']}")
        if diff is None:
            continue
        odd, median, figures = summary["rows"][finding["rows"][0]], summary["rows"][against], carried(out / diff)
        told = [figures[side]["file"].split("#")[0] for side in "ab"]
        if told != [row["page"].rsplit("/", 1)[-1] for row in (median, odd)] or median["finding"] is not None:
            wrong.append(f"{diff} shows {told}")
        if [figures["a_bytes"], figures["b_bytes"]] != [median["peak_bytes"], odd["peak_bytes"]]:
            wrong.append(f"{diff} has other peaks")
        if odd["diff"] is None:
            wrong.append(f"{odd['page']} does not name {diff}")
    wanted = [finding for finding in summary["findings"] if finding["against"] is not None][:4]
    return wrong + [f"no page for: {finding['title']}" for finding in wanted if finding["diff"] is None]


def judge(folder, each):
    """Checks the index of a set; returns its faults as sentences."""
    out = folder / "out"
    done = subprocess.run([STRATA, "batch", "-q", folder / each.name, "-o", out / each.name], capture_output=True,
                          text=True, timeout=300)
    if done.returncode != 0:
        return [done.stderr.strip()]
    summary = json.loads((out / each.name / "summary.json").read_text())
    told = [finding for finding in summary["findings"] if finding["kind"] in NAMING]
    wrong = [f"false alarm: {finding['title']}" for finding in told
             if not set(finding["ranks"]) & set(each.odd)]
    wrong += [f"false alarm within: {finding['title']}" for finding in told
              if set(finding["ranks"]) & set(each.odd) and set(finding["ranks"]) - set(each.odd)]
    for rank, line in each.odd.items():
        mine = [finding for finding in told if rank in finding["ranks"]]
        if not mine:
            wrong.append(f"rank {rank} is not named")
        elif line and not any(finding["site"] == line for finding in mine):
            wrong.append(f"rank {rank} is named without {line}: {mine[0]['title']}")
    if each.findings is not None and len(told) != each.findings:
        wrong.append(f"{len(told)} findings instead of {each.findings}: {[finding['title'] for finding in told]}")
    for text in [finding["title"] for finding in told] + [row["finding"] for row in summary["rows"] if row["finding"]]:
        figures = re.findall(r"[\d.]+ [KMG]iB", text)
        if len(text.split()) > 25 or len(figures) > len(set(figures)):
            wrong.append(f"too long, or a figure twice: {text}")
    for row in summary["rows"]:
        more = sum(max(0, entry["bytes"] - entry["median_bytes"]) for entry in row["differences"][:1])
        if more > row["peak_bytes"]:
            wrong.append(f"rank {row['rank']}: a part exceeds the whole")
    return wrong + judge_diffs(out / each.name, summary)


def main():
    every = ranks.sets()
    chosen = every if "all" in sys.argv[1:] else [each for i, each in enumerate(every) if i % 10 == 3]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="strata-ranks-") as name:
        folder = pathlib.Path(name)
        for each in chosen:
            ranks.write(folder, [each])
            wrong = judge(folder, each)
            failed += bool(wrong)
            print(f"{each.name:26} {len(each.ranks):3} ranks  {len(each.odd)} planted  "
                  f"{'ok' if not wrong else '; '.join(wrong)}")
    print(f"{len(chosen) - failed} of {len(chosen)} sets ({len(every)} in all) are told as they are")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
