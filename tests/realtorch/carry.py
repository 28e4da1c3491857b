#!/usr/bin/env python3
"""Carries out what Strata advises, in the real PyTorch on the stand-in runtime; scripts/record-real calls it.

    carry.py plan STRATA PYTHON STUBS OUT [NAME...]
        Each program of carry.tsv on devices of 96, 85 and 70 % of what it had reserved: asks `strata plan`, of the whole recording
        (--gpu) and of the one that ends with the error, and runs the program with the advised changes, on a device of that size.
    carry.py settings STRATA PYTHON STUBS OUT [NAME...]
        Each program under other settings of the allocator: is what it reserves within what `strata plan --set` told?

Prints a row for each answer, and a table. OUT gets the rows as plan.json or settings.json, and the recordings in runs/; a run that is
noted there is not made again.
"""
import json
import subprocess
import sys
from pathlib import Path

from record import HERE, run

CONTEXT, MIB = 500 << 20, 1 << 20
SHARES = (.96, .85, .70)
SETTINGS = ("expandable_segments:True", "max_split_size_mb:128", "max_split_size_mb:512", "garbage_collection_threshold:0.6", "roundup_power2_divisions:4",
            "roundup_power2_divisions:8", "expandable_segments:True,roundup_power2_divisions:8")
WITHOUT = "eight_bit,offload"  # needs other libraries


def programs(names):
    for line in (HERE / "carry.tsv").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name, program, arguments, settings, *switches = line.split("\t") + [""] * max(0, 3 - line.count("\t"))
        if not names or name in names:
            yield name, program, arguments, settings, dict(s.split("=", 1) for s in switches if s)


