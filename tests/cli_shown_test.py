#!/usr/bin/env python3
"""Which device the command line shows, which part of it, and the figures of a report."""

import json
import pickle
import re
import struct
import sys
import unittest

sys.dont_write_bytecode = True
from cli_case import Case, MIB, SAMPLES, events_of, frame, snapshot  # noqa: E402
from fingerprint import xxh128  # noqa: E402


def idat(png):
    """The decompressed pixels of a PNG."""
    at, pixels = 8, b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at:at + 4])
        if png[at + 4:at + 8] == b"IDAT":
            pixels += png[at + 8:at + 8 + length]
        at += length + 12
    return pixels


class Devices(Case):
    def setUp(self):
        super().setUp()
        self.write("s.pickle", snapshot(events_of([1024]), [], events_of([512, 512]), events_of([99, 9999])))

    def test_default_has_the_most_events_and_then_the_highest_peak(self):
        for verb in ("html", "png"):
            self.expect(0, verb, "s.pickle", says=r"device 3 is shown; -d shows another: 0 \(3 events\), 2 \(6 events\)")

    def test_chosen(self):
        result = self.expect(0, "png", "-d", "2", "s.pickle", "-o", "two.png")
        self.assertNotIn(b"is shown", result.stderr)
        self.expect(0, "png", "-d", "0", "s.pickle", "-o", "zero.png")
        self.assertNotEqual((self.path / "two.png").read_bytes(), (self.path / "zero.png").read_bytes())
        self.assertEqual([d["device"] for d in self.report("-d2", "s.pickle")["devices"]], [2])
        self.assertEqual([d["device"] for d in self.report("s.pickle")["devices"]], [0, 2, 3])

    def test_chosen_while_another_device_ran_out_of_memory(self):
        trace = events_of([1024])
        oom = events_of([1024]) + [{"action": "oom", "size": 1 << 40, "device_free": 77, "stream": 0, "time_us": trace[-1]["time_us"]}]
        segments = [{"device": 1, "address": 1 << 40, "total_size": MIB, "stream": 0, "segment_type": "large",
                     "allocated_size": 0, "active_size": 0, "requested_size": 0, "blocks": []}]
        self.write("s.pickle", {**snapshot(trace), "segments": segments})
        self.write("oom.pickle", snapshot(trace, oom))
        for verb in ("html", "png", "report"):
            for name, device, note in (
                ("s.pickle", 1, r"device 1 has no events; -d shows another: 0 \(3 events\)\n"),
                ("oom.pickle", 0, r"device 0 did not run out of memory; -d shows another: 1 \(4 events, ran out of memory\)\n"),
                ("s.pickle", 0, None), ("oom.pickle", 1, None),
            ):
                talk = self.expect(0, verb, "-d", str(device), name, "-fo", "out").stderr.decode()
                self.assertEqual(len(re.findall(note or "-d shows", talk)), 1 if note else 0, talk)
                self.assertEqual(self.expect(0, verb, "-d", str(device), name, "-qfo", "out").stderr, b"")

    def test_absent(self):
        for verb in ("html", "png", "report"):
            self.expect(2, verb, "-d", "1", "s.pickle",
                        says=r"has no device 1; there are: 0 \(3 events\), 2 \(6 events\), 3 \(6 events\)")
        self.assertEqual(self.files(), ["s.pickle"])

    def test_nothing_recorded(self):
        self.write("none.pickle", snapshot([], []))
        for verb in ("html", "png"):
            self.expect(1, verb, "none.pickle", says="no device has events, blocks or segments")
        self.assertEqual(self.report("none.pickle")["devices"], [])
        self.assertIn(b"nothing was recorded", self.expect(0, "report", "--full", "none.pickle").stdout)
        self.assertEqual(self.files(), ["none.pickle", "s.pickle"])


