#!/usr/bin/env python3
"""One recording in every encoding, and in the format of every version of PyTorch.

    STRATA=path/to/strata STATE_DUMP=path/to/state_dump [STRATA_CORPUS=folder with MANIFEST.json] inputs_test.py

Encodings must give the same report as the sample itself, formats the figures of an independent replay (replay.py).
"""

import base64
import copy
import gzip
import io
import json
import pathlib
import pickle
import sys
import unittest
import zipfile

sys.dont_write_bytecode = True
import replay  # noqa: E402
from inputs_case import CORPUS, InputsTest, MIB, SAMPLES, alloc, torch_zip, traces  # noqa: E402

sys.path.insert(0, str(SAMPLES))
from simulator.pickler import JitPickler  # noqa: E402

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


def jit_pickle(value):
    stream = io.BytesIO()
    JitPickler(stream.write).dump(value)
    return stream.getvalue()


def memory_viz_page(data):
    data += b"\0" * (3 - len(data) % 3)
    files = [{"name": "snapshot.pickle", "base64": base64.b64encode(data).decode()}]
    return (VIZ_PAGE % json.dumps(files)).encode()


def encodings(value):
    """(name, bytes) of one recording in every encoding that Strata reads."""
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

    def test_names_in_invalid_utf8(self):
        value = pickle.loads((SAMPLES / "one_event.pickle").read_bytes())
        text = "strangely_named_function"
        for segment in value["segments"]:
            for block in segment["blocks"]:
                block["frames"] = [{"filename": "a.py", "line": 1, "name": text}]
        content = jit_pickle(value).replace(text.encode(), text.encode()[:-3] + b"\xff\x00\xed")
        self.assertTrue(self.report(self.write(content))["devices"][0]["live_at_peak"])


def without(keys):
    """A change of a snapshot that removes these keys at every depth."""

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


def of_xpu(value):
    """torch/csrc/xpu/memory_snapshot.cpp (pytorch/pytorch#168262): Level Zero's addresses are above 2^63 and written as signed numbers; an
    event without a context has no frames, and none has a pool."""
    for entry in [*value["segments"], *(block for segment in value["segments"] for block in segment["blocks"]), *(event for events in value["device_traces"] for event in events)]:
        for key in {"addr", "address"} & set(entry):
            entry[key] += 0xFF00000000000000 - (1 << 64)
        if entry.get("action", "").startswith("free"):
            del entry["frames"]
        entry.pop("pool_id", None)
    value["allocator_settings"] = {"PYTORCH_ALLOC_CONF": "", "expandable_segments": False}
    return value


def of_mlx(value):
    """The memory_viz form that MLX plans (ml-explore/mlx#3954): each buffer of Metal is a segment of one block, there
    are no streams, and freed memory is free at once."""
    value["segments"] = [{"device": segment["device"], "address": block["address"], "total_size": block["size"], "allocated_size": block["size"],
                          "active_size": block["size"], "stream": 0, "segment_type": "large", "frames": block["frames"],
                          "blocks": [block]} for segment in value["segments"] for block in segment["blocks"] if block["state"] == "active_allocated"]
    value["device_traces"] = [[{key: event[key] for key in ("action", "addr", "size", "frames", "time_us")} for event in events
                               if event["action"] in ("alloc", "free_completed")] for events in value["device_traces"]]
    return {key: value[key] for key in ("segments", "device_traces")}


def of_viewer(value):
    """memory_viz's own pages: a request and its completion are one action."""
    value["device_traces"] = [[dict(event, action="free") if event["action"] == "free_completed" else event for event in events
                               if event["action"] != "free_requested"] for events in value["device_traces"]]
    return value


SHAPES = {
    "XPU": of_xpu,
    "MLX": of_mlx,
    "memory_viz": of_viewer,
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

    def test_events_without_a_snapshot_around_them(self):
        events = [alloc(4096 * i, i) for i in range(1, 41)]
        wanted = self.report(self.write(traces(*events)))["devices"]
        for value in (events, {"device_traces": events}):
            for content in (pickle.dumps(value), jit_pickle(value), json.dumps(value).encode()):
                self.assertEqual(wanted, self.report(self.write(content))["devices"])

    def test_addresses_of_64_bits(self):
        value = pickle.loads((SAMPLES / "train.pickle").read_bytes())
        wanted = self.report(SAMPLES / "train.pickle")["devices"]
        high = 1 << 63

        def shown(item):
            """Raises the addresses that the report names, too."""
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

    def test_very_long_names(self):
        """A very long name keeps its beginning, a path its end, and neither is stored again for each frame."""
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
        """Then only changes are known. The curve is raised to the live bytes and called a lower bound."""
        events = [alloc(4096, 700 * MIB), {"action": "segment_alloc", "addr": 1 << 40, "size": 200 * MIB, "stream": 0},
                  alloc(1 << 40, 150 * MIB), {"action": "oom", "size": 1 << 40, "device_free": 5, "stream": 0}]
        report = self.report(self.write(traces(*events)))
        device = report["devices"][0]
        self.assertEqual((700 * MIB, 900 * MIB), (device["reserved_start_bytes"], device["reserved_peak_bytes"]))
        self.assertEqual([900 * MIB], [each["reserved_bytes"] for each in device["oom_details"]])
        self.assertEqual([], device["oom_details"][0]["advice"])
        self.assertIn("reserved_shift", self.codes(report))
        text = self.run_strata("report", "--full", self.write(traces(*events))).stdout.decode()
        self.assertRegex(text, r"Reserved +900 MiB \([0-9,]+ bytes\) at least")
        self.assertRegex(text, r"Reserved +at least 900 MiB")

    def test_unknown_reserved_memory_has_no_figures(self):
        events = [alloc(4096, 700 * MIB), {"action": "oom", "size": 1 << 40, "device_free": 5, "stream": 0}]
        path = self.write(traces(*events))
        self.assertEqual([], self.report(path)["devices"][0]["oom_details"][0]["advice"])
        self.assertRegex(self.run_strata("report", "--full", path).stdout.decode(), "Reserved, not in use +unknown")
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
        self.assertIn("1 list element was left out: it is of another type", messages["misplaced"])
        self.assertEqual("1 event was left out: its action is not known.", messages["unknown_actions"])

    def test_a_list_of_events_that_begins_with_something_else(self):
        events = [alloc(4096 * i, i) for i in range(1, 41)]
        for first in ([1], None, 7, "x"):
            with self.subTest(first=first):
                report = self.report(self.write(pickle.dumps({"segments": [], "device_traces": [[first, *events]]})))
                self.assertEqual([40], [device["events"] for device in report["devices"]])
                self.assertEqual(["misplaced"], self.codes(report))

    def test_a_nul_does_not_end_a_name(self):
        frames = [{"filename": "train.py", "name": "nul\0inside", "line": 3}]
        path = self.write(traces(alloc(4096, 1, frames=frames)))
        self.assertIn("train.py:3 nul\ufffdinside", self.run_strata("report", "--full", path).stdout.decode())

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
        """ISA-L (if built in) inflates files, zlib inflates pipes; both give one answer, damaged or not."""
        packed = gzip.compress((SAMPLES / "oom.pickle").read_bytes(), mtime=0)
        # Flips one bit: of the header, of a code table, in the middle, of the checksum and of the size.
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
