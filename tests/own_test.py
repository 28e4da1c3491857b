#!/usr/bin/env python3
"""--own and --library choose the line that represents an allocation. Report, picture and page agree, and a page keeps
the choice.

The control walks the stacks of replay.py: it takes the innermost frame of the user's files among those that the
patterns leave.

    STRATA=path/to/strata own_test.py
"""

import base64
import fnmatch
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True
import replay  # noqa: E402

STRATA = os.environ.get("STRATA", "strata")
SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "samples"
TRAIN = SAMPLES / "train.pickle"
PROJECT = "/home/user/train/"


def run(*words, code=0):
    done = subprocess.run([STRATA, *map(str, words)], capture_output=True, timeout=300)
    if done.returncode != code:
        raise AssertionError(f"{words} exits {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done


def device_of(path, *words):
    return json.loads(run("report", "-q", "--json", "--top", "0", *words, path).stdout)["devices"][0]


def sites(device):
    return sorted((group["site"], group["bytes"], group["count"]) for group in device["top_at_peak"])


def python_sites(device):
    """The call sites in Python. The others come from C++ frames, which this test has no control for."""
    return {site: (nbytes, count) for site, nbytes, count in sites(device) if ".py:" in site}


def expected(is_own):
    (device,) = [each for each in replay.read_devices(TRAIN) if each.allocations]
    peak = device.curve.index(max(device.curve))
    found = {}
    for allocation in device.allocations:
        own = [frame for frame in allocation.frames if is_own(frame["filename"])]
        if not allocation.alive(peak) or not own:
            continue
        frame = own[0]
        site = f"{frame['filename'].rsplit('/', 1)[-1]}:{frame['line']} {frame['name']}"
        nbytes, count = found.get(site, (0, 0))
        found[site] = nbytes + allocation.size, count + 1
    return found


def pixels(path):
    data, at, parts = path.read_bytes(), 8, []
    while at < len(data):
        nbytes, kind = struct.unpack_from(">I4s", data, at)
        if kind in (b"IHDR", b"IDAT"):
            parts.append(data[at : at + nbytes + 8])
        at += nbytes + 12
    return b"".join(parts)


def with_owners(payload, owner, rows):
    """The payload with `owner` for the first frame, and `rows` more rows than there are frames."""
    n_sections, n_pieces = struct.unpack_from("<II", payload, 8)
    entries = [list(struct.unpack_from("<HHIII", payload, 16 + 16 * i)) for i in range(n_sections)]
    at = 16 + 16 * n_sections
    sizes = [list(struct.unpack_from("<II", payload, at + 8 * i)) for i in range(n_pieces)]
    pieces, at = [], at + 8 * n_pieces
    for _, nbytes in sizes:
        pieces.append(payload[at : at + nbytes])
        at += nbytes
    which = next(i for i, entry in enumerate(entries) if entry[0] == 11)
    first, count = sum(entry[4] for entry in entries[:which]), entries[which][4]
    owners = b"".join(zlib.decompress(piece) for piece in pieces[first : first + count])[2:]
    assert len(owners) == entries[which][3]
    owners = bytes((owner,)) + owners[1 : len(owners) + min(rows, 0)] + bytes(max(rows, 0))
    raw = b"\x01\x00" + owners
    entries[which][3:] = len(owners), 1
    pieces[first : first + count] = [zlib.compress(raw)]
    sizes[first : first + count] = [[len(raw), len(pieces[first])]]
    return b"".join((payload[:8], struct.pack("<II", n_sections, len(pieces)), *(struct.pack("<HHIII", *e) for e in entries),
                     *(struct.pack("<II", size[0], len(piece)) for size, piece in zip(sizes, pieces)), *pieces))


class OwnTest(unittest.TestCase):
    CASES = (
        (("--library", "model"), lambda file: file.startswith(PROJECT) and "/model/" not in file),
        (("--library=*/train/model/*"), lambda file: file.startswith(PROJECT) and not fnmatch.fnmatch(file, "*/train/model/*")),
        (("--library", "model/attention.py"),
         lambda file: file.startswith(PROJECT) and not file.endswith("/model/attention.py")),
        (("--own", "/home/user/venv/*/torch/optim/"), lambda file: file.startswith(PROJECT) or "/torch/optim/" in file),
        (("--own", "adamw"), lambda file: file.startswith(PROJECT) or file.endswith("/adamw.py")),
        (("--library", "train", "--own", "main.py"), lambda file: file == PROJECT + "main.py"),
        (("--own", "main.py", "--library", "nowhere"), lambda file: file.startswith(PROJECT)),
    )

    def test_the_innermost_line_that_the_patterns_leave(self):
        for words, is_own in self.CASES:
            words = (words,) if isinstance(words, str) else words
            with self.subTest(words):
                device = device_of(TRAIN, *words, "--filter", "own:yes")
                got = python_sites(device)
                wanted = expected(is_own)
                self.assertEqual(wanted, got)
                self.assertEqual(sum(nbytes for nbytes, _ in wanted.values()),
                                 sum(group["bytes"] for group in device["top_at_peak"]))

    def test_no_pattern_changes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            plain, told = pathlib.Path(folder, "a.html"), pathlib.Path(folder, "b.html")
            run("html", "-q", "--title", "x", "-o", plain, TRAIN)
            run("html", "-q", "--title", "x", "--library", "nowhere", "-o", told, TRAIN)
            self.assertEqual(plain.read_bytes(), told.read_bytes())
        self.assertEqual(device_of(TRAIN), device_of(TRAIN, "--own", "nowhere"))
        self.assertIn("--library nowhere", run("report", "--library", "nowhere", TRAIN).stderr.decode())

    def test_a_page_keeps_it(self):
        for extra in ((), ("--redact",)):
            words = ("--library", "*/train/model/*", "--own", "torch/optim/", *extra)
            with self.subTest(words), tempfile.TemporaryDirectory() as folder:
                first, second = pathlib.Path(folder, "a.html"), pathlib.Path(folder, "b.html")
                run("html", "-q", *words, "-o", first, TRAIN)
                run("html", "-q", "-o", second, first)
                wanted = device_of(TRAIN, *words)
                self.assertNotEqual(sites(device_of(TRAIN, *extra)), sites(wanted))
                for page in (first, second):
                    self.assertEqual(wanted["top_at_peak"], device_of(page)["top_at_peak"])
                    self.assertEqual(wanted["findings"], device_of(page)["findings"])
                    self.assertEqual(device_of(TRAIN, *words, "--filter", "own:yes")["filtered_peak_bytes"],
                                     device_of(page, "--filter", "own:yes")["filtered_peak_bytes"])
                # A picture names its input, so the control is drawn from a page too, whose command line gives the
                # patterns.
                plain, pictures = pathlib.Path(folder, "plain", "a.html"), []
                plain.parent.mkdir()
                run("html", "-q", *extra, "-o", plain, TRAIN)
                for page, given in ((first, ()), (plain, words[:4] if not extra else None), (plain, ())):
                    if given is not None:
                        pictures.append(pathlib.Path(folder, f"{len(pictures)}.png"))
                        run("png", "-q", "--title", "x", *given, "-o", pictures[-1], page)
                if not extra:  # patterns no longer match redacted paths
                    self.assertEqual(pixels(pictures[0]), pixels(pictures[1]))
                self.assertNotEqual(pixels(pictures[0]), pixels(pictures[-1]))

    def test_a_new_pattern_overrides_those_of_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "a.html")
            run("html", "-q", "--library", "model", "-o", page, TRAIN)
            self.assertEqual(sites(device_of(TRAIN)), sites(device_of(page, "--own", "model")))

    def test_redacted_results_have_no_patterns(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder, "a.png")
            run("png", "-q", "--library", "/home/user/train/model/*", "--redact", "-o", picture, TRAIN)
            self.assertNotIn(b"/home/user", picture.read_bytes())

    def test_a_page_with_wrong_owners_is_refused(self):
        """Section 11 with an invalid value, with a row too few, and with one too many."""
        element = re.compile(rb'(<script type="application/octet-stream" id="payload">)([A-Za-z0-9+/=\s]*)')
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.html")
            run("html", "-q", "--library", "model", "-o", path, TRAIN)
            page = path.read_bytes()
            payload = base64.b64decode(element.search(page).group(2))
            for change, code in (((0, 0), 0), ((3, 0), 1), ((255, 0), 1), ((0, -1), 1), ((0, 1), 1)):
                changed = base64.b64encode(with_owners(payload, *change))
                path.write_bytes(element.sub(lambda found: found.group(1) + changed, page, count=1))
                run("report", "-q", path, code=code)

    def test_every_verb(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("--library", "model", "--own", "adamw")
            run("batch", "-q", *words, "-o", pathlib.Path(folder, "out"), TRAIN)
            (page,) = pathlib.Path(folder, "out").glob("train*.html")
            self.assertEqual(sites(device_of(TRAIN, *words)), sites(device_of(page)))
            run("diff", "-q", *words, TRAIN, TRAIN)
            run("check", "-q", *words, "--rule", "peak < 75GiB", TRAIN)
            run("plan", "-q", *words, TRAIN)
        for value in ("", "x" * 513):
            run("report", "--own", value, TRAIN, code=2)


if __name__ == "__main__":
    unittest.main()