def plan(strata, path, *options):
    done = subprocess.run([strata, "plan", "--json", *options, str(path)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)["devices"][0]


def with_settings(settings, change):
    """The settings with those of "settings:KEY:VALUE[,...]"; "no KEY" takes one off."""
    parts = dict(p.split(":", 1) for p in settings.split(",") if p)
    for part in change.removeprefix("settings:").split(","):
        if part.startswith("no "):
            parts.pop(part[3:], None)
        else:
            parts.update([part.split(":", 1)])
    return ",".join(f"{k}:{v}" for k, v in parts.items())


def carried(changes, arguments, settings, switches):
    """(arguments, settings) that carry the changes out; None: the program has no switch for one of them."""
    for change in changes:
        if change.startswith("settings:"):
            settings = with_settings(settings, change)
            continue
        switch = next((s for begin, s in switches.items() if change.startswith(begin)), None)
        if switch is None:
            return None
        arguments += " " + switch.replace("{K}", change.rsplit(":", 1)[-1])
    return arguments.strip(), settings


class Runner:
    """Runs programs; what was run is noted in `folder` and not run again."""

    def __init__(self, python, stubs, folder):
        self.python, self.stubs, self.folder = Path(python).absolute(), Path(stubs).resolve(), folder
        folder.mkdir(parents=True, exist_ok=True)
        self.notes = folder / "runs.json"
        self.known = json.loads(self.notes.read_text()) if self.notes.exists() else {}

    def __call__(self, program, arguments, settings, capacity, dump=None, **more):
        key = json.dumps([program, arguments, settings, capacity, dump, more])
        if key not in self.known:
            path = self.folder / (dump or "x.pickle")
            noted = run(self.python, self.stubs, program, arguments, path, capacity, settings, **more)
            self.known[key] = {k: noted[k] for k in ("exit", "max_requested", "max_reserved", "retries")}
            self.notes.write_text(json.dumps(self.known, indent=1))
            if dump is None:
                path.unlink(missing_ok=True)
        return self.known[key]


def told_and_real(told, real):
    """What a plan told, and what the run needed; what is reserved can be compared only without retries."""
    row = {"live": [told["live_peak_bytes_min"], told["live_peak_bytes_max"]], "real_live": real["max_requested"],
           "reserved": [told["peak_reserved_bytes_min"], told["peak_reserved_bytes_max"]], "real_reserved": real["max_reserved"] if not real["retries"] else None}
    return {**row, "retries": told["retries"], "real_retries": real["retries"], "went_through": real["exit"] == "ok"}


def answers(strata, runner, name, program, arguments, settings, switches):
    base = runner(program, arguments, settings, 80 << 30, f"{name}.pickle")
    for share in SHARES:
        capacity = int(base["max_reserved"] * share) >> 21 << 21
        limited = runner(program, arguments, settings, capacity + CONTEXT, f"{name}_{int(share * 100)}.pickle")
        asked = [("whole", f"{name}.pickle", ("--gpu", str(capacity), "--keep", "0"))]
        if limited["exit"] == "oom":
            asked.append(("error", f"{name}_{int(share * 100)}.pickle", ()))
        for source, dump, options in asked:
            said = plan(strata, runner.folder / dump, "--without", WITHOUT, *options)
            row = {"program": name, "share": share, "capacity": capacity, "source": source, "scope": said["scope"], "answer": said["answer"] or said["refused"]}
            if not said["plans"]:
                served = said["fits"] in ("yes", "with_retries", "request")
                yield {**row, "changes": [], "served": served, "went_through": served and limited["exit"] == "ok"}
                continue
            for told in said["plans"]:
                how = carried(told["changes"], arguments, settings, switches)
                if how is None:
                    yield {**row, "changes": told["changes"], "not_carried": True}
                    continue
                real = runner(program, *how, capacity + CONTEXT)
                yield {**row, "changes": told["changes"], "fits": told["fits"], **told_and_real(told, real)}


def interval(low, high):
    return f"{low / MIB:,.1f}" if low == high else f"{low / MIB:,.1f} to {high / MIB:,.1f}"


def plan_line(row):
    head = f"{row['program']:13} {row['share']:.0%} {row['source']:5} {row['scope']:9} "
    if "not_carried" in row:
        return head + f"not carried out: {', '.join(row['changes'])}"
    if not row["changes"]:
        return head + (f"served as it is: {row['went_through']}" if row["served"] else "nothing is enough")
    real = f"{row['real_reserved'] / MIB:,.0f}" if row["real_reserved"] is not None else "-"
    return head + (f"{', '.join(row['changes'])}: {'went through' if row['went_through'] else 'OUT OF MEMORY'}; in use {interval(*row['live'])} real {row['real_live'] / MIB:,.1f};"
                   f" reserved {interval(*row['reserved'])} real {real}")


def plan_table(rows):
    def count(some, what):
        return f"{sum(bool(what(r)) for r in some)} of {len(some)}"

    for source, scope, words in (("whole", "recording", "whole recording"), ("error", "step", "ends with the error: the whole step"),
                                 ("error", "request", "ends with the error: gets past this request")):
        some = [r for r in rows if (r["source"], r["scope"]) == (source, scope)]
        done = [r for r in some if r["changes"] and "not_carried" not in r]
        print(f"| {words} | a plan went through | {count(done, lambda r: r['went_through'])} |")
        if scope != "request":
            print(f"| | in use within what was told | {count(done, lambda r: r['live'][0] <= r['real_live'] <= r['live'][1])} |")
            flat = [r for r in done if r["real_reserved"] is not None and r["went_through"]]
            print(f"| | reserved within what was told | {count(flat, lambda r: r['reserved'][0] <= r['real_reserved'] <= r['reserved'][1])} |")
        print(f"| | served as it is | {count([r for r in some if not r['changes'] and r['served']], lambda r: r['went_through'])} |")
        print(f"| | nothing is enough; not carried out | {sum(not r['changes'] and not r['served'] for r in some)}; {sum('not_carried' in r for r in some)} |")
    false = [r for r in rows if r.get("fits") in ("yes", "with_retries") and not r["went_through"]]
    print(f"told to fit, and did not: {len(false)}")
    return not false


def settings_rows(strata, runner, name, program, arguments, settings, switches):
    runner(program, arguments, settings, 80 << 30, f"{name}.pickle")
    for change in SETTINGS:
        want = with_settings(settings, change)
        if want == settings or "expandable_segments:True" in want and "max_split" in want:
            continue
        sets = [x for part in change.split(",") for x in ("--set", part.replace(":", "=", 1))]
        said = plan(strata, runner.folder / f"{name}.pickle", *sets)
        told = next(c for c in said["changes"] if c["id"] == f"settings:{change}")
        for down in (("1",) if change.startswith("max_split_size_mb:128") else ()) + ("",):
            real = runner(program, arguments, want, 80 << 30, **({"FAKECUDA_DESCENDING": down} if down else {}))
            within = told["peak_reserved_bytes_min"] <= real["max_reserved"] <= told["peak_reserved_bytes_max"]
            yield {"program": name, "settings": change, "descending": bool(down), "within": within, "real_reserved": real["max_reserved"],
                   "reserved": [told["peak_reserved_bytes_min"], told["peak_reserved_bytes_max"]]}


def settings_line(row):
    return (f"{row['program']:13} {row['settings']:55} {'down' if row['descending'] else 'up':4} told {interval(*row['reserved'])} real {row['real_reserved'] / MIB:,.1f}"
            f" {'within' if row['within'] else 'OUT'}")


def settings_table(rows):
    for change in SETTINGS:
        some = [r for r in rows if r["settings"] == change]
        print(f"| `{change}` | {sum(r['within'] for r in some)} of {len(some)} |")
    print(f"within: {sum(r['within'] for r in rows)} of {len(rows)}")
    return all(r["within"] for r in rows)


def main():
    what, strata, python, stubs, out, *names = sys.argv[1:]
    each, line, table = {"plan": (answers, plan_line, plan_table), "settings": (settings_rows, settings_line, settings_table)}[what]
    rows, out = [], Path(out)
    runner = Runner(python, stubs, out / "runs")
    for program in programs(names):
        try:
            for row in each(strata, runner, *program):
                rows.append(row)
                print(line(row), flush=True)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{program[0]:13} FAILED {str(error)[-600:]}", flush=True)
    (out / f"{what}.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if table(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
