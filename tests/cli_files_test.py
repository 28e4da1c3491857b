#!/usr/bin/env python3
"""Files that the command line reads and writes: which it refuses, where results go, full disks, signals."""

import fcntl
import gzip
import json
import os
import pickle
import pty
import random
import re
import resource
import signal
import stat
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from cli_case import Case, MIB, TIMEOUT_S, events_of, long_snapshot, snapshot  # noqa: E402
from fingerprint import xxh128  # noqa: E402


class Inputs(Case):
    def test_missing_directory_and_empty(self):
        (self.path / "folder").mkdir()
        self.write("empty.pickle", b"")
        self.expect(1, "missing.pickle", says=r'^strata: "missing\.pickle": cannot open: No such file')
        self.expect(2, "./folder", says=r'^strata: "\./folder": is a directory')
        self.expect(1, "empty.pickle", says=r'^strata: "empty\.pickle": the file is empty')
        self.assertEqual(self.files(), ["empty.pickle", "folder"])

    def test_text_file(self):
        self.write("notes.txt", b"Dear diary,\nthe GPU is full again.\n")
        self.expect(1, "notes.txt", says=r'^strata: "notes\.txt": .+ \(offset 0\)\n$')
        self.assertEqual(self.files(), ["notes.txt"])

    def test_pickle_that_calls_code(self):
        class Evil:
            def __reduce__(self):
                return os.system, ("touch owned",)

        for protocol in range(6):
            self.write("evil.pickle", pickle.dumps({"segments": [Evil()]}, protocol=protocol))
            result = self.expect(1, "html", "evil.pickle", "-o", "x.html",
                                 says=r'^strata: "evil\.pickle": .*GLOBAL.*\(offset \d+\)\n$')
            offset = int(re.search(rb"offset (\d+)", result.stderr)[1])
            self.assertIn((self.path / "evil.pickle").read_bytes()[offset:offset + 1], (b"c", b"\x93"))
        self.assertEqual(self.files(), ["evil.pickle"])

    def test_what_unpacks_without_end(self):
        """A small file may cost much time: what it unpacks to is bounded, and the bound can be raised."""
        self.write("bomb.gz", gzip.compress(b'{"segments": [], "device_traces": [[' + b" " * (70 << 20) + b"]]}"))
        self.expect(1, "report", "bomb.gz", says="it unpacks to more than 64 MiB; --max-unpacked allows more")
        self.expect(0, "report", "bomb.gz", "--max-unpacked", "1GiB")

    def test_truncated(self):
        whole = pickle.dumps(snapshot(events_of([1024, 2048])), protocol=4)
        for length in (1, 2, 11, 100, whole.index(b"device_traces")):
            self.write("cut.pickle", whole[:length])
            self.expect(1, "html", "cut.pickle", "-o", "x.html", says=r'^strata: "cut\.pickle": .+\(offset \d+\)\n$')
        self.assertEqual(self.files(), ["cut.pickle"])

    def test_truncated_behind_an_event(self):
        """The part before the cut is used, and the report says that the file was cut off."""
        whole = pickle.dumps(snapshot(events_of([1024, 2048])), protocol=4)
        self.write("cut.pickle", whole[:-1])
        done = self.expect(0, "report", "--json", "cut.pickle")
        self.assertIn("truncated", [each["code"] for each in json.loads(done.stdout)["diagnostics"]])

    def test_random_bytes_never_crash(self):
        generator = random.Random(7)
        whole = bytearray(pickle.dumps(snapshot(events_of([1024, 2048])), protocol=4))
        for _ in range(100):
            broken = whole[:]
            for _ in range(generator.randint(1, 8)):
                broken[generator.randrange(len(broken))] = generator.randrange(256)
            self.write("broken.pickle", bytes(broken))
            result = self.run_strata("report", "broken.pickle")
            self.assertIn(result.returncode, (0, 1), result.stderr)
            if result.returncode == 1:
                self.assertRegex(result.stderr, rb'^strata: "broken\.pickle": ')

    def test_control_characters_do_not_reach_the_terminal(self):
        name = self.write("a\x1b[31m\n.pickle", b"text")
        result = self.expect(1, name)
        self.assertNotIn(b"\x1b", result.stderr)
        self.assertEqual(result.stderr.count(b"\n"), 1)
        self.assertIn(rb"a\x1B[31m\x0A.pickle", result.stderr)

    def test_no_permission(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        self.write("s.pickle", b"x")
        (self.path / "s.pickle").chmod(0)
        self.expect(1, "s.pickle", says="Permission denied")

    def test_digest_is_of_the_whole_file(self):
        data = pickle.dumps(snapshot(events_of([1024])), protocol=4) + os.urandom(9 * MIB + 17)
        self.write("s.pickle", data)
        self.assertEqual(self.report("s.pickle")["fingerprint"], xxh128(data))
        self.assertEqual(self.report("-", stdin=data)["fingerprint"], xxh128(data))

    def test_standard_input(self):
        data = pickle.dumps(snapshot(events_of([1024])), protocol=4)
        page = self.expect(0, "html", "-", stdin=data).stdout
        self.assertIn(b"<html", page.lower()[:2000])
        self.assertEqual(self.files(), [])
        self.expect(0, "png", "-", "-o", "x.png", stdin=data)
        self.assertEqual((self.path / "x.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.expect(1, "report", "-", stdin=b"", says=r'^strata: "standard input": the file is empty')

    def test_terminal_as_input_is_refused(self):
        master, slave = pty.openpty()
        process = self.start("report", "-", stdin=slave)
        _, talk = process.communicate(timeout=TIMEOUT_S)
        os.close(slave)
        os.close(master)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"is a terminal", talk)

    def test_slow_pipe(self):
        data = pickle.dumps(snapshot(events_of(list(range(1000, 1400)))), protocol=4)
        process = self.start("report", "--json", "-", stdin=subprocess.PIPE)
        for at in range(0, len(data), 7919):
            process.stdin.write(data[at:at + 7919])
            process.stdin.flush()
        out, talk = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 0, talk)
        self.assertEqual(json.loads(out)["devices"][0]["peak_bytes"], sum(range(1000, 1400)))


class Outputs(Case):
    def setUp(self):
        super().setUp()
        self.write("s.pickle", snapshot(events_of([1024, 4096])))

    def test_default_names(self):
        data = (self.path / "s.pickle").read_bytes()
        for name in ("a.pickle", "b.pkl", "c.d.pickle", "noending", "e.html.pickle"):
            self.write(name, data)
        for name, page in (("a.pickle", "a.html"), ("b.pkl", "b.html"), ("c.d.pickle", "c.d.html"),
                           ("noending", "noending.html")):
            self.expect(0, "html", name, says=f'"{page}": written')
            self.assertIn(page, self.files())
        self.expect(0, "png", "a.pickle", says='"a.png": written')
        self.assertIn("a.png", self.files())

    def test_default_name_is_beside_the_input(self):
        (self.path / "sub").mkdir()
        self.write("sub/a.pickle", (self.path / "s.pickle").read_bytes())
        self.expect(0, "sub/a.pickle", says='"sub/a.html": written')
        self.assertTrue((self.path / "sub" / "a.html").exists())

    def test_compressed_ending_is_dropped_too(self):
        self.write("a.pickle.gz", gzip.compress((self.path / "s.pickle").read_bytes()))
        result = self.run_strata("png", "a.pickle.gz")
        if result.returncode != 0:
            self.skipTest("gzip is not read yet")
        self.assertIn("a.png", self.files())

    def test_directory_as_output(self):
        (self.path / "out").mkdir()
        self.expect(0, "html", "s.pickle", "-o", "out/")
        self.expect(0, "png", "s.pickle", "-o", "out")
        self.expect(0, "report", "s.pickle", "-o", "out")
        self.assertEqual(sorted(os.listdir(self.path / "out")), ["s.html", "s.png", "s.txt"])
        self.expect(1, "html", "s.pickle", "-o", "nowhere/", says=r'directory "nowhere/": No such file')
        self.expect(1, "html", "s.pickle", "-o", "nowhere/x.html", says="No such file")

    def test_existing_file_is_kept(self):
        for verb, name in (("html", "s.html"), ("png", "s.png"), ("report", "s.txt")):
            self.write(name, b"mine")
            words = [verb, "s.pickle"] + (["-o", name] if verb == "report" else [])
            self.expect(1, *words, says=rf'"{re.escape(name)}": exists already; -f replaces it')
            self.assertEqual((self.path / name).read_bytes(), b"mine")
            self.expect(0, *words, "-f")
            self.assertNotEqual((self.path / name).read_bytes(), b"mine")

    def test_refusal_comes_before_the_work(self):
        self.write("s.html", b"mine")
        process = self.start("html", "-", "-o", "s.html", stdin=subprocess.PIPE)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 1)

    def test_file_that_appears_meanwhile_is_kept(self):
        process = self.start("html", "-", "-o", "x.html", stdin=subprocess.PIPE)
        data = (self.path / "s.pickle").read_bytes()
        self.feed(process, data[:100])
        self.write("x.html", b"mine")
        _, talk = process.communicate(data[100:], timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"appeared in the meantime", talk)
        self.assertEqual((self.path / "x.html").read_bytes(), b"mine")
        self.assertEqual(self.files(), ["s.pickle", "x.html"])

    def test_input_is_never_overwritten(self):
        before = (self.path / "s.pickle").read_bytes()
        os.link(self.path / "s.pickle", self.path / "hard.html")
        os.symlink("s.pickle", self.path / "soft.html")
        for name in ("s.pickle", "./s.pickle", "hard.html", "soft.html"):
            self.expect(1, "html", "-f", "s.pickle", "-o", name, says="is the input itself")
        self.assertEqual((self.path / "s.pickle").read_bytes(), before)
        self.write("page.html", before)
        self.expect(1, "html", "-f", "page.html", says="is the input itself")
        self.write("other.pickle", before)
        self.write("other.html", before)
        for name in ("soft.html", "hard.html", "other.html"):  # the output is neither of the two inputs
            self.expect(1, "diff", "-f", "s.pickle", "other.html", "-o", name, says="is the input itself")
        for name in ("s.pickle", "other.pickle"):
            self.expect(2, "diff", "-f", "s.pickle", "other.pickle", "-o", name, says="does not say what to write")
        self.assertEqual((self.path / "other.pickle").read_bytes(), before)
        self.assertEqual((self.path / "other.html").read_bytes(), before)
        self.assertEqual((self.path / "s.pickle").read_bytes(), before)

    def test_links_are_followed(self):
        self.write("real.html", b"old")
        os.symlink("real.html", self.path / "link.html")
        self.expect(1, "html", "s.pickle", "-o", "link.html", says='"link.html": exists already')
        self.expect(0, "html", "-f", "s.pickle", "-o", "link.html")
        self.assertTrue((self.path / "link.html").is_symlink())
        self.assertNotEqual((self.path / "real.html").read_bytes(), b"old")

    def test_mode_follows_the_umask(self):
        for mask in (0o022, 0o077, 0o002):
            name = f"{mask:o}.html"
            self.expect(0, "html", "s.pickle", "-o", name, umask=mask)
            self.assertEqual(stat.S_IMODE((self.path / name).stat().st_mode), 0o666 & ~mask)

    def test_standard_output(self):
        page = self.expect(0, "html", "s.pickle", "-o", "-").stdout
        picture = self.expect(0, "png", "s.pickle", "-o", "-").stdout
        self.assertIn(b"<html", page.lower()[:2000])
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(self.files(), ["s.pickle"])

    def test_binary_to_a_terminal_is_refused(self):
        for verb in ("html", "png"):
            master, slave = pty.openpty()
            process = self.start(verb, "s.pickle", "-o", "-", stdout=slave)
            _, talk = process.communicate(timeout=TIMEOUT_S)
            os.close(slave)
            os.close(master)
            self.assertEqual(process.returncode, 1)
            self.assertIn(b"to a terminal", talk)

    def test_devices_and_pipes_are_written_in_place(self):
        before = os.stat("/dev/null")
        self.expect(0, "html", "s.pickle", "-o", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.assertEqual(os.stat("/dev/null").st_ino, before.st_ino)
        os.mkfifo(self.path / "pipe")
        process = self.start("png", "s.pickle", "-o", "pipe")
        with open(self.path / "pipe", "rb") as pipe:
            self.assertEqual(pipe.read(8), b"\x89PNG\r\n\x1a\n")
            pipe.read()
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 0)

    def test_same_input_same_bytes(self):
        for verb in ("html", "png", "report"):
            self.assertEqual(self.expect(0, verb, "s.pickle", "-o", "-").stdout,
                             self.expect(0, verb, "s.pickle", "-o", "-").stdout)


