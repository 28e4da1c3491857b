#!/usr/bin/env python3
"""Files that are not recordings, change while they are read, or would take much memory and time.

    STRATA=path/to/strata STATE_DUMP=path/to/state_dump inputs_refused_test.py
"""

import base64
import gzip
import json
import os
import pathlib
import pickle
import signal
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from inputs_case import (  # noqa: E402
    CORPUS, InputsTest, LESS, MIB, SAMPLES, STATE_DUMP, STRATA, TIMEOUT_S, alloc, torch_zip, traces)


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
        for content, text in ((b"", "the file is empty"), (gzip.compress(b""), "the packed file is empty"),
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
        """Long names that every stack repeats: a file of some 100 KB gives some 100 MB of JSON, which the program
        writes without a buffer of that size."""
        outer = [{"filename": "f" * 16000, "name": "n" * 16000, "line": line} for line in range(40)]
        events = [{"action": "alloc", "addr": 512 * i, "size": 512, "stream": 0,
                   "frames": [{"filename": "a.py", "name": "f", "line": i}, *outer]} for i in range(100)]
        path = self.write(pickle.dumps({"segments": [], "device_traces": [events]}, protocol=4))
        arguments = ("report", "--json", "--top", "0", "--group", "stack")
        done = self.run_within(60 * MIB, *arguments, "--max-memory", "8MiB", path)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(100, len(json.loads(done.stdout)["devices"][0]["top_at_peak"]))
        self.assertLess(90 * MIB, len(done.stdout))


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
    "a long name in every frame": traces(*(alloc(i, 1, frames=[{"filename": LONG, "name": LONG, "line": i}]) for i in range(300_000 // LESS))),
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
    """Each file gives a result or one line that says why not, in little memory."""

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
                        self.assertEqual(3, json.loads(done.stdout)["schema"])
                    (self.folder / "out").unlink(missing_ok=True)


def long_recording(nbytes):
    """Segments first, a quarter of the file, then pairs of events."""
    segment = pickle.dumps({"device": 0, "address": 4096, "total_size": 2 * MIB, "blocks": []}, 2)[2:-1]
    events = b"".join(pickle.dumps({"action": action, "addr": 4096, "size": 512, "stream": 0}, 2)[2:-1]
                      for action in ("alloc", "free_completed"))
    segments, n_pairs = segment * (nbytes // 4 // len(segment)), nbytes * 3 // 4 // len(events)
    return b"\x80\x02}(U\x08segments](" + segments + b"eU\x0ddevice_traces](](" + events * n_pairs + b"eeu."


class ChangingFileTest(InputsTest):
    """Another program changes the file while Strata reads it. A signal stops Strata in the middle of the file, and only
    then does the test look how far it has read, so that nothing depends on timing."""

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
            pass  # the file is closed, or the program has ended
        return 0

    def is_stopped(self, process):
        """Stops the program; False: it has ended already."""
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
        """The report must equal that of a file which always had this content, and the file's name."""
        code, stdout, stderr = self.go_on(process)
        self.assertEqual(0, code, stderr)
        for line in stderr.splitlines():
            self.assertIn("cut off", line)
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
        """A file that was cut still gives a complete page and picture, which say so; without an event there is none."""
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
    """Memory as the program counts it for --max-memory, not as the system measures the process."""

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
            self.assertGreater(columns / events, 8)  # the time, the only field that every event has
        (few_events, few_columns, few_peak), (many_events, many_columns, many_peak) = few, many
        self.assertLessEqual(many_columns / few_columns, 1.05 * many_events / few_events)
        self.assertLessEqual(many_peak / few_peak, many_events / few_events)


if __name__ == "__main__":
    if not CORPUS:
        print("skipped: the corpus (STRATA_CORPUS is not set)", file=sys.stderr)
    unittest.main()
