#!/usr/bin/env python3
"""The command line, as a person or a script meets it: help, usage, talk, devices, windows, figures of a report."""

import base64
import contextlib
import fcntl
import json
import os
import pickle
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import unittest
import zlib

sys.dont_write_bytecode = True
from cli_case import Case, MIB, SAMPLES, TIMEOUT_S, events_of, frame, long_snapshot, snapshot  # noqa: E402
from fingerprint import xxh128  # noqa: E402


def idat(png):
    """The compressed pixels of a PNG."""
    at, pixels = 8, b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at:at + 4])
        if png[at + 4:at + 8] == b"IDAT":
            pixels += png[at + 8:at + 8 + length]
        at += length + 12
    return pixels


class Help(Case):
    def test_general_help_lists_the_verbs(self):
        for words in (["-h"], ["--help"], ["help"]):
            result = self.expect(0, *words)
            self.assertRegex(result.stdout, b"(?m)^  html .*\n  png .*\n  report ")
            self.assertEqual(result.stderr, b"")

    def test_help_of_each_verb_has_its_options_and_examples(self):
        for verb, option in (("html", b"--theme"), ("png", b"--width"), ("report", b"--markdown")):
            for words in ([verb, "-h"], [verb, "x.pickle", "--help"], ["help", verb]):
                result = self.expect(0, *words)
                self.assertIn(b"Usage: strata " + verb.encode(), result.stdout)
                self.assertIn(option, result.stdout)
                self.assertIn(b"Examples:\n  strata ", result.stdout)

    def test_help_fits_a_terminal(self):
        verbs = re.findall(r"(?m)^  ([a-z]+) {2}", self.expect(0, "-h").stdout.decode())
        self.assertIn("check", verbs)
        for words in ([], *([verb] for verb in verbs)):
            for line in self.expect(0, *words, "-h").stdout.decode().splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_version(self):
        for words in (["-V"], ["--version"], ["png", "-V"]):
            self.assertRegex(self.expect(0, *words).stdout, rb"^strata \d+\.\d+\.\d+\S*\n$")

    def test_full_output_is_an_error(self):
        with open("/dev/full", "wb") as full:
            self.expect(1, "-h", stdout=full, says="No space left")


