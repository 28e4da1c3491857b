#!/usr/bin/env python3
"""Runs every snippet of docs/ci.md unchanged. Scripts that copy a sample stand in for the training. This test stands in for GitHub
and GitLab: it runs the `run` and `script` parts of their files in a shell, step by step.

    STRATA=path/to/strata ci_docs_test.py
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest
import unittest.mock
import xml.etree.ElementTree

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = shutil.which(os.environ.get("STRATA", "strata"))
SAMPLES = ROOT / "samples"
TRAIN_SCRIPT = """import shutil, sys
shutil.copy(SAMPLE, sys.argv[sys.argv.index("--snapshot") + 1])
"""


def snippets():
    """Texts of the indented blocks of docs/ci.md, by heading."""
    found, heading, lines = {}, "", []
    for line in [*(ROOT / "docs" / "ci.md").read_text().splitlines(), "#"]:
        if line.startswith("    ") or (lines and not line.strip()):
            lines.append(line)
            continue
        if lines:
            found.setdefault(heading, []).append(textwrap.dedent("\n".join(lines)).strip("\n") + "\n")
            lines = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
    return found


SNIPPETS = snippets()


class Snippets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = pathlib.Path(folder.name)
        tools = self.at / ".tools"
        tools.mkdir()
        (tools / "strata").symlink_to(STRATA)
        (tools / "python").symlink_to(sys.executable)
        self.environment = {name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE")}
        self.environment |= {"PATH": f"{tools}:{os.environ['PATH']}"}
        self.trains("train")

    def trains(self, sample):
        """From now on the stand-in for the training run writes this sample."""
        self.sample = SAMPLES / f"{sample}.pickle"
        (self.at / "train.py").write_text(f"SAMPLE = {str(self.sample)!r}\n{TRAIN_SCRIPT}")

    def shell(self, text, **environment):
        """Runs a script as both services do: it ends at the first command that fails."""
        return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=self.at, env=self.environment | environment,
                              capture_output=True, timeout=120)

    def prepared(self):
        """Writes the document's configuration and baseline, with the recordings that they name."""
        (config,) = SNIPPETS["Rules in a file"]
        (self.at / "strata.json").write_text(config)
        shutil.copy(self.sample, self.at / "run.pickle")
        shutil.copy(self.sample, self.at / "base.pickle")
        update, _ = SNIPPETS["Baselines"][0].strip().splitlines()
        done = self.shell(update)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_all_are_run_here(self):
        """Fails when a snippet is added without a test."""
        self.assertEqual({"Limits in a pipeline": 1, "Rules": 1, "Rules in a file": 1, "Baselines": 1, "GitHub Actions": 2, "GitLab": 1,
                          "A plain script": 1, "pytest": 1}, {heading: len(texts) for heading, texts in SNIPPETS.items()})

    def test_first(self):
        shutil.copy(self.sample, self.at / "snapshot.pickle")
        (command,) = SNIPPETS["Limits in a pipeline"]
        self.assertEqual(0, self.shell(command).returncode)
        shutil.copy(SAMPLES / "oom.pickle", self.at / "snapshot.pickle")
        self.assertEqual(3, self.shell(command).returncode)

    def test_configuration_and_baseline(self):
        self.prepared()
        update, check = SNIPPETS["Baselines"][0].strip().splitlines()
        self.assertTrue(json.loads((self.at / "strata.baseline.json").read_text())["files"])
        self.assertEqual(0, self.shell(check).returncode)
        self.assertEqual(0, self.shell("strata check --config strata.json run.pickle").returncode)
        self.assertEqual(2, self.shell(update, CI="true").returncode)

    def steps(self, text, broken):
        """Runs the steps of a job as GitHub does; returns what failed and the job's summary."""
        summary = self.at / "summary.md"
        summary.write_text("")
        failed = []
        for step in yaml.safe_load(text):
            self.assertLessEqual(set(step), {"name", "run", "if"})
            if ("failure()" in step.get("if", "")) != bool(failed):
                continue
            done = self.shell(step["run"], GITHUB_STEP_SUMMARY=str(summary), GITHUB_WORKSPACE="/home/user/train", CI="true")
            if done.returncode != 0:
                failed.append((step["name"], done.returncode, done.stdout.decode()))
        self.assertEqual(broken, [name for name, _, _ in failed])
        return failed, summary.read_text()

    @unittest.skipUnless(yaml, "skipped: Python has no yaml")
    def test_github(self):
        self.prepared()
        check, why = SNIPPETS["GitHub Actions"]
        self.assertEqual("", self.steps(check + why, [])[1])
        self.trains("oom")
        failed, summary = self.steps(check + why, ["Memory"])
        self.assertEqual(3, failed[0][1])
        self.assertRegex(failed[0][2], r"(?m)^::error file=[\w/]+\.py,line=\d+,title=oom = none::")
        self.assertIn("run.pickle` against `base.pickle", summary)

    @unittest.skipUnless(yaml, "skipped: Python has no yaml")
    def test_gitlab(self):
        self.prepared()
        (job,) = yaml.safe_load(SNIPPETS["GitLab"][0]).values()
        self.assertEqual({"script", "artifacts"}, set(job))
        report = self.at / job["artifacts"]["reports"]["junit"]
        for sample, code, failures in (("train", 0, 0), ("oom", 3, 1)):
            self.trains(sample)
            self.assertEqual(code, self.shell("\n".join(job["script"]), CI="true").returncode)
            self.assertEqual(failures, int(xml.etree.ElementTree.parse(report).getroot().get("failures")))
        self.assertEqual("always", job["artifacts"]["when"], "a report of what failed is kept")

    def test_plain_script(self):
        self.prepared()
        (script,) = SNIPPETS["A plain script"]
        run = ["bash", "-c", script]
        done = subprocess.run(run, cwd=self.at, env=self.environment, capture_output=True)
        self.assertEqual((0, True), (done.returncode, b"within its limits" in done.stdout))
        shutil.copy(SAMPLES / "oom.pickle", self.at / "run.pickle")
        self.assertEqual(1, subprocess.run(run, cwd=self.at, env=self.environment, capture_output=True).returncode)
        self.assertIn("### Device", (self.at / "memory.md").read_text())
        (self.at / "run.pickle").unlink()
        self.assertEqual(1, subprocess.run(run, cwd=self.at, env=self.environment, capture_output=True).returncode)

    def test_pytest(self):
        """Runs the pytest snippet with a stand-in for torch that records a sample."""
        (text,) = SNIPPETS["pytest"]
        memory = types.SimpleNamespace(_record_memory_history=lambda: None, _dump_snapshot=lambda path: shutil.copy(self.sample, path))
        torch = types.ModuleType("torch")
        torch.cuda = types.SimpleNamespace(memory=memory)
        with unittest.mock.patch.dict(sys.modules, torch=torch), unittest.mock.patch.dict(os.environ, self.environment):
            names = {"train": lambda steps: None}
            exec(compile(text, "docs/ci.md", "exec"), names)  # noqa: S102
            names["test_memory"](self.at)
            self.trains("leak_two_per_layer")
            with self.assertRaises(AssertionError) as raised:
                names["test_memory"](self.at)
            self.assertIn("growth = 0 per step", str(raised.exception))

    def test_rules_that_the_text_names(self):
        """strata check accepts every rule in backticks."""
        text = (ROOT / "docs" / "ci.md").read_text()
        named = re.findall(r"`([a-z.:_*]+(?:\.py\*)?(?: at \w+)? (?:<|<=|=|>=|>) [^`|]+)`", text)
        self.assertGreater(len(named), 6)
        self.prepared()
        for rule in named:
            done = subprocess.run([STRATA, "check", "--baseline", self.at / "strata.baseline.json", "--rule", rule, self.sample], capture_output=True)
            self.assertIn(done.returncode, (0, 3), (rule, done.stderr))


if __name__ == "__main__":
    unittest.main()
