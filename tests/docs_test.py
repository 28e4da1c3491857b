"""The documents that people read first do what they say.

Every `strata` command of README, tutorial, gallery and FAQ is run, and what a document shows of its output is compared. Links
between all documents lead to files and headings that exist. With --refresh, shown output is written anew:

    STRATA=build/release/strata python3 tests/docs_test.py --refresh

A command stands in a block of `sh`; in a block of `console`, behind `$ `, with its output below; in the text, between backticks; or in a
comment before a block of `text`, `<!-- shown: COMMAND -->`, where a reader needs no command.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = pathlib.Path(os.environ.get("STRATA", ROOT / "build" / "release" / "strata")).resolve()
RECORDINGS = ROOT / "tests" / "realtorch" / "recordings"
RUN = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("tutorial", "gallery", "faq"))]
LINKED = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "samples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
STAND_INS = {  # the names that documents use, and what lies there when their commands are run
    "snapshot.pickle": ROOT / "samples" / "train.pickle",
    "oom.pickle": ROOT / "samples" / "oom.pickle",
    "before.pickle": ROOT / "samples" / "leak_zero_grad.pickle",
    "after.pickle": ROOT / "samples" / "leak_zero_grad_healthy.pickle",
    "dumps/rank0.pickle": ROOT / "samples" / "held_over.pickle",
    "dumps/rank1.pickle": ROOT / "samples" / "held_over_healthy.pickle",
    "train.log": ROOT / "samples" / "log_oom_new.log",
    "strata-run/rank0_exit.pickle": RECORDINGS / "outputs_kept.pickle.xz",
    "fixed/rank0_exit.pickle": RECORDINGS / "outputs_kept_fixed.pickle.xz",
    "samples": ROOT / "samples",
}
FENCE = re.compile(r"(?:<!-- shown: (?P<shown>.+?) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)```\n", re.DOTALL)


def run(command):
    """Exit status, output and errors of a shell command among the stand-ins."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        for name, target in STAND_INS.items():
            (here / name).parent.mkdir(exist_ok=True)
            (here / name).symlink_to(target)
        for recording in RECORDINGS.glob("*.pickle.xz"):
            (here / recording.name).symlink_to(recording)
        (here / "train.py").write_text("print('trained')\n")
        (here / "bin").mkdir()
        (here / "bin" / "strata").symlink_to(STRATA)
        environment = os.environ | {"PATH": f"{here / 'bin'}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=here, env=environment, capture_output=True, timeout=120)
        return done.returncode, done.stdout.decode(), done.stderr.decode()


def session_parts(text):
    """[(command, output)] of a block of `console`."""
    parts = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            parts.append((line[2:].strip(), ""))
        else:
            parts[-1] = (parts[-1][0], parts[-1][1] + line)
    return parts


def commands(text):
    """[(command, the output that the document shows or None)]"""
    for block in FENCE.finditer(text):
        if block["shown"]:
            yield block["shown"], block["text"]
        elif block["kind"] == "console":
            yield from session_parts(block["text"])
        elif block["kind"] == "sh":
            yield from ((line.split("  #")[0].strip(), None) for line in block["text"].splitlines() if line.startswith("strata "))
    for code in re.findall(r"`(strata \w+ [^`]+)`", FENCE.sub("", text)):
        yield code.replace("\n", " ").replace("\\|", "|"), None


def refreshed(text):
    def again(block):
        if block["shown"]:
            return f"<!-- shown: {block['shown']} -->\n```{block['kind']}\n{run(block['shown'])[1]}```\n"
        if block["kind"] == "console":
            return "```console\n" + "".join(f"$ {each}\n{run(each)[1]}" for each, _ in session_parts(block["text"])) + "```\n"
        return block[0]
    return FENCE.sub(again, text)


def anchors(path):
    headings = re.findall(r"^#+ +(.*)$", FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", each).lower()).replace(" ", "-") for each in headings}


class Documents(unittest.TestCase):
    maxDiff = None

    def test_commands(self):
        asked = [(path, *each) for path in RUN for each in commands(path.read_text("utf-8"))]
        self.assertGreater(len(asked), 40)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(run, [command for _, command, _ in asked]))
        for (path, command, shown), (status, output, errors) in zip(asked, results):
            with self.subTest(document=path.name, command=command):
                self.assertEqual(0, status, errors)
                if shown is not None:
                    self.assertEqual(shown, output, "docs_test.py --refresh writes it anew")

    def test_no_command_escapes(self):
        for path in RUN:
            rest = FENCE.sub("", path.read_text("utf-8"))
            self.assertEqual([], re.findall(r"^ {4}.*strata .*$", rest, re.MULTILINE), path.name)

    def test_links(self):
        for path in LINKED:
            text = re.sub(r"`[^`\n]*`|^    .*$", "", FENCE.sub("", path.read_text("utf-8")), flags=re.MULTILINE)
            for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text):
                if re.match(r"[a-z]+:", link):
                    continue
                name, _, anchor = link.partition("#")
                target = (path.parent / name).resolve() if name else path
                with self.subTest(document=path.name, link=link):
                    self.assertTrue(target.exists())
                    if anchor and target.suffix == ".md":
                        self.assertIn(anchor, anchors(target))

    def test_readme_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text("utf-8").splitlines()), 160)

    def test_lines_are_short(self):
        for path in LINKED:
            long = [line for line in FENCE.sub("", path.read_text("utf-8")).splitlines()
                    if len(line) > 120 and not line.lstrip().startswith(("|", "<!--", "![", "`")) and not line.startswith("    ")]
            self.assertEqual([], long, path.name)

    def test_gallery_has_its_pictures(self):
        text = (ROOT / "docs" / "gallery.md").read_text("utf-8")
        pairs = re.findall(r"^<!-- (?:pair|ranks): (\w+) (\w+)(?: [\d.]+GiB)? -->$", text, re.MULTILINE)
        self.assertGreaterEqual(len(pairs), 10)
        named = {name for pair in pairs for name in pair}
        self.assertEqual(named, {each.stem for each in (ROOT / "docs" / "images" / "gallery").glob("*.png")})
        for name in named:
            self.assertIn(f"images/gallery/{name}.png", text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--refresh"]:
        for document in RUN:
            document.write_text(refreshed(document.read_text("utf-8")), "utf-8")
    else:
        unittest.main()
