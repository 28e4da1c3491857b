#!/usr/bin/env python3
"""Follows docs/extending.md: for each row of its table the test adds one such thing to a copy of the sources, in the
files and lines that the row names, builds the copy, and uses the addition."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = pathlib.Path(os.environ.get("STRATA", ROOT / "build" / "release" / "strata")).resolve()
SOURCES = ["CMakeLists.txt", "LICENSE", "README.md", "docs", "python", "analysis", "base", "cli", "layout", "parser", "render", "scripts", "templates", "trace"]

FILES = {
    "render/export/export_toy.c": """#include "render/export/export_parts.h"

static bool toy_write(void *context, struct export_device *device) {
    buffer_printf(context, "%u toys\\n", (unsigned)device->device->allocations.count);
    return true;
}

bool export_toy(struct export_work *work) {
    return export_each_device(work, toy_write, work->out);
}
""",
    "parser/toy.h": """#pragma once
#include "parser/cursor.h"
bool toy_recognises(const uint8_t *p, size_t nbytes);
bool toy_read(struct cursor *cursor, struct trace *trace, unsigned depth);
""",
    "parser/toy.c": """#include "parser/toy.h"
#include "parser/json/json.h"
#include <string.h>
bool toy_recognises(const uint8_t *p, size_t nbytes) {
    return nbytes >= 4 && memcmp(p, "TOY!", 4) == 0;
}
bool toy_read(struct cursor *cursor, struct trace *trace, unsigned depth) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {4};
    (void)depth;
    cursor->p += 4;
    return json_read(cursor, trace) && trace_diagnose(trace, "toy_prefix", ORDINAL_NONE, numbers);
}
""",
    "analysis/findings/finding_toy.c": """#include "analysis/findings/finder.h"
static void toy_find(struct finder *finder) {
    struct finding finding = {.kind = FINDING_TOY, .severity = SEVERITY_LOW, .confidence = CONFIDENCE_CERTAIN,
                              .bytes = finder->timeline->peak_bytes};
    finder_add(finder, &finding);
}
static void toy_title(struct telling *telling) {
    tell(telling, "a toy was found");
}
static void toy_detail(struct telling *telling) {
    TELL(telling, "It has %b.", telling->finding->bytes);
}
const struct kind kind_toy = {KIND(toy), "Toy", .flags = 0};
""",
    "cli/cmd_toy.c": """#include "cli/exit_code.h"
#include "cli/options.h"
#include <stdio.h>
static int toy_run(const struct settings *settings) {
    printf("toy of %s\\n", settings->input);
    return EXIT_CODE_DONE;
}
const struct verb verb_toy = {.name = "toy", .bit = VERB_TOY, .summary = "plays", .about = "Plays.\\n",
                              .examples = "  strata toy x\\n", .run = toy_run};
""",
    "render/report/report_toy.c": """#include "render/report/report_parts.h"
bool report_toy(struct buffer *out, const struct trace *trace, const struct report_options *options, struct arena *scratch) {
    (void)scratch;
    buffer_printf(out, "toy of %s: %u device\\n", options->file, trace->n_devices);
    return !out->failed;
}
""",
    "templates/toy_view.js": """import { make } from "./text.js";
