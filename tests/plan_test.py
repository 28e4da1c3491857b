"""strata plan on samples that ran out of memory, checked with figures of their simulator."""

import csv
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
SAMPLES = ROOT / "samples"


def run(*words):
    return subprocess.run([STRATA, "plan", *map(str, words)], capture_output=True)


def answer(*words):
    done = run("--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["devices"]


class Plan(unittest.TestCase):
    def test_out_of_memory(self):
        device, = answer(SAMPLES / "oom.pickle")
        self.assertEqual("no", device["fits"])
        self.assertTrue(device["recorded"]["ended_by_oom"])
        self.assertEqual({4}, {blocks["n"] for blocks in device["blocks"]})
        first = device["plans"][0]
        # On a device of that size the simulator's request still fails with one checkpointed block; with two the step
        # runs to its end.
        self.assertEqual(["checkpoint:2"], first["changes"])
        self.assertEqual(("time", "model", "with_retries"), (first["cost"], first["certainty"], first["fits"]))
        self.assertLessEqual(first["live_peak_bytes_max"], device["budget"]["used_bytes"])

    def test_changes(self):
        device, = answer(SAMPLES / "oom.pickle")
        figures = device["as_recorded"]
        for change in device["changes"]:
            if change["certainty"] == "bound":
                self.assertIsNone(change["live_peak_bytes_max"])
                continue
            self.assertLessEqual(change["live_peak_bytes_min"], change["live_peak_bytes_max"])
            self.assertLessEqual(change["peak_reserved_bytes_min"], change["peak_reserved_bytes_max"])
            self.assertEqual(figures["live_peak_bytes_max"] - change["live_peak_bytes_max"], change["saves_peak_bytes"])
        self.assertIn("expandable_segments:True", device["changes"][0]["id"])

    def test_as_recorded_equals_whatif(self):
        for name in ("oom.pickle", "train.pickle", "leak_zero_grad.pickle", "streams.pickle"):
            done = subprocess.run([STRATA, "whatif", "--json", SAMPLES / name], capture_output=True, check=True)
            for plan, whatif in zip(answer(SAMPLES / name), json.loads(done.stdout)["devices"]):
                if plan["refused"] is not None:
                    continue
                scenario = whatif["scenarios"][0]
                self.assertEqual(scenario["peak_reserved_bytes_min"], plan["as_recorded"]["peak_reserved_bytes_min"])
                self.assertEqual(scenario["peak_reserved_bytes_max"], plan["as_recorded"]["peak_reserved_bytes_max"])

    def test_a_large_device_needs_nothing(self):
        device, = answer("--gpu", "80GiB", SAMPLES / "oom.pickle")
        self.assertEqual("yes", device["fits"])
        self.assertEqual(([], None), (device["plans"], device["nearest"]))

    def test_nothing_fits(self):
        device, = answer("--gpu", "1GiB", SAMPLES / "oom.pickle")
        self.assertEqual([], device["plans"])
        self.assertGreater(device["nearest"]["lacking_bytes"], 0)

    def test_nearest_with_no_setting(self):
        """If only settings can be changed and none reserves less, the recorded settings are nearest."""
        device, = answer("--gpu", "90MiB", SAMPLES / "leak_forward_only_healthy.pickle")
        self.assertEqual(([], []), (device["plans"], device["nearest"]["changes"]))
        for figure, bytes_ in device["as_recorded"].items():
            self.assertEqual(bytes_, device["nearest"][figure], figure)

    def test_left_out(self):
        every = {change["id"].split(":")[0] for change in answer(SAMPLES / "oom.pickle")[0]["changes"]}
        self.assertEqual({"settings", "optimizer", "checkpoint", "state", "offload", "micro_batch"}, every)
        device, = answer("--without", "expandable_segments,fused,checkpoint", "--without=eight_bit", SAMPLES / "oom.pickle")
        self.assertEqual(["offload:state", "micro_batch:2"], [change["id"] for change in device["changes"]])
        self.assertEqual(["offload:state"], device["plans"][0]["changes"])

    def test_memory_kept_for_others(self):
        used = [answer("--gpu", "8GiB", *more, SAMPLES / "oom.pickle")[0]["budget"]["used_bytes"]
                for more in ((), ("--keep", "0"), ("--keep=10%",), ("--keep", "1GiB"))]
        self.assertEqual([(8 << 30) - (8 << 30) * 2 // 100, 8 << 30, (8 << 30) - (8 << 30) // 10, 7 << 30], used)

    def test_without_retries(self):
        device, = answer(SAMPLES / "oom.pickle")
        plan = device["plans"][0]
        if plan["without_retries"] is not None:
            blocks = int(plan["without_retries"][0].split(":")[1])
            self.assertGreater(blocks, 2)

    def test_several_recordings_have_one_setting(self):
        names = [SAMPLES / name for name in ("train.pickle", "oom.pickle", "leak_zero_grad.pickle")]
        whole = json.loads(run("--json", "--gpu", "8GiB", "--keep", "0", *names).stdout)
        self.assertEqual(([], [str(name) for name in names]), (whole["devices"], whole["files"]))
        wanted = {}
        for name in names:
            done = subprocess.run([STRATA, "whatif", "--json", "--gpu", "8GiB", name], capture_output=True, check=True)
            for one in json.loads(done.stdout)["devices"][0]["scenarios"]:
                peak, served = wanted.get(one["name"], (0, True))
                wanted[one["name"]] = max(peak, one["peak_reserved_bytes_max"]), served and one["oom"] is None
        self.assertEqual(wanted, {one["settings"]: (one["peak_reserved_bytes"], one["served"]) for one in whole["together"]})
        text = run(*names).stdout.decode()
        self.assertIn("Plan: 3 recordings together", text)
        for size, said in (("80GiB", "All are served in 80.00 GiB as recorded."), ("8.8GiB", "One setting for all of them (model): {}; served in 8.80 GiB;"),
                           ("6GiB", "No setting serves all of them in 6.00 GiB. The least without a limit (model): {},")):
            rows = json.loads(run("--json", "--gpu", size, "--keep", "0", *names).stdout)["together"]
            best = min(rows, key=lambda row: (not row["served"], row["peak_reserved_bytes"]))
            self.assertIn(said.format(best["settings"]), " ".join(run("--gpu", size, "--keep", "0", *names).stdout.decode().split()))

    def test_sentence_elsewhere(self):
        sentence = answer(SAMPLES / "oom.pickle")[0]["answer"]
        self.assertIn("checkpoint 2 of the 4 blocks of transformer.py:57 forward", sentence)
        text = subprocess.run([STRATA, "report", SAMPLES / "oom.pickle"], capture_output=True, check=True).stdout.decode()
        self.assertIn(sentence, " ".join(text.split()))
        text = subprocess.run([STRATA, "report", "--no-plan", SAMPLES / "oom.pickle"], capture_output=True, check=True).stdout.decode()
        self.assertNotIn("The least change", " ".join(text.split()))
        text = subprocess.run([STRATA, "report", "--gpu", "4GiB", SAMPLES / "train.pickle"], capture_output=True, check=True).stdout.decode()
        self.assertIn(answer("--gpu", "4GiB", SAMPLES / "train.pickle")[0]["answer"], " ".join(text.split()))
        pictures = [subprocess.run([STRATA, "png", *more, SAMPLES / "oom.pickle", "-o", "-"], capture_output=True, check=True).stdout
                    for more in ([], ["--no-plan"])]
        self.assertNotEqual(*pictures)

    def test_page(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "plan.html"
            self.assertEqual(0, run("-q", "--gpu", "4GiB", SAMPLES / "train.pickle", "-o", page).returncode)
            inside = re.search(r'<script type="application/json" id="plan">(.*?)</script>', page.read_text(), re.S)
            own, = answer("--gpu", "4GiB", SAMPLES / "train.pickle")
            self.assertEqual([own], json.loads(inside[1])["devices"])

    def test_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            made = {}
            for name, words in (("light", ()), ("again", ()), ("dark", ("--theme=dark",)), ("other", ("--without=checkpoint",)),
                                ("no limit", ("train.pickle",)), ("refused", ("one_event.pickle",))):
                file = SAMPLES / (words[0] if words and words[0].endswith("pickle") else "oom.pickle")
                path = pathlib.Path(folder) / f"{name}.png"
                done = run("-q", "-f", *(word for word in words if word.startswith("--")), "--width=800", "--height=500", file, "-o", path)
                self.assertEqual(0, done.returncode, done.stderr)
                made[name] = path.read_bytes()
                self.assertEqual((800, 500), struct.unpack(">II", made[name][16:24]))
            self.assertEqual(made["light"], made["again"])
            self.assertEqual(5, len(set(made.values())))

    def test_the_documentation_s_examples(self):
        """The document's commands print the lines that it shows; "..." stands for lines that it leaves out."""
        n = 0
        for block in re.split(r"\n\n(?=    \$)", (ROOT / "docs" / "plan.md").read_text())[1:]:
            lines = [line[4:] for line in re.split(r"\n(?! {4}|\n {4})", block)[0].splitlines()]
            command = lines[0].removeprefix("$ strata ").split()
            done = subprocess.run([STRATA, *command], capture_output=True, check=True, cwd=ROOT, env={**os.environ, "COLUMNS": "100"})
            for part in "\n".join(lines[1:]).split("\n...\n"):
                self.assertIn(part.rstrip("\n"), done.stdout.decode(), command)
            n += 1
        self.assertEqual(6, n)

    def test_the_largest_size_if_nothing_grows(self):
        """The search doubles the batch up to its maximum, and no further."""
        with tempfile.TemporaryDirectory() as folder:
            again = pathlib.Path(folder) / "again.pickle"
            again.write_bytes((SAMPLES / "train.pickle").read_bytes())
            for large in (2, 3, 1_000_000_000):
                words = ("--extrapolate", f"{SAMPLES / 'train.pickle'}=1", "--to", "max", f"{again}={large}", "--gpu")
                device, = answer(*words, "40GiB")
                for one in device["largest"]:
                    self.assertEqual((large << 20, [], 42), (one["size"], one["also"], one["replays"]), one["name"])
                self.assertIn(f"{large << 20:,} or more", run(*words, "40GiB").stdout.decode())
                device, = answer(*words, "7GiB")
                self.assertEqual({0}, {one["size"] for one in device["largest"]})

    def test_one_short_by(self):
        """whatif, report and page give one figure for the missing bytes; the two bounds of the budget are those of
        plan."""
        oom = SAMPLES / "oom.pickle"
        whatif, = json.loads(subprocess.run([STRATA, "whatif", "--json", oom], capture_output=True, check=True).stdout)["devices"]
        budget = answer(oom)[0]["budget"]
        self.assertEqual((budget["at_least_bytes"], budget["at_most_bytes"]), tuple(whatif["budget"].values()))
        self.assertEqual(budget["at_most_bytes"], whatif["lacking"]["budget_bytes"])
        said = [" ".join(subprocess.run([STRATA, verb, oom], capture_output=True, check=True).stdout.decode().split()) for verb in ("whatif", "report")]
        for figure in ("30.9 MiB", "110.1 MiB more than the"):
            for text in said:
                self.assertIn(figure, text)

    def test_layers(self):
        """The bytes that each layer makes and keeps in the last step, added up from the rows of an export."""
        report = json.loads(subprocess.run([STRATA, "report", "--json", SAMPLES / "oom.pickle"], capture_output=True, check=True).stdout)
        told = report["devices"][0]["layers"]
        self.assertEqual((answer(SAMPLES / "oom.pickle")[0]["blocks"][-1]["n"], None, 0), (told["n"], told["odd_layer"], told["odd_bytes"]))
        sums = []
        for layer in range(told["n"]):
            done = subprocess.run([STRATA, "export", "--to", "csv", "--filter", f"layer:{layer} category:activation step:5", SAMPLES / "oom.pickle", "-o", "-"],
                                  capture_output=True, check=True)
            sums.append(sum(int(row["bytes"]) for row in csv.DictReader(done.stdout.decode().splitlines())))
        self.assertEqual(sorted(sums)[(len(sums) - 1) // 2], told["bytes"])
        self.assertEqual(100 if len(set(sums)) == 1 else 100 * sum(min(s, told["bytes"]) for s in sums) // sum(max(s, told["bytes"]) for s in sums),
                         told["alike_percent"])

    def test_batch(self):
        """With --gpu a batch gives the first sentence for each rank, and one setting for all, from whatif's peaks."""
        names = {0: "oom.pickle", 1: "train.pickle", 2: "leak_zero_grad.pickle"}
        with tempfile.TemporaryDirectory() as folder:
            dumps = pathlib.Path(folder) / "dumps"
            dumps.mkdir()
            for rank, name in names.items():
                (dumps / f"rank{rank}.pickle").write_bytes((SAMPLES / name).read_bytes())
            for words in (["--gpu", "4GiB"], ["--gpu", "4GiB", "--no-plan"], []):
                subprocess.run([STRATA, "batch", "-q", "-f", *words, dumps, "-o", f"{folder}/out"], check=True)
                summary = json.loads((pathlib.Path(folder) / "out" / "summary.json").read_text())
                rows = {row["rank"]: row["plan"] for row in summary["rows"]}
                if words != ["--gpu", "4GiB"]:
                    self.assertEqual((None, []), (summary["together"], summary["notes"]))
                    self.assertEqual((None, None), (rows[1], rows[2]))
                    continue
                self.assertEqual({rank: answer("--gpu", "4GiB", SAMPLES / name)[0]["answer"] for rank, name in names.items()}, rows)
                together = json.loads(run("--json", "--gpu", "4GiB", *(SAMPLES / name for name in names.values())).stdout)["together"]
                self.assertEqual(together, summary["together"])
                best = min(together, key=lambda one: (not one["served"], one["peak_reserved_bytes"]))
                self.assertTrue(summary["notes"][0].startswith(f"One setting for all 3 ranks (model): {best['settings']};"))

    def test_page_of_whatif(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "w.html"
            subprocess.run([STRATA, "whatif", "-q", "--set=garbage_collection_threshold=0.7", SAMPLES / "oom.pickle", "-o", page], check=True)
            inside = re.search(r'<script type="application/json" id="plan">(.*?)</script>', page.read_text(), re.S)
            device, = json.loads(inside[1])["devices"]
            self.assertEqual("settings:garbage_collection_threshold:0.7", device["changes"][1]["id"])
            self.assertEqual(answer(SAMPLES / "oom.pickle")[0]["plans"], device["plans"])
        done = subprocess.run([STRATA, "whatif", "--extrapolate=a=1", "b=2", "--to=4", "-o", "x.html"], capture_output=True)
        self.assertEqual(2, done.returncode)

    def test_wrong_usage(self):
        self.assertEqual(2, run("--extrapolate", "a=1", "--to", "max", "b=2").returncode)
        self.assertEqual(2, run("--to", "8", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--json", "-d", "0", SAMPLES / "oom.pickle", SAMPLES / "train.pickle").returncode)
        self.assertEqual(2, run("--without", "nothing", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--gpu=1GiB", "--keep=1GiB", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--gpu=1GiB", "--keep=100%", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--keep=10%", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--ranks", "1", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run(SAMPLES / "oom.pickle", SAMPLES / "train.pickle", "-o", "plan.png").returncode)
        self.assertEqual(1, run(SAMPLES / "missing.pickle").returncode)
        self.assertEqual(0, run(SAMPLES / "one_event.pickle").returncode)

    def test_same_bytes(self):
        self.assertEqual(run("--json", SAMPLES / "oom.pickle").stdout, run("--json", SAMPLES / "oom.pickle").stdout)


if __name__ == "__main__":
    unittest.main()
