#!/usr/bin/env python3
"""What `cmake --install` installs: the program, a manual page for each verb, completions."""

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


if __name__ == "__main__":
    unittest.main()