/** @param {Page} _page @param {HTMLElement} box */
export function createToy(_page, box) {
    return { id: "toy", draw: () => box.replaceChildren(make("p", "", "a-view-of-toys")) };
}
""",
}

# (file, text in it, the text that replaces it: one line more)
EDITS = [
    ("parser/formats.c", '#include "parser/sniff.h"\n', '#include "parser/sniff.h"\n#include "parser/toy.h"\n'),
    ("parser/formats.c", "const struct format formats[] = {\n",
     'const struct format formats[] = {\n    {"toy", toy_recognises, toy_read, false},\n'),
    ("analysis/findings/finding.h", "    X(OUT_OF_MEMORY, out_of_memory) ", "    X(TOY, toy) \\\n    X(OUT_OF_MEMORY, out_of_memory) "),
    ("cli/options.h", "    X(HTML, html) ", "    X(TOY, toy) \\\n    X(HTML, html) "),
    ("render/report/report.h", "    X(MARKDOWN, markdown, ", '    X(TOY, toy, ".toy.txt", toy) \\\n    X(MARKDOWN, markdown, '),
    ("templates/side.js", "import { createWhy }", 'import { createToy } from "./toy_view.js";\nimport { createWhy }'),
    ("render/export/export.h", "    X(PERFETTO, ", '    X(TOY, toy, ".toys", "", true) \\\n    X(PERFETTO, '),
    ("templates/side.js", 'const REGISTRY = [\n', 'const REGISTRY = [\n    ["toy", createToy],\n'),
    ("templates/page.html", '<div id="panel-why"', '<button id="tab-toy"></button><div id="panel-toy"></div><div id="panel-why"'),
    ("render/raster/colorings.h", '    COLORING(EACH, ', '    COLORING(TOY, "toy", "toy and toy", "by toy") \\\n    COLORING(EACH, '),
    ("render/raster/raster_colors.c", "    case COLOR_BY_EACH: return allocation;\n",
     "    case COLOR_BY_EACH: return allocation;\n    case COLOR_BY_TOY: return allocation % 2;\n"),
    ("render/page/page_sets.c", "/* ---- groups ---- */\n",
     "/* ---- groups ---- */\n\nu32 view_toy(struct page_view *view, u32 number) {\n    return view->n_groups + number;\n}\n"),
    ("render/page/page_api.def", "VIEW1(u32, stack_site, ", "VIEW1(u32, toy, u32 number)\nVIEW1(u32, stack_site, "),
    ("cli/batch/batch_shard.c", "static const struct scheduler launchers[] = {\n",
     'static const struct scheduler launchers[] = {\n    {"Toy", "TOY_RANK", {"TOY_SIZE"}},\n'),
    ("render/words/diagnostics.c", "static const struct sentence sentences[] = {\n",
     'static const struct sentence sentences[] = {\n    {"toy_prefix", "A toy of %0n bytes stands in front."},\n'),
]

# Stands in for the compiler: a source that no edit reaches gets its object from the build under test.
LAUNCHER = """#!/bin/sh
for word; do
    case $before in -o) object=$word ;; -c) source=$word ;; -MF) made_of=$word ;; esac
    before=$word
