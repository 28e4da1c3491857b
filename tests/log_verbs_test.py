#!/usr/bin/env python3
"""Logs in every verb: page, picture, batch, check, diff and whatif.

    STRATA=path/to/strata log_verbs_test.py
"""

import gzip
import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from log_test import SAMPLES, LogCase, control, logs  # noqa: E402


class LogVerbsTest(LogCase):
    def test_every_way_in(self):
        text = (SAMPLES / "log_megatron.log").read_bytes()
        plain = self.run_strata("report", "--json", SAMPLES / "log_megatron.log").stdout
        page, packed = self.folder / "page.html", self.folder / "a.log.gz"
        packed.write_bytes(gzip.compress(text))
        self.run_strata("html", SAMPLES / "log_megatron.log", "-o", page)
        wanted = json.loads(plain)["devices"]
        self.assertEqual(json.loads(self.run_strata("report", "--json", packed).stdout)["devices"], wanted)
        self.assertEqual(json.loads(self.run_strata("report", "--json", "-", input=text).stdout)["devices"], wanted)
        self.assertEqual(json.loads(self.run_strata("report", "--json", page).stdout)["devices"], wanted)

    def test_a_page_keeps_labels_and_levels(self):
        page = self.folder / "page.html"
        for log in logs.LOGS:
            path = SAMPLES / f"log_{log.__name__}.log"
            self.run_strata("html", "-f", path, "-o", page)
            self.assertEqual(json.loads(self.run_strata("report", "--json", page).stdout)["devices"],
                             json.loads(self.run_strata("report", "--json", path).stdout)["devices"])

    def test_picture_and_batch(self):
        picture = self.folder / "a.png"
        for name in ("log_megatron.log", "log_torchtitan.log", "log_oom_new.log", "log_nvidia_smi.log"):
            self.run_strata("png", "-f", SAMPLES / name, "-o", picture)
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.run_strata("batch", SAMPLES / "log_oom_new.log", "-o", self.folder / "named", "-j1")
        self.assertIn("log_oom_new", (self.folder / "named" / "index.html").read_text())
        (self.folder / "dumps").mkdir()
        (self.folder / "dumps" / "notes.txt").write_bytes((SAMPLES / "log_oom_new.log").read_bytes())
        self.run_strata("batch", self.folder / "dumps", "-o", self.folder / "found", "-j1", check=False)
        self.assertFalse((self.folder / "found" / "notes.html").exists(), "a text that quotes an error is not a dump")

    def batch_rows(self, *names, more=()):
        self.run_strata("batch", *names, "-o", self.folder / "out", "-j1", *more)
        return json.loads((self.folder / "out" / "summary.json").read_text())

    def test_each_rank_of_a_log_is_a_row(self):
        for name in ("megatron", "nvidia_smi", "arctic", "torchtitan", "deepspeed"):
            with self.subTest(name):
                path = SAMPLES / f"log_{name}.log"
                rows = self.batch_rows(path)["rows"]
                wanted = {device: levels for device, levels in control(name, path.read_text(encoding="utf-8")).items() if device >= 0}
                self.assertEqual([row["device"] for row in rows], sorted(wanted))
                named = name in ("megatron", "arctic", "torchtitan")
                for row in rows:
                    levels = wanted[row["device"]]
                    shown = levels[next(key for key in ("allocated", "reserved", "device") if key in levels)]
                    most = levels.get("most", []) if "allocated" in levels else []
                    self.assertEqual((row["kind"], row["rank"]), ("log", row["device"] if named else None))
                    self.assertEqual((row["peak_bytes"], row["end_bytes"]), (max(shown + most), shown[-1]))
                    self.assertEqual(row["copy_of"], None)

    def test_ranks_of_a_log_are_compared_with_each_other(self):
        line = "[Rank {}] (after {} iterations) memory (MB) | allocated: {} | max allocated: {} | reserved: 32000.0 | max reserved: 32000.0\n"
        for odd in (None, 3):
            text = "".join(line.format(rank, step, 20000 + rank, 24000 + rank + (900 if rank == odd else 0))
                           for step in range(1, 6) for rank in range(8))
            (self.folder / "run.log").write_text(text)
            other = self.folder / "other.log"
            other.write_text(line.format(0, 1, 100, 100) * 5)
            summary = self.batch_rows(self.folder / "run.log", other)
            self.assertEqual([row["steps"] for row in summary["rows"] if row["input"] == "run.log"], [5] * 8)
            self.assertEqual([(finding["kind"], finding["ranks"]) for finding in summary["findings"]],
                             [("rank_odd", [3])] if odd else [])
            self.assertFalse(list((self.folder / "out").glob("diff-*")), "levels cannot be compared by call site")

    def test_resume_of_logs(self):
        plain = self.batch_rows(SAMPLES / "log_megatron.log", SAMPLES / "log_torchtitan.log")
        self.assertEqual(self.batch_rows(SAMPLES / "log_megatron.log", SAMPLES / "log_torchtitan.log", more=["--resume"]), plain)

    def test_logs_in_folders(self):
        """In folders a log is known by name and content: a run's output is one, a text that quotes a line is not."""
        oom, level = ((SAMPLES / f"log_{name}.log").read_bytes() for name in ("oom_old", "megatron"))
        files = {"slurm-1.out": (level, True), "stderr.err": (oom, True), "smi.csv": ((SAMPLES / "log_nvidia_smi.log").read_bytes(), True),
                 "train.log": (level, True), "few.log": (level[:level.index(b"[Rank")] + level[level.index(b"[Rank"):].split(b"\n")[0], False),
                 "README.md": (oom, False), "notes.txt": (level, False), "plot.py": (oom, False), "plain.log": (b"epoch 1\n" * 9, False)}
        (self.folder / "run").mkdir()
        for name, (data, _) in files.items():
            (self.folder / "run" / name).write_bytes(data)
        summary = self.batch_rows(self.folder / "run")
        self.assertEqual({row["input"] for row in summary["rows"]}, {name for name, (_, taken) in files.items() if taken})
        self.assertEqual({entry["input"] for entry in summary["skipped"]}, {name for name, (_, taken) in files.items() if not taken})
        self.assertEqual(summary["failed"], [])

    def test_steps_are_those_of_the_lines(self):
        line = "step: {}  loss: 1.0  memory: {}.00GiB(50.00%)\n"
        numbers = [10, 20, 30, 20, 40]  # the run resumed from an earlier step once
        device = self.report("".join(line.format(n, i + 1) for i, n in enumerate(numbers)))["devices"][0]
        self.assertEqual([(s["name"], s["step"], s["from_event"], s["to_event"], s["end_bytes"] >> 30) for s in device["steps"]],
                         [("step 10", 10, 0, 0, 1), ("step 20", 20, 1, 1, 2), ("step 30", 30, 2, 3, 4), ("step 40", 40, 4, 4, 5)])
        self.assertEqual((device["judged"]["steps"], device["judged"]["steps_from"]), (4, "annotations"))

    def test_redaction_takes_labels_out(self):
        text = (SAMPLES / "log_deepspeed.log").read_text().replace("after backward", "after ACME backward /home/you/acme.py")
        (self.folder / "a.log").write_text(text)
        for words, hidden in ((("--redact",), ("/home/you",)), (("--redact=all",), ("/home/you", "ACME", "creating model"))):
            for verb, form in (("report", ("-f", "--json")), ("html", ("-f",))):
                out = self.folder / f"out.{verb}"
                self.run_strata(verb, *form, *words, self.folder / "a.log", "-o", out)
                again = self.run_strata("report", "--json", out).stdout.decode() if verb == "html" else out.read_text()
                for word in hidden:
                    self.assertNotIn(word, again)
                self.assertIn("ACME" if words == ("--redact",) else "annotation 1", again)

    def test_reports_do_not_mention_allocations(self):
        for log in logs.LOGS:
            for form in (("--full",), ("--markdown",)):
                text = self.run_strata("report", *form, SAMPLES / f"log_{log.__name__}.log").stdout.decode()
                self.assertIn("not allocations", text)
                for word in ("call site", "requested bytes", "Replay", "free block", "no call site"):
                    self.assertNotIn(word, text)

    def test_check_and_diff(self):
        log = SAMPLES / "log_oom_new.log"
        for rule, code in (("peak < 75GiB", 0), ("peak < 60GiB", 3), ("oom = none", 3), ("growth < 1MiB per step", 3)):
            done = self.run_strata("check", log, "--rule", rule, "--format", "json", check=False)
            self.assertEqual(done.returncode, code, rule)
        status = json.loads(self.run_strata("check", log, "--rule", "growth < 1MiB per step", "--format", "json", check=False).stdout)
        self.assertEqual(status["files"][0]["rules"][0]["status"], "untrusted")
        done = self.run_strata("diff", log, log, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"is a log", done.stderr)

    def test_plan_does_not_count_levels_as_requests(self):
        for log in logs.LOGS:
            path = SAMPLES / f"log_{log.__name__}.log"
            text = self.run_strata("plan", path).stdout.decode()
            self.assertIn("refused, because a log holds levels", text)
            for word in ("profiler", "segments", "requested", "planner", "Device", " 0 B"):
                self.assertNotIn(word, text, path)
            for device in json.loads(self.run_strata("plan", "--json", path).stdout)["devices"]:
                self.assertEqual((device["replay"]["grade"], device["changes"], device["plans"]), ("refused", [], []))


if __name__ == "__main__":
    unittest.main()
