"""`strata report` is one screen, and breaks no line inside of a name.

For every sample and, with STRATA_CORPUS, every file of the corpus: at 80 columns the report has at most 24 lines, and its first
device is one that ran out of memory, where one did. At 60, 80, 100 and 120 columns no line is longer, and the lines of each
width, joined, are the same words: a name, path, setting or figure that was cut would be two.
"""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = os.environ.get("STRATA", str(ROOT / "build" / "release" / "strata"))
CORPUS = os.environ.get("STRATA_CORPUS")
ALL = os.environ.get("STRATA_TEST_ALL") == "ON"
WIDTHS = (60, 80, 100, 120)
# A long name may be cut behind one of these signs, where it has no room in a line of its own.
BREAKS = re.compile(r"(?<=[/._:=(,\-])\n *")


def files():
    found = sorted((ROOT / "samples").glob("*.pickle"))
    if CORPUS:
        found += sorted(path for path in pathlib.Path(CORPUS).iterdir() if path.suffix != ".json" and path.name != "MANIFEST.json")
    return found if ALL else found[::3]


def report(path, columns, *flags):
    environment = {**os.environ, "COLUMNS": str(columns)}
    done = subprocess.run([STRATA, "report", *flags, str(path)], capture_output=True, text=True, env=environment, timeout=300)
    return done.stdout if done.returncode == 0 else None


class Screen(unittest.TestCase):
    def test_one_screen_begins_with_what_ran_out(self):
        seen = 0
        for path in files():
            text = report(path, 80)
            if text is None:
                continue
            seen += 1
            with self.subTest(path=path.name):
                self.assertLessEqual(len(text.splitlines()), 24)
                head = text.splitlines()[0]
                if "Out of memory" in text and "device" in head:
                    self.assertIn("Out of memory", "".join(text.splitlines()[1:6]))
        self.assertGreater(seen, 5)

    def test_no_name_is_broken(self):
        for path in files():
            texts = {columns: report(path, columns) for columns in WIDTHS}
            if texts[80] is None:
                continue
            words = set(texts[120].split())
            for columns, text in texts.items():
                with self.subTest(path=path.name, columns=columns):
                    self.assertLessEqual(max(map(len, text.splitlines())), columns)
                    broken = [word for word in BREAKS.sub("", text).split() if word not in words and not is_layout(word)]
                    self.assertEqual([], [word for word in broken if any(word != other and other.startswith(word) for other in words)])


def is_layout(word):
    """Rules below headings are as long as these; a cut name ends with dots."""
    return set(word) <= set("=-") or word.endswith(("...", "…"))


if __name__ == "__main__":
    unittest.main()
