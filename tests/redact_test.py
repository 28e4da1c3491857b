#!/usr/bin/env python3
"""Puts secrets in every text of a recording; none may remain in any output with --redact: the page (all strings
decoded), the picture (its text chunks), each kind of report, and everything that a batch writes.

Environment: STRATA, path of the program (default: build/release/strata).
"""

import base64
import gzip
import json
import os
import pathlib
import pickle
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
SECRET = re.compile(rb"SECRET\w*", re.IGNORECASE)
# --redact leaves names; --redact=all removes those of annotations, too. (In a payload strings follow each other
# directly.)
FUNCTION, ANNOTATION = b"SECRETfunction", b"SECRETannotation"


def frame(name, filename="/home/SECRETuser/project/train.py", line=7, **more):
    return {"name": name, "filename": filename, "line": line, **more}


FRAMES = [
    frame("SECRETfunction"),
    frame("void f<{lambda(int)#1} at /home/SECRETlambda/k.cu:12:3>()", "/home/SECRETfile/k.cu"),
    frame("(anonymous class at ../SECRETrelative/SECRETdeeper/a b/x.h:3)", "C:\\Users\\SECRETwindows\\x.py"),
    frame("g at /home/John SECRETblank/dir/y.cu:9", "/home/John SECRETblank2/y.cu"),
    frame("h['/mnt/SECRETquote/z.so'+0x12]", "~/SECREThome/z.so"),
    frame("operator/(int, SECRETnot/at.h)", "/x/operator/SECRETdirectory/x.cpp"),
    frame("SECRETdir/module.py(12): forward", "/SECRETx/module.py(12)"),
    frame("run", "/home/SECRETvenv/lib/python3.11/site-packages/torch/nn/modules/module.py"),
    frame("run", "/home/u/lib/python3.11/SECRETinside/deep/thing.py"),
    frame("run", "/home/u/lib/python3SECRETversion/thing.py"),
    frame("run", "/opt/site-packages/torch/../../SECRETup/x.py"),
    frame("run", "/tmp/torchinductor_SECRETinductor/ab/SECRETcache/cabc.py"),
    frame("run", "file:///SECRETurl/x.py"),
    frame("call", fx_node_op="call_function", fx_node_name="n", fx_node_target="/home/SECRETtarget/t.py",
          fx_original_trace="File \"/home/SECREToriginal/x.py\", line 3\n  SECRETsource = 1"),
]
SETTINGS = {
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,SECRETkey:1,backend:SECRETvalue,roundup_power2_divisions:[256:1,>:8]",
    "expandable_segments": True, "max_split_size": 128, "SECRETsetting": 1, "note": "SECRETnote",
    "roundup_power2_divisions": {"1": 8, ">": 4}, "garbage_collection_threshold": "SECRETthreshold",
    "backend": {"SECRETnested": 2}, "last_allocator_settings": "/home/SECRETlast:1,max_split_size_mb:128",
}
EXPORTS = ("e.csv", "e.sqlite", "e.pb.gz", "e.folded", "e.pftrace")


def secret_snapshot():
    trace = []
    for i, each in enumerate(FRAMES):
        trace.append({"action": "alloc", "addr": (i + 1) << 21, "size": 1 << 20, "stream": 0, "time_us": i, "frames": [each],
                      "user_metadata": f"SECRETmetadata{i}", "compile_context": "0/1" if i % 2 else "/home/SECRETcontext/0",
                      "category": "SECRETcategory", "forward_frames": [f"/home/SECRETforward{i}/x.py(3): SECRETline"]})
    trace.append({"action": "oom", "addr": 0, "size": 1 << 30, "device_free": 5, "stream": 0, "time_us": 99, "frames": FRAMES[1:2]})
    notes = [{"name": name, "stage": stage, "time_us": at, "device": 0} for name, stage, at in
             (("SECRETannotation", "START", 1), ("SECRETannotation", "END", 3), ("load /home/SECRETload/d.py", "START", 4),
              ("load /home/SECRETload/d.py", "END", 5), ("forward", "START", 6), ("forward", "END", 8))]
    return {"segments": [], "device_traces": [trace], "allocator_settings": SETTINGS, "external_annotations": notes,
            "user_metadata": "SECRETglobal"}


