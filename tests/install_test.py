#!/usr/bin/env python3
"""What `cmake --install` installs: the program, a manual page for each verb, completions."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from cli_case import ROOT, SAMPLES, STRATA  # noqa: E402


class Install(unittest.TestCase):
    def test_files(self):
        verbs = re.findall(r"(?m)^  ([a-z]+) {2}", subprocess.run([STRATA, "-h"], stdout=subprocess.PIPE, text=True).stdout)
        build = pathlib.Path(STRATA).parent
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["cmake", "--install", build, "--prefix", folder], check=True, stdout=subprocess.DEVNULL)
            share = pathlib.Path(folder, "share")
            options = subprocess.run([f"{folder}/bin/strata", "report", "-h"], check=True, stdout=subprocess.PIPE, text=True).stdout
            page = (share / "man/man1/strata-report.1").read_text().replace("\\-", "-")
            texts = [(share / name).read_text() for name in ("bash-completion/completions/strata", "zsh/site-functions/_strata",
                                                             "fish/vendor_completions.d/strata.fish")]
            for verb in set(verbs) - {"trace"}:
                self.assertTrue((share / f"man/man1/strata-{verb}.1").is_file(), verb)
                for text in (*texts, (share / "man/man1/strata.1").read_text()):
                    self.assertIn(verb, text)
            for option in re.findall(r"--([a-z-]+)", options.split("Options:")[1].split("Sizes:")[0]):
                self.assertIn("--" + option, page)
                self.assertIn("--" + option, texts[0])

    def test_module(self):
        code = ("import sys, torch_strata; print(torch_strata.report(sys.argv[1])['devices'][0]['peak_bytes']); "
                "print(torch_strata.show(sys.argv[1])._repr_html_()[:15])")
        environment = {**os.environ, "STRATA": STRATA, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", code, SAMPLES / "one_event.pickle"], env=environment, check=True,
                              stdout=subprocess.PIPE, text=True)
        self.assertRegex(done.stdout, r"^\d+\n<iframe srcdoc=")

    def module(self, code, *words):
        environment = {**os.environ, "STRATA": STRATA, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", "import gzip, os, pathlib, shutil, sys, torch_strata as t\n" + code, SAMPLES / "one_event.pickle",
                                   *words], env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_paths_of_the_module(self):
        """What a function returns is there, whatever the input is called; paths may be bytes."""
        self.module("""
shutil.copy(sys.argv[1], "a.pickle")
pathlib.Path("x.pickle.gz").write_bytes(gzip.compress(pathlib.Path("a.pickle").read_bytes()))
os.mkdir("out")
for input in ("x.pickle.gz", b"x.pickle.gz", pathlib.Path("x.pickle.gz")):
    for output in (None, "out", b"out", "named.html"):
        path = t.html(input, output, force=True)
        assert path.stat().st_size > 100000, (input, output, path)
assert t.png(b"a.pickle", b"p.png", force=True).exists()
assert t.export(b"a.pickle", b"e.csv").exists()
assert t.report(b"a.pickle")["devices"] and t.diff(b"a.pickle", "a.pickle")
""")

    def test_documents_of_the_module(self):
        self.module("""
assert isinstance(t.report(sys.argv[1]), dict)
assert "%" in t.report(sys.argv[1], json=False) or t.report(sys.argv[1], json=False).strip()
assert t.report(sys.argv[1], output="r.json") is None and os.path.getsize("r.json")
assert isinstance(t.report(sys.argv[1], json=True), dict)
assert t.report(sys.argv[1], format="markdown").startswith("#"), t.report(sys.argv[1], format="markdown")[:80]
""")

    def test_a_page_beside_the_notebook(self):
        """A large page is a new file: no page of an earlier call, or of the user, is overwritten."""
        self.module("""
t._INLINE_NBYTES = 1
shutil.copy(sys.argv[1], "a.pickle")
pathlib.Path("a.strata.html").write_text("mine")
pages = [t.show("a.pickle"), t.show("a.pickle")]
assert pathlib.Path("a.strata.html").read_text() == "mine"
assert len({page.path for page in pages}) == 2 and all(page.path.stat().st_size > 100000 for page in pages)
t._INLINE_NBYTES = 1 << 30
assert t.show("a.pickle").path is None
""")

    def test_the_program_is_hardened(self):
        """A stack protector, checked functions, no writable table of functions, any address; sanitizers have other means."""
        names = subprocess.run(["nm", "-D", "-u", STRATA], stdout=subprocess.PIPE, text=True).stdout
        if "__asan" in names or "__tsan" in names:
            self.skipTest("a sanitized program")
        head = subprocess.run(["readelf", "-W", "-h", "-l", "-d", STRATA], check=True, stdout=subprocess.PIPE, text=True).stdout
        if "(NEEDED)" in head:  # in a static program these names are gone
            self.assertIn("__stack_chk_fail", names)
            self.assertRegex(names, r"__\w+_chk@")
        self.assertRegex(head, r"Type: +DYN")
        self.assertRegex(head, r"FLAGS.*NOW")
        self.assertIn("GNU_RELRO", head)
        self.assertNotRegex(head, "GNU_STACK.*RWE")

    def test_actions_and_tools_are_pinned(self):
        for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
            for action in re.findall(r"uses: (.*)", workflow.read_text()):
                self.assertRegex(action, r"^[\w./-]+@[0-9a-f]{40} # v\d", workflow.name)
        tools = re.search(r"pip\" install (.*?)\nfi", (ROOT / "scripts" / "wheel").read_text(), re.S)[1]
        self.assertEqual([], [word for word in tools.replace("\\", "").split() if not word.startswith("--") and "==" not in word])

    def test_bill_of_materials(self):
        text = subprocess.run([ROOT / "scripts" / "notices", "--sbom", ROOT / "build" / "cjson"], check=True, stdout=subprocess.PIPE).stdout
        materials = json.loads(text)
        self.assertEqual("CycloneDX", materials["bomFormat"])
        names = [component["name"] for component in materials["components"]]
        self.assertTrue({"zlib1g", "libc6"} <= set(names), names)
        self.assertTrue(all(component["version"] and "@" in component["purl"] for component in materials["components"]))


if __name__ == "__main__":
    unittest.main()
