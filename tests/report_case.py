"""Shared by the tests of the report: runs the program and reads its report."""

import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
STRATA = os.environ.get("STRATA", "strata")
CORPUS = os.environ.get("STRATA_CORPUS")


def run(*words, check=True):
    done = subprocess.run([STRATA, *map(str, words)], capture_output=True, timeout=300)
    if check and done.returncode != 0:
        raise AssertionError(f"{words} exits {done.returncode}: {done.stderr.decode(errors='replace')[-1000:]}")
    return done


def report(path, *words):
    return json.loads(run("report", "--json", *words, path).stdout)


def samples():
    return sorted(SAMPLES.glob("*.pickle"))
