"""For every recording that ran out of memory (of the simulator, the samples and the corpus, STRATA_CORPUS), report, whatif, plan
and page must give the same budget and the same "short by"."""

import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

from oom_words_test import GIB, MIB, OutOfMemory, Run  # noqa: E402
from simulator.world import settings, snapshot  # noqa: E402

STRATA = os.environ["STRATA"]
SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "samples"
CORPUS = os.environ.get("STRATA_CORPUS")
UNITS = {"GiB": 30, "MiB": 20, "KiB": 10, "bytes": 0}
SERVED = ("yes", "with_retries")


def say(*words):
    return " ".join(subprocess.run([STRATA, *map(str, words)], capture_output=True, check=True).stdout.decode().replace("\u00a0", " ").split())


def devices(*words):
    return json.loads(subprocess.run([STRATA, *map(str, words)], capture_output=True, check=True).stdout)["devices"]


def figures(text, pattern):
    """The sizes that the pattern's groups match, as (bytes, bytes of one unit of the last digit printed)."""
    found = []
    for number, unit in re.findall(pattern, text):
        digits = number.replace(",", "")
        decimals = len(digits.partition(".")[2])
        found.append((float(digits) * 2 ** UNITS[unit], 10**-decimals * 2 ** UNITS[unit]))
    return found


FIGURE = r"([\d,.]+) (GiB|MiB|KiB|bytes)"


def failing(folder):
    """Programs that fail: full, in pieces, on the first request, expandable or not."""
    for expandable in (False, True):
        for name, capacity, keep, drop, last in (("full", 4 * GIB, 160 * MIB, 0, 300 * MIB), ("pieces", 2 * GIB, 100 * MIB, 2, 180 * MIB),
                                                 ("first", 1 * GIB, 0, 0, 3 * GIB), ("near", 3 * GIB, 95 * MIB, 0, 40 * MIB)):
            run = Run(capacity, expandable)
            made = []
            while keep and run.world.gpus[0].reserved + keep + 20 * MIB <= capacity:
                made.append(run.make(1, keep))
            run.drop(made[::drop] if drop else [])
            try:
                run.make(50, last)
                run.make(51, capacity)
            except OutOfMemory:
                pass
            path = folder / f"{name}_{expandable}.pickle"
            path.write_bytes(pickle.dumps(snapshot(run.world, run.recording, settings(expandable)), protocol=4))
            yield path


class Agreement(unittest.TestCase):
    def test_every_recording_that_ran_out(self):
        n_lacking = 0
        with tempfile.TemporaryDirectory() as name:
            paths = [SAMPLES / "oom.pickle", *failing(pathlib.Path(name))]
            if CORPUS:
                paths += [pathlib.Path(CORPUS) / "oom_expandable_4dev.pickle"]
            for path in paths:
                reports = devices("report", "--json", path)
                for report in reports:
                    if report["oom"]:
                        with self.subTest(file=path.name, device=report["device"]):
                            n_lacking += self.check(path, report)
        self.assertGreaterEqual(n_lacking, 5)

    def check(self, path, report):
        number = report["device"]
        whatif, = devices("whatif", "--json", "-d", number, path)
        plan, = devices("plan", "--json", "-d", number, path)
        self.assertEqual(whatif["replay"], {**whatif["replay"], **{key: report["replay"][key] for key in ("grade", "allocations", "releases")}})
        if plan["refused"] is not None:
            self.assertEqual([], whatif["scenarios"])
            return 0
        self.peaks(report, whatif, plan)
        self.fits(whatif, plan)
        self.plan_said(path, report, plan)
        return self.lacking(path, report, whatif, plan)

    def peaks(self, report, whatif, plan):
        self.assertEqual((report["peak_bytes"], report["reserved_peak_bytes"]), (plan["recorded"]["peak_bytes"], plan["recorded"]["peak_reserved_bytes"]))
        self.assertEqual(report["reserved_peak_bytes"], whatif["recorded"]["peak_reserved_bytes"])
        recorded = whatif["scenarios"][0]
        self.assertEqual((recorded["peak_reserved_bytes_min"], recorded["peak_reserved_bytes_max"]),
                         (plan["as_recorded"]["peak_reserved_bytes_min"], plan["as_recorded"]["peak_reserved_bytes_max"]))
        self.assertEqual(whatif["bounds"]["requested_peak_bytes"], plan["as_recorded"]["live_peak_bytes_max"])
        self.assertEqual(whatif["budget"], {key: plan["budget"][key] for key in ("at_least_bytes", "at_most_bytes")})
        self.assertEqual(plan["budget"]["bytes"], whatif["budget"]["at_least_bytes"])

    def fits(self, whatif, plan):
        """A setting that plan calls served never fails in whatif; one that plan calls not served fails there."""
        scenarios = {one["name"]: one for one in whatif["scenarios"]}
        rows = {"recorded": plan["fits"], **{one["id"].removeprefix("settings:"): one["fits"] for one in plan["changes"] if one["id"].startswith("settings:")}}
        for name, fits in rows.items():
            if name in scenarios and fits != "unsure":
                self.assertEqual(fits in SERVED, scenarios[name]["oom"] is None, name)
                self.assertEqual(fits == "yes", scenarios[name]["oom"] is None and scenarios[name]["retries"] == 0, name)
        for one in (*plan["changes"], *plan["plans"]):
            if one["fits"] in SERVED and one["live_peak_bytes_max"] is not None:
                self.assertLessEqual(one["live_peak_bytes_max"], plan["budget"]["used_bytes"], one)

    def plan_said(self, path, report, plan):
        """Every output prints the same sentence for the plan."""
        advice = {each["code"]: each["text"] for each in report["oom_details"][-1]["advice"]}
        self.assertEqual(plan["answer"] and plan["answer"] + ".", advice.get("plan"))
        if plan["answer"]:
            brief, = [one for one in devices("report", "--brief", path) if one["device"] == plan["device"]]
            self.assertEqual(plan["answer"], brief["plan"][0].rstrip("."))
            for text in (say("report", path), say("plan", path)):
                self.assertIn(" ".join(plan["answer"].split()), text)

    def lacking(self, path, report, whatif, plan):
        """All outputs agree on how much was short: the rounded peak of the requests minus the largest possible
        budget."""
        lacking, most = whatif["lacking"], plan["budget"]["at_most_bytes"]
        advice = " ".join(each["text"] for each in report["oom_details"][-1]["advice"])
        said = figures(advice, rf"would have been {FIGURE} short")
        own = say("whatif", "-d", report["device"], path)
        more = figures(own, rf"the requests alone go {FIGURE} beyond")
        if lacking is None:
            self.assertEqual([], said + more)
            return 0
        self.assertEqual(most, lacking["budget_bytes"])
        short = max(0, whatif["bounds"]["rounded_peak_bytes"] - most)
        self.assertEqual(short, lacking["at_least_bytes"])
        self.assertEqual(bool(said), bool(more), (said, more))
        for bytes_said, digit in said + more:
            self.assertLessEqual(abs(bytes_said - short), digit, (said, more, short))
        # Sentences that say how much more a setting would have needed give whatif's figure.
        for text in (advice, own):
            for bytes_said, digit in figures(text, rf"{FIGURE} more than (?:there was|the [\d.,]+ [GM]iB that the process had at most)"):
                self.assertLessEqual(abs(bytes_said - lacking["bytes"]), digit, text)
        return 1


if __name__ == "__main__":
    unittest.main()
