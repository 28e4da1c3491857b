"""Dependencies. The page: modules of templates/ have no cycles (esbuild bundles a cycle silently), and JavaScript
declares exactly the calls that the WebAssembly module exports. C: no folder includes a folder to its right in
docs/architecture.md, and neither files nor folders have cycles."""

import json
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = pathlib.Path(os.environ.get("STRATA", ROOT / "build" / "release" / "strata"))

# What each folder may include besides itself.
BELOW = {"base": (), "trace": ("base",), "parser": ("base", "trace"), "layout": ("base", "trace")}
BELOW["analysis"] = (*BELOW["layout"], "layout")
# Within analysis/, from left to right.
PARTS = ("model", "loop", "findings", "plan", "compare")
BELOW["render"] = (*BELOW["analysis"], "analysis")
BELOW["cli"] = (*BELOW["render"], "render", "parser")


def includes():
    """For each C file of these folders, the project's files that it includes."""
    files = [path.relative_to(ROOT) for folder in BELOW for path in (ROOT / folder).rglob("*.[ch]")]
    named = {path: re.findall(r'^#include "([^"]+)"', (ROOT / path).read_text(), re.M) for path in files}
    return {str(path): [name for name in names if (ROOT / name).exists()] for path, names in named.items()}


def cycle(imports):
    """A path of modules that ends where it begins, or None."""
    done, path = set(), []

    def visit(module):
        if module in path:
            return [*path[path.index(module):], module]
        if module in done:
            return None
        path.append(module)
        found = next(filter(None, map(visit, imports.get(module, []))), None)
        path.pop()
        done.add(module)
        return found

    return next(filter(None, map(visit, imports)), None)


class Modules(unittest.TestCase):
    def test_cycle_is_found(self):
        self.assertEqual(cycle({"a": ["b"], "b": ["c"], "c": ["b"]}), ["b", "c", "b"])
        self.assertIsNone(cycle({"a": ["b", "c"], "b": ["c"], "c": []}))

    def test_no_cycles(self):
        for entry in ("boot.js", "main.js", "index.js", "pair.js"):
            meta = json.loads((STRATA.parent / "embedded" / f"{entry}.meta.json").read_text())
            imports = {name: [one["path"] for one in module["imports"]] for name, module in meta["inputs"].items()}
            self.assertIn(f"templates/{entry}", imports)
            self.assertIsNone(cycle(imports))

    def test_c_includes_point_one_way(self):
        found = includes()
        self.assertGreater(sum(map(len, found.values())), 1000)
        for path, names in found.items():
            folder = path.split("/")[0]
            for name in names:
                self.assertIn(name.split("/")[0], (folder, *BELOW[folder]), path)
            if folder == "analysis":
                parts = PARTS[:PARTS.index(path.split("/")[1]) + 1]
                for name in names:
                    if name.startswith("analysis/"):
                        self.assertIn(name.split("/")[1], parts, path)
        self.assertIsNone(cycle(found))
        outputs = {}
        for path, names in found.items():
            if path.startswith("render/"):
                parts = {str(pathlib.Path(name).parent) for name in names if name.startswith("render/")}
                outputs.setdefault(str(pathlib.Path(path).parent), set()).update(parts)
        self.assertIsNone(cycle({folder: sorted(parts - {folder}) for folder, parts in outputs.items()}))

    def test_few_places_name_a_kind_of_recording(self):
        """Above the parser code asks what a recording has (trace_has_...): a new kind then needs no edit there."""
        texts = [path.read_text() for folder in ("layout", "analysis", "render", "cli") for path in (ROOT / folder).rglob("*.[ch]")]
        texts += [path.read_text() for path in (ROOT / "templates").rglob("*.js")]
        named = sum(len(re.findall(r"\b(?:TRACE|KIND)_(?:SNAPSHOT|KINETO|MEMORY_TIMELINE|LOG|SERIES)\b|\bfacts\.kind\b", text)) for text in texts)
        self.assertIn(named, range(1, 16))

    def test_every_finding_has_a_title(self):
        """Without a title, the page's commands once said "undefined"."""
        kinds = re.findall(r"X\([A-Z_]+, ([a-z_]+)\)", (ROOT / "analysis/findings/finding.h").read_text())
        sources = "".join(path.read_text() for path in sorted((ROOT / "analysis/findings").glob("*.c")))
        titles = re.findall(r'KIND\(([a-z_]+)\)[,}\s]+"[A-Z]', sources)
        self.assertGreater(len(kinds), 10)
        self.assertEqual(set(kinds) - set(titles), set())


if __name__ == "__main__":
    unittest.main()
