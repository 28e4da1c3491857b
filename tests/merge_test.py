#!/usr/bin/env python3
"""Pages of limited size: they use the allowed size, and are exact wherever they say so.

The reader of payload_test.py decodes the page. At the moments that the page keeps, its allocations are compared with those of
tests/replay.py, one by one. STRATA names the program.
"""

import base64
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import payload_test
import replay

STRATA = os.environ.get("STRATA", "strata")
GENERATE = pathlib.Path(__file__).resolve().parent.parent / "samples" / "generate.py"
KIB = 1024
MOMENTS = 60


def page_of(path, limit=None):
    option = [] if limit is None else ["--max-html-size", str(limit)]
    return subprocess.run([STRATA, "html", *option, "-o", "-", path], capture_output=True, check=False)


def decode(page):
    return payload_test.Payload(base64.b64decode(payload_test.ELEMENT.search(page).group(1)))


def sums_at(allocations, moment):
    """{stack: (bytes, allocations)} at a moment."""
    sums = collections.defaultdict(lambda: [0, 0])
    for birth, death, size, stack, count in allocations:
        if birth <= moment < death:
            sums[stack][0] += size
            sums[stack][1] += count
    return {stack: tuple(sum) for stack, sum in sums.items()}


def curve_of(allocations, n_moments):
    change = [0] * (n_moments + 1)
    for birth, death, size, _stack, _count in allocations:
        change[birth] += size
        change[min(death, n_moments)] -= size
    total, curve = 0, []
    for difference in change[:n_moments]:
        total += difference
        curve.append(total)
    return curve


class Recording:
    """A generated snapshot, its page, and replay.py's reading of it."""

    def __init__(self, folder, *arguments):
        self.path = pathlib.Path(folder) / "snapshot.pickle"
        subprocess.run([sys.executable, GENERATE, *arguments, "-o", self.path], check=True, capture_output=True)
        self.devices = replay.read_devices(self.path)
        page = page_of(self.path).stdout
        self.full = len(page)
        # If nothing else fits, the page leaves out the picture.
        self.bare = self.full - len(re.search(rb"<img [^>]*>", page)[0])

    def limit(self, share):
        """A limit between the size of the smallest possible page (0) and the largest without its picture (1)."""
        message = page_of(self.path, 20 * KIB).stderr.decode()
        least = float(re.search(r"it takes ([\d.]+) KiB", message).group(1)) * KIB
        return int(least + (self.bare - least) * share)

    @staticmethod
    def allocations(device):
        return [(allocation.birth, allocation.death, allocation.size, tuple(payload_test.frames_of(allocation.frames)), 1) for allocation in device.allocations]


def merged_allocations(device):
    more = device.payload.table(44, device.number)["more"]
    return [(birth, death, size, tuple(stack), 1 + n) for (birth, death, _pending, size, _address, _stream, stack), n
            in zip(device.allocations(), more)]


class MergeTest(unittest.TestCase):
    def check(self, recording, limit):
        done = page_of(recording.path, limit)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertLessEqual(len(done.stdout), limit)
        payload = decode(done.stdout)
        self.assertIn("merged", payload.strings)
        message = next(text for text in payload.strings if text.startswith("To keep the page below"))
        n_merged, n_allocations, _n_bands, *n_hidden, n_kept = [
            int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", message.split(", ", 1)[1])]
        self.assertEqual(n_allocations, sum(len(device.allocations) for device in recording.devices))
        n_left = n_single = 0
        for want, have in zip(recording.devices, payload.devices()):
            allocations = merged_allocations(have)
            n_left += sum(count for *_rest, count in allocations)
            n_single += sum(1 for *_rest, count in allocations if count == 1)
            self.check_device(want, have, Recording.allocations(want), allocations)
        self.assertEqual(n_left + (n_hidden[0] if n_hidden else 0), n_allocations)
        self.assertEqual(n_single + n_merged, n_left)
        self.assertGreater(n_merged, 0)
        self.assertGreater(n_kept, 0)
        return len(done.stdout)

    def check_device(self, want, have, allocations, merged):
        n_moments = want.n_events + 1
        self.assertEqual(have.n_events, want.n_events)
        self.assertEqual(payload_test.expected_segments(want), have.segments())
        self.assertEqual(payload_test.expected_segment_events(want), have.segment_events())
        self.assertEqual(payload_test.expected_ooms(want), have.ooms())
        exact, curve = curve_of(allocations, n_moments), curve_of(merged, n_moments)
        peak = exact.index(max(exact))
        self.assertEqual(max(curve), exact[peak])
        self.assertEqual(curve.index(max(curve)), peak)
        kept = {0, n_moments - 1, peak} | {birth for birth, *_ in merged} | {death for _, death, *_ in merged if death < n_moments}
        self.assertEqual([curve[moment] for moment in kept], [exact[moment] for moment in kept])
        times = payload_test.expected_times(want)
        self.assertEqual([have.times[moment - 1] for moment in kept if moment], [times[moment - 1] for moment in kept if moment])
        self.assertEqual(sorted(have.times), have.times)
        for moment in [peak, *random.Random(1).sample(sorted(kept), min(MOMENTS, len(kept)))]:
            self.assertEqual(sums_at(merged, moment), sums_at(allocations, moment))

    def recording(self, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Recording(folder.name, *arguments)

    def test_training(self):
        recording = self.recording("--story", "train", "--events", "60000")
        for share in (0.9, 0.5, 0.2):
            limit = recording.limit(share)
            self.assertGreater(self.check(recording, limit), limit * 0.95)

    def test_many_alive_at_once(self):
        recording = self.recording("--story", "fragmented", "--events", "30000", "--live", "3000")
        self.check(recording, recording.limit(0.5))

    def test_a_page_that_fits_is_unchanged(self):
        recording = self.recording("--story", "train", "--events", "3000")
        page = page_of(recording.path, recording.full)
        self.assertEqual(page.stdout, page_of(recording.path).stdout)
        self.assertEqual(page.stderr, b"")
        self.assertNotIn("merged", decode(page.stdout).strings)

    def test_a_limit_that_is_too_small(self):
        recording = self.recording("--story", "train", "--events", "3000")
        target = recording.path.with_suffix(".html")
        done = subprocess.run([STRATA, "html", "--max-html-size", "20KiB", "-o", target, recording.path],
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"cannot be made as small as 20 KiB: .* it takes [\d.]+ KiB \(see --max-html-size\)")
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertFalse(target.exists())

    def test_the_page_can_be_read_back(self):
        recording = self.recording("--story", "train", "--events", "30000")
        page = recording.path.with_suffix(".html")
        page.write_bytes(page_of(recording.path, int(recording.full * 0.9)).stdout)
        said = [subprocess.run([STRATA, "report", "--full", path], capture_output=True, check=True).stdout.decode()
                for path in (recording.path, page)]
        peaks = [re.search(r"Peak .*", text).group(0) for text in said]
        self.assertEqual(peaks[0], peaks[1])
        self.assertIn("To keep the page below", re.sub(r"\s+", " ", said[1]))


if __name__ == "__main__":
    unittest.main()