done
same={build}/${{object#{out}/}}
if [ -f "$same" ] && {{ grep -qxF "$source" {untouched} || cmp -s "$source" "{build}/embedded/${{source##*/}}"; }}; then
    cp "$same" "$object" && echo "$object: $source" >"$made_of"
else
    exec "$@"
fi
"""

SNAPSHOT = {"segments": [], "device_traces": [[
    {"action": "alloc", "addr": 4096, "size": 1 << 20, "stream": 0, "time_us": 1, "frames": []},
    {"action": "alloc", "addr": 1 << 24, "size": 1 << 20, "stream": 0, "time_us": 2, "frames": []}]]}


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def untouched(folder):
    """The C files of the copy that neither change nor include a file that does."""
    reached = {*FILES, *(name for name, _, _ in EDITS)}
    includes = {str(path.relative_to(folder)): set(re.findall(r'#include "([^"]+)"', path.read_text()))
                for path in folder.rglob("*.[chd]*") if path.suffix in (".c", ".h", ".def")}
    while more := {name for name, own in includes.items() if own & reached} - reached:
        reached |= more
    return sorted(name for name in includes.keys() - reached if name.endswith(".c"))


class Extending(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in SOURCES:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, cls.folder / name)
        for name, text in FILES.items():
            (cls.folder / name).write_text(text)
        for name, before, after in EDITS:
            text = (cls.folder / name).read_text()
            if text.count(before) != 1:
                raise AssertionError(f"{name} has {before!r} {text.count(before)} times: docs/extending.md is out of date")
            (cls.folder / name).write_text(text.replace(before, after))
        build, names, launcher = cls.folder / "out", cls.folder / "untouched", cls.folder / "launcher"
        names.write_text("".join(f"{cls.folder / name}\n" for name in untouched(cls.folder)))
        launcher.write_text(LAUNCHER.format(build=STRATA.parent, out=build, untouched=names))
        launcher.chmod(0o755)
        try:
            run("cmake", "-S", cls.folder, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0",
                "-DSTRATA_TESTS=OFF", "-DSTRATA_WASM_OPT=OFF", f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}")
            run("cmake", "--build", build, "--target", "strata")
        except subprocess.CalledProcessError as error:
            raise AssertionError(f"the copy does not build:\n{error.stdout[-4000:]}{error.stderr[-2000:]}") from None
        cls.strata = build / "strata"
        cls.toy = cls.folder / "x.toy"
        cls.toy.write_text("TOY!" + json.dumps(SNAPSHOT))
        cls.report = json.loads(run(cls.strata, "report", "--json", cls.toy))

    def test_a_format(self):
        self.assertEqual(self.report["devices"][0]["peak_bytes"], 2 << 20)

    def test_a_diagnostic(self):
        said = {diagnostic["code"]: diagnostic["message"] for diagnostic in self.report["diagnostics"]}
        self.assertEqual(said.get("toy_prefix"), "A toy of 4 bytes stands in front.")

    def test_a_finding(self):
        findings = {finding["kind"]: finding for finding in self.report["devices"][0]["findings"]}
        self.assertEqual(findings["toy"]["title"], "a toy was found")
        self.assertEqual(findings["toy"]["detail"], "It has 2 MiB.")

    def test_a_verb(self):
        self.assertEqual(run(self.strata, "toy", "x"), "toy of x\n")
        self.assertIn("plays", run(self.strata, "--help"))

    def test_an_export(self):
        self.assertEqual(run(self.strata, "report", "--format", "toy", self.toy), "toy of x.toy: 1 device\n")
        self.assertIn("text|json|toy|markdown", run(self.strata, "report", "--help"))

    def test_a_kind_of_export(self):
        self.assertEqual(run(self.strata, "export", "--to", "toy", self.toy, "-o", "-"), "2 toys\n")

    def test_a_colouring(self):
        """Two allocations, one above the other, have one colour by stream and two by the new colouring, which the
        page's menu has too."""
        colors = {}
        for name in ("stream", "toy"):
            picture = self.folder / f"{name}.png"
            run(self.strata, "png", self.toy, "-q", "-o", picture, "--color-by", name)
            colors[name] = picture.read_bytes()
        self.assertNotEqual(colors["toy"], colors["stream"])
        self.assertIn("toy and toy", (self.folder / "out" / "embedded" / "main.js").read_text())

    def test_a_call_of_the_module(self):
        self.assertIn(b"view_toy", (self.folder / "out" / "strata.wasm").read_bytes())
        self.assertIn("toy(number: number): number", (self.folder / "out" / "embedded" / "module.d.ts").read_text())

    def test_a_scheduler(self):
        """The second of two parts runs; the first is another worker's, whichever of the two has the only input."""
        batch = self.folder / "batch"
        done = subprocess.run([self.strata, "batch", self.toy, "-o", batch, "--shard", "auto"], capture_output=True, text=True,
                              env={**os.environ, "TOY_RANK": "1", "TOY_SIZE": "2"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("shard 2/2, as Toy says", done.stderr)
        self.assertTrue((batch / "shards" / "outputs-2-of-2.txt").exists())

    def test_a_view(self):
        """The page's program is packed, so the test searches the bundle that went into it."""
        bundles = [path for path in (self.folder / "out").rglob("*.js") if "a-view-of-toys" in path.read_text()]
        self.assertTrue(bundles, "no bundle has the view")


if __name__ == "__main__":
    if sys.platform != "linux":
        sys.exit("skipped: needs Linux")
    unittest.main()