def payload_text(page):
    """Everything in a page's payloads, inflated. (The page of a difference has two payloads, and figures.)"""
    content = [zlib.decompress(base64.b64decode(each)) for each in re.findall(rb'id="figures">([A-Za-z0-9+/=]*)<', page)]
    for each in re.findall(rb'id="payload[-ab]*">([A-Za-z0-9+/=]*)<', page):
        content += pieces(base64.b64decode(each))
    return b"".join(content)


def pieces(data):
    n_sections, n_pieces = struct.unpack_from("<II", data, 8)
    at, content = 16 + 16 * n_sections + 8 * n_pieces, []
    for i in range(n_pieces):
        _, nbytes = struct.unpack_from("<II", data, 16 + 16 * n_sections + 8 * i)
        content.append(zlib.decompress(data[at:at + nbytes]))
        at += nbytes
    return content


def picture_text(picture):
    at, texts = 8, []
    while at < len(picture):
        nbytes, kind = struct.unpack_from(">I4s", picture, at)
        body = picture[at + 8:at + 8 + nbytes]
        if kind == b"tEXt":
            texts.append(body)
        elif kind == b"zTXt":
            texts.append(zlib.decompress(body.split(b"\0", 1)[1][1:]))
        elif kind == b"iTXt":
            texts.append(body)
        at += 12 + nbytes
    assert texts
    return b"\n".join(texts)


def readable(name, content):
    if name.endswith(".html") and b'id="payload' in content:
        return content + payload_text(content)
    if name.endswith(".pb.gz"):
        return gzip.decompress(content)
    if name.endswith(".sqlite"):
        db = sqlite3.connect(":memory:")
        db.deserialize(content)
        return "\n".join(db.iterdump()).encode()
    if name.endswith(".html"):
        content += b"".join(picture_text(base64.b64decode(each)) for each in re.findall(rb"data:image/png;base64,([\w+/=]*)", content))
    return picture_text(content) if name.endswith(".png") else content


