#!/usr/bin/env python3
"""Logs: the samples, compared with an independent reader made of regular expressions; hostile logs; and a log in each verb.

    STRATA=path/to/strata log_test.py
"""

import csv
import gzip
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
sys.path.insert(0, str(SAMPLES))

import log_forms  # noqa: E402
import logs  # noqa: E402

STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
TIMEOUT_S = 120
UNITS = {"bytes": 1, "KiB": 2**10, "KB": 2**10, "MiB": 2**20, "MB": 2**20, "GiB": 2**30, "GB": 2**30}
SIZE = r"(\d+(?:\.\d+)?) ?(bytes|KiB|KB|MiB|MB|GiB|GB)"


def nbytes(number, unit):
    return int(Decimal(number) * UNITS[unit])


# ---- the control: every level of a log, as {device: [{name: bytes}]} in the order of the lines ----


def sizes(pattern, line, unit=None):
    """The sizes in the named groups of a pattern; `unit` applies if the line has none."""
    found = re.search(pattern, line)
    if not found:
        return {}
    groups = found.groupdict()
    return {name: nbytes(number, unit or groups[name + "_unit"]) for name, number in groups.items()
            if number is not None and not name.endswith("_unit")}


def size(name):
    return rf"(?P<{name}>\d+(?:\.\d+)?) ?(?P<{name}_unit>bytes|KiB|MiB|GiB|GB)"


FORMS = (
    (rf"(?<!_)\bMA {size('allocated')}\s+(?:\| )?Max_MA {size('most')}\s+(?:\| )?CA {size('reserved')}\s+(?:\| )?Max_CA {size('most_reserved')}", None),
    (r"memory \(MB\) \| allocated: (?P<allocated>[\d.]+) \| max allocated: (?P<most>[\d.]+) \| reserved: (?P<reserved>[\d.]+) \| max reserved: (?P<most_reserved>[\d.]+)", "MB"),
    (rf"memory(?: usage for model)?:\s+{size('reserved')}\(", None),
)


def device_of(line):
    rank = re.search(r"\[[Rr]ank ?(\d+)\]|^\[(\d+)\] mp:", line)
    gpu = re.search(r"(?:GPU |cuda:|device ID )(\d+)", line)
    return int(next(filter(None, (rank or gpu).groups()))) if rank or gpu else 0


def oom_levels(text):
    levels = sizes(rf"{size('allocated')} (?:is allocated by PyTorch|already allocated)", text)
    reserved = sizes(rf"{size('reserved')} reserved in total", text)
    rest = sizes(rf"{size('rest')} (?:is reserved by PyTorch but unallocated|cached\))", text)
    levels["reserved"] = reserved["reserved"] if reserved else levels["allocated"] + rest["rest"]
    total = sizes(rf"(?:capac?i?ty of {size('total')}|\(GPU \d+; {size('whole')} total)", text)
    free = sizes(rf"(?:of which {size('free')} is free|{size('left')} free;)", text)
    levels["device"] = next(iter(total.values())) - next(iter(free.values()))
    return levels


def control(name, text):
    """{device: {level: [bytes]}} of the sample of this name."""
    text = re.sub(r"\x1b\[[\d;]*m", "", text)
    found = {}
    if name.startswith("oom"):
        return {device_of(text): {key: [value] for key, value in oom_levels(text.replace("\n", " ")).items()}}
    if name == "memory_summary":
        for key, row in (("allocated", "Allocated memory"), ("reserved", "GPU reserved memory")):
            rows = re.findall(rf"\| {row} +\| +(\d+) KiB \| +(\d+) KiB", text)
            found[key] = [int(now) << 10 for now, _ in rows]
            found["most" if key == "allocated" else "most_reserved"] = [int(most) << 10 for _, most in rows]
        return {0: found}
    for line in text.replace("[Rank", "\n[Rank").splitlines():
        levels = next((levels for pattern, unit in FORMS if (levels := sizes(pattern, line, unit))), {})
        if name.startswith("nvidia_smi") and "MiB," in line:
            cells = [cell.strip() for cell in line.split(",")]
            used = min(int(cell.split()[0]) for cell in cells if cell.endswith("MiB"))
            found.setdefault(int(cells[1]), {}).setdefault("device", []).append(used << 20)
        levels |= sizes(rf"\| NV {size('device')}", line) | sizes(r"\| total device memory used: (?P<device>[\d.]+)", line, "MB")
        for key, value in levels.items():
            found.setdefault(device_of(line), {}).setdefault(key, []).append(value)
        for key, value in sizes(rf"CPU Virtual Memory:\s+used = {size('host')}", line).items():
            found.setdefault(-1, {}).setdefault(key, []).append(value)
    return found


# Samples of errors have a table of their own, below.
LEVELS = [log for log in logs.LOGS if not log.__name__.startswith(("error_", "server_")) and log.__name__ not in log_forms.SAYS]