class Window(Case):
    def setUp(self):
        super().setUp()
        self.write("s.pickle", snapshot(events_of([1 << i for i in range(10, 30)])))  # peak: event 19 of 60

    def pixels(self, *words):
        return idat(self.expect(0, "png", "s.pickle", "-q", "-o", "-", "--width=400", "--height=300", *words).stdout)

    def test_positions(self):
        whole = self.pixels()
        for one, other in (
            (("--from=peak-5", "--to=peak+5"), ("--from", "14", "--to", "25")),
            (("--from=5ms", "--to=0.030s"), ("--from=5", "--to=30")),
            (("--from=10",), ("--from=10", "--to=60")),
            (("--to=10",), ("--from=peak-1000", "--to=10")),
        ):
            self.assertEqual(self.pixels(*one), self.pixels(*other), (one, other))
            self.assertNotEqual(self.pixels(*one), whole)
        self.assertNotEqual(self.pixels("--axis=time", "--from=5ms"), self.pixels("--from=5ms"))

    def test_impossible_windows(self):
        for words, why in ((("--from=20", "--to=20"), "no events between"), (("--from=30", "--to=10"), "no events between"),
                           (("--from=oom-20",), "no out-of-memory event"), (("--from=100",), "event 100 is beyond the recording, whose events are 0 to 59")):
            self.expect(2, "png", "s.pickle", *words, says=why)
        trace = events_of([1024])
        for event in trace:
            del event["time_us"]
        self.write("timeless.pickle", snapshot(trace))
        self.expect(2, "png", "timeless.pickle", "--axis", "time", says="has no times")
        self.expect(2, "png", "timeless.pickle", "--from", "1s", says="has no times")
        self.assertEqual(self.files(), ["s.pickle", "timeless.pickle"])

    def test_out_of_memory(self):
        trace = events_of([1 << i for i in range(10, 30)])[:15]
        trace.append({"action": "oom", "size": 1 << 40, "device_free": 77, "stream": 0, "time_us": trace[-1]["time_us"]})
        self.write("s.pickle", snapshot(trace))
        self.assertEqual(self.pixels("--from=oom-5", "--to=oom"), self.pixels("--from=10", "--to=16"))
        self.assertEqual(self.pixels("--axis=time", "--from=5ms", "--to=oom"), self.pixels("--axis=time", "--from=5ms"))

    def test_named_ends_are_shown(self):
        self.assertEqual(self.pixels("--from=peak-5", "--to=peak"), self.pixels("--from=14", "--to=20"))
        self.assertEqual(self.pixels("--from=peak-5", "--to=peak-1"), self.pixels("--from=14", "--to=19"))
        self.assertEqual(self.pixels("--axis=time", "--from=5ms", "--to=peak"),
                         self.pixels("--axis=time", "--from=5ms", "--to=20ms"))
        self.expect(2, "png", "s.pickle", "--to=peak-100", says="no events between")
        self.expect(0, "png", "s.pickle", "-o", "one.png", "--from=peak", "--to=peak")

    def test_named_end_among_events_of_one_microsecond(self):
        trace = events_of([1 << i for i in range(10, 30)])
        for i, event in enumerate(trace):
            event["time_us"] = trace[0]["time_us"] + i // 10 * 1000  # the peak, event 19, ends the second ten
        self.write("s.pickle", snapshot(trace))
        for end in ("peak", "peak-3"):
            self.assertEqual(self.pixels("--axis=time", "--from=0ms", f"--to={end}"),
                             self.pixels("--axis=time", "--from=0ms", "--to=2ms"))


