"""For every recording that ran out of memory (of the simulator, the samples and the corpus, STRATA_CORPUS), report, plan
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
SERVED = ("yes", "with_retries", "request")


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
        self.assertGreaterEqual(n_lacking, 4)

    def check(self, path, report):
        number = report["device"]
        plan, = devices("plan", "--json", "-d", number, path)
        self.assertEqual(plan["replay"], {**plan["replay"], **{key: report["replay"][key] for key in ("grade", "allocations", "releases")}})
        if plan["refused"] is not None:
            return 0
        self.peaks(report, plan)
        self.plan_said(path, report, plan)
        return self.lacking(report, plan)

    def peaks(self, report, plan):
        self.assertEqual((report["peak_bytes"], report["reserved_peak_bytes"]), (plan["recorded"]["peak_bytes"], plan["recorded"]["peak_reserved_bytes"]))
        first = report["oom_details"][0]
        self.assertEqual(first["reserved_bytes"] + first["device_free_bytes"], plan["budget"]["bytes"])
        for one in (*plan["changes"], *plan["plans"]):
            if one["fits"] in SERVED and one["live_peak_bytes_max"] is not None:
                self.assertLessEqual(one["live_peak_bytes_max"], plan["budget"]["used_bytes"], one)

    def plan_said(self, path, report, plan):
        """Every output prints the same sentence for the plan."""
        advice = {each["code"]: each["text"] for each in report["oom_details"][-1]["advice"]}
        said = plan["answer"] and ("[{}] ".format(plan["plans"][0]["certainty"]) if plan["plans"] else "") + plan["answer"]
        self.assertEqual(said and said + ".", advice.get("plan"))
        if said:
            brief, = [one for one in devices("report", "--brief", path) if one["device"] == plan["device"]]
            self.assertEqual(said, brief["plan"][0].rstrip("."))
            for text in (say("report", path), say("plan", path)):
                self.assertIn(" ".join(said.split()), text)

    def lacking(self, report, plan):
        """All outputs agree on how much was short: the peak of the requests minus what the process had. Where expandable
        segments were judged, the plan says the same of them."""
        advice = {each["code"]: each["text"] for each in report["oom_details"][0]["advice"]}
        said = figures(" ".join(advice.values()), rf"would have been {FIGURE} short")
        if plan["scope"] == "step":  # the plan is of more than the request
            return bool(said)
        short = plan["as_recorded"]["live_peak_bytes_max"] - plan["budget"]["bytes"]
        for bytes_said, digit in said:
            self.assertLessEqual(abs(bytes_said - short), max(digit, 1 << 20), (said, short))
        expandable = {one["id"]: one["fits"] in SERVED for one in plan["changes"]}.get("settings:expandable_segments:True")
        told = advice.get("enable_expandable_segments", "")
        if expandable is not None and "(model" in told:
            self.assertEqual(expandable, "fitted into" in told, told)
        return bool(said)


if __name__ == "__main__":
    unittest.main()
