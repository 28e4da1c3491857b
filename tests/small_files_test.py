#!/usr/bin/env python3
"""Small files that expand enormously (small_files.py): memory and work must grow only with the file, and messages must
report what is left out. Quadratic work runs into the timeout; linear work needs a hundredth of it.

Environment: STRATA, path of the program (default: build/release/strata).
"""

import json
import os
import pathlib
import pickle
import random
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import small_files  # noqa: E402
from small_files import EMPTY_DICT, EMPTY_LIST  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
HANG_S = 120
MIB = 1 << 20
# A program inherits the memory high-water mark of the process that starts it, so this small one starts it. Prints exit
# code, message and KiB.
SMALL_PARENT = """import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, done.stderr.decode())"""
# The optimised build tests the growth of time and memory; for sanitizers fewer texts suffice.
MANY = 500 if "asan" in STRATA else 20_000
MADE_NBYTES = 64 * MIB  # bytes of all texts that are made of references, besides ten times the file


class SmallFilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, *words, **options):
        return json.loads(self.answer(*words, **options))

    def answer(self, content, most_nbytes, *flags, verb=("report", "--json", "--top", "0")):
        """The report of a file whose recording may take `most_nbytes`."""
        path = self.folder / "input"
        path.write_bytes(content)
        done = subprocess.run([STRATA, *verb, f"--max-memory={most_nbytes}", *flags, str(path)],
                              capture_output=True, timeout=HANG_S)
        self.assertEqual(0, done.returncode, done.stderr.decode(errors="replace"))
        return done.stdout

    def peak(self, content):
        """Exit code, peak memory in KiB and message, without a limit for the recording."""
        path = self.folder / "input"
        path.write_bytes(content)
        done = subprocess.run([sys.executable, "-c", SMALL_PARENT, STRATA, "report", "--max-memory=64GiB", str(path)],
                              capture_output=True, text=True, timeout=HANG_S)
        code, kib, message = done.stdout.split(" ", 2)
        return int(code), int(kib), message

    def left_out(self, report):
        return [row["code"] for row in report["diagnostics"]].count("texts_left_out")

    def test_one_list_for_every_event_is_joined_once(self):
        content = small_files.forward_frames_again(20_000, 200_000, "x" * 1000)  # 200 MB of text, which are left out
        pickle.loads(content)
        report = self.report(content, 256 * MIB)
        self.assertEqual(1, self.left_out(report))

    def test_lists_of_equal_chunks_are_joined_once(self):
        """5,000 distinct lists of 40 references to 10 KB: joined for each list, the text would take 2 GB."""
        content = small_files.forward_frames_alike(5000, 40, "x" * 10_000)
        pickle.loads(content)
        self.assertEqual(0, self.left_out(self.report(content, 64 * MIB)))

    def test_lists_of_other_chunks_stay_below_the_limit(self):
        content = small_files.forward_frames_anew(3000, 20, "x" * 100_000)  # 6 GB
        self.assertEqual(1, self.left_out(self.report(content, 2 * (MADE_NBYTES + 10 * len(content)) + 32 * MIB)))

    def test_metadata_stays_below_the_limit(self):
        content = small_files.metadata_anew(20_000, "x" * 500_000)  # 10 GB
        self.assertEqual(1, self.left_out(self.report(content, 2 * (MADE_NBYTES + 10 * len(content)) + 32 * MIB)))

    def test_metadata_that_repeats_a_wide_dict(self):
        content = small_files.metadata_wide(20_000, 999)
        self.assertEqual(1, self.left_out(self.report(content, 256 * MIB)))

    def test_metadata_of_honest_files_is_all_there(self):
        """Metadata that a person recorded is no longer than its text in the file, so none is left out."""
        content = small_files.metadata_anew(20_000, "epoch")
        self.assertEqual(0, self.left_out(self.report(content, 256 * MIB)))

    def test_notes_on_one_allocation_are_joined_once(self):
        """One text after the other would take a string for each: 2 GB here."""
        events = [{"action": "alloc", "addr": 4096, "size": 512, "frames": []}]
        events += [{"action": "annotate", "addr": 4096, "size": 0, "user_metadata": f"note {i}"} for i in range(20_000)]
        content = pickle.dumps({"segments": [], "device_traces": [events]})
        self.assertEqual(0, self.left_out(self.report(content, 64 * MIB)))

    def test_notes_stay_below_the_limit(self):
        """Notes that the file repeats by reference: 20,000 pairs of 8 KB, no two of them equal."""
        texts = [chr(97 + i % 26) * 8000 + str(i) for i in range(150)]
        events = []
        for i in range(20_000):
            events.append({"action": "alloc", "addr": 4096 * (i + 1), "size": 512, "frames": []})
            events += [{"action": "annotate", "addr": 4096 * (i + 1), "size": 0, "user_metadata": texts[k]} for k in (i % 150, i // 150)]
        content = pickle.dumps({"segments": [], "device_traces": [events]})
        self.assertEqual(1, self.left_out(self.report(content, 2 * (MADE_NBYTES + 10 * len(content)) + 32 * MIB)))

    def test_frames_that_come_one_by_one(self):
        """Protocol 0 appends each frame by itself, other protocols a thousand at a time."""
        n_frames = 200_000
        content = small_files.frames_one_by_one(n_frames)
        report = self.report(content, 256 * MIB)
        self.assertEqual([], [row for row in report["diagnostics"] if row["code"] in ("misplaced", "texts_left_out")])

    def test_sixty_million_meaningless_elements(self):
        """The elements take 60 KB in a .gz. As rows each would take forty bytes or more."""
        self.assert_refused(small_files.rubbish(EMPTY_DICT, 60_000_000))
        for element in (EMPTY_LIST, b")", b"N", b"N\x85", b"}\x94", b"]Na"):
            self.assert_refused(small_files.rubbish(element, 12_000_000))
        for element in (b"{}", b"[]", b"1", b"[1]"):
            self.assert_refused(small_files.rubbish(element, 15_000_000, True))

    def assert_refused(self, content):
        code, kib, message = self.peak(content)
        self.assertEqual(1, code, content[-50:])
        self.assertIn("lists and dicts take more than 256 MiB and 10 times the bytes before this one (offset ", message)
        if "asan" not in STRATA:  # sanitizers keep freed memory
            self.assertLess(kib, 1 << 20, content[-50:])

    def test_an_honest_state_of_many_blocks_may_take_memory(self):
        """Two million blocks of 21 bytes each in the file may take more than 256 MiB, because the file is honest."""
        self.assertEqual((0, "\n"), self.peak(small_files.blocks_alone(2_000_000))[::2])

    def test_spans_in_spans(self):
        """20,000 stacks with no common beginning: stored completely, they would take 140 times the file."""
        for calls in (False, True):
            content = small_files.spans_in_spans(20_000, calls)
            answer = self.answer(content, 20 * len(content))  # a limit of 122 MB, which Python reads in four seconds
            self.assertEqual([b"10240000"], re.findall(rb'^      "peak_bytes": (\d+),$', answer, re.MULTILINE))
            self.assertTrue(answer.endswith(b"\n}\n"))

    def test_who_calls_calls_in_calls(self):
        """The complete tree of callers would be 140 MB of nodes for a file of 1.7 MB."""
        for count in (5000, 20_000):
            content = small_files.calls_in_calls(count)
            [device] = self.report(content, 20 * len(content), verb=("report", "--json"))["devices"]
            row = device["top_at_peak"][-1]
            line = int(row["site"].rsplit(" s")[1])
            for outer in range(line - 1, line - 9, -1):  # as many callers as a report shows
                [row] = row["callers"]
                self.assertEqual(f"f.py:{outer} s{outer}", row["site"])

    def test_streams_take_little_memory(self):
        """Each of 20,000 streams has one free block. A set with a leaf for each block took 2 KB, in each of some 800
        runs."""
        content = small_files.streams_and_segments(20_000)
        for flags in ((), ("--gpu=20GiB",)):
            [device] = self.report(content, 32 * MIB, *flags, verb=("plan", "--json"))["devices"]
            self.assertEqual("exact", device["replay"]["grade"])

    def test_annotations_of_all_devices_are_stored_once(self):
        """A copy of the annotations for each device would take 6 GB, and a walk over all for each device minutes."""
        content = small_files.devices_and_annotations(1000, 100_000)
        devices = self.report(content, 256 * MIB)["devices"]
        self.assertEqual(1000, len(devices))
        for device in devices:
            self.assertEqual(["other", "ProfilerStep#0"], [phase["name"] for phase in device["phases"]])

    def test_a_trace_has_the_annotations_of_all_devices_once(self):
        """2.5 MB; a copy for each of 1,000 devices made 1.06 GB of it."""
        content = small_files.devices_and_annotations(1000, 20_000)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "s.json"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            subprocess.run([STRATA, "export", "-q", path, "-o", path.with_suffix(".pftrace")], check=True)
            self.assertLess(path.with_suffix(".pftrace").stat().st_size, 4 * len(content))

    def test_a_long_name_of_all_annotations(self):
        """All annotations have one long name. Read again for each, it would be 8 GB each time."""
        content = small_files.annotations_alike(MANY, 1000, "x" * 200_000)
        devices = self.report(content, 64 * MIB)["devices"]
        self.assertEqual({"x" * (16384 - 3) + "\u2026"}, {phase["name"] for phase in devices[0]["phases"]})

    def test_a_long_name_is_redacted_once(self):
        """Redacted again for every frame and context, the name would be 4 GB."""
        for name in ("1" * 200_000, "x" * 200_000, "x" * 16_000 + ".py(1): f", "/" * 200_000):
            content = small_files.names_alike(MANY, name)
            self.assertEqual(1, len(self.report(content, 64 * MIB, "--redact", verb=("report", "--json"))["devices"]))

    def test_a_device_searches_only_its_own_frames(self):
        """A search of all 204,800 frames for each of 1,024 devices would take minutes."""
        content = small_files.devices_and_sites(1024, 200)
        devices = self.report(content, 512 * MIB)["devices"]
        self.assertEqual(1024, len(devices))
        for number, device in enumerate(devices):
            sites = {row["site"] for row in device["top_at_peak"]}
            self.assertEqual({f"f{number}_{i}.py:1 f{number}_{i}" for i in range(200)}, sites)

    def test_plans_of_many_devices_are_made_one_after_the_other(self):
        """Each plan has a row for every device. All plans together took 240 MB for 1,024 devices, and 3.5 GB for a
        log's 4,000 ranks."""
        content = small_files.devices_and_sites(1024, 2)
        plans = self.report(content, 32 * MIB, verb=("plan", "--json"))["devices"]
        self.assertEqual(list(range(1024)), [plan["device"] for plan in plans])
        self.assertEqual([plans[7]], self.report(content, 32 * MIB, "-d", "7", verb=("plan", "--json"))["devices"])

    def test_rules_about_every_phase_look_at_the_allocations_once(self):
        """100,000 phases and as many allocations in use at the end: a look at all for each phase would be five billion
        looks."""
        count = 100_000
        rules = [flag for rule in ("category.activation at forward > 0", "category.gradient at backward > 0") for flag in ("--rule", rule)]
        [file] = self.report(small_files.phases_and_allocations(count), 256 * MIB, *rules, verb=("check", "--format", "json"))["files"]
        # The last turn is not complete, so its phases do not count.
        self.assertEqual([512 * (count // 2 - 1)] * 2, [rule["actual"] for rule in file["rules"]])

    def test_a_filter_looks_at_the_frames_of_each_device_alone(self):
        """A look at all 204,800 frames for each device would take minutes and gigabytes. Regular expressions use the
        frame numbers of the whole recording."""
        content = small_files.devices_and_sites(1024, 200)
        for words, meets in (("/f[0-9]*_7[.]py/", lambda site: "_7.py" in site), ("_19", lambda site: "_19" in site), ("nobody", lambda site: False)):
            devices = self.report(content, 96 * MIB, "--filter", words)["devices"]
            for number, device in enumerate(devices):
                sites = {f"f{number}_{i}.py:1 f{number}_{i}" for i in range(200)}
                self.assertEqual({site for site in sites if meets(site)}, {row["site"] for row in device["top_at_peak"]})

    def test_a_device_is_the_same_alone_and_among_others(self):
        """A device has the same steps, phases, findings and sites whether its frames and annotations are among others'
        or not. The control is a file with only this device."""
        for content, singles in self.two_devices():
            for device, single in zip(self.report(content, 256 * MIB)["devices"], singles):
                if single is not None:
                    [alone] = self.report(single, 256 * MIB)["devices"]
                    self.assertEqual({**alone, "device": 0}, {**device, "device": 0})

    def two_devices(self):
        """Recordings of two devices, each with the recordings of the single devices; None for a dump's second device,
        whose frames have other numbers than if it were alone."""
        dumps = [pickle.loads((ROOT / "samples" / name).read_bytes()) for name in ("train.pickle", "oom.pickle")]
        for one, other in (dumps, dumps[::-1]):
            segments = [{**row, "device": number} for number, dump in enumerate((one, other)) for row in dump["segments"]]
            both = {**one, "segments": segments, "device_traces": [one["device_traces"][0], other["device_traces"][0]]}
            yield pickle.dumps(both), (pickle.dumps(one), None)
        for seed in range(12):
            rows, devices = small_files.marks_and_devices(random.Random(seed))
            yield small_files.kineto(rows + devices[0] + devices[1]), [small_files.kineto(rows + each) for each in devices]

    def test_a_stack_in_pieces_equals_the_whole_stack(self):
        frames = [{"filename": f"/home/me/f{i}.py", "name": f"f{i}", "line": i + 1} for i in range(2500)]
        whole = {"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "time_us": 1,
                                                     "frames": frames}]]}
        shown = {json.dumps(self.report(pickle.dumps(whole, protocol), 256 * MIB)["devices"]) for protocol in range(6)}
        self.assertEqual(1, len(shown))


if __name__ == "__main__":
    unittest.main()
