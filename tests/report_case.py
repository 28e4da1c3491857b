"""Shared by tests of the report and of other outputs: runs the program, and lists samples and the corpus."""

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


def samples_of_every_kind():
    return sorted(path for path in SAMPLES.iterdir() if path.suffix in (".pickle", ".gz", ".log"))


def corpus_below(most_nbytes):
    """Files of the corpus that are smaller; says so if there is no corpus."""
    if not CORPUS:
        print("skipped: the corpus (STRATA_CORPUS is not set)")
        return []
    files = sorted(path for path in pathlib.Path(CORPUS).rglob("*") if path.is_file() and path.name != "MANIFEST.json")
    return [path for path in files if path.stat().st_size < most_nbytes]