class Outputs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strata-redact-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "in").mkdir()
        (self.folder / "in" / "rank0.pickle").write_bytes(pickle.dumps(secret_snapshot(), protocol=4))

    def run_strata(self, *words):
        done = subprocess.run([STRATA, *map(str, words)], capture_output=True, cwd=self.folder, timeout=60)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done.stdout

    def outputs(self, *options):
        """Yields (name, readable content) for every output of the recording."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        for name, words in (("page.html", ["html"]), ("picture.png", ["png"]), ("annotated.png", ["png", "--color-by", "category"]),
                            ("r.txt", ["report", "--top=0"]), ("r.md", ["report", "--markdown"]),
                            ("r.json", ["report", "--json", "--group", "stack", "--top=0"])):
            self.run_strata(*words, "in/rank0.pickle", *options, "-o", out / name)
        for name in EXPORTS:
            self.run_strata("export", "in/rank0.pickle", *options, "-o", out / name)
        self.run_strata("batch", "in", *options, "--png", "-o", out / "batch")
        return {str(path.relative_to(out)): readable(path.name, path.read_bytes()) for path in out.rglob("*") if path.is_file()}

    def secrets(self, *options):
        found = {name: set(SECRET.findall(content)) for name, content in self.outputs(*options).items()}
        self.assertGreaterEqual(len(found), 12)
        return found


class Redacted(Outputs):
    def leaves(self, found, allowed, where):
        self.assertEqual([each for each in found if not each.startswith(allowed)], [], where)

    def test_secrets_are_there_without_redact(self):
        """Without --redact the outputs contain the secrets; otherwise this test would prove nothing."""
        each = self.secrets()
        self.assertEqual([name for name in EXPORTS if len(each[name]) < (5 if name != "e.pftrace" else 2)], [])
        found = set().union(*each.values())
        planted = {match.lower() for match in SECRET.findall(pickle.dumps(secret_snapshot(), protocol=0))}
        missing = planted - {match.lower() for match in found} - {b"secretglobal", b"secretnot"}
        self.assertLess(len(missing), 8, missing)  # secrets that no output keeps in any case

    def test_redact(self):
        for name, found in self.secrets("--redact").items():
            self.leaves(found, (FUNCTION, ANNOTATION), name)

    def test_redact_all(self):
        for name, found in self.secrets("--redact=all").items():
            self.leaves(found, (FUNCTION,), name)

    def test_names_that_stay(self):
        content = self.outputs("--redact=all")
        page, report = content["page.html"], json.loads(content["r.json"])
        for text in (b"SECRETfunction", b"train.py", b"site-packages/torch/nn/modules/module.py", b"/lib/python3.11/thing.py",
                     b"{lambda(int)#1} at k.cu:12:3>()", b"operator/(int", b"annotation 1", b"annotation 2", b"forward", b"module.py(12): forward",
                     b"cabc.py", b"expandable_segments:True,roundup_power2_divisions:[256:1,>:8]", b'"max_split_size":128', b"y.cu:9"):
            self.assertIn(text, page)
        self.assertEqual(report["devices"][0]["peak_bytes"], len(FRAMES) << 20)
        for name in EXPORTS:
            self.assertIn(b"annotation 1" if name == "e.pftrace" else b"train.py", content[name], name)
        plain = json.loads(self.run_strata("report", "--json", "--top=0", "in/rank0.pickle"))
        self.assertEqual(plain["recording_id"], report["recording_id"])

    def test_a_page_redacted_later(self):
        self.run_strata("html", "in/rank0.pickle", "-o", "plain.html")
        again = readable("x.html", self.run_strata("html", "plain.html", "--redact=all", "-o", "-"))
        self.leaves(set(SECRET.findall(again)), (FUNCTION,), "page of a page")


SIGNS = ["(x)", "[1]", "{a}", "<b>", '"q"', "'q'", "a,", "a;", "a=", "a|", "`b`", "a\0", "a\x01", "a\n", "a:", "50%", "~", "a b", "\u00e9",
         # The reader cuts texts longer than 16 KiB.
         " at ", ":12:3}x at ", "k.cu:1:2}, {lambda at ", "a.py(1)", "~operator", "=a_operator", "x" * 17_000]
TEXTS = ["{path}", "{{lambda(int)#1}} at {path}:12:3", "void f<{{lambda at {path}:12:3}}>()", "h['{path}'+0x12]", 'open "{path}"', "load {path} now",
         "{path}(12): forward", "(anonymous class at {path}:3)"]


def planted_path(dice):
    """A path whose directories contain any characters, and all of them SECRET."""
    folders = []
    for _ in range(dice.randint(1, 4)):
        sign = dice.choice(SIGNS)
        folders.append(dice.choice(["SECRETdir", "SECRETa b", "a SECRETb"]) + dice.choice(["", " ", ""]) + sign)
    base = dice.choice(["k.cu", "x.py", "z.so", "z.bin?user=SECRETname&at=/SECRETx/z;SECRETy=1"])
    shape = dice.randrange(8)
    if shape == 0:
        return "C:\\" + "\\".join([*folders, base])
    if shape == 1:
        return "SECRETuser@SECREThost:/" + "/".join([*folders, base])
    if shape == 2:
        return urllib.parse.quote("/" + "/".join([*folders, base]), safe="")
    if shape == 3:
        return urllib.parse.quote(urllib.parse.quote("/" + "/".join([*folders, base]), safe=""), safe="")
    if shape == 4:
        return "file:///" + "/".join([*folders, base])
    if shape == 5:
        return "\\\\SECRETserver\\" + "\\".join([*folders, base])
    if shape == 6:
        return "/opt/site-packages/torch/" + "/".join([*folders, base])
    return "/" + "/".join([*folders, base])


def planted_snapshot(dice):
    def text():
        return dice.choice(TEXTS).format(path=planted_path(dice))

    trace, notes = [], []
    for i in range(40):
        each = frame(text(), planted_path(dice), fx_node_op=text(), fx_node_name=text(), fx_node_target=text(), fx_original_trace=text())
        trace.append({"action": "alloc", "addr": (i + 1) << 21, "size": 1 << 20, "stream": 0, "time_us": i, "frames": [each],
                      "user_metadata": text(), "compile_context": text(), "category": text(), "forward_frames": [text(), text()]})
        name = text()
        notes += [{"name": name, "stage": stage, "time_us": i, "device": 0} for stage in ("START", "END")]
    return {"segments": [], "device_traces": [trace], "allocator_settings": {text(): text(), "PYTORCH_CUDA_ALLOC_CONF": text()},
            "external_annotations": notes, text(): 1, planted_path(dice): 2}


class Planted(Outputs):
    """Paths of any shape in every text of a recording, in both modes and in every output."""

    def test_only_the_base_name_of_a_path_stays(self):
        for seed in range(6):
            dice = random.Random(seed)
            (self.folder / "in" / "rank0.pickle").write_bytes(pickle.dumps(planted_snapshot(dice), protocol=4))
            (self.folder / "in" / "rank1.pickle").write_bytes(pickle.dumps(planted_snapshot(dice), protocol=4))
            for option in ("--redact", "--redact=all"):
                outputs = self.outputs(option)
                outputs["diff.json"] = self.run_strata("diff", "--json", "in/rank0.pickle", "in/rank1.pickle", option)
                for name, content in outputs.items():
                    found = set(SECRET.findall(content))
                    self.assertEqual(set(), found, (seed, option, name))

    def carried(self, path, option):
        """Yields (name, readable content) for every verb's outputs of a file."""
        out = self.folder / "carried"
        shutil.rmtree(out, ignore_errors=True)
        (out / "in").mkdir(parents=True)
        other = out / "in" / f"rank1{path.suffix}"
        shutil.copy(path, other)
        for name, words in (("page.html", ["html"]), ("picture.png", ["png"]), ("r.txt", ["report"]), ("r.md", ["report", "--markdown"]),
                            ("r.json", ["report", "--json", "--top=0"]), ("d.txt", ["diff", other]), ("d.json", ["diff", "--json", other]),
                            ("d.md", ["diff", "--markdown", other]), ("d.html", ["diff", other]), ("d.png", ["diff", other]), ("w.html", ["plan"]),
                            ("p.txt", ["plan"]), ("p.json", ["plan", "--json"]),
                            ("p.md", ["plan", "--markdown"]), ("c.txt", ["check", "--rule", "peak<1TiB"]),
                            ("c.json", ["check", "--format", "json", "--rule", "peak<1TiB"]), ("c.xml", ["check", "--format", "junit", "--rule", "peak<1MiB"]),
                            *((name, ["export"]) for name in EXPORTS)):
            where = [] if words[0] == "check" else ["-o", out / name]
            done = subprocess.run([STRATA, *map(str, [*words, path, option, *where])], capture_output=True, cwd=self.folder, timeout=60)
            if words[0] == "check":
                (out / name).write_bytes(done.stdout)
            # A log has no allocations to export and no segments to replay, and the program says so.
            self.assertIn(done.returncode, (0, 1, 3), (words, done.stderr))
        shutil.copy(path, out / "in" / f"rank0{path.suffix}")
        done = subprocess.run([STRATA, "batch", "carried/in", option, "--png", "-o", out / "batch"], capture_output=True, cwd=self.folder, timeout=60)
        self.assertIn(done.returncode, (0, 1), done.stderr)  # 1: a timeline is not a snapshot
        shutil.rmtree(out / "in")
        return {str(each.relative_to(out)): readable(each.name, each.read_bytes()) for each in out.rglob("*") if each.is_file()}

    def carriers(self, dice):
        """Recordings of every kind, with SECRET in the folder's and the file's name, and with paths in every text."""
        def text():
            return dice.choice(TEXTS).format(path=planted_path(dice)).replace("\0", "")

        folder = self.folder / dice.choice(["SECRETjane (corp)", "SECRET;x", "a SECRETb|"])
        folder.mkdir(exist_ok=True)
        log = [f'  File "{planted_path(dice)}", line 12, in forward',
               "    return x @ w", 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 8.00 GiB of which '
               "384.00 MiB is free. Including non-PyTorch memory, this process has 7.60 GiB memory in use. Of the allocated memory 7.00 GiB is allocated "
               "by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated."]
        log += [f"Out of memory: Killed process {i} ({text()}) total-vm:9kB, anon-rss:{i}00kB" for i in range(1, 20)]
        for i in range(6):
            log.append(f"[2026-11-22 10:00:0{i},000] [INFO] [utils.py:781:see_memory_usage] {text()} ")
            log.append(f"[2026-11-22 10:00:0{i},000] [INFO] [utils.py:782:see_memory_usage] MA 1{i}.0 GB         Max_MA 2{i}.0 GB         CA 30.0 GB         Max_CA 30 GB ")
        rows = [{"ph": "X", "cat": dice.choice(["user_annotation", "cpu_op", "python_function"]), "name": text(), "pid": 1, "tid": 1, "ts": i, "dur": 90 - 2 * i} for i in range(40)]
        rows += [{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 40 + i, "s": "t",
                  "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096 * (i + 1), "Bytes": 512, "Total Allocated": 512 * (i + 1), "Total Reserved": 1 << 20}}
                 for i in range(10)]
        properties = [{"id": 0, "name": text(), "totalGlobalMem": 8 << 30}]
        timeline = [[10, 20, 30], [[0] * 11, [0, 4096] + [0] * 9, [0, 4096, 512] + [0] * 8]]
        for name, content in (("run.log", "\n".join(re.sub(r"[\x00-\x1f]", " ", line) for line in log).encode()), ("trace.json", json.dumps({"traceEvents": rows, "deviceProperties": properties}).encode()),
                              ("timeline.json", json.dumps(timeline).encode()), ("snapshot.json", json.dumps(planted_snapshot(dice)).encode()),
                              ("SECRETdir.pickle", pickle.dumps(planted_snapshot(dice), protocol=4))):
            path = folder / name.replace("SECRETdir", "dump")
            path.write_bytes(content)
            yield path

    def test_inputs_of_every_kind(self):
        """Logs, profiler traces, timelines, JSON and pickles, in every verb; the path of the file is secret too."""
        for seed in range(2):
            for path in self.carriers(random.Random(seed)):
                for option in ("--redact", "--redact=all"):
                    outputs = self.carried(path, option)
                    self.assertGreater(len(outputs), 20, path.name)
                    for name, content in outputs.items():
                        self.assertEqual(set(), set(SECRET.findall(content)), (seed, option, path.name, name))

    def test_words_around_a_path_stay(self):
        kept = {"void f<{lambda at /home/me/k.cu:12:3}, {lambda at /home/you/z.cu:9}>": b"void f<{lambda at z.cu:9}>",
                "get https://host/a/b.bin?user=me&x=%2Fhome%2Fyou now": b"get  now", "get https://host/a/b.bin?user=me now": b"get b.bin now", "of https://me@host:80 now": b"of  now",
                "load /home/me/d.py": b"load d.py", "operator/(int, a/b.h)": b"operator/(int, b.h)",
                "{lambda at /home/jane/Project (SECRET)/k.cu:12:3}": b"{lambda at k.cu:12:3}"}
        frames = [frame(name, f"/a/{i}.cpp") for i, name in enumerate(kept)]
        trace = [{"action": "alloc", "addr": (i + 1) << 21, "size": 1 << 20, "stream": 0, "time_us": i, "frames": [each]}
                 for i, each in enumerate(frames)]
        (self.folder / "in" / "rank0.pickle").write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}, protocol=4))
        page = self.outputs("--redact")["page.html"]
        for each in kept.values():
            self.assertIn(each, page)

    def test_a_profilers_annotation_that_is_a_frame(self):
        events = [{"ph": "X", "cat": "user_annotation", "name": "load SECRETpatient", "pid": 1, "tid": 1, "ts": 0, "dur": 900}]
        events += [{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 10 + i,
                    "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096 * (i + 1), "Bytes": 1 << 20, "Total Allocated": (i + 1) << 20}}
                   for i in range(30)]
        path = self.folder / "profile.json"
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
        for words in (("report", "--json"), ("export", "--to", "csv", "-o", "-"), ("export", "--to", "folded", "-o", "-")):
            self.assertIn(b"SECRET", self.run_strata(*words, "--redact", path))
            told = self.run_strata(*words, "--redact=all", path)
            self.assertNotIn(b"SECRET", told)
            self.assertIn(b"annotation 1", told)


if __name__ == "__main__":
    unittest.main()