class FullDisk(Case):
    def setUp(self):
        super().setUp()
        self.write("s.pickle", snapshot(events_of([1024, 4096])))

    def test_full_device(self):
        self.expect(1, "html", "s.pickle", "-o", "/dev/full", says=r'"/dev/full": cannot write: No space left')
        with open("/dev/full", "wb") as full:
            self.expect(1, "report", "s.pickle", stdout=full, says='"standard output": cannot write: No space left')

    def test_file_size_limit_leaves_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        for verb in ("html", "png"):
            self.expect(1, verb, "s.pickle", "-o", "x", preexec_fn=limit, says=r'"x": cannot write: File too large')
            self.assertEqual(self.files(), ["s.pickle"])

    def test_old_file_survives(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        self.write("x.html", b"old")
        self.expect(1, "html", "-f", "s.pickle", "-o", "x.html", preexec_fn=limit, says="cannot write")
        self.assertEqual((self.path / "x.html").read_bytes(), b"old")

    def test_full_file_system_leaves_nothing(self):
        disk = self.path / "disk"
        disk.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], stderr=subprocess.PIPE)
        if mount.returncode != 0:
            self.skipTest("cannot mount a file system")
        try:
            self.expect(1, "html", "s.pickle", "-o", "disk/", says="cannot write: No space left")
            self.assertEqual(os.listdir(disk), [])
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_closed_standard_output(self):
        self.expect(1, "report", "s.pickle", stdout=None, preexec_fn=lambda: os.close(1),
                    says='"standard output": cannot write')

    def test_closed_standard_error_does_not_end_up_in_the_file(self):
        process = self.start("html", "s.pickle", "-o", "x.html", stderr=None, preexec_fn=lambda: os.close(2))
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 0)
        self.assertNotIn(b"strata: \"", (self.path / "x.html").read_bytes()[:1000])


