#!/usr/bin/env python3
"""One recording in every encoding and every version's shape, and files that are none.

    STRATA=path/to/strata STATE_DUMP=path/to/state_dump [STRATA_CORPUS=folder with MANIFEST.json] inputs_test.py

Encodings must give the same report as the sample itself, shapes the figures of an independent replay (replay.py).
"""

import base64
import copy
import gzip
import io
import json
import os
import pathlib
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

import replay

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
sys.path.insert(0, str(SAMPLES))

from simulator.pickler import JitPickler  # noqa: E402

STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
STATE_DUMP = os.environ.get("STATE_DUMP", str(ROOT / "build" / "release" / "tests" / "state_dump"))
CORPUS = os.environ.get("STRATA_CORPUS")
TIMEOUT_S = 120
MIB = 1 << 20

VIZ_PAGE = """
<!DOCTYPE html>
<html>
<head>
</head>
<body>
<script type="module">
import {add_local_files} from "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js"
const local_files = %s
add_local_files(local_files, "Active Memory Timeline")
</script>
</body>
"""


class InputsTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, content, name="input"):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def run_strata(self, *arguments, **keywords):
        return subprocess.run([STRATA, *map(str, arguments)], capture_output=True, timeout=TIMEOUT_S, **keywords)

    def run_within(self, nbytes, *arguments, **keywords):
        """With so much address space. A program with sanitizers cannot even start in it, and runs without."""
        shell = f'ulimit -v {nbytes >> 10}; exec "$@"'
        if subprocess.run(["sh", "-c", shell, "sh", STRATA, "--version"], capture_output=True).returncode != 0:
            shell = 'exec "$@"'
        command = ["sh", "-c", shell, "sh", STRATA, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, **keywords)

    def report(self, path, **keywords):
        done = self.run_strata("report", "--json", "--top", "0", path, **keywords)
        self.assertEqual(0, done.returncode, done.stderr.decode(errors="replace"))
        return json.loads(done.stdout)

    def refused(self, path, text, *options, **keywords):
        done = self.run_strata("report", *options, path, **keywords)
        self.assertEqual(1, done.returncode)
        self.assertEqual(b"", done.stdout)
        self.assertIn(text, done.stderr.decode(errors="replace"))

    def codes(self, report):
        return [diagnostic["code"] for diagnostic in report["diagnostics"]]


def jit_pickle(value):
    stream = io.BytesIO()
    JitPickler(stream.write).dump(value)
    return stream.getvalue()


def memory_viz_page(data):
    data += b"\0" * (3 - len(data) % 3)
    files = [{"name": "snapshot.pickle", "base64": base64.b64encode(data).decode()}]
    return (VIZ_PAGE % json.dumps(files)).encode()


class Unseekable(io.RawIOBase):
    """Makes zipfile write sizes behind the data, as a stream wants it."""

    def __init__(self):
        self.content = io.BytesIO()

    def writable(self):
        return True

    def write(self, data):
        return self.content.write(data)


def torch_zip(data, method, streamed):
    file = Unseekable() if streamed else io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/version", "3\n")
    return (file.content if streamed else file).getvalue()


def encodings(value):
    """Name and bytes of one recording in every encoding that is read."""
    for protocol in range(6):
        yield f"protocol {protocol}", pickle.dumps(value, protocol=protocol)
        yield f"protocol {protocol}, pickle.py", pickle._dumps(value, protocol=protocol)
    whole = pickle.dumps(value, protocol=4)
    half = len(whole) // 2
    yield "C++ pickler", jit_pickle(value)
    yield "gzip", gzip.compress(whole)
    yield "gzip of the C++ pickler's", gzip.compress(jit_pickle(value))
    yield "gzip of two members and more", gzip.compress(whole[:half]) + gzip.compress(whole[half:]) + b"\0\0more"
    yield "page of _memory_viz.py", memory_viz_page(whole)
    yield "gzip of a page", gzip.compress(memory_viz_page(whole))
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for streamed in (False, True):
            yield f"zip, method {method}, streamed {streamed}", torch_zip(pickle.dumps(value, 2), method, streamed)


