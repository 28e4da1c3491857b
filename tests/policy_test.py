"""The parts that every page has. The Content-Security-Policy names exactly its scripts and styles: the build computes
their hashes, and this test computes them again from the page. The page must also stay small."""

import base64
import hashlib
import html.parser
import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
SAMPLE = ROOT / "samples" / "oom.pickle"
MOST_NBYTES = 283_000  # bytes of a page with almost no recording, without its picture
MOST_PICTURE_NBYTES = 90_000


class Elements(html.parser.HTMLParser):
    """The attributes and texts of a page's scripts, styles and policy."""

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.found, self.policies, self.handlers = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.handlers += [name for name in attributes if name.startswith("on") or name == "style"]
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(attributes["content"])
        if tag in ("script", "style"):
            self.found.append((tag, attributes, []))

    def handle_data(self, data):
        if self.cdata_elem is not None:
            self.found[-1][2].append(data)


def source_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def sources(policy, kind):
    return re.search(rf"(?:^|; ){kind} ([^;]*)", policy)[1].split()


DIGITS = "".join(map(chr, range(32, 127))).replace("<", "")


def packed_bytes(text):
    """The bytes in an inert element: pairs of digits in base 94, each of them 13 or 14 bits of one long number."""
    number = n_bits = 0
    chunks = []
    for low, high in zip(text[::2], text[1::2] + DIGITS[0] * (len(text) % 2), strict=True):
        pair = DIGITS.index(low) + 94 * DIGITS.index(high)
        number |= pair << n_bits
        n_bits += 14 if pair & 8191 < 644 else 13
        if n_bits > 4096:
            chunks.append((number & (1 << 4096) - 1).to_bytes(512, "little"))
            number, n_bits = number >> 4096, n_bits - 4096
    return b"".join(chunks) + number.to_bytes(513, "little")


def unpacked(text):
    packed = packed_bytes(text)
    n_packed, n_bytes, checksum = struct.unpack_from("<III", packed)
    filters = [{"id": lzma.FILTER_LZMA1, "dict_size": 1 << 26, "lc": 3, "lp": 0, "pb": 0}]
    data = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters).decompress(packed[12:n_packed], n_bytes)
    assert (len(data), zlib.adler32(data)) == (n_bytes, checksum)
    return data


class Policy(unittest.TestCase):
    def check(self, path, scripts, styles, others):
        text = path.read_text()
        page = Elements(text)
        self.assertEqual(len(page.policies), 1)
        self.assertEqual(page.handlers, [], "handlers and styles in attributes have no hash")
        run = {source_hash("".join(parts)) for tag, attributes, parts in page.found
               if tag == "script" and attributes.get("type") is None}
        self.assertTrue(run)
        inert = {attributes["id"]: "".join(parts) for tag, attributes, parts in page.found
                 if tag == "script" and attributes.get("type") is not None}
        used = [source_hash("".join(parts)) for tag, _, parts in page.found if tag == "style"]
        self.assertEqual(len(used), 1)

        def carried(name):  # the text that the page puts into a <script> or a <style>
            return source_hash(unpacked(inert[name]).decode())

        run.update(map(carried, scripts))
        used += map(carried, styles)
        self.assertEqual(sorted(sources(page.policies[0], "script-src")), sorted([*run, *others]))
        self.assertEqual(sources(page.policies[0], "style-src"), used)
        self.assertIn("default-src 'none'", page.policies[0])

    def test_page(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            subprocess.run([STRATA, "html", "-q", SAMPLE, "-o", path], check=True)
            self.check(path, ["program"], ["style"], ["'wasm-unsafe-eval'"])

    def test_size(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            subprocess.run([STRATA, "html", "-q", ROOT / "samples" / "one_event.pickle", "-o", path], check=True)
            picture = re.search(r'<img width="(\d+)"[^>]* src="data:image/png;base64,([^"]+)"', path.read_text())
            self.assertGreaterEqual(int(picture[1]), 600)
            self.assertLessEqual(len(picture[2]), MOST_PICTURE_NBYTES)
            self.assertLessEqual(path.stat().st_size - len(picture[2]), MOST_NBYTES)

    def test_index(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "in").mkdir()
            shutil.copy(SAMPLE, folder / "in" / "rank0.pickle")
            subprocess.run([STRATA, "batch", "-q", folder / "in", "-o", folder / "out"], check=True)
            self.check(folder / "out" / "index.html", [], [], [])


if __name__ == "__main__":
    unittest.main()