class Signals(Case):
    def setUp(self):
        super().setUp()
        self.data = pickle.dumps(snapshot(events_of([1024, 4096])), protocol=4)

    def interrupted(self, number, **options):
        process = self.start("html", "-", "-o", "x.html", stdin=subprocess.PIPE, **options)
        self.feed(process, self.data[:100])
        process.send_signal(number)
        return process

    def test_signals_while_reading(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.interrupted(number)
            self.assertEqual(process.wait(timeout=TIMEOUT_S), 128 + number)
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(self.files(), [])

    def test_ignored_hangup_stays_ignored(self):
        process = self.interrupted(signal.SIGHUP, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.communicate(self.data[100:], timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.files(), ["x.html"])

    def test_what_killed_runs_left_is_swept(self):
        """A run that is killed cannot remove its temporary file: the next one that writes there does, by name, age and lock."""
        self.write("run.pickle", pickle.dumps(snapshot(events_of([1024, 2048])), protocol=4))
        dead, new, live, foreign = (f".strata-{name}.tmp" for name in ("0123456789abcdef", "fedcba9876543210", "00000000000000aa", "mine"))
        for name in (dead, new, live, foreign):
            self.write(name, b"half")
            if name != new:
                os.utime(self.path / name, (time.time() - 2 * 24 * 3600,) * 2)
        with open(self.path / live, "rb") as writer:
            fcntl.flock(writer, fcntl.LOCK_EX)
            self.expect(0, "report", "run.pickle", "-o", "out.txt")
        self.assertEqual(set(os.listdir(self.path)), {new, live, foreign, "run.pickle", "out.txt"})

    def test_interrupt_at_any_time_leaves_all_or_nothing(self):
        self.write("s.pickle", long_snapshot(20000))
        began = time.monotonic()
        whole = self.expect(0, "html", "s.pickle", "-o", "-").stdout
        duration = time.monotonic() - began
        codes = set()
        for i in range(20):
            process = self.start("html", "s.pickle", "-o", "x.html")
            time.sleep(duration * i / 16)
            process.send_signal(signal.SIGINT)
            codes.add(process.wait(timeout=TIMEOUT_S))
            self.assertIn(self.files(), (["s.pickle"], ["s.pickle", "x.html"]))
            if "x.html" in self.files():
                self.assertEqual((self.path / "x.html").read_bytes(), whole)
                (self.path / "x.html").unlink()
        self.assertLessEqual(codes, {0, 130, -signal.SIGINT})  # -SIGINT: before main

    def test_closed_pipe_is_quiet(self):
        self.write("s.pickle", snapshot(events_of(range(1024, 3024))))
        for words in (["html", "s.pickle", "-o", "-"], ["report", "--json", "--top", "0", "s.pickle"]):
            reader, writer = os.pipe()
            process = self.start(*words, "-q", stdout=writer)
            os.close(writer)
            os.close(reader)
            self.assertEqual(process.wait(timeout=TIMEOUT_S), -signal.SIGPIPE)
            self.assertEqual(process.stderr.read(), b"")


if __name__ == "__main__":
    unittest.main()
