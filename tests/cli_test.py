#!/usr/bin/env python3
"""The command line as a person or a script meets it: help, usage, sizes, and what it prints while it works."""

import base64
import contextlib
import fcntl
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
from cli_case import Case, MIB, ROOT, SAMPLES, TIMEOUT_S, events_of, long_snapshot, snapshot  # noqa: E402
from fingerprint import xxh128  # noqa: E402


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
        self.expect(2, "report", "--group=colour", "x.pickle", says="--group")

    def test_a_refused_value_is_answered_with_the_whole_help(self):
        for words, end in (
            (("png", "--at", "foo"), "peak, oom or an event (default: the highest point shown)"),
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

    def flags(self, *words):
        """The text in a picture that names the options that it was made with."""
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

    def test_a_series_needs_a_name(self):
        self.expect(2, "html", "a", "b", says="several dumps become one series; name its file with -o")

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


class Gone(Case):
    def test_what_is_gone_says_what_to_use(self):
        """Every row of the table, as an option with and without a value, or as a value of its option."""
        table = (ROOT / "cli" / "gone.c").read_text()
        rows = re.findall(r'\{((?:VERB_[A-Z]+(?: \| )?)+), "([^"]+)", (NULL|"[^"]+"),\s*"([^"]+)"\}', table)
        self.assertEqual(len(rows), table.count("{VERB_"))
        self.assertGreater(len(rows), 15)
        for verbs, option, value, instead in rows:
            for verb in re.findall("VERB_([A-Z]+)", verbs):
                value = value.strip('"')
                forms = [[f"--{option}"], [f"--{option}=3"]] if value == "NULL" else [[f"--{option}", value], [f"--{option}={value}"]]
                for words in forms:
                    with self.subTest(verb=verb, words=words):
                        result = self.expect(2, verb.lower(), *words, SAMPLES / "oom.pickle")
                        first, *rest = result.stderr.decode().splitlines()
                        named = f"--{option}" if value == "NULL" else f"--{option} {value}"
                        self.assertEqual(first, f"strata: {named} is gone: {instead}")
                        self.assertEqual(rest, [f"Try: strata {verb.lower()} -h"])
                        self.assertEqual(result.stdout, b"")


class Sizes(Case):
    """When memory does not suffice, the message names the limit, which shows how the program understood the size."""

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
    """Messages on standard error, and when they appear."""

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
            except OSError:  # the other end is closed
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
        verbs = {"html": ["html"], "trace_plot": ["html"], "png": ["png"], "report": ["txt"], "plan": ["txt", "html"], "diff": ["txt", "html", "png"]}
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


if __name__ == "__main__":
    unittest.main()
