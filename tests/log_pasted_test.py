#!/usr/bin/env python3
"""Log lines as people paste them into issues and forums. Each line keeps the words of its source with figures of our
own, and a person noted its meaning. Each is tested alone and within the text that usually surrounds pasted lines.

    STRATA=path/to/strata log_pasted_test.py
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from log_test import SAMPLES, said  # noqa: E402

import logs  # noqa: E402
from log_forms import HOST, PASTED, REFUSED  # noqa: E402

STRATA = os.environ.get("STRATA", "build/release/strata")
TIMEOUT_S = 120
KEYS = ("requested_bytes", "device_free_bytes", "live_bytes", "allowed_bytes")
WRAPPERS = {
    "a quote": "> {}".format, "a backtick": "`{}`".format, "indented": "    {}".format, "CRLF": "{}\r".format,
    "colours": "\x1b[31m{}\x1b[0m".format, "Python's logging": "2024-01-01 12:00:00 - root - ERROR - {}".format, "basicConfig": "INFO:root:{}".format, "loguru": "2024-01-01 12:00:00.123 | INFO     | __main__:main:42 - {}".format,
    "rich's handler": "[12:00:00] INFO     {}".format, "a container's log": "2024-05-01T10:00:00.123456789Z stderr F {}".format,
    "Docker": lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2024-05-01T10:00:00.1Z"}, ensure_ascii=False, separators=(",", ":")),
    "JSON lines": lambda line: json.dumps({"level": "info", "msg": line + "\n"}), "syslog": "May 19 10:50:36 host python[1995]: {}".format, "compose": "worker-1  | {}".format, "Ray": "(Worker pid=2657296) {}".format, "HTML": "{}<br/>".format}

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity; 20.00 GiB already allocated; 1.31 GiB free; 21.00 GiB reserved in total by PyTorch)"
BEGIN = "Traceback (most recent call last):"


def frame(path, line, name):
    return f'  File "{path}", line {line}, in {name}\n    x()'


MINE, TORCH = frame("/home/you/train.py", 10, "main"), frame("/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py", 3, "linear")
CAUSED = "The above exception was the direct cause of the following exception:"
# Pasted tracebacks, and for each error the innermost line of the user's own code.
SITES = {
    "Windows": (["train.py:10 main"], BEGIN, frame("C:\\work\\train.py", 10, "main"), frame("C:\\v\\lib\\site-packages\\torch\\nn\\f.py", 3, "f"),
                frame("C:\\Users\\you\\anaconda3\\lib\\threading.py", 9, "run"), OOM),
    "Python 2.7": (["train.py:10 main"], BEGIN, MINE, frame("/usr/lib/python2.7/threading.py", 5, "run"), OOM),
    "PyTorch's sources": (["train.py:10 main"], BEGIN, MINE, frame("/usr/src/torch/nn/modules/module.py", 3, "f"), OOM),
    "deeper than what is kept": (["train.py:10 main"], BEGIN, MINE, *[TORCH.replace("3", str(i)) for i in range(200)], OOM),
    "two processes, no prefix": (["train.py:10 main"] * 2, BEGIN, BEGIN, MINE, MINE, TORCH, TORCH, OOM, OOM),
    "two that went apart": ([None] * 2, BEGIN, BEGIN, MINE, frame("/home/you/train.py", 12, "main"), OOM, OOM),
    "DataParallel": (["train.py:10 main"], BEGIN, MINE, TORCH, "RuntimeError: Caught RuntimeError in replica 0 on device 0.", "Original " + BEGIN, TORCH, OOM),
    "without indentation": (["train.py:10 main"], BEGIN, 'File "/home/you/train.py", line 10, in main', "x()", OOM),
    "a logger": (["train.py:10 main"], *("2024-01-01 12:00:00 - root - ERROR - " + line for part in (BEGIN, MINE, TORCH, OOM) for line in part.split("\n"))),
    "ranks in turn": (["train.py:10 main"] * 2, *(f"[rank{rank}]: {line}" for part in (BEGIN, MINE, TORCH, OOM) for line in part.split("\n") for rank in (0, 1))),
    "torchrun tells it again": (["train.py:10 main"], BEGIN, MINE, TORCH, OOM, *("[rank0]: " + line for part in (BEGIN, MINE, TORCH, OOM) for line in part.split("\n"))),
    "a logger tells it again": (["train.py:10 main"], BEGIN, MINE, OOM, "", "ERROR    | 2024-08-21 22:56:04 | trainers.common:wrapper:121 - " + OOM),
    "a loop that goes on": ([None] * 3, OOM, "step 2", OOM, "step 3", OOM),
    "only a library's": ([None], BEGIN, TORCH, OOM),
    "a chain whose first is a library's": (["train.py:10 main"], BEGIN, TORCH, OOM, "", CAUSED, "", BEGIN, MINE, OOM),
    "a chain whose first is one's own": (["train.py:10 main"], BEGIN, MINE, OOM, "", CAUSED, "", BEGIN, MINE.replace("10", "20"), OOM),
    "Cython's": (["train.py:10 main"], BEGIN, MINE, '  File "cupy/cuda/memory.pyx", line 549, in cupy.cuda.memory.alloc', OOM),
    "a script of pip's": ([None], BEGIN, frame("/opt/conda/bin/torchrun", 33, "<module>"), TORCH, OOM),
    "told before it is raised": (["train.py:10 main"], "Exception in main training loop: " + OOM.split(": ", 1)[1], BEGIN, MINE, OOM),
}


class PastedTest(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "a.log"

    def run_report(self, text):
        self.path.write_text(text, encoding="utf-8")
        return subprocess.run([STRATA, "report", "--json", self.path], capture_output=True, timeout=TIMEOUT_S)

    def facts(self, text):
        done = self.run_report(text)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        found = {}
        for device in json.loads(done.stdout)["devices"]:
            found[device["device"]] = {"oom": [(oom["cause"], *(oom[key] for key in KEYS)) for oom in device["oom_details"]],
                                       "capacity": device["levels"]["capacity_bytes"],
                                       "budget": {row["name"]: row.get("bytes", row.get("tokens")) for row in device["budget"] or ()},
                                       "says": " ".join(finding["title"] + " " + finding["detail"] for finding in device["findings"])}
            for name in ("allocated", "reserved", "device", "host"):
                level = device["levels"][name]
                found[device["device"]][name] = level and tuple(level[key] for key in ("first_bytes", "peak_bytes", "last_bytes"))
        return found

    def test_figures_are_those_of_the_text(self):
        self.assertGreaterEqual(len(PASTED), 50)
        for place, text, wanted in PASTED:
            with self.subTest(place):
                def bytes_of(term, text=text):
                    return term if isinstance(term, int) else said(term, text)
                found = self.facts(text + "\n")
                self.assertEqual(set(found), set(wanted))
                for number, device in wanted.items():
                    have = found[number]
                    ooms = [(cause, *map(bytes_of, terms)) for cause, *terms in device.get("oom", ())]
                    self.assertEqual([oom[:len(want)] for oom, want in zip(have["oom"], ooms)], ooms)
                    self.assertEqual(len(have["oom"]), len(ooms))
                    self.assertIn(device.get("says", ""), have["says"])
                    self.assertEqual(have["budget"], {name: bytes_of(term) for name, term in device.get("budget", {}).items()})
                    if "capacity" in device or not ooms:
                        self.assertEqual(have["capacity"], bytes_of(device.get("capacity")))
                    for name in ("allocated", "reserved", "device", "host"):
                        if name in device or not ooms:
                            self.assertEqual(have[name], tuple(map(bytes_of, device[name])) if name in device else None, name)

    def test_site_is_the_innermost_own_line(self):
        for name, (sites, *lines) in SITES.items():
            with self.subTest(name):
                found = json.loads(self.run_report("\n".join(lines) + "\n").stdout)["devices"]
                self.assertEqual([oom["site"] for device in found for oom in device["oom_details"]], sites)

    def test_samples_are_these(self):
        self.assertEqual({path.name: path.read_text(encoding="utf-8") for path in (SAMPLES / "forms").glob("*.log")},
                         {f"{name}.log": text + "\n" for name, text in logs.forms()})

    def test_text_around_a_line_changes_nothing(self):
        """Each excerpt in three of the ways in which people store and paste lines."""
        ways = list(WRAPPERS.items())
        for i, (place, text, _) in enumerate(PASTED):
            plain = self.facts(text + "\n")
            for name, wrap in (ways[(i + k) % len(ways)] for k in (0, 4, 8)):
                with self.subTest(place, way=name):
                    self.assertEqual(self.facts("".join(wrap(line) + "\n" for line in text.split("\n"))), plain)

    def test_an_unknown_text_gets_a_message_of_one_line(self):
        for place, text, words in REFUSED:
            with self.subTest(place):
                done = self.run_report(text + "\n")
                self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1))
                self.assertIn(words, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