class Usage(Case):
    def test_nothing_named(self):
        listed = self.expect(2, says=r"^strata: no snapshot").stdout
        self.assertRegex(listed, b"(?m)^  html .*\n  png .*\n  report ")
        for verb in ("html", "png", "report"):
            self.expect(2, verb, says=r"no snapshot was given")

    def test_habits(self):
        self.write("s.pickle", snapshot(events_of([1024] * 20)))
        for ending, begin in ((".png", b"\x89PNG"), (".html", b"<!doctype html>"), (".md", b"#"), (".json", b"{"), (".txt", b"M")):
            for words in (("-o", "x" + ending), ("-fqox" + ending,), ("-f", "--output=x" + ending)):
                self.expect(0, "s.pickle", *words)
                self.assertTrue((self.path / ("x" + ending)).read_bytes().lower().startswith(begin.lower()), ending)
        for words in (("html", "-o", "y.png"), ("png", "-o", "y.html"), ("report", "-o", "y.png"), ("report", "-o", "y.csv"),
                      ("report", "--json", "-o", "y.md"), ("report", "--markdown", "-o", "y.txt"),
                      ("whatif", "--json", "-o", "y.md")):
            self.expect(2, *words, "s.pickle", says=r'"y\.[a-z]+": is the name of ')
        for words, answer in ((("segments",), "png --map"), (("segment_plot", "s.pickle"), "png --map s.pickle"),
                              (("memory",), "report"), (("stats",), "report"), (("trace",), "html"),
                              (("compare", "a", "b"), "diff a b")):
            self.expect(2, *words, says=f"`strata {answer}")
        self.assertRegex(self.expect(0, "version").stdout, rb"^strata \d+\.")
        self.expect(1, "t.pickle", says=r'No such file or directory; did you mean "s\.pickle"\?')
        self.expect(2, ".", says=r"did you mean `strata batch \. -o DIR`\?")
        self.expect(2, "s.pickle", "s.pickle", says=r"did you mean `strata batch s\.pickle s\.pickle -o DIR`\?")
        self.expect(2, "whatif", "--gpu=80", "s.pickle", says=r"--gpu: 80 bytes\? write 80GiB")
        self.expect(2, "html", "--capacity", "500", "s.pickle", says=r"--capacity: 500 bytes\? write 500GiB")
        self.expect(2, "check", "--rule", "peak < 75", "s.pickle", says=r"75 bytes\? write 75GiB")
        for option in ("--at=60", "--from=1000", "--to=61", "--at=9s", "--to=9s"):
            for verb in ("html", "png"):
                self.expect(2, verb, "-o-", option, "s.pickle", says="is beyond the recording, whose (events|times) are 0 to")
        self.expect(0, "png", "-q", "s.pickle")
        self.expect(0, "png", "-q", "--map", "s.pickle")
        self.assertIn("s.map.png", self.files())
        data = (self.path / "s.pickle").read_bytes()
        for nbytes in (len(data) // 2, 20):
            self.write("cut.pickle", data[:nbytes])
            lines = self.run_strata("report", "cut.pickle").stderr.decode().splitlines()
            self.assertEqual(len(lines), 1, lines)
            self.assertIn("cut off", lines[0])

    def test_mistyped_verb(self):
        (self.path / "known.pickle").write_bytes((SAMPLES / "one_event.pickle").read_bytes())
        self.expect(0, "trace_plot", "-q", "known.pickle", "-o", "known.html")
        self.expect(0, "html", "-q", "known.pickle", "-o", "same.html")
        self.assertEqual((self.path / "known.html").read_bytes(), (self.path / "same.html").read_bytes())
        self.expect(2, "repotr", "x.pickle", says=r'"repotr" is neither a verb nor a file; did you mean "report"\?')
        self.expect(2, "htm", says=r'did you mean "html"')
        result = self.expect(2, "zebra", says=r'"zebra" is neither')
        self.assertNotIn(b"did you mean", result.stderr)

    def test_file_named_like_a_mistyped_verb(self):
        self.write("repor", snapshot(events_of([1024])))
        self.expect(0, "repor", "-o", "x.html")

    def test_mistyped_option(self):
        for words, meant in (
            (("png", "--colour-by", "site"), "--color-by"),
            (("png", "--widht=5"), "--width"),
            (("report", "--jsno"), "--json"),
            (("report", "--mark"), "--markdown"),
            (("html", "--capcity=1G"), "--capacity"),
            (("html", "--max-memroy=1G"), "--max-memory"),
        ):
            self.expect(2, *words, "x.pickle", says=rf"did you mean {meant}\?")
        result = self.expect(2, "html", "--xyzzy", "x.pickle", says="unknown option --xyzzy\n")
        self.assertIn(b"Try: strata html -h", result.stderr)

    def test_option_of_another_verb(self):
        self.expect(2, "report", "--width", "5", "x.pickle", says="--width is not an option of report")
        self.expect(2, "html", "--json", "x.pickle", says="--json is not an option of html")

    def test_unknown_letter_and_missing_value(self):
        self.expect(2, "html", "-z", "x.pickle", says="unknown option -z")
        self.expect(2, "html", "x.pickle", "-o", says="--output needs a value")
        self.expect(2, "png", "x.pickle", "--width", says="--width needs a value")
        self.expect(2, "report", "--json=yes", "x.pickle", says="--json takes no value")

    def test_a_page_opens_with_the_view_that_was_asked_for(self):
        self.write("s.pickle", snapshot(events_of([1024] * 300)))
        for words, view in ((("--from=10", "--to=20"), "axis=events&window=10.000_20.000"), (("--at=peak",), "&at=299"),
                            (("--hide-internal",), "&filter=own%3Ayes"), (("--axis=time",), "&axis=time"), ((), None)):
            self.expect(0, "html", "-fo", "x.html", *words, "s.pickle")
            payload = re.search(rb'id="payload">([^<]*)<', (self.path / "x.html").read_bytes()).group(1)
            found = b'"view":"' in self.unpacked(base64.b64decode(payload))
            self.assertEqual(found, view is not None, words)
            if view:
                self.assertIn(view.encode(), self.unpacked(base64.b64decode(payload)), words)
        self.expect(2, "html", "-o", "y.html", "--from=7", "--to=7", "s.pickle", says="leave no events between them")
        self.expect(2, "html", "-o", "y.html", "--at=oom", "s.pickle", says="--at: ")
        self.assertNotIn("y.html", self.files())

    @staticmethod
    def unpacked(payload):
        """All zlib streams of a payload, one after the other."""
        out, at = b"", 16 + 16 * int.from_bytes(payload[8:12], "little") + 8 * int.from_bytes(payload[12:16], "little")
        while at < len(payload):
            stream = zlib.decompressobj()
            out += stream.decompress(payload[at:])
            at = len(payload) - len(stream.unused_data)
        return out

    def test_values_out_of_range(self):
        for option, value in (
            ("--width", "319"), ("--width", "7681"), ("--width", "1e3"), ("--height", "-900"), ("--scale", "0"),
            ("--scale", "5"), ("--theme", "blue"), ("--axis", "x"), ("--color-by", "colour"), ("--from", "12.5"),
            ("--from", "peak-"), ("--from", "peak500"), ("--to", "12.5d"), ("--capacity", "0"),
            ("--capacity", "80XB"), ("--capacity", ""), ("--capacity", "-1G"), ("--capacity", "1.5"),
            ("--capacity", "99999999PiB"), ("--capacity", "80 G B"), ("--device", "-3"), ("--device", "a"),
            ("--device", "99999999999"), ("--max-memory", "0"), ("--output", ""),
        ):
            self.expect(2, "png", f"{option}={value}", "x.pickle", says=f"--{option[2:]}: \"{re.escape(value)}\"")
        self.expect(2, "report", "--top=-1", "x.pickle", says="--top")
        self.expect(2, "report", "--group=file", "x.pickle", says="--group")

    def test_a_refused_value_is_answered_with_the_whole_help(self):
        for words, end in (
            (("png", "--at", "foo"), "(default: the highest point shown): peak, oom or an event"),
            (("png", "--from", "foo"), "peak, peak-500, oom, oom-200"),
            (("html", "-d", "x"), "(default: one that ran out of memory, else the one with most events)"),
            (("batch", "-j", "0"), "(default: as many as there are cores and as --max-memory has room for)"),
        ):
            self.expect(2, *words, "x.pickle", says=re.escape(end) + r"\nTry: ")

    def test_one_report_one_format(self):
        self.write("s.pickle", snapshot(events_of([1024])))
        for words in (("--json", "--markdown"), ("--markdown", "--json")):
            result = self.expect(2, "report", *words, "s.pickle", says=r"\Astrata: report: --json and --markdown .*\n\Z")
            self.assertEqual(result.stdout, b"")
        self.report("--json", "s.pickle")

    def test_picture_too_large(self):
        self.write("s.pickle", snapshot(events_of([1024])))
        self.expect(2, "png", "--width=7680", "--height=240", "--scale=4", "s.pickle", says="at most 16,384 pixels a side")
        self.assertEqual(self.files(), ["s.pickle"])

    def test_rules_name_no_unknown_category(self):
        self.write("s.pickle", snapshot(events_of([1024])))
        self.write("rules", b"unknown file .\n")
        result = self.expect(1, "report", "--rules", "rules", "s.pickle", says='line 1: not a category .*"unknown"')
        self.assertEqual(result.stdout, b"")

    def flags(self, *words):
        """What a picture says of the options that it was made with."""
        png = self.expect(0, "png", "-qo", "-", *words, "s.pickle").stdout
        return png.split(b"strata:flags\0", 1)[1].split(b"strata:plot")[0][:1100]

    def test_flags_that_do_not_fit_are_marked(self):
        self.write("s.pickle", snapshot(events_of([1024])))
        small = ("--width=320", "--height=240")
        self.assertIn(b"--title Short --theme dark", self.flags(*small, "--title=Short", "--theme=dark"))
        for letter in "x\u00e4\u6f22":
            title = letter * 3000
            flags = self.flags(*small, "--title", title, "--theme=dark")
            shown, rest = flags.split(b"--title ")[1].split(b"... --theme dark")
            self.assertTrue(title.startswith(shown.decode()) and len(shown) > 500, shown)
        self.assertIn(b"--theme dark ...", self.flags(*small, *["--theme=dark"] * 100))

    def test_one_snapshot_only(self):
        self.expect(2, "html", "a", "b", says="several dumps are one series; -o says where")
        self.expect(2, "whatif", "a", "b", says='"b" is the second')

    def test_double_dash_ends_the_options(self):
        self.write("-f", snapshot(events_of([1024])))
        self.expect(0, "html", "-o", "x.html", "--", "-f")
        self.assertIn("x.html", self.files())

    def test_clusters_and_attached_values(self):
        self.write("s.pickle", snapshot(events_of([1024])))
        self.write("x.html", b"old")
        result = self.expect(0, "html", "-fqox.html", "s.pickle")
        self.assertEqual(result.stderr, b"")
        self.assertNotEqual((self.path / "x.html").read_bytes(), b"old")


class Sizes(Case):
    """The limit that is named when memory does not suffice shows how a size was understood."""

    def test_units(self):
        self.write("s.pickle", snapshot(events_of([1024])))
        for size, understood in (
            ("1K", "1 KiB"), ("1KiB", "1 KiB"), ("1kib", "1 KiB"), ("1KB", "1,000 B"), ("1500", "1.5 KiB"),
            ("600B", "600 B"), ("0.5K", "512 B"), (".5K", "512 B"), ("2 KiB", "2 KiB"), ("0.00001G", "10.5 KiB"),
            ("0.00001GB", "9.8 KiB"), ("0.00000001T", "10.7 KiB"), ("0.00000001TB", "9.8 KiB"),
        ):
            self.expect(1, "report", "--max-memory", size, "s.pickle",
                        says=rf'^strata: "s\.pickle": needs more than the {re.escape(understood)} it may take')

    def test_enough(self):
        self.write("s.pickle", snapshot(events_of([1024])))
        for size in ("1G", "1GiB", "1GB", "0.001TiB", "16P"):
            self.expect(0, "report", "--max-memory", size, "s.pickle")


    def test_limit_at_any_moment(self):
        self.write("s.pickle", long_snapshot(20000))
        limit, codes = 1000, set()
        while limit < 64 * MIB:
            result = self.run_strata("report", "--max-memory", str(limit), "s.pickle")
            codes.add(result.returncode)
            if result.returncode != 0:
                self.assertEqual(result.returncode, 1, f"{limit}: {result.stderr.decode()}")
                self.assertRegex(result.stderr, rb"needs more than the .* it may take; --max-memory allows more")
            limit = limit * 9 // 8
        self.assertEqual(codes, {0, 1})


class Talk(Case):
    """What is said on standard error, and when."""

    def on_terminal(self, *words, data=None, environment=None):
        """Runs with a terminal as standard error; feeds `data` slowly. Returns the exit code and what was shown."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm", **(environment or {})}
        process = self.start(*words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=slave, env=environment)
        os.close(slave)
        if data is not None:
            half = len(data) // 2
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(data[:half])
                process.stdin.flush()
                time.sleep(0.8)
                process.stdin.write(data[half:])
        process.stdin.close()
        shown = b""
        while True:
            ready, _, _ = select.select([master], [], [], TIMEOUT_S)
            try:
                chunk = os.read(master, 65536) if ready else b""
            except OSError:  # the other side has gone
                break
            if not chunk:
                break
            shown += chunk
        os.close(master)
        return process.wait(timeout=TIMEOUT_S), shown

    @classmethod
    def setUpClass(cls):
        cls.long = pickle.dumps(long_snapshot(400_000), protocol=4)
        assert len(cls.long) > 16 * MIB

    def test_progress(self):
        code, shown = self.on_terminal("report", "--json", "-", data=self.long)
        self.assertEqual(code, 0, shown)
        self.assertRegex(shown, rb"\rstdin: [\d.]+ MiB, [\d,]+ events\x1b\[K")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-200:])

    def test_no_progress_where_it_is_not_wanted(self):
        for words, environment in ((["-q"], {}), ([], {"TERM": "dumb"})):
            code, shown = self.on_terminal("report", "--json", "-", *words, data=self.long, environment=environment)
            self.assertEqual((code, shown), (0, b""))
        self.assertEqual(self.expect(0, "report", "-", stdin=self.long).stderr, b"")

    def test_colour(self):
        _, shown = self.on_terminal("report", "missing.pickle")
        self.assertIn(b"\x1b[", shown)
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            _, shown = self.on_terminal("report", "missing.pickle", environment=environment)
            self.assertNotIn(b"\x1b", shown)
            self.assertTrue(shown.startswith(b'strata: "missing.pickle"'), shown)

    def test_what_is_written_is_said(self):
        sample = SAMPLES / "train.pickle"
        verbs = {"html": ["html"], "trace_plot": ["html"], "png": ["png"], "report": ["txt"], "whatif": ["txt", "html", "png"], "diff": ["txt", "html", "png"]}
        for verb, endings in verbs.items():
            words = [verb, sample] if verb != "diff" else [verb, sample, sample]
            for name in (f"x.{ending}" for ending in endings):
                with self.subTest(verb=verb, name=name):
                    done = self.expect(0, *words, "-fo", name, says=rf'(?m)^strata: "{name}": written, [\d.]+ [KM]?i?B$')
                    self.assertEqual(done.stdout, b"")
                    self.assertEqual(self.expect(0, *words, "-qfo", name).stderr, b"")
            self.assertNotIn(b"written", self.expect(0, *words, "-o", "-").stderr)

    def test_quiet_and_verbose(self):
        self.write("s.pickle", snapshot(events_of([1024]), events_of([2048, 5])))
        self.assertEqual(self.expect(0, "s.pickle", "-q", "-o", "a.html").stderr, b"")
        self.expect(0, "s.pickle", "-o", "b.html", says=r'"b\.html": written')
        digest = xxh128((self.path / "s.pickle").read_bytes())
        self.expect(0, "s.pickle", "-v", "-o", "c.html", says=f"(?s){digest}.*device 0: 3 events.*device 1: 6 events")
        self.expect(1, "missing.pickle", "-q", says="cannot open")


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

    def test_chosen_while_another_has_more_to_say(self):
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
        self.assertIn(b"nothing was recorded", self.expect(0, "report", "none.pickle").stdout)
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
        self.assertEqual((report["schema"], report["file"], report["kind"]), (2, "s.pickle", "snapshot"))
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
        text = self.expect(0, "report", "s.pickle").stdout.decode()
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
        self.assertIn(b"Not listed: 5 rows with", self.expect(0, "report", "s.pickle").stdout)

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
        off = self.expect(0, "report", "off.pickle").stdout.decode()
        on = self.expect(0, "report", "on.pickle").stdout.decode()
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
        rows = [line for line in markdown.splitlines() if ".py:" in line]
        self.assertEqual(len(rows), len(names))
        for row in rows:  # outside of code there is nothing but figures and bars, and exactly five cells
            bare = re.sub(r"(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", row)
            self.assertRegex(bare, r"^\|[\d.,\sKiMB]+\|[\s\d<>%]+\|[ \d]+\| +\| +\|$")
            self.assertEqual(len(re.findall(r"(?<!\\)\|", row)), 6, row)

    def test_markdown_and_text_agree(self):
        self.write("s.pickle", snapshot(events_of([1024, 99999] * 4)))
        text = self.expect(0, "report", "s.pickle").stdout.decode()
        markdown = self.expect(0, "report", "--markdown", "s.pickle").stdout.decode()
        for heading in ("What to know", "Summary", "At the peak", "Steps and phases", "Fragmentation", "Trust"):
            self.assertRegex(text, rf"(?m)^{heading}$")
            self.assertRegex(markdown, rf"(?m)^#### {heading}$")
        figures = re.compile(r"[\d,]+ bytes|[\d.]+ [KMG]iB")
        markdown = markdown.replace("\N{NO-BREAK SPACE}", " ")
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
