"""strata plan on samples that ran out of memory, checked with figures of their simulator."""

import csv
import json
import lzma
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "samples"))
from simulator.stories import Flavour, OutOfMemory, Recording, Shape, Training, World, settings, snapshot  # noqa: E402

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
        # Nobody has recorded what follows the request, so all blocks are advised.
        self.assertEqual(["checkpoint:4"], first["changes"])
        self.assertEqual(("time", "model", "request", "request"), (first["cost"], first["certainty"], first["fits"], device["scope"]))
        self.assertLessEqual(first["live_peak_bytes_max"], device["budget"]["used_bytes"])

    def test_what_an_optimizer_has_yet_to_make(self):
        """AdamW's first step fails while it makes its state: what it has made for some gradients it makes for all."""
        recordings = SAMPLES.parent / "tests" / "realtorch" / "recordings"
        device, = answer("--without", "eight_bit,offload", recordings / "gpt_oom_optimizer.pickle.xz")
        truth = json.loads((recordings / "gpt_oom_optimizer.truth.json").read_text())
        with lzma.open(recordings / "gpt_oom_optimizer.pickle.xz") as file:
            events = pickle.load(file)["device_traces"][0]
        made = sum(event["size"] for event in events if event["action"] == "alloc" and any(f["name"] == "_init_group" for f in event["frames"]))
        missing = 2 * truth["categories_at_peak"]["gradients"] - made  # exp_avg and exp_avg_sq
        self.assertGreater(missing, 100 << 20)
        self.assertEqual(device["scope"], "request")
        self.assertAlmostEqual(device["as_recorded"]["live_peak_bytes_max"], truth["peak_requested"] + missing, delta=4096)
        self.assertEqual([], device["plans"])  # expandable segments serve the failed request; PyTorch then fails a moment later

    def test_what_the_step_before_held(self):
        """Its logits live until the forward that fails returns, which no recorded step shows: they may stay, or go. The first
        forward made workspaces, too. Carried out, the advised change needed what the intervals hold."""
        path = SAMPLES.parent / "tests" / "realtorch" / "recordings" / "gpt_oom_step.pickle.xz"
        device, = answer("--without", "eight_bit,offload", path)
        plan, = device["plans"]
        self.assertEqual(("step", ["checkpoint:4"], "yes"), (device["scope"], plan["changes"], plan["fits"]))
        for key, real in (("live_peak_bytes", 3_961_413_644), ("peak_reserved_bytes", 4_525_654_016)):  # with --recompute 4
            self.assertLessEqual(plan[f"{key}_min"], real)
            self.assertLessEqual(real, plan[f"{key}_max"])
        self.assertLess(plan["live_peak_bytes_max"] - plan["live_peak_bytes_min"], 560 << 20)  # logits of 512 MiB
        self.assertEqual([], [c["id"] for c in device["changes"] if c["id"].startswith("finding:")])

    def test_what_a_recording_does_not_show_is_an_interval(self):
        """What a validation without a graph has in use, and what a checkpointed block hands on: transformers' norms keep a copy
        of it in 32 bits. Carried out, both needed what the intervals hold."""
        recordings = SAMPLES.parent / "tests" / "realtorch" / "recordings"
        for name, limit, change, real in (("val_grad", "4000MiB", "finding:unused_graph:train.py:17 validate", 1_690_877_968),
                                          ("llama", "3748MiB", "checkpoint:4", 3_142_523_080)):
            device, = answer("--without", "eight_bit,offload", "--gpu", limit, "--keep", "0", recordings / f"{name}.pickle.xz")
            plan = next(p for p in device["plans"] if p["changes"] == [change])
            self.assertLess(plan["live_peak_bytes_min"], real)
            self.assertLess(real, plan["live_peak_bytes_max"])
            self.assertLess(plan["live_peak_bytes_max"] - plan["live_peak_bytes_min"], 100 << 20)

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

    def test_whatif_is_plan(self):
        words = ("--set", "expandable_segments=True", "--gpu", "8GiB", SAMPLES / "train.pickle")
        done = subprocess.run([STRATA, "whatif", *map(str, words)], capture_output=True, check=True)
        self.assertEqual(run(*words).stdout, done.stdout)
        self.assertNotIn(b"whatif", subprocess.run([STRATA, "-h"], capture_output=True, check=True).stdout)

    def test_settings_of_ones_own_are_one_change(self):
        device, = answer("--set", "roundup_power2_divisions=8", "--set", "expandable_segments:True", "--gpu", "8GiB", SAMPLES / "train.pickle")
        own = {change["id"]: change for change in device["changes"]}["settings:expandable_segments:True,roundup_power2_divisions:8"]
        self.assertIsNotNone(own["fits"])
        for value in ("expandable_segments=maybe", "max_split_size_mb=5", "expandable_segment=True", ""):
            done = run("--set", value, SAMPLES / "train.pickle")
            self.assertEqual((2, True), (done.returncode, b"--set" in done.stderr))

    def test_text_begins_with_the_check(self):
        for words in ([], ["--markdown"]):
            text = " ".join(run(*words, SAMPLES / "oom.pickle").stdout.decode().split())
            self.assertIn("Replay check: all 1,302 allocations, all 60 driver allocations", text)
            for never in ("will fix", "will not OOM"):
                self.assertNotIn(never, text)
        self.assertIn("Nothing is planned", run(SAMPLES / "one_event.pickle").stdout.decode())

    def test_without_final_segments_reserved_bytes_are_a_lower_bound(self):
        """As in a file that is cut off: 80 MiB are given back, 60 MiB come, and then a request fails."""
        def event(action, at, mib, **more):
            return {"action": action, "addr": 0x7F0000000000 + (at << 32), "size": mib << 20, "stream": 0, "frames": [], **more}
        freed = [event("free_completed", 0, 80), event("segment_free", 0, 80)]
        made = [event(action, at, 30) for at in (1, 2) for action in ("segment_alloc", "alloc")]
        failed = {**event("oom", 0, 90), "device_free": 20 << 20}
        del failed["addr"]
        for trace, least in ((freed + made + [failed], 80), (made + [failed], 60)):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "cut.pickle"
                path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
                device, = answer(path)
                text = " ".join(run(path).stdout.decode().split())
            self.assertEqual(least << 20, device["recorded"]["peak_reserved_bytes"])
            self.assertEqual((80 << 20, least << 20, None), tuple(device["budget"][key] for key in ("bytes", "at_least_bytes", "at_most_bytes")))
            self.assertIn(f"{least} MiB reserved at least", text)

    def test_hostile_names_are_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "<img src=x onerror=alert(1)>&\u202e'\".pickle"
            path.write_bytes((SAMPLES / "oom.pickle").read_bytes())
            self.assertEqual(0, run("-q", path, "-o", f"{folder}/p.html").returncode)
            page = pathlib.Path(folder, "p.html").read_text()
        self.assertNotIn("<img src=x", page)
        self.assertNotIn("\u202e", page)
        self.assertIn("&lt;img src=x onerror=alert(1)&gt;&amp;\ufffd&#39;&quot;", page)

    def test_endings(self):
        event = SAMPLES / "one_event.pickle"
        with tempfile.TemporaryDirectory() as folder:
            for name, start in (("a.txt", b"Plan"), ("a.md", b"## Plan"), ("a.json", b"{"), ("a.html", b"<!doctype html>"), ("none", b"Plan")):
                path = pathlib.Path(folder) / name
                self.assertEqual(0, run(event, "-o", path).returncode)
                self.assertTrue(path.read_bytes().startswith(start), name)
            for name, says in (("a.htm", b".txt, .md, .json, .png and .html do"), ("a.svg", b"an SVG picture"), ("b.png", b"-o X.html")):
                path = pathlib.Path(folder) / name
                done = run(event, "-o", path)
                self.assertEqual((2, False, True), (done.returncode, path.exists(), says in done.stderr), done.stderr)
            for words in (("--json", "-o", f"{folder}/c.html"), ("--extrapolate", "a=1"), ("--ranks", "2"), ("--budget",), ("--width", "800")):
                self.assertEqual(2, run(*words, event).returncode, words)

    @staticmethod
    def trained(folder, capacity, layers=4, steps=4):
        """The path of a simulated training on such a device, and the highest memory in use."""
        recording = Recording(Flavour(), 1, None)
        world = World(11, recording, 1, capacity=capacity)
        failed = None
        training = Training(world, Shape(layers=layers, width=512, batch=4, tokens=512))
        for step in range(steps):
            try:
                training.step(step)
            except OutOfMemory:
                failed = step
                break
        path = pathlib.Path(folder) / f"{capacity}.pickle"
        path.write_bytes(pickle.dumps(snapshot(world, recording, settings(False), 0)))
        return path, failed

    def test_the_rest_of_the_step_counts(self):
        """A step that fails is continued as the one before it went on: it needs as much as the same training without a
        limit. In a first step nothing can be said to fit, and nothing is told to run without a graph."""
        with tempfile.TemporaryDirectory() as folder:
            whole, = answer(self.trained(folder, 1 << 40)[0])
            need, met = whole["as_recorded"]["live_peak_bytes_max"], set()
            for percent in range(30, 100, 5):
                path, failed = self.trained(folder, whole["recorded"]["peak_reserved_bytes"] * percent // 100)
                if failed is None:
                    continue
                device, = answer(path)
                met.add(device["scope"])
                self.assertEqual("request" if failed == 0 else "step", device["scope"], percent)
                if failed:
                    self.assertEqual(need, device["as_recorded"]["live_peak_bytes_max"], percent)
                    continue
                for one in (*device["changes"], *device["plans"], device["as_recorded"]):
                    self.assertNotIn(one["fits"], ("yes", "with_retries"))
                    self.assertNotIn("no_grad", one.get("id", ""))
                    self.assertNotIn("unused_graph", one.get("id", ""))
                for text in (run(path).stdout.decode(), subprocess.run([STRATA, "report", path], capture_output=True, check=True).stdout.decode()):
                    self.assertEqual(bool(device["plans"]), "the rest of its step is not recorded" in " ".join(text.split()))
        self.assertEqual({"request", "step"}, met)

    def test_a_large_device_needs_nothing(self):
        device, = answer("--gpu", "80GiB", SAMPLES / "oom.pickle")
        self.assertEqual("request", device["fits"])
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
        for one in whole["together"]:
            if one["settings"] in ("recorded", "expandable_segments:True"):
                figures = [device for name in names for device in answer("--gpu", "8GiB", "--keep", "0", name)]
                if one["settings"] != "recorded":
                    figures = [change for device in figures for change in device["changes"] if change["id"] == f"settings:{one['settings']}"]
                else:
                    figures = [device["as_recorded"] for device in figures]
                self.assertEqual(max(each["peak_reserved_bytes_max"] for each in figures), one["peak_reserved_bytes"])
                self.assertEqual(all(each["fits"] in ("yes", "with_retries", "request") for each in figures), one["served"])
        text = run(*names).stdout.decode()
        self.assertIn("Plan: 3 recordings together", text)
        for size, said in (("80GiB", "All are served in 80.00 GiB as recorded."), ("8.8GiB", "[model] One setting for all of them: {}; served in 8.80 GiB;"),
                           ("6GiB", "[model] No setting serves all of them in 6.00 GiB. The least without a limit: {},")):
            rows = json.loads(run("--json", "--gpu", size, "--keep", "0", *names).stdout)["together"]
            best = min(rows, key=lambda row: (not row["served"], row["peak_reserved_bytes"]))
            self.assertIn(said.format(best["settings"]), " ".join(run("--gpu", size, "--keep", "0", *names).stdout.decode().split()))

    def test_sentence_elsewhere(self):
        sentence = answer(SAMPLES / "oom.pickle")[0]["answer"]
        self.assertIn("checkpoint all 4 blocks of transformer.py:57 forward", sentence)
        text = subprocess.run([STRATA, "report", "--full", SAMPLES / "oom.pickle"], capture_output=True, check=True).stdout.decode()
        self.assertIn(sentence, " ".join(text.split()))
        text = subprocess.run([STRATA, "report", "--full", "--no-plan", SAMPLES / "oom.pickle"], capture_output=True, check=True).stdout.decode()
        self.assertNotIn("To get past this request", " ".join(text.split()))
        text = subprocess.run([STRATA, "report", "--full", "--gpu", "4GiB", SAMPLES / "train.pickle"], capture_output=True, check=True).stdout.decode()
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

    def test_a_setting_is_never_cut(self):
        """A setting that is longer than its column has a line of its own."""
        for columns in range(40, 121, 8):
            done = subprocess.run([STRATA, "plan", "--set", "pinned_max_round_threshold_mb:64", SAMPLES / "oom.pickle"],
                                  capture_output=True, check=True, env={**os.environ, "COLUMNS": str(columns)})
            for setting in ("pinned_max_round_threshold_mb:64", "expandable_segments:True"):
                self.assertIn("\n  " + setting, done.stdout.decode(), columns)

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
        self.assertEqual(9, n)

    def test_one_short_by(self):
        """Report and plan measure from one budget: what was reserved when the request failed, and what was free."""
        device, = answer(SAMPLES / "oom.pickle")
        details = json.loads(subprocess.run([STRATA, "report", "--json", SAMPLES / "oom.pickle"], capture_output=True, check=True).stdout)["devices"][0]["oom_details"][0]
        self.assertEqual(device["budget"]["bytes"], details["reserved_bytes"] + details["device_free_bytes"])
        text = " ".join(subprocess.run([STRATA, "report", "--full", SAMPLES / "oom.pickle"], capture_output=True, check=True).stdout.decode().split())
        for figure in ("30.9 MiB short", "110.4 MiB more than there was"):
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
        """With --gpu a batch gives the first sentence for each rank, and one setting for all."""
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
                self.assertTrue(summary["notes"][0].startswith(f"One setting for all 3 ranks: {best['settings']};"))

    def test_page_of_a_setting(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "w.html"
            subprocess.run([STRATA, "whatif", "-q", "--set=garbage_collection_threshold=0.7", SAMPLES / "oom.pickle", "-o", page], check=True)
            inside = re.search(r'<script type="application/json" id="plan">(.*?)</script>', page.read_text(), re.S)
            device, = json.loads(inside[1])["devices"]
            self.assertEqual("settings:garbage_collection_threshold:0.7", device["changes"][1]["id"])
            self.assertEqual(answer(SAMPLES / "oom.pickle")[0]["plans"], device["plans"])

    def test_wrong_usage(self):
        self.assertEqual(2, run("--json", "-d", "0", SAMPLES / "oom.pickle", SAMPLES / "train.pickle").returncode)
        self.assertEqual(2, run("--without", "nothing", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--gpu=1GiB", "--keep=1GiB", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--gpu=1GiB", "--keep=100%", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run("--keep=10%", SAMPLES / "oom.pickle").returncode)
        self.assertEqual(2, run(SAMPLES / "oom.pickle", SAMPLES / "train.pickle", "-o", "plan.html").returncode)
        self.assertEqual(1, run(SAMPLES / "missing.pickle").returncode)
        self.assertEqual(0, run(SAMPLES / "one_event.pickle").returncode)

    def test_same_bytes(self):
        self.assertEqual(run("--json", SAMPLES / "oom.pickle").stdout, run("--json", SAMPLES / "oom.pickle").stdout)


if __name__ == "__main__":
    unittest.main()
