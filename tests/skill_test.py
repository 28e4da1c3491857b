#!/usr/bin/env python3
"""The skill for agents: its script tells right answers from false ones, and what the program says answers its questions."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
QUESTIONS = json.loads((TOP / "skills/strata/evaluation.json").read_text())


def evaluate(answers):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(answers, f)
        f.flush()
        return subprocess.run([sys.executable, TOP / "skills/strata/evaluate.py", f.name], capture_output=True, text=True)


def true_answer(q):
    site = q["sites"] and q["sites"][0] + ("" if ":" in q["sites"][0] else ":1")
    return {"question": q["question"], "kind": q["kinds"][0] if q["kinds"] else None, "site": site or None, "saves_peak_bytes": q["saves_peak_bytes"], "claims": []}


class SkillTest(unittest.TestCase):
    def test_front_matter_and_questions(self):
        self.assertRegex((TOP / "skills/strata/SKILL.md").read_text(), r"\A---\nname: strata\ndescription: .+\n---\n")
        self.assertGreaterEqual(len(QUESTIONS), 12)
        for q in QUESTIONS:
            self.assertTrue((TOP / "tests/realtorch/recordings" / q["recording"]).exists(), q["recording"])

    def test_true_answers_pass(self):
        done = evaluate([true_answer(q) for q in QUESTIONS])
        self.assertEqual((done.returncode, done.stdout), (0, f"{len(QUESTIONS)} of {len(QUESTIONS)} right\n"))

    def test_each_kind_of_false_answer_fails(self):
        faulty = next(q for q in QUESTIONS if q["kinds"])
        healthy = next(q for q in QUESTIONS if not q["kinds"])
        for q, change, words in ((faulty, {"kind": "fragmentation"}, "the fault is"), (faulty, {"site": "other.py:1"}, "the line is in"),
                                 (faulty, {"site": "train.py:171"}, "the line is in"), (faulty, {"saves_peak_bytes": 1}, "can be saved"),
                                 (faulty, {"claims": ["leak"]}, "false: leak"), (healthy, {"kind": "leak"}, "nothing is wrong")):
            done = evaluate([{**true_answer(p), **(change if p is q else {})} for p in QUESTIONS])
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{q['question']}: ", done.stdout)
            self.assertIn(words, done.stdout)
        self.assertIn("not answered", evaluate([true_answer(q) for q in QUESTIONS[1:]]).stdout)

    def test_the_report_answers_its_questions(self):
        answers = []
        for q in QUESTIONS:
            path = TOP / "tests/realtorch/recordings" / q["recording"]
            device = json.loads(subprocess.run([os.environ["STRATA"], "report", "--format", "brief", path], capture_output=True, check=True).stdout)["devices"][0]
            self.assertEqual(device["peak_bytes"], q["peak_bytes"], q["question"])
            first = next((f for f in device["findings"] if f["severity"] in ("high", "medium") and f["kind"] != "optimizer_temporaries"), {})
            answers.append({"question": q["question"], "kind": first.get("kind"), "site": first.get("site"), "saves_peak_bytes": first.get("saves_peak_bytes"), "claims": []})
        self.assertEqual(evaluate(answers).stdout, f"{len(QUESTIONS)} of {len(QUESTIONS)} right\n")


if __name__ == "__main__":
    unittest.main(verbosity=1)
