"""Functions that run the program, shared by the tests of the allocator's model and of strata whatif."""

import json
import os
import subprocess
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
STRATA = os.environ["STRATA"]


def run(*words):
    return subprocess.run([STRATA, *map(str, words)], capture_output=True, check=False)


def answer(*words):
    done = run(*words)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return json.loads(done.stdout)


def whatif(path, device=0, *words):
    found = answer("whatif", "--json", "-d", device, *words, path)["devices"]
    assert len(found) == 1
    return found[0], {scenario["name"]: scenario for scenario in found[0]["scenarios"]}
