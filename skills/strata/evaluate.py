#!/usr/bin/env python3
"""Checks answers about the recordings of evaluation.json: evaluate.py ANSWERS.json (SKILL.md has the form of an answer)."""
import json
import sys
from pathlib import Path


def wrong(question, answer):
    """What is wrong with an answer, in words; empty: nothing."""
    kind, site, saves = answer.get("kind"), answer.get("site") or "", answer.get("saves_peak_bytes")
    if not question["kinds"]:
        found = [f"nothing is wrong there, claimed: {kind}"] if kind else []
    elif kind not in question["kinds"]:
        found = [f"the fault is {' or '.join(question['kinds'])}, claimed: {kind}"]
    else:
        found = []
        if not any(site == s or site.startswith(s + (" " if ":" in s else ":")) for s in question["sites"]):
            found.append(f"the line is in {' or '.join(question['sites'])}, claimed: {site or 'none'}")
        true = question["saves_peak_bytes"]
        if not isinstance(saves, int) or abs(saves - true) > true / 10:
            found.append(f"{true} bytes can be saved, claimed: {saves}")
    return found + [f"false: {claim}" for claim in answer.get("claims", []) if claim in question["false_kinds"]]


def main():
    questions = {q["question"]: q for q in json.loads(Path(__file__).with_name("evaluation.json").read_text())}
    answers = {a["question"]: a for a in json.loads(Path(sys.argv[1]).read_text())}
    bad = 0
    for name, question in questions.items():
        found = wrong(question, answers[name]) if name in answers else ["not answered"]
        bad += bool(found)
        for words in found:
            print(f"{name}: {words}")
    print(f"{len(questions) - bad} of {len(questions)} right")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