class Report(Case):
    def test_figures(self):
        frames = [frame("linear", "/opt/python3.12/site-packages/torch/nn/functional.py", 9),
                  frame("forward", "/home/user/model.py", 12), frame("main", "/home/user/train.py", 99)]
        trace = events_of([1000, 3000, 500], frames=frames)
        segment = {"device": 0, "address": 1 << 40, "total_size": 2 * MIB, "allocated_size": 1024, "active_size": 1024,
                   "requested_size": 700, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0),
                   "is_expandable": False, "frames": [], "blocks": [
                       {"address": 1 << 40, "size": 1024, "requested_size": 700, "state": "active_allocated",
                        "frames": [frame("load", "/home/user/data.py", 3)]},
                       {"address": (1 << 40) + 1024, "size": 2 * MIB - 1024, "requested_size": 0, "state": "inactive",
                        "frames": []}]}
        content = snapshot(trace)
        content["segments"].append(segment)
        self.write("s.pickle", content)
        report = self.report("s.pickle")
        self.assertEqual((report["schema"], report["file"], report["kind"]), (3, "s.pickle", "snapshot"))
        device = report["devices"][0]
        expected = {"device": 0, "events": 9, "allocations": 4, "preexisting": 1, "start_bytes": 700,
                    "peak_bytes": 5200, "peak_event": 2, "end_bytes": 700, "live_at_peak": 4,
                    "reserved_start_bytes": 2 * MIB, "reserved_peak_bytes": 2 * MIB, "reserved_end_bytes": 2 * MIB}
        self.assertEqual({key: device[key] for key in expected}, expected)
        first, second = device["top_at_peak"]
        self.assertEqual((first["bytes"], first["count"], first["site"]), (4500, 3, "model.py:12 forward"))
        self.assertAlmostEqual(first["share"], 4500 / 5200, places=5)
        self.assertEqual([(f["file"], f["line"], f["name"]) for f in first["stack"]],
                         [(f["filename"], f["line"], f["name"]) for f in frames])
        self.assertEqual((second["bytes"], second["count"], second["site"]), (700, 1, "data.py:3 load"))
        text = self.expect(0, "report", "--full", "s.pickle").stdout.decode()
        for words in ("5.1 KiB (5,200 bytes) after event 2", "model.py:12 forward", "train.py:99 main", "700 bytes"):
            self.assertIn(words, text)

    def test_integers_are_exact(self):
        sizes = [(1 << 53) + 1, (1 << 60) + 3]
        self.write("s.pickle", snapshot(events_of(sizes, frames=[frame("f", line=2**64 - 1)])))
        result = self.expect(0, "report", "--json", "s.pickle")
        self.assertIn(b'"peak_bytes": %d,' % sum(sizes), result.stdout)
        device = json.loads(result.stdout)["devices"][0]
        self.assertEqual(device["top_at_peak"][0]["bytes"], sum(sizes))
        self.assertEqual(device["top_at_peak"][0]["stack"][0]["line"], 0)

    def test_top_and_group(self):
        trace = []
        for i in range(30):
            frames = [frame("work", line=i % 25), frame("caller", line=i)]
            trace += events_of([1000 + i], frames=frames, address=(1 << 40) + i * MIB)[:1]
        self.write("s.pickle", snapshot(trace))
        for words, count in (([], 20), (["--top=0"], 25), (["--top", "3"], 3), (["--top=0", "--group=stack"], 30)):
            groups = self.report("s.pickle", *words)["devices"][0]["top_at_peak"]
            self.assertEqual(len(groups), count)
            self.assertEqual([g["bytes"] for g in groups], sorted((g["bytes"] for g in groups), reverse=True))
        self.assertEqual(sum(g["bytes"] for g in self.report("s.pickle", "--top=0")["devices"][0]["top_at_peak"]),
                         sum(range(1000, 1030)))
        self.assertIn(b"Not listed: 5 rows with", self.expect(0, "report", "--full", "s.pickle").stdout)

    def oom_snapshot(self, expandable):
        trace = events_of([10 * MIB, 20 * MIB])[:2]
        base = trace[0]["addr"]
        trace.append({"action": "oom", "size": 64 * MIB, "device_free": 5 * MIB, "stream": 0,
                      "time_us": trace[-1]["time_us"], "frames": [frame("big", line=5)]})
        blocks = [(base, 10 * MIB, "active_allocated"), (base + 10 * MIB, 90 * MIB, "inactive")]
        content = snapshot(trace)
        content["segments"] = [
            {"device": 0, "address": base, "total_size": 100 * MIB, "allocated_size": 10 * MIB, "active_size": 10 * MIB,
             "requested_size": 10 * MIB, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
             "is_expandable": expandable, "frames": [], "blocks": [
                 {"address": a, "size": n, "requested_size": n if s != "inactive" else 0, "state": s, "frames": []}
                 for a, n, s in blocks]},
            {"device": 0, "address": trace[1]["addr"], "total_size": 20 * MIB, "allocated_size": 20 * MIB,
             "active_size": 20 * MIB, "requested_size": 20 * MIB, "stream": 0, "segment_type": "large",
             "segment_pool_id": (0, 0), "is_expandable": expandable, "frames": [], "blocks": [
                 {"address": trace[1]["addr"], "size": 20 * MIB, "requested_size": 20 * MIB,
                  "state": "active_allocated", "frames": []}]}]
        content["allocator_settings"] = {"expandable_segments": expandable, "PYTORCH_CUDA_ALLOC_CONF": ""}
        return content

    def test_out_of_memory(self):
        self.write("off.pickle", self.oom_snapshot(False))
        self.write("on.pickle", self.oom_snapshot(True))
        self.assertEqual(self.report("off.pickle")["devices"][0]["oom"],
                         [{"event": 2, "requested_bytes": 64 * MIB, "device_free_bytes": 5 * MIB}])
        off = self.expect(0, "report", "--full", "off.pickle").stdout.decode()
        on = self.expect(0, "report", "--full", "on.pickle").stdout.decode()
        for text in (off, on):
            for words in ("Requested             64 MiB", "Free on the GPU       5 MiB", "Reserved              120 MiB",
                          "In use                30 MiB", "Reserved, not in use  90 MiB",
                          "Largest free block    90 MiB"):
                self.assertIn(words, text)
        self.assertIn("expandable_segments:True", off)
        self.assertNotIn("expandable_segments:True", on)

    def test_hostile_names(self):
        names = ["<script>alert(1)</script>", "a|b", "`tick`", "``two``", "new\nline", "\x1b[31mred", "@someone",
                 "nul\0byte", "lone\udc80surrogate", "\u202eright to left", "back\\|slash", "# heading"]
        trace = []
        for i, name in enumerate(names):
            frames = [frame(name, f"/home/{name}/x.py", i + 1)]
            trace += events_of([100_000 - i], frames=frames, address=(1 << 40) + i * MIB)[:1]
        self.write("s.pickle", pickle.dumps(snapshot(trace), protocol=4))
        for words in ([], ["--markdown"], ["--json"]):
            out = self.expect(0, "report", *words, "s.pickle").stdout
            text = out.decode("utf-8")
            self.assertFalse(set(text) & set("\x00\x1b"), words)
        groups = self.report("s.pickle")["devices"][0]["top_at_peak"]
        shown = [g["stack"][0]["name"] for g in groups]
        self.assertEqual(shown[:7], names[:7])
        self.assertEqual(shown[7], "nul\ufffdbyte")
        self.assertRegex(shown[8], "^lone\ufffd+surrogate$")
        self.assertEqual(shown[9:], names[9:])
        markdown = self.expect(0, "report", "--markdown", "s.pickle").stdout.decode()
        rows = [line for line in markdown.split("<details>")[1].splitlines() if ".py:" in line]
        self.assertEqual(len(rows), len(names))
        for row in rows:  # outside of code there is nothing but figures and bars, and exactly five cells
            bare = re.sub(r"(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", row)
            self.assertRegex(bare, r"^\|[\d.,\sKiMB]+\|[\s\d<>%]+\|[ \d]+\| +\| +\|$")
            self.assertEqual(len(re.findall(r"(?<!\\)\|", row)), 6, row)

    def test_totals_that_are_written_alike_are_practically_the_same(self):
        for name, size in (("a", 1 << 30), ("b", (1 << 30) + 4), ("c", 3 << 29)):
            self.write(f"{name}.pickle", snapshot(events_of([size])))
        text = self.expect(0, "diff", "a.pickle", "b.pickle").stdout.decode()
        self.assertIn("A and B hold practically the same, 1.0 GiB; B has 4 B more.", text)
        text = self.expect(0, "diff", "a.pickle", "c.pickle").stdout.decode()
        self.assertIn("B holds 512 MiB more than A: 1.5 GiB instead of 1.0 GiB.", text)

    def test_markdown_and_text_agree(self):
        self.write("s.pickle", snapshot(events_of([1024, 99999] * 4)))
        text = self.expect(0, "report", "--full", "s.pickle").stdout.decode()
        markdown = self.expect(0, "report", "--markdown", "s.pickle").stdout.decode()
        for heading in ("What to know", "Summary", "At the peak", "Steps and phases", "Fragmentation", "Trust"):
            self.assertRegex(text, rf"(?m)^{heading}$")
            self.assertRegex(markdown, rf"(?m)^#### {heading}$")
        figures = re.compile(r"[\d,]+ bytes|[\d.]+ [KMG]iB")
        markdown = markdown.split("<details>")[1].replace("\N{NO-BREAK SPACE}", " ")
        self.assertEqual(figures.findall(text), figures.findall(markdown))

    def test_samples(self):
        samples = sorted(SAMPLES.glob("*.pickle"))
        if not samples:
            self.skipTest("no samples")
        for sample in samples:
            report = self.report(str(sample), "--top=0")
            self.assertEqual(report["file"], sample.name)
            self.assertEqual(report["fingerprint"], xxh128(sample.read_bytes()))
            for device in report["devices"]:
                groups = device["top_at_peak"]
                self.assertEqual(sum(g["bytes"] for g in groups), device["peak_bytes"], sample.name)
                self.assertEqual(sum(g["count"] for g in groups), device["live_at_peak"], sample.name)
            for words in ([], ["--markdown"], ["--group=stack"]):
                self.expect(0, "report", str(sample), *words)


if __name__ == "__main__":
    unittest.main()