LETTERS = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "1": 1, "1e9": 10**9}


def said(terms, text):
    """The bytes of terms such as "7.565GB + 0.126GB|1e9", each of which stands in the text as written."""
    if terms is None:
        return None
    total = 0
    for term in terms.split(" + "):
        figure, _, unit = term.partition("|")
        assert figure in text, (figure, text)
        number, letters = re.fullmatch(r"(-?[\d.]+) ?([A-Za-z]*)", figure).groups()
        total += int(Decimal(number) * (LETTERS[unit] if unit else (UNITS | {"kB": 2**10})[letters]))
    return total


def figures_of(text):
    """Every number that could be a size: with its unit, or in units that logs leave out."""
    figures = set()
    for number, unit in re.findall(r"(?<![\w.])(\d+(?:\.\d+)?) ?([A-Za-z]*)", text):
        for scale in (UNITS | {"kB": 2**10, "G": 2**30, "M": 2**20}).get(unit) and [(UNITS | {"kB": 2**10, "G": 2**30, "M": 2**20})[unit], 10**9] or [1, 2**10, 2**20, 2**30, 10**9]:
            figures.add(int(Decimal(number) * scale))
    return {figure for figure in figures if figure < 2**47}


class LogCase(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_strata(self, *words, check=True, **keywords):
        done = subprocess.run([STRATA, *map(str, words)], capture_output=True, timeout=TIMEOUT_S, **keywords)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done

    def report(self, text, check=True):
        path = self.folder / "a.log"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = self.run_strata("report", "--json", path, check=check)
        return json.loads(done.stdout) if done.returncode == 0 else done

    def assert_levels(self, devices, wanted):
        self.assertEqual({device["device"] for device in devices}, set(wanted))
        for device in devices:
            known = wanted[device["device"]]
            levels = device["levels"]
            for key in ("allocated", "reserved", "device", "host"):
                if key not in known:
                    self.assertIsNone(levels[key])
                    continue
                peak = max(known[key] + known.get({"allocated": "most", "reserved": "most_reserved"}.get(key), []))
                self.assertEqual([levels[key][k] for k in ("lines", "first_bytes", "last_bytes", "peak_bytes")],
                                 [len(known[key]), known[key][0], known[key][-1], peak], key)
            allocated = levels["allocated"]
            self.assertEqual(device["peak_bytes"], allocated and allocated["peak_bytes"])
            self.assertEqual(device["end_bytes"], allocated and allocated["last_bytes"])


class LogTest(LogCase):
    # ---- samples ----

    def test_the_script_writes_the_samples(self):
        for log in logs.LOGS:
            text = "".join(line + "\n" for line in log())
            self.assertEqual((SAMPLES / f"log_{log.__name__}.log").read_text(encoding="utf-8"), text, log.__name__)

    def test_samples_agree_with_an_independent_reader(self):
        for log in LEVELS:
            with self.subTest(log.__name__):
                path = SAMPLES / f"log_{log.__name__}.log"
                found = json.loads(self.run_strata("report", "--json", path).stdout)
                self.assertEqual(found["kind"], "log")
                wanted = control(log.__name__, path.read_text(encoding="utf-8"))
                self.assertTrue(any(len(levels) for levels in wanted.values()))
                self.assert_levels(found["devices"], wanted)

    def test_forms_agree_with_a_person(self):
        """Levels, capacity, budgets and errors of the lines in samples/log_forms.py, compared with the figures noted
        beside them."""
        for name, wanted in log_forms.SAYS.items():
            with self.subTest(name):
                path = SAMPLES / f"log_{name}.log"
                text = path.read_text(encoding="utf-8")
                devices = {device["device"]: device for device in json.loads(self.run_strata("report", "--json", path).stdout)["devices"]}
                self.assertEqual(set(devices), set(wanted or {0: None}))
                for number, device in devices.items():
                    levels = dict((wanted or {0: {}})[number])
                    self.assertEqual(device["levels"]["capacity_bytes"], said(levels.pop("capacity", None), text))
                    for key in ("allocated", "reserved", "device", "host"):
                        found = device["levels"][key]
                        self.assertEqual(found and [found["first_bytes"], found["peak_bytes"], found["last_bytes"]],
                                         [said(terms, text) for terms in levels[key]] if key in levels else None, key)
        for name, wanted in log_forms.PLANS.items():
            with self.subTest(name):
                path = SAMPLES / f"log_{name}.log"
                device = json.loads(self.run_strata("report", "--json", path).stdout)["devices"][0]
                self.assertEqual({row["name"]: row.get("bytes", row.get("tokens")) for row in device["budget"]},
                                 {part: said(terms, path.read_text(encoding="utf-8")) for part, terms in wanted.items()})
        for name, (cause, *terms) in log_forms.ERRORS.items():
            with self.subTest(name):
                path = SAMPLES / f"log_{name}.log"
                found = json.loads(self.run_strata("report", "--json", path).stdout)["devices"][0]["oom_details"]
                self.assertEqual(len(found), 1)
                self.assertEqual((found[0]["cause"], *(found[0][key] for key in ("requested_bytes", "device_free_bytes", "live_bytes", "allowed_bytes"))),
                                 (cause, *(said(term, path.read_text(encoding="utf-8")) for term in terms)))

    def test_every_figure_of_a_report_stands_in_its_log(self):
        """Each size in the report is printed in the log, or is the sum or difference of two or three sizes there, to
        the digit shown; a line that the report cites has the figure."""
        for log in logs.LOGS:
            with self.subTest(log.__name__):
                path = SAMPLES / f"log_{log.__name__}.log"
                text = re.sub(r"\x1b\[[\d;]*m", "", path.read_text(encoding="utf-8"))
                only = {"deepspeed": ("-d", "-1"), "megatron": ("-d", "0")}.get(log.__name__, ())  # rises of the others are means
                report = self.run_strata("report", "--full", *only, path).stdout.decode().replace(",", "")
                known = figures_of(text)
                known |= {reserved for reserved in (oom_levels(text.replace("\n", " ")) if log.__name__.startswith("oom") or "hip" in log.__name__ else {}).values()}
                known |= {abs(a + sign * b) for a in known for b in known for sign in (1, -1)} if len(known) < 120 else set()
                known |= {sum(map(lambda term: said(term, text), terms.split(" + "))) for levels in (log_forms.SAYS.get(log.__name__) or {}).values()
                          for level in levels.values() if isinstance(level, tuple) for terms in level}
                for number, unit in re.findall(r"(\d+(?:\.\d+)?) (KiB|MiB|GiB)", report.split("Trust")[0]):
                    step = UNITS[unit] / 10 ** max(1, len(number.partition(".")[2]))
                    self.assertTrue(any(abs(figure - float(number) * UNITS[unit]) <= step for figure in known), (number, unit))
                lines = text.split("\n")
                for line in re.findall(r"Line (\d+) of the log", report):
                    self.assertRegex(lines[int(line) - 1], r"(?i)out of memory|OOM|oom.kill|RESOURCE|Allocation on|Invalid buffer|Killed process|less than desired|would exceed|cuda runtime|: out of memory|Tried to")

    def test_the_peak_is_the_figure_of_its_line(self):
        for log in logs.LOGS:
            path = SAMPLES / f"log_{log.__name__}.log"
            for device in json.loads(self.run_strata("report", "--json", path).stdout)["devices"]:
                made = device["peak_made_of"]
                self.assertEqual((made["parts"], made["avoidable"], made["phase"]), ([], None, "other"))
                shown = device["levels"][device["levels"]["shown"]]
                self.assertIn(f"in line {shown['peak_line']}." if shown else "No level of memory in use was read from the log", made["text"])
                self.assertNotIn("%", made["text"])

    def test_figures_that_a_log_lacks_are_null(self):
        found = json.loads(self.run_strata("report", "--json", SAMPLES / "log_torchtitan.log").stdout)["devices"][0]
        for key in ("allocations", "preexisting", "start_bytes", "peak_bytes", "peak_event", "end_bytes", "live_at_peak", "replay"):
            self.assertIsNone(found[key], key)
        self.assertEqual(found["reserved_peak_bytes"], nbytes("71.99", "GiB"))

    def test_oom_texts(self):
        wanted = {"oom_old": ("20.00", "5.56", None, None), "oom_cached": ("352.00", "155.88", None, None),
                  "oom_new": ("1536.00", "912.44", nbytes("75.70", "GiB"), nbytes("2560", "MiB")),
                  "oom_allowed": ("2048.00", "7618.56", None, None), "oom_allowed_new": ("2048.00", "7618.56", None, None),
                  "oom_wrapped": ("128.00", "61.31", nbytes("23.62", "GiB"), None)}
        for name, (asked, free, process, others) in wanted.items():
            with self.subTest(name):
                device = json.loads(self.run_strata("report", "--json", SAMPLES / f"log_{name}.log").stdout)["devices"][0]
                oom, details = device["oom"][0], device["oom_details"][0]
                self.assertEqual((oom["requested_bytes"], oom["device_free_bytes"]), (nbytes(asked, "MiB"), nbytes(free, "MiB")))
                self.assertEqual((details["process_bytes"], details["other_processes_bytes"]), (process, others))
                finding = device["findings"][0]
                self.assertEqual(finding["kind"], "out_of_memory")
                self.assertEqual("which line of code asked is not known" in finding["detail"], name != "oom_new")
                self.assertEqual(finding["site"], "train.py:41 <module>" if name == "oom_new" else None)
                self.assertEqual(details["site"], finding["site"])
                self.assertEqual("this limit refused the request" in finding["detail"], "allowed" in name)

    def test_causes(self):
        """For each message, what a person read in it: asked, free, live, reserved, allowed, other; cause, setting,
        site."""
        def gib(figure):
            return nbytes(figure, "GiB")

        def mib(figure):
            return nbytes(figure, "MiB")

        wanted = {
            "oom_old": [("not_contiguous", None, None)], "oom_cached": [("not_contiguous", None, None)],
            "oom_allowed": [("limit", None, None)], "oom_allowed_new": [("limit", None, None)],
            "oom_new": [("not_contiguous", "PYTORCH_CUDA_ALLOC_CONF", "train.py:41 <module>")],
            "error_hip": [("free_enough", None, None, mib("432"), gib("7.12"), gib("8.08"), gib("8.08") + mib("321.96"), None, None)],
            "error_xpu": [("unknown", None, None, gib("2"), None, gib("13.40"), gib("13.40") + gib("1.02"), None, None)],
            "error_xpu_large": [("too_large", None, None, gib("32"), gib("9.01"), 0, 0, None, None)],
            "error_mps": [("limit", None, "generate.py:88 sample", mib("896"), None, gib("7.23"), None, gib("9.07"), gib("1.54"))],
            "error_npu": [("not_contiguous", "PYTORCH_NPU_ALLOC_CONF", None, gib("5.03"), gib("1.32"), gib("49.47"), gib("57.55"), None, None)],
            "error_async": [("in_use", None, None, gib("1.50"), 0, gib("23.09"), None, None, None)],
            "error_ranks": [("not_contiguous", "PYTORCH_ALLOC_CONF", "model.py:64 step", mib("256"), mib("198.44"), gib("75.25"), gib("77"), None, None),
                            ("not_contiguous", "PYTORCH_ALLOC_CONF", "train.py:133 main", mib("512"), mib("61.31"), gib("75.25"), gib("77"), None, None)],
            "error_bare": [("unknown", None, None, None, None, None, None, None, None)]}
        figures = ("requested_bytes", "device_free_bytes", "live_bytes", "reserved_bytes", "allowed_bytes", "other_bytes")
        for name, rows in wanted.items():
            with self.subTest(name):
                devices = json.loads(self.run_strata("report", "--json", SAMPLES / f"log_{name}.log").stdout)["devices"]
                found = [(oom["cause"], oom["setting"], oom["site"]) + tuple(oom[key] for key in figures)
                         for device in devices for oom in device["oom_details"]]
                self.assertEqual(len(found), len(rows))
                for have, want in zip(found, rows):
                    self.assertEqual(have[:len(want)], want)
                text = self.run_strata("report", "--full", SAMPLES / f"log_{name}.log").stdout.decode()
                for word in ("only using less" if rows[0][0] != "in_use" else "\0", "\0" if "async" in name else "nothing free", " 0 B free", "CUDA_ALLOC" if "npu" in name else "\0"):
                    self.assertNotIn(word, text)

    def test_a_short_error_is_not_lost_after_another(self):
        """Errors of two ranks, or two short lines, both stay: the second does not replace the first."""
        found = self.report("CUDA out of memory. Tried to allocate 2.00 GiB\nCUDA out of memory. Tried to allocate 3.00 GiB\n")["devices"][0]
        self.assertEqual([oom["requested_bytes"] for oom in found["oom"]], [2 << 30, 3 << 30])
        found = self.report("[rank0]: CUDA out of memory. Tried to allocate 2.00 GiB\n[rank1]: CUDA out of memory. Tried to allocate 3.00 GiB\n")
        self.assertEqual([device["oom"][0]["requested_bytes"] for device in found["devices"]], [2 << 30, 3 << 30])

    def test_tracebacks_in_every_shape(self):
        head, error = "Traceback (most recent call last):\n", "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
        library = '  File "/usr/lib/python3.11/contextlib.py", line 81, in inner\n  File "/x/site-packages/torch/a.py", line 2, in call\n'
        plain = '  File "/w/a.py", line 7, in outer\n    x = f()\n' + library
        shapes = {
            head + plain: "a.py:7 outer", plain: "a.py:7 outer", head + library: None, "": None, head + plain + "ValueError: no\n": None,
            head + "/w/a.py in outer(x)\n      6 \n----> 7     x = f()\n\n/x/site-packages/torch/a.py in call(self)\n----> 2 y\n": "a.py:7 outer",
            head + "Cell In[5], line 3, in step(batch)\n      1 a\n----> 3 b\n": "Cell In[5]:3 step",
            head + "File ~/w/a.py:7, in Net.outer(self, x)\n      6 \n----> 7     x\n": "a.py:7 Net.outer",
            head + "\u2502 /w/a.py:7 in outer                                 \u2502\n\u2502     6 x \u2502\n": "a.py:7 outer"}
        for text, site in shapes.items():
            with self.subTest(text):
                details = self.report(text + error)["devices"][0]["oom_details"]
                if text != head + library:
                    self.assertEqual([oom["site"] for oom in details], [site])

    def test_two_processes_without_a_prefix_print_at_once(self):
        head, error = "Traceback (most recent call last):", "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
        first, second = '  File "/w/a.py", line 7, in main', '  File "/w/a.py", line 9, in step'
        for lines, sites in (((head, first, head, first, second, error, second, error), ["a.py:9 step"] * 2),
                             ((head, first, head, second, error), [None])):
            details = self.report("\n".join(lines) + "\n")["devices"][0]["oom_details"]
            self.assertEqual([oom["site"] for oom in details], sites)

    def test_the_same_error_repeated_at_the_end_of_a_chain(self):
        error = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
        self.assertEqual(len(self.report(error + "During handling of the above exception, another exception occurred:\n" + error)["devices"][0]["oom"]), 1)
        self.assertEqual(len(self.report(error + "skipping this batch\n" + error)["devices"][0]["oom"]), 2)

    def test_steps_whose_begin_is_not_known(self):
        device = self.report("".join(f"[Rank 0] (after {i} iterations) memory (MB) | allocated: {a} | max allocated: {m} | reserved: 90 | max reserved: 90\n"
                                     for i, a, m in ((1, 50, 60), (2, 20, 60), (3, 30, 80))))["devices"][0]
        self.assertEqual([(s["begin_bytes"] and s["begin_bytes"] >> 20, s["peak_bytes"] >> 20, s["end_bytes"] >> 20) for s in device["steps"]],
                         [(None, 60, 50), (50, 50, 20), (20, 80, 30)])
        device = json.loads(self.run_strata("report", "--json", SAMPLES / "log_torchtitan.log").stdout)["devices"][0]
        self.assertEqual({step["begin_bytes"] for step in device["steps"]}, {None})

    # ---- single lines: device, level or budget, as a person read them ----

    def test_forms_of_one_line(self):
        def level(text, device, name, peak):
            devices = {d["device"]: d for d in self.report(text)["devices"]}
            self.assertEqual(devices[device]["levels"][name]["peak_bytes"], peak, text)

        smi = ("|   1  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |                    0 |\n"
               "| N/A   24C    P0             99W /  700W |   70123MiB /  81559MiB |      0%      Default |\n")
        level(smi, 1, "device", 70123 << 20)
        level("| 0     910B3               | OK            | 93.7        36                0    / 0             |\n"
              "| 0                         | 0000:C1:00.0  | 0           0    / 0          3352 / 65536         |\n", 0, "device", 3352 << 20)
        level("GPU[0]\t\t: VRAM Total Memory (B): 17163091968\nGPU[0]\t\t: VRAM Total Used Memory (B): 123456789\n", 0, "device", 123456789)
        level("| GPU Memory Used (MiB)        | 1234                 |\n", 0, "device", 1234 << 20)
        level("\tMaximum resident set size (kbytes): 123456\n", -1, "host", 123456 << 10)
        level("child_RSS_high:     10752 KiB\n", -1, "host", 10752 << 10)
        level("[ 12.5] Memory cgroup out of memory: Killed process 77 (python3) total-vm:9000kB, anon-rss:8000kB, file-rss:0kB\n", -1, "host", 8000 << 10)
        level("Memory on the node (IP: 10.0.0.2) where the task (memory used=31.20GB) was running was 60.01GB / 62.80GB (0.95), which exceeds the memory usage threshold of 0.95.\n",
              -1, "host", nbytes("60.01", "GB"))
        for text in ("Peak memory: 123.50 MB\n", "memory used: 5 GB of 10 GB\n", "Loading dataset cached at 12 GB\n", "GPU memory estimated: 5 GB\n", "memory bandwidth: 5 GB\n", "memory_allocated: 12\n", "driver allocated: 6.5 GB\n",
                     "saved checkpoint, size 5 GB\n", "memory delta: 5 GB\n", "wrote 5 GB\n", "speed 5 GB/s of memory used\n", "peak: 7\n"):
            self.assertEqual(getattr(self.report(text, check=False), "returncode", text), 1)

    def test_lines_about_kills(self):
        device = self.report("Memory cgroup out of memory: Killed process 77 (python3) total-vm:9000kB, anon-rss:8000kB, file-rss:0kB\n")["devices"][0]
        self.assertEqual([f["kind"] for f in device["findings"]], ["out_of_memory"])
        self.assertIn("the kernel killed pid 77 (python3)", device["findings"][0]["detail"])
        finding = self.report("$ python train.py\nKilled\n")["devices"][0]["findings"][0]
        self.assertEqual((finding["severity"], finding["confidence"]), ("medium", "possible"))
        self.assertIn("strata run -- COMMAND", finding["detail"])

    def test_budgets_of_servers(self):
        gib = {"vllm": {"total": "23.58", "usable": "23.35", "weights": "21.21", "non_torch": "0.20", "activations": "0.37", "kv_cache": "1.57", "graphs": "0.21"},
               "sglang": {"weights": "14.98", "kv_cache": "16.46", "graphs": "1.44", "available": "38.05"}}
        for name, wanted in gib.items():
            device = json.loads(self.run_strata("report", "--json", SAMPLES / f"log_server_{name}.log").stdout)["devices"][0]
            found = {row["name"]: row.get("bytes", row.get("tokens")) for row in device["budget"]}
            self.assertEqual(set(found) - {"tokens"}, set(wanted))
            for key, figure in wanted.items():
                self.assertLessEqual(abs(found[key] - nbytes(figure, "GiB")), 1, key)
        ranks = self.report("".join(f"[2025-11-10 19:59:09 TP{i}] Capture cuda graph end. mem usage={i + 1}.00 GB. avail mem=9 GB.\n" for i in (1, 0)))
        self.assertEqual([(d["device"], d["budget"][0]["bytes"]) for d in ranks["devices"]], [(0, 1 << 30), (1, 2 << 30)])
        self.assertIsNone(self.report("MA 1 GB Max_MA 1 GB\n")["devices"][0]["budget"])
        for rule, code in (("budget.kv_cache > 1GiB", 0), ("budget.kv_cache > 40GiB", 3), ("budget.available > 1GiB", 3), ("budget.cache > 1GiB", 2)):
            self.assertEqual(self.run_strata("check", SAMPLES / "log_server_vllm.log", "--rule", rule, check=False).returncode, code, rule)

    def test_budgets_are_drawn_and_compared(self):
        """Each part of a budget is a band from its step on, so that all form a waterfall; total, usable and remaining
        bytes are no parts."""
        names = {"outside of PyTorch": "non_torch", "weights": "weights", "activations at most": "activations", "CUDA graphs": "graphs", "KV cache": "kv_cache"}
        bytes_of = {}
        for name in ("server_vllm_v1", "server_sglang"):
            path = SAMPLES / f"log_{name}.log"
            budget = {row["name"]: row.get("bytes", row.get("tokens")) for row in json.loads(self.run_strata("report", "--json", path).stdout)["devices"][0]["budget"]}
            self.run_strata("export", "-f", path, "--to", "csv", "-o", self.folder / "a.csv")
            rows = list(csv.DictReader((self.folder / "a.csv").read_text().splitlines()))
            found = {names[row["site"].removesuffix(", as planned")]: int(row["bytes"]) for row in rows}
            self.assertEqual(found, {part: nbytes for part, nbytes in budget.items() if part in names.values()})
            self.assertEqual(sorted(int(row["alloc_event"]) for row in rows), sorted({int(row["alloc_event"]) for row in rows}))
            self.assertEqual({row["free_event"] for row in rows}, {""})
            bytes_of[name] = found
            self.run_strata("png", "-f", path, "-o", self.folder / "a.png")
        a, b = bytes_of.values()
        found = json.loads(self.run_strata("diff", "--json", *(SAMPLES / f"log_{name}.log" for name in bytes_of)).stdout)
        self.assertEqual({names[row["site"].removesuffix(", as planned")]: row["delta_bytes"] for row in found["sites"]},
                         {part: b.get(part, 0) - a.get(part, 0) for part in a | b})
        for cause in found["causes"]:
            self.assertRegex(cause["title"], r"^[+-].*, as planned: .* before$")

    def test_counts_of_a_summary_are_findings(self):
        text = (SAMPLES / "log_memory_summary.log").read_text().replace("CUDA OOMs: 0", "CUDA OOMs: 2").replace("retries: 0", "retries: 5")
        device = self.report(text)["devices"][0]
        self.assertEqual({f["kind"] for f in device["findings"]} & {"out_of_memory", "retry_flush"}, {"out_of_memory", "retry_flush"})
        self.assertEqual(device["oom_details"], [])
        plain = json.loads(self.run_strata("report", "--json", SAMPLES / "log_memory_summary.log").stdout)["devices"][0]
        self.assertFalse({f["kind"] for f in plain["findings"]} & {"out_of_memory", "retry_flush"})
        device = self.report("step:  1  loss: 8  memory: 61.24GiB(77.42%)\n3 CUDA memory allocation retries.\n")["devices"][0]
        self.assertIn("3 allocation retries", next(f["title"] for f in device["findings"] if f["kind"] == "retry_flush"))

    def test_an_out_of_memory_error_in_an_endless_line(self):
        device = self.report("CUDA out of memory. Tried to allocate 20.00 MiB\nnothing\n")["devices"][0]
        self.assertEqual(device["oom"], [{"event": 0, "requested_bytes": 20 << 20, "device_free_bytes": None}])

    # ---- findings ----

    def rises(self, levels, **fields):
        form = fields.get("form", "[Rank 0] (after {i} iterations) memory (MB) | allocated: {level} | max allocated: {level} | reserved: 90000")
        text = "\n".join(form.format(i=i, level=level) for i, level in enumerate(levels))
        return [f for f in self.report(text)["devices"][0]["findings"] if f["kind"] == "levels_rise"]

    def test_a_rise_is_found_with_its_figures(self):
        found = self.rises([10000 + 50 * i for i in range(20)])
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["per"], {"unit": "step", "bytes": 50 << 20, "n": 18})
        self.assertEqual((found[0]["bytes"], found[0]["confidence"]), (900 << 20, "certain"))

    def test_levels_that_do_not_rise(self):
        for levels in ([10000] * 20, [10000, 30000] + [30000] * 18, [10000, 20000, 30000, 30500] + [30500] * 12, [30000 - 50 * i for i in range(20)],
                       [10000 + 4000 * (i % 2) for i in range(20)], [10000 + 0.5 * i for i in range(4)], [10000, 10100, 10200]):
            self.assertEqual(self.rises(levels), [], levels)

    def test_lines_of_different_labels_are_not_one_row(self):
        lines = []
        for i in range(10):
            for label, level in (("before forward", 10), ("after forward", 20 + (i == 9) * 5)):
                lines += [f"[x.py:1:see_memory_usage] {label}", f"[x.py:2:see_memory_usage] MA {level} GB   Max_MA {level} GB   CA 30 GB   Max_CA 30 GB"]
        self.assertEqual([f["kind"] for f in self.report("\n".join(lines))["devices"][0]["findings"]], [])

    def test_labels_become_phases(self):
        device = next(d for d in json.loads(self.run_strata("report", "--json", SAMPLES / "log_deepspeed.log").stdout)["devices"] if d["device"] == 0)
        names = [phase["name"] for phase in device["phases"]]
        self.assertEqual(names[:4], ["Before creating model", "After creating model", "After initializing optimizer", "before forward"])
        self.assertEqual(len(names), 3 + 10 * 5)

    # ---- recognising ----

    def test_prefixes_of_loggers(self):
        line = "memory (MB) | allocated: 100 | max allocated: 100 | reserved: 200 | max reserved: 200"
        for prefix, rank in (("[rank7]:", 7), ("2026-11-22 10:00:00,1 INFO [rank 7] ", 7), ("rank 7 | ", 7), ("rank=7 ", 7), ("[default7]:", 7),
                             ("7: ", 7), ("\x1b[32m[rank7]:\x1b[0m ", 7), ("(pid=123) [Rank 7] ", 7), ("local_rank 3 ", 0), ("{'loss': 2}\n[rank7]", 7),
                             ("[7] [rank7] ", 7), ("node12 frank 3 ", 0), ("\ufeff[rank7]", 7)):
            with self.subTest(prefix):
                self.assertEqual(self.report(prefix + line)["devices"][0]["device"], rank)

    def test_lines_of_json(self):
        """JSON lines as training scripts and containers write them are a log; two snapshots, one a line, are not."""
        lines = ({"step": 1, "perf/max_memory_allocated_gb": 12.5}, {"step": 2, "perf/max_memory_allocated_gb": 13.5})
        device = self.report("".join(json.dumps(line) + "\n" for line in lines))["devices"][0]
        self.assertEqual([(step["step"], step["end_bytes"]) for step in device["steps"]], [(1, 25 << 29), (2, 27 << 29)])
        error = (SAMPLES / "log_oom_old.log").read_text().splitlines()
        text = "".join(json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-11-22T10:00:00.1Z"}) + "\n" for line in error)
        self.assertEqual(self.report(text)["devices"][0]["oom"][0]["requested_bytes"], 20 << 20)
        two = json.dumps({"segments": [], "device_traces": [[{"action": "alloc", "addr": 512, "size": 512, "frames": [], "stream": 0}]]}) + "\n"
        self.assertEqual(self.report(two + two)["kind"], "snapshot")

    def test_lines_end_in_every_way(self):
        line = "[Rank {}] (after 1 iterations) memory (MB) | allocated: 1536 | max allocated: 1536 | reserved: 2048"
        for end in ("\n", "\r\n", "\r"):
            found = self.report(end.join(line.format(i) for i in range(3)))
            self.assertEqual([d["levels"]["allocated"]["last_bytes"] for d in found["devices"]], [3 << 29] * 3)

    def test_a_text_without_such_lines_is_refused(self):
        for text in ("hello\n", "allocated: lots\n", "1,2,3\n4,5,6\n", "memory: 5\n", "MA 5\n", "out of memory\n",
                     "GPU 0 is hot\n", "x" * 100000, "memory (MB) | allocated: nan | reserved: inf\n", "MA -5.0 GB\n"):
            done = self.report(text, check=False)
            self.assertEqual(done.returncode, 1, text[:80])
            self.assertIn(b"this is not a memory snapshot", done.stderr)

    def test_messages_without_a_line_end_between(self):
        one = "[Rank {}] (after 1 iterations) memory (MB) | allocated: {}.5 | max allocated: 9 | reserved: 13236.0 | max reserved: 13236.0"
        found = self.report("".join(one.format(rank, 100 + rank) for rank in (4, 2, 6)) + "\nnothing\n")
        self.assertEqual({device["device"]: device["end_bytes"] for device in found["devices"]},
                         {rank: int((100.5 + rank) * 2**20) for rank in (2, 4, 6)})
        lines = next(d["message"] for d in found["diagnostics"] if d["code"] == "log_lines")
        self.assertIn("2", lines)

    def test_invalid_figures(self):
        head = "[Rank 0] memory (MB) | allocated: 5 | max allocated: 5 | reserved: 9\n"
        for figure in ("1e400", "nan", "-1", "inf", "1.2.3", "99999999999999999999999", "1_000", "0x10", "9" * 400, "", "12 34 GB x"):
            found = self.report(head + f"[Rank 0] memory (MB) | allocated: {figure} | max allocated: {figure} | reserved: {figure}\n")["devices"][0]
            self.assertLessEqual(found["levels"]["allocated"]["peak_bytes"], 12 << 20, figure)

    def test_hostile_logs_end(self):
        line = b"[Rank 0] (after 1 iterations) memory (MB) | allocated: 1536 | max allocated: 1536 | reserved: 2048\n"
        for text in (b"x" * (10 << 20) + b"\n" + line, line * 30 + b"\0\xff\x1b[" * 100000 + b"\n" + line, line + b"[" * 1000000, b"\r" * 100000 + line,
                     line + b"|" * 100000 + b",MiB" * 100000, b"memory (MB) | " + b"| allocated: " * 300 + b"5\n", b"Process 1 has " * 5000 + b"out of memory\n" + line,
                     b"".join(b"[rank%d] memory (MB) | allocated: 1024\n" % i for i in range(4096))):
            self.report(text)
        self.assertEqual(self.report(b"".join(b"[rank%d] memory (MB) | allocated: 1024\n" % i for i in range(4097)), check=False).returncode, 1)
        self.assertEqual(self.report(b"\0" + line, check=False).returncode, 1)

    def test_long_lines_of_forms_take_no_longer(self):
        """A megabyte of the longest lines, full of what forms look for: time grows with the bytes, not with their square."""
        for part in ("[Rank 1] memory (MB) | allocated: 5 ", "[Rank 2] ", "CUDA out of memory. Tried to allocate 2 GiB ", "Process 1 has ", "| 0000:1 / 2 / ", "mem_get_info(1, 2), ", "step iteration ",
                     '{"log": "CUDA out of memory. Tried to allocate 2 GiB\\n', "| Allocated memory |", 'File "a.py", line 3, in f ', "Killed process 1 (a) anon-rss:5kB ", "2024-01-01 1 - a - "):
            (self.folder / "a.log").write_text("MA 5 GB Max_MA 6 GB\n" + ("Tried to allocate 2 GiB memory (MB) " + part * (16000 // len(part)) + "\n") * 60)
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            self.run_strata("report", self.folder / "a.log")
            self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 10 if "asan" not in STRATA else 60, part)

    def test_an_endless_line_takes_no_memory(self):
        """The line is read in blocks, and only its beginning matters."""
        line = b"[Rank 0] (after 1 iterations) memory (MB) | allocated: 1536 | max allocated: 1536 | reserved: 2048\n"
        for verb in ("report", "html"):
            with subprocess.Popen([STRATA, verb, "-", "-o", "/dev/null"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
                run.stdin.write(line)
                for _ in range(256):
                    run.stdin.write(b"| allocated: 1, " * (1 << 16))
                run.stdin.write(b"\n" + line)
                run.stdin.close()
                _, status, usage = os.wait4(run.pid, 0)
                run.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(run.returncode, 0)
            if "asan" not in STRATA:  # sanitizers keep freed memory
                self.assertLess(usage.ru_maxrss, 32 << 10)  # KiB; the line has 256 MiB

    def test_cut_anywhere(self):
        text = (SAMPLES / "log_oom_new.log").read_bytes() + (SAMPLES / "log_memory_summary.log").read_bytes()
        for end in range(0, len(text), 97):
            done = self.report(text[:end], check=False)
            self.assertIn(done["kind"] if isinstance(done, dict) else done.returncode, ("log", 1))


if __name__ == "__main__":
    unittest.main()