class EncodingTest(InputsTest):
    def same(self, wanted, got):
        for name in ("recording_id", "devices", "diagnostics"):
            self.assertEqual(wanted[name], got[name])

    def check_sample(self, name):
        path = SAMPLES / f"{name}.pickle"
        wanted = self.report(path)
        self.assertTrue(wanted["devices"][0]["allocations"])
        for encoding, content in encodings(pickle.loads(path.read_bytes())):
            with self.subTest(sample=name, encoding=encoding):
                self.same(wanted, self.report(self.write(content)))
                self.same(wanted, self.report("-", input=content))

    def test_oom(self):
        self.check_sample("oom")

    def test_two_devices(self):
        self.check_sample("two_devices")

    def test_private_pools(self):
        self.check_sample("private_pools")

    def test_our_own_page(self):
        for name in ("train", "hostile_names", "user_metadata_annotate"):
            with self.subTest(sample=name):
                page = self.folder / f"{name}.html"
                done = self.run_strata("html", SAMPLES / f"{name}.pickle", "-f", "-o", page)
                self.assertEqual(0, done.returncode, done.stderr)
                wanted = self.report(SAMPLES / f"{name}.pickle")
                self.same(wanted, self.report(page))
                self.same(wanted, self.report(self.write(gzip.compress(page.read_bytes()))))

    def test_json_has_the_id_too(self):
        value = pickle.loads((SAMPLES / "oom.pickle").read_bytes())
        self.assertEqual(self.report(SAMPLES / "oom.pickle")["recording_id"],
                         self.report(self.write(json.dumps(value).encode()))["recording_id"])

    def test_any_change_is_another_id(self):
        def change_event(key, by):
            return lambda value: value["device_traces"][0][40].update({key: value["device_traces"][0][40][key] + by})

        def change_frame(key, by):
            def change(value):
                frame = value["device_traces"][0][40]["frames"][0]
                value["device_traces"][0][40]["frames"] = [{**frame, key: frame[key] + by}]
            return change

        def change_block(value):
            value["segments"][0]["blocks"][0]["size"] += 512

        changes = [lambda value: None, change_event("size", 512), change_event("addr", 512), change_event("time_us", 1),
                   change_frame("line", 1), change_frame("name", "x"), change_frame("filename", "x"), change_block,
                   lambda value: value["segments"][0].update(stream=7), lambda value: value["device_traces"][0].pop(),
                   lambda value: value["segments"].pop(), lambda value: value["device_traces"].insert(0, [])]
        ids = []
        for change in changes:
            value = pickle.loads((SAMPLES / "oom.pickle").read_bytes())
            change(value)
            ids.append(self.report(self.write(pickle.dumps(value)))["recording_id"])
        self.assertEqual(len(set(ids)), len(changes), ids)
        self.assertEqual(ids[0], self.report(SAMPLES / "oom.pickle")["recording_id"])

    def test_names_that_are_no_utf8(self):
        value = pickle.loads((SAMPLES / "one_event.pickle").read_bytes())
        text = "strangely_named_function"
        for segment in value["segments"]:
            for block in segment["blocks"]:
                block["frames"] = [{"filename": "a.py", "line": 1, "name": text}]
        content = jit_pickle(value).replace(text.encode(), text.encode()[:-3] + b"\xff\x00\xed")
        self.assertTrue(self.report(self.write(content))["devices"][0]["live_at_peak"])


def without(keys):
    """A change of a snapshot: these keys are not there, at any depth."""

    def strip(value):
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if key not in keys}
        if isinstance(value, list):
            return [strip(item) for item in value]
        return value

    return strip


def with_history(value):
    """Blocks as torch 1.13 and 2.0 wrote them: without addresses, sizes and stacks in a history."""
    for segment in value["segments"]:
        for block in segment["blocks"]:
            requested = block.pop("requested_size", block["size"])
            frames = block.pop("frames", [])
            block.pop("address", None)
            if block["state"] != "inactive":
                block["history"] = [{"addr": 0, "real_size": requested, "frames": frames}, {"addr": 0, "real_size": 1}]
    return value


SHAPES = {
    "2.1": without(["time_us", "compile_context", "user_metadata", "pool_id", "allocator_settings", "external_annotations"]),
    "no frames": without(["frames"]),
    "no streams": without(["stream", "segment_pool_id", "is_expandable", "segment_type"]),
    "no sums": without(["allocated_size", "active_size", "requested_size"]),
    "segments alone": lambda value: {"segments": value["segments"]},
    "root list": lambda value: value["segments"],
    "events alone": lambda value: {"device_traces": value["device_traces"], "segments": []},
    "no segments": lambda value: {"device_traces": value["device_traces"]},
    "events first": lambda value: {key: value[key] for key in reversed(value)},
    "history": with_history,
    "no blocks": without(["blocks"]),
}


