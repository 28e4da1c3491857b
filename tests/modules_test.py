"""The page's scripts: no module of templates/ needs itself by way of others (esbuild bundles a cycle silently), and what
JavaScript knows of the module's calls is what C exports."""

import json
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = pathlib.Path(os.environ.get("STRATA", ROOT / "build" / "release" / "strata"))


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
        for entry in ("boot.js", "page.js", "index.js", "difference.js"):
            meta = json.loads((STRATA.parent / "embedded" / f"{entry}.meta.json").read_text())
            imports = {name: [one["path"] for one in module["imports"]] for name, module in meta["inputs"].items()}
            self.assertIn(f"templates/{entry}", imports)
            self.assertIsNone(cycle(imports))

    def test_generated_files(self):
        subprocess.run([ROOT / "scripts" / "page-api", "--check"], check=True)


if __name__ == "__main__":
    unittest.main()
