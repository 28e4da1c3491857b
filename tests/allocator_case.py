"""Functions that run the program, shared by the tests of the allocator's model and of settings."""

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


def planned(path, device=0, *words):
    """A device's plan, and the figures under the recorded settings ("recorded") and each that the plan lists."""
    found, = answer("plan", "--json", "-d", device, *words, path)["devices"]
    settings = {change["id"].removeprefix("settings:"): change for change in found["changes"] if change["id"].startswith("settings:")}
    return found, {"recorded": found["as_recorded"], **settings}


def under(path, device, text, *words):
    """The figures under the recorded settings with these: "key:value,key:value"."""
    sets = [word for part in text.split(",") for word in ("--set", part)]
    return planned(path, device, *sets, *words)[1][",".join(sorted(text.split(",")))]