class ShapeTest(InputsTest):
    def check(self, value):
        path = self.write(pickle.dumps(value, protocol=4))
        got = self.report(path)["devices"]
        wanted = replay.read_devices(path)
        self.assertEqual([device.ordinal for device in wanted], [device["device"] for device in got])
        for device, figures in zip(wanted, got):
            self.assertEqual(device.figures(), {name: figures.get(name) for name in device.figures()})

    def test_shapes(self):
        for name in ("train", "two_devices", "overflow"):
            for shape, change in SHAPES.items():
                with self.subTest(sample=name, shape=shape):
                    self.check(change(pickle.loads((SAMPLES / f"{name}.pickle").read_bytes())))

    def test_traces_for_device_traces(self):
        value = pickle.loads((SAMPLES / "train.pickle").read_bytes())
        wanted = self.report(SAMPLES / "train.pickle")
        value["traces"] = value.pop("device_traces")
        self.assertEqual(wanted["devices"], self.report(self.write(pickle.dumps(value)))["devices"])

    def test_addresses_of_64_bits(self):
        value = pickle.loads((SAMPLES / "train.pickle").read_bytes())
        wanted = self.report(SAMPLES / "train.pickle")["devices"]
        high = 1 << 63

        def shown(item):
            """Addresses that the report names, lifted too."""
            if isinstance(item, list):
                return [shown(each) for each in item]
            if isinstance(item, dict):
                return {key: hex(int(each, 16) + high) if key == "address" else shown(each) for key, each in item.items()}
            return item

        wanted = shown(wanted)

        def lift(item):
            for key in ("addr", "address"):
                if key in item:
                    item[key] += high

        for segment in value["segments"]:
            lift(segment)
            for block in segment["blocks"]:
                lift(block)
        for events in value["device_traces"]:
            for event in events:
                lift(event)
        for content in (pickle.dumps(value), jit_pickle(copy.deepcopy(value))):
            self.assertEqual(wanted, self.report(self.write(content))["devices"])

    def test_names_without_end(self):
        """Of a name the beginning is kept, of a file the end, and neither costs more with every frame that has it."""
        value = pickle.loads((SAMPLES / "one_event.pickle").read_bytes())
        frames = [{"filename": "d" * MIB + f"/{i}.py", "line": 1, "name": "f" + "n" * MIB} for i in range(100)]
        for segment in value["segments"]:
            for block in segment["blocks"]:
                block["frames"] = frames
        path = self.write(pickle.dumps(value))
        page = self.folder / "page.html"
        self.assertEqual(0, self.run_strata("html", path, "-o", page).returncode)
        for each in (path, page):
            stack = self.report(each)["devices"][0]["top_at_peak"][0]["stack"]
            self.assertEqual("…" + ("d" * (1 << 14) + "/0.py")[-(1 << 14) + 3:], stack[0]["file"])
            self.assertEqual(("f" + "n" * (1 << 14))[:(1 << 14) - 3] + "…", stack[0]["name"])

    def test_unknown_keys_and_actions(self):
        value = pickle.loads((SAMPLES / "train.pickle").read_bytes())
        wanted = self.report(SAMPLES / "train.pickle")["devices"][0]
        value["news"] = {"deep": [{"er": (1, 2, {3})}], "self": None}
        value["news"]["self"] = value["news"]
        value["device_traces"][0].append({"action": "levitate", "addr": 1, "size": 2, "stream": 0, "news": b"x"})
        for segment in value["segments"]:
            segment["news"] = 1.5
        got = self.report(self.write(pickle.dumps(value)))
        self.assertEqual(wanted["peak_bytes"], got["devices"][0]["peak_bytes"])
        self.assertEqual(wanted["events"] + 1, got["devices"][0]["events"])
        self.assertIn("unknown_actions", self.codes(got))


class TrustTest(InputsTest):
    def load(self, name):
        return pickle.loads((SAMPLES / f"{name}.pickle").read_bytes())

    def diagnostics(self, value):
        return self.report(self.write(pickle.dumps(value)))["diagnostics"]

    def test_live_end(self):
        value = self.load("train")
        segment = max(value["segments"], key=lambda each: each["requested_size"])
        segment["requested_size"] -= 1234
        found = [each for each in self.diagnostics(value) if each["code"] == "live_end_differs"]
        self.assertEqual(1, len(found))
        self.assertIn("1,234 bytes more", found[0]["message"])

    def test_reserved_shift(self):
        value = self.load("train")
        value["device_traces"][0].append({"action": "segment_alloc", "addr": 1 << 40, "size": 100 << 40, "stream": 0})
        self.assertIn("reserved_shift", [each["code"] for each in self.diagnostics(value)])

    def test_reserved_without_final_segments(self):
        """Only changes are known then: the curve is raised to what is alive, and called a lower bound."""
        events = [alloc(4096, 700 * MIB), {"action": "segment_alloc", "addr": 1 << 40, "size": 200 * MIB, "stream": 0},
                  alloc(1 << 40, 150 * MIB), {"action": "oom", "size": 1 << 40, "device_free": 5, "stream": 0}]
        report = self.report(self.write(traces(*events)))
        device = report["devices"][0]
        self.assertEqual((700 * MIB, 900 * MIB), (device["reserved_start_bytes"], device["reserved_peak_bytes"]))
        self.assertEqual([900 * MIB], [each["reserved_bytes"] for each in device["oom_details"]])
        self.assertEqual([], device["oom_details"][0]["advice"])
        self.assertIn("reserved_shift", self.codes(report))
        text = self.run_strata("report", self.write(traces(*events))).stdout.decode()
        self.assertRegex(text, r"Reserved +900 MiB \([0-9,]+ bytes\) at least")
        self.assertRegex(text, r"Reserved +at least 900 MiB")

    def test_nothing_is_said_of_reserved_memory_that_is_not_known(self):
        events = [alloc(4096, 700 * MIB), {"action": "oom", "size": 1 << 40, "device_free": 5, "stream": 0}]
        path = self.write(traces(*events))
        self.assertEqual([], self.report(path)["devices"][0]["oom_details"][0]["advice"])
        self.assertRegex(self.run_strata("report", path).stdout.decode(), "Reserved, not in use +unknown")
        path = self.write(traces(events[1]))
        self.assertEqual(["nothing_in_use"], [each["code"] for each in self.report(path)["devices"][0]["oom_details"][0]["advice"]])

    def test_empty_snapshot(self):
        for content in ({"segments": [], "device_traces": [[], []]}, []):
            with self.subTest(content=content):
                report = self.report(self.write(pickle.dumps(content)))
                self.assertEqual(([], ["empty_snapshot"]), (report["devices"], self.codes(report)))

    def test_one_is_not_many(self):
        messages = {each["code"]: each["message"] for each in self.diagnostics(
            {"segments": [], "device_traces": [[alloc(4096, 1), alloc(8192, 1), {"action": "nonsense", "addr": 0, "size": 0}, 7]]})}
        self.assertIn("1 list element is", messages["misplaced"])
        self.assertEqual("1 event left out: its action is not known.", messages["unknown_actions"])

    def test_a_nul_does_not_end_a_name(self):
        frames = [{"filename": "train.py", "name": "nul\0inside", "line": 3}]
        path = self.write(traces(alloc(4096, 1, frames=frames)))
        self.assertIn("train.py:3 nul\ufffdinside", self.run_strata("report", path).stdout.decode())

    def test_empty_device(self):
        value = self.load("train")
        value["segments"].append({"device": 5, "address": 4096, "total_size": 2 * MIB, "requested_size": 0,
                                  "blocks": [{"address": 4096, "size": 2 * MIB, "state": "inactive"}]})
        found = [each for each in self.diagnostics(value) if each["device"] == 5]
        self.assertEqual(["empty_device"], [each["code"] for each in found])

    def test_complete_recordings_are_trusted(self):
        for name in ("train", "oom", "two_devices", "expandable", "streams"):
            with self.subTest(sample=name):
                self.assertEqual([], self.report(SAMPLES / f"{name}.pickle")["diagnostics"])

    def test_truncation(self):
        content = (SAMPLES / "train.pickle").read_bytes()
        whole = self.report(SAMPLES / "train.pickle")["devices"][0]
        for name, cut in (("pickle", content[: len(content) * 2 // 3]),
                          ("gzip", gzip.compress(content)[: -len(gzip.compress(content)) // 3]),
                          ("page", memory_viz_page(content)[: len(content)])):
            for source in (self.write(cut), "-"):
                with self.subTest(input=name, source=source):
                    got = self.report(source, input=cut if source == "-" else None)
                    self.assertIn("truncated", self.codes(got))
                    self.assertLess(0, got["devices"][0]["events"])
                    self.assertLess(got["devices"][0]["events"], whole["events"])
        self.refused(self.write(content[:5000]), "(offset 5000)")


    def test_gzip_of_a_file_and_of_a_pipe(self):
        """A file's is inflated by ISA-L where the program has it, a pipe's by zlib: one answer, damaged or not."""
        packed = gzip.compress((SAMPLES / "oom.pickle").read_bytes(), mtime=0)
        # One bit of the header, of a code table, in the middle, of the check sum and of the size.
        cases = {f"bit {at}": packed[:at] + bytes([packed[at] ^ 4]) + packed[at + 1:]
                 for at in (3, 20, len(packed) // 2, len(packed) - 8, len(packed) - 1)}
        cases |= {f"cut at {at}": packed[:at] for at in (5, len(packed) // 2, len(packed) - 4)}
        for name, content in {"whole": packed, **cases}.items():
            with self.subTest(name):
                file, pipe = (self.run_strata("report", "--json", source, input=content if source == "-" else None)
                              for source in (self.write(content), "-"))
                self.assertEqual(file.returncode, pipe.returncode)
                self.assertEqual(file.stdout.replace(b'"file": "input"', b'"file": "stdin"'), pipe.stdout)
                self.assertEqual(file.stderr.split(b": ", 2)[2:], pipe.stderr.split(b": ", 2)[2:])
                self.assertEqual(file.returncode == 0, name == "whole" or name.startswith("cut") and name != "cut at 5")


class RefusalTest(InputsTest):
    def test_code(self):
        class Evil:
            def __reduce__(self):
                return os.system, ("touch /tmp/strata-was-here",)

        for protocol in range(6):
            content = pickle.dumps({"segments": [], "device_traces": [[Evil()]]}, protocol=protocol)
            with self.subTest(protocol=protocol):
                self.refused(self.write(content), "posix.system is refused: it would run code")

    def test_kinds(self):
        many = pickle.dumps({"device_traces": [[{"action": "alloc", "addr": 1, "size": 1}] for _ in range(1025)]})
        for content, text in ((b"", "the file is empty"), (gzip.compress(b""), "what is packed in the file is empty"),
                              (many, "more than 1,024 devices"), (b"hello, world", "not a memory snapshot"),
                              (b"\x89PNG\r\n\x1a\n", "not a memory snapshot"), (b"<html></html>", "holds no recording"),
                              (pickle.dumps([1, 2, 3]), "not a memory snapshot"),
                              (pickle.dumps({"state_dict": {}}), "not a memory snapshot"),
                              (torch_zip(b"", 0, False)[:80], "ends"), (gzip.compress(b"hello"), "not a memory snapshot")):
            with self.subTest(content=content[:20]):
                self.refused(self.write(content), text)

    def test_bombs(self):
        bomb = gzip.compress(b"\x80\x04](" + b"N" * (64 * MIB), 6)
        tree = gzip.compress(b'{"traceEvents":[["cpu_op"' + b",0" * (3 * MIB) + b"]]}")  # one value, within the limits
        for content in (bomb, gzip.compress(bomb), tree):
            path = self.write(content)
            self.refused(path, "--max-memory", "--max-memory", "32MiB")
            done = self.run_within(200 * MIB, "report", "--max-memory", "32MiB", path)
            self.assertEqual(1, done.returncode)
            self.assertIn(b"--max-memory", done.stderr)

    def test_reports_much_longer_than_their_input(self):
        """Long names that are met again in every stack: some 100 MB of JSON from a file of some 100 KB, which goes out
        without a buffer of its size."""
        outer = [{"filename": "f" * 16000, "name": "n" * 16000, "line": line} for line in range(40)]
        events = [{"action": "alloc", "addr": 512 * i, "size": 512, "stream": 0,
                   "frames": [{"filename": "a.py", "name": "f", "line": i}, *outer]} for i in range(100)]
        path = self.write(pickle.dumps({"segments": [], "device_traces": [events]}, protocol=4))
        arguments = ("report", "--json", "--top", "0", "--group", "stack")
        done = self.run_within(60 * MIB, *arguments, "--max-memory", "8MiB", path)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(100, len(json.loads(done.stdout)["devices"][0]["top_at_peak"]))
        self.assertLess(90 * MIB, len(done.stdout))


def traces(*events, **more):
    return pickle.dumps({"segments": [], "device_traces": [list(events)], **more}, protocol=4)


def alloc(address, size, **more):
    return {"action": "alloc", "addr": address, "size": size, "stream": 0, **more}


def zip_header(packed, raw, extra=b""):
    return b"PK\3\4" + struct.pack("<HHHHHIIIHH", 45, 0, 0, 0, 0, 0, packed, raw, 8, len(extra)) + b"data.pkl" + extra


MOST = (1 << 64) - 1
LONG = "/" + 16_000 * "n"
NASTY = {
    "brackets": b"[" * MIB,
    "objects": b'{"a":' * MIB,
    "deep, and skipped": b'{"zzz":' + b"[" * MIB + b"]" * MIB + b',"segments":[]}',
    "a string without end": b'{"traceEvents":[{"name":"' + b"\\u12" * MIB,
    "quotes in quotes": b'{"traceEvents":["' + b'" ' * MIB,
    "keys without end": b"{" + b",".join(b'"k%d":1' % i for i in range(100_000)) + b"}",
    "keys twice": b'{"segments":[],"segments":[],"device_traces":[[{"action":"alloc","action":"oom","addr":1,"addr":2,"size":3}]]}',
    "no numbers": b'{"device_traces":[[{"action":"alloc","addr":-5,"size":NaN},{"action":"alloc","addr":1e400,"size":-7},'
                  b'{"action":"alloc","addr":18446744073709551615,"size":99999999999999999999999,"stream":-1}]]}',
    "a profiler's nonsense": b'[{"ph":"i","name":"[memory]","ts":NaN,"args":{"Bytes":1e308,"Addr":-1,"Device Type":1e30,"Device Id":-1e30}}]',
    "a timeline's nonsense": b"[" + b"[1,1,-9223372036854775808,7],[2,1,9223372036854775807,7]," * 100 + b"[1,2,3,99]]",
    "largest numbers": traces(*(alloc(MOST - i, MOST, stream=MOST, time_us=i - (1 << 63)) for i in range(9)), segments=[
        {"device": 0, "address": -1, "total_size": MOST, "allocated_size": MOST, "active_size": -1, "stream": -1,
         "blocks": [{"address": MOST, "size": MOST, "requested_size": MOST, "state": "active_allocated"}] * 3}] * 3),
    "a long name in every frame": traces(*(alloc(i, 1, frames=[{"filename": LONG, "name": LONG, "line": i}]) for i in range(300_000))),
    "floats": traces(alloc(float("nan"), float("inf"), time_us=float("-inf"))),
    "one address": traces(*(alloc(5, i) for i in range(50_000))),
    "streams": traces(*(alloc(i, 1, stream=i) for i in range(70_000))),
    "devices": traces(segments=[{"device": i, "address": i, "total_size": 512, "blocks": []} for i in range(50_000)]),
    "lists of events": traces(device_traces=[[alloc(i, 1)] for i in range(50_000)]),
    "out of memory": traces(*({"action": "oom", "size": MOST, "device_free": -1 - i} for i in range(2_000))),
    "a device without anything": traces(),
    "marks": b"\x80\x04" + b"(" * MIB,
    "tuples": b"\x80\x04N" + b"\x85" * MIB + b".",
    "pops": b"\x80\x04" + b"N0" * MIB + b".",
    "a dict of one key": b"\x80\x04}(" + b"K\1K\1" * MIB + b"u.",
    "a string that is not there": b"\x80\x04\x8d" + b"\xff" * 8 + b"abc",
    "a frame that is not there": b"\x80\x04\x95" + b"\xff" * 8 + traces(alloc(1, 1))[11:],
    "an integer that is not there": b"\x80\x04\x8b\xff\xff\xff\x7f" + b"\xff" * 100,
    "a digit too many": b"(dp0\nI" + b"9" * MIB,
    "a memo of two billion": b"\x80\x04Nr\xff\xff\xff\xff.",
    "empty gzips": gzip.compress(b"") * 50_000,
    "zeros": gzip.compress(b"\0" * (64 * MIB)),
    "blanks": gzip.compress(b"[" + b" " * (64 * MIB)),
    "a zip of all bytes": zip_header(MOST >> 32, MOST >> 32, struct.pack("<HHQQ", 1, 16, MOST, MOST)) + traces(alloc(1, 1)),
    "a zip of some bytes": zip_header(MOST >> 32, MOST >> 32) + traces(alloc(1, 1)),
    "a page of noise": b"<!doctype html>const local_files = [{\"base64\":\"" + base64.b64encode(bytes(range(1, 256)) * 9000),
    "a page of ours, of noise": b'<!doctype html><script type="application/octet-stream" id="payload">'
                                + base64.b64encode(b"STRATAP1" + bytes(range(256)) * 9000) + b"</script>",
    "a page that only begins": b"<!doctype html>" + b"const local_files" * 100_000,
}


class NastyTest(InputsTest):
    """Each is answered in little memory, with a result or with one line that says why not."""

    def test_each(self):
        for name, content in NASTY.items():
            path = self.write(content)
            for verb in (("report", "--json"), ("html", "-f", "-o", "out"), ("png", "-f", "-o", "out")):
                with self.subTest(input=name, verb=verb[0]):
                    done = self.run_within(400 * MIB, *verb, "--max-memory", "64MiB", path, cwd=self.folder)
                    lines = done.stderr.decode(errors="replace").splitlines()
                    self.assertIn(done.returncode, (0, 1), lines)
                    if done.returncode == 1:
                        self.assertEqual(1, len(lines), lines)
                        self.assertRegex(lines[0], r'^strata: ".*": .{10,}')
                        self.assertFalse((self.folder / "out").exists())
                    elif verb[0] == "report":
                        self.assertEqual(1, json.loads(done.stdout)["schema"])
                    (self.folder / "out").unlink(missing_ok=True)


def long_recording(nbytes):
    """Segments first, a quarter of the file, then pairs of events."""
    segment = pickle.dumps({"device": 0, "address": 4096, "total_size": 2 * MIB, "blocks": []}, 2)[2:-1]
    events = b"".join(pickle.dumps({"action": action, "addr": 4096, "size": 512, "stream": 0}, 2)[2:-1]
                      for action in ("alloc", "free_completed"))
    segments, n_pairs = segment * (nbytes // 4 // len(segment)), nbytes * 3 // 4 // len(events)
    return b"\x80\x02}(U\x08segments](" + segments + b"eU\x0ddevice_traces](](" + events * n_pairs + b"eeu."


class ChangingFileTest(InputsTest):
    """Another program changes the file while it is read. The program is stopped in the middle of it by a signal, and only
    then is it looked at how far it has come, so that nothing depends on how long anything takes."""

    SIZE = 48 * MIB
    ATTEMPTS = 100

    @classmethod
    def setUpClass(cls):
        cls.content = long_recording(cls.SIZE)
        cls.segments_nbytes = cls.content.index(b"device_traces")

    def position(self, process, path):
        """How much of the file was read."""
        folder = pathlib.Path("/proc", str(process.pid))
        try:
            for descriptor in (folder / "fd").iterdir():
                if os.readlink(descriptor) == str(path.resolve()):
                    return int((folder / "fdinfo" / descriptor.name).read_text().split()[1])
        except OSError:
            pass  # closed meanwhile, or the program has ended
        return 0

    def is_stopped(self, process):
        """False: it has ended."""
        process.send_signal(signal.SIGSTOP)
        state = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return state.si_code == os.CLD_STOPPED

    def stop_within(self, path, least, most, *arguments):
        """Starts the program and stops it after it has read `least` bytes and before it has read `most`."""
        for _ in range(self.ATTEMPTS):
            process = subprocess.Popen([STRATA, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while process.poll() is None and self.position(process, path) < least:
                pass
            if self.is_stopped(process) and least <= self.position(process, path) < most:
                return process
            process.kill()
            process.communicate()
        self.fail("the program was never met in the middle of the file")

    def go_on(self, process):
        process.send_signal(signal.SIGCONT)
        stdout, stderr = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, stdout, stderr.decode(errors="replace")

    def expect_as(self, content, process):
        """The report of a file that never was anything but `content`, and that name."""
        code, stdout, stderr = self.go_on(process)
        self.assertEqual((0, ""), (code, stderr))
        still = self.folder / "still"
        still.mkdir(exist_ok=True)
        self.assertEqual(self.run_strata("report", "--json", self.write(content, "still/input")).stdout, stdout)
        return json.loads(stdout)

    def caught(self, content, *arguments, least=MIB):
        path = self.write(content)
        return path, self.stop_within(path, least, len(content) - MIB, *(arguments or ("report", "--json", path)))

    def test_shrinks_ahead(self):
        least = self.segments_nbytes + MIB
        for name, content in (("pickle", self.content), ("gzip", gzip.compress(self.content, 0))):
            with self.subTest(input=name):
                path, process = self.caught(content, least=least)
                cut = (self.position(process, path) + len(content)) // 2
                os.truncate(path, cut)
                self.assertIn("truncated", self.codes(self.expect_as(content[:cut], process)))

    def test_shrinks_behind(self):
        path, process = self.caught(self.content, least=self.segments_nbytes + MIB)
        seen = self.position(process, path)
        os.truncate(path, 10)
        self.assertIn("truncated", self.codes(self.expect_as(self.content[:seen], process)))

    def test_grows(self):
        least, half = self.segments_nbytes + MIB, len(self.content) // 2
        path, process = self.caught(self.content[:half], least=least)
        with path.open("ab") as stream:
            stream.write(self.content[half:])
        self.assertEqual([], [code for code in self.codes(self.expect_as(self.content, process)) if code == "truncated"])

    def test_changes(self):
        path, process = self.caught(self.content)
        at = (self.position(process, path) + len(self.content)) // 2
        with path.open("r+b") as stream:
            stream.seek(at)
            stream.write(b"\0" * 100)
        code, stdout, stderr = self.go_on(process)
        self.assertEqual((1, b""), (code, stdout))
        self.assertRegex(stderr, r'^strata: ".*": .*\(offset \d+\)\n$')

    def test_outputs_are_whole(self):
        """A page or a picture of a file that was cut is a whole one, and says it; without an event there is none."""
        for verb, end in (("html", b"</html>\n"), ("png", b"IEND\xaeB`\x82")):
            for least, cut in ((self.segments_nbytes + MIB, len(self.content) - 10), (MIB, self.segments_nbytes - 10)):
                with self.subTest(verb=verb, cut=cut):
                    output = self.folder / f"output.{verb}"
                    path = self.write(self.content)
                    process = self.stop_within(path, least, cut - MIB, verb, path, "-f", "-o", output)
                    os.truncate(path, cut)
                    code, _, stderr = self.go_on(process)
                    if cut > self.segments_nbytes:
                        self.assertEqual(0, code, stderr)
                        self.assertTrue(output.read_bytes().endswith(end))
                        if verb == "html":
                            self.assertIn("truncated", self.codes(self.report(output)))
                        output.unlink()
                    else:
                        self.assertEqual(1, code)
                        self.assertRegex(stderr, rf'^strata: ".*": .*\(offset {cut}\)\n$')
                    self.assertEqual([path.name], os.listdir(self.folder))


class MemoryTest(InputsTest):
    """Bytes that were taken, counted: not what the system says of the process."""

    def counts(self, n_events):
        path = self.folder / f"{n_events}.pickle"
        command = [sys.executable, SAMPLES / "generate.py", "--story", "train", "--events", str(n_events), "-o", path]
        subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S)
        done = subprocess.run([STATE_DUMP, "--memory", path], check=True, capture_output=True, timeout=TIMEOUT_S)
        events, columns, peak = map(int, done.stdout.split())
        self.assertAlmostEqual(n_events, events, delta=10)
        return events, columns, peak

    def test_columns_and_peak(self):
        few, many = self.counts(100_000), self.counts(300_000)
        for events, columns, _ in (few, many):
            self.assertLessEqual(columns / events, 40)
            self.assertGreater(columns / events, 8)  # the time alone
        (few_events, few_columns, few_peak), (many_events, many_columns, many_peak) = few, many
        self.assertLessEqual(many_columns / few_columns, 1.05 * many_events / few_events)
        self.assertLessEqual(many_peak / few_peak, many_events / few_events)


@unittest.skipUnless(CORPUS, "STRATA_CORPUS is not set")
class CorpusTest(InputsTest):
    def test_every_file_is_read_or_refused_for_its_reason(self):
        for entry in json.loads(pathlib.Path(CORPUS, "MANIFEST.json").read_text()):
            path = pathlib.Path(CORPUS, entry["file"])
            with self.subTest(file=entry["file"]):
                if entry["file"] == "memory_timeline_adam.html":
                    self.refused(path, "holds a picture and no data")
                else:
                    self.assertTrue(self.report(path)["devices"])

    def test_a_page_and_its_pickle(self):
        page, snapshot = (self.report(pathlib.Path(CORPUS, f"pytorch_blog_resnet50.{kind}")) for kind in ("html", "pickle"))
        self.assertEqual(snapshot["devices"], page["devices"])


if __name__ == "__main__":
    if not CORPUS:
        print("skipped: the corpus (STRATA_CORPUS is not set)", file=sys.stderr)
    unittest.main()
