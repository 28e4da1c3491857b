#!/usr/bin/env python3
"""Validates every JSON output against its schema in docs/schema (Draft 2020-12, closed) with the package jsonschema:
for the samples, for recordings that no program writes, and for the corpus (STRATA_CORPUS). Each schema must also refuse
wrong documents.

    STRATA=path/to/strata schema_test.py
"""

import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from hostile_snapshots import Maker  # noqa: E402
from report_case import corpus_below, samples_of_every_kind  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATA = pathlib.Path(os.environ.get("STRATA", ROOT / "build" / "release" / "strata")).resolve()
SAMPLES = ROOT / "samples"
SCHEMAS = ROOT / "docs" / "schema"
RULES = ("peak < 75GiB", "gap < 2GiB", "oom = none", "trust = complete", "growth < 1MiB per step", "finding.leak = none",
         "category.parameter < 1GiB")
EVERY = os.environ.get("STRATA_TEST_ALL") == "ON"
HOSTILE = 24 if EVERY else 12  # recordings


def run(*words, codes=(0,)):
    # With CI set, check does not write a baseline.
    env = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run([str(STRATA), *map(str, words)], capture_output=True, timeout=300, env=env)
    if done.returncode not in codes:
        raise AssertionError(f"{words} exits {done.returncode}: {done.stderr.decode(errors='replace')[-400:]}")
    return done.stdout if done.returncode in (0, 3) else None


def answer(*words, codes=(0,)):
    data = run(*words, codes=codes)
    return json.loads(data) if data else None


def answers_of(path, refusals=(0,)):
    """[(schema, words, document)] of all verbs for one recording."""
    asked = [("report", ("report", "--json", path)),
             ("report", ("report", "--json", "--filter", "size:>1MiB", "--group", "stack", path)),
             ("report", ("report", "--json", "--group", "module", path)),
             ("brief", ("report", "--json", "--brief", path)),
             ("check", ("check", "--format", "json", *(word for rule in RULES for word in ("--rule", rule)), path)),
             ("diff", ("diff", "--json", "--group", "file", path, path))]
    if path.suffix != ".log":
        asked += [("plan", ("plan", "--json", path))]
    refused = {"check": (1, 3), "plan": (1,), "diff": (1,)}
    return [(name, words, answer(*words, codes=(*refusals, *refused.get(name, ())))) for name, words in asked]


def objects(schema, path="#"):
    """Yields (path, part) for every part of a schema that describes an object."""
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("type") is not None and "object" in schema["type"]:
            yield path, schema
        for key, part in schema.items():
            yield from objects(part, f"{path}/{key}")
    elif isinstance(schema, list):
        for i, part in enumerate(schema):
            yield from objects(part, f"{path}/{i}")


def places(document, path=()):
    """Yields (path, object) for every object of a document whose keys are fixed."""
    if isinstance(document, dict):
        if path and path[-1] not in ("reason", "categories", "sites", "files") or isinstance(document.get("schema"), int):
            yield path, document
        for key, part in document.items():
            yield from places(part, (*path, key))
    elif isinstance(document, list):
        for i, part in enumerate(document[:3]):
            yield from places(part, (*path, i))


def changed(document, path, change):
    copy = json.loads(json.dumps(document))
    place = copy
    for key in path:
        place = place[key]
    change(place)
    return copy


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            from jsonschema import Draft202012Validator
        except ImportError:
            raise unittest.SkipTest("python3-jsonschema is missing") from None
        cls.validators = {}
        for path in sorted(SCHEMAS.glob("*.json")):
            schema = json.loads(path.read_text())
            Draft202012Validator.check_schema(schema)
            cls.validators[path.stem] = Draft202012Validator(schema)

    def hold(self, name, document, said):
        for error in self.validators[name].iter_errors(document):
            while error.context:
                error = min(error.context, key=lambda inner: len(inner.message))
            self.fail(f"{name}.json, {said}: at {list(error.absolute_path)}: {error.message[:300]}")

    def hold_all(self, path, refusals=(0,)):
        for name, words, document in answers_of(path, refusals):
            if document is not None:
                self.hold(name, document, words)

    def test_every_output_has_one(self):
        self.assertEqual(sorted(self.validators), ["baseline", "brief", "check", "diff", "plan", "report", "summary"])

    def test_closed(self):
        for name, validator in self.validators.items():
            for where, part in objects(validator.schema):
                if where != "#/then" and where != "#/else":
                    self.assertIs(part.get("additionalProperties"), False, f"{name}.json {where}")
                    self.assertTrue(part.get("required"), f"{name}.json {where}")

    def test_others_are_refused(self):
        """The schema refuses an unknown key anywhere, and a known one of the wrong type. Objects with the same keys at
        the same place of a schema are tried once, whatever their row."""
        seen = set()
        for name, _, document in answers_of(SAMPLES / "oom.pickle") + answers_of(SAMPLES / "log_server_vllm.log"):
            for path, place in places(document):
                form = (name, tuple(step for step in path if isinstance(step, str)), place.get("kind"), tuple(place))
                if form in seen:
                    continue
                seen.add(form)
                wrong = changed(document, path, lambda place: place.update(unheard_of=1))
                self.assertFalse(self.validators[name].is_valid(wrong), f"{name} {path}")
                wrong = changed(document, path, lambda place: place.update({next(iter(place)): {"a": {}}}) if place else None)
                self.assertEqual(self.validators[name].is_valid(wrong), wrong == document, f"{name} {path}")

    def test_samples(self):
        for path in samples_of_every_kind():
            with self.subTest(path=path.name):
                self.hold_all(path)

    def test_corpus(self):
        for path in corpus_below(4 << 20 if EVERY else 1_200_000):  # what larger ones have, these have
            with self.subTest(path=path.name):
                self.hold_all(path, (0, 1))

    def test_hostile(self):
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(HOSTILE):
                path = pathlib.Path(folder) / f"{seed}.pickle"
                path.write_bytes(pickle.dumps(Maker(seed).snapshot()))
                with self.subTest(seed=seed):
                    self.hold_all(path, (0, 1))

    def test_options(self):
        """Parts that only some options show."""
        train, oom, leak = (SAMPLES / f"{name}.pickle" for name in ("train", "oom", "leak_graph"))
        for name, *words in (
                ("plan", "plan", "--json", "--gpu", "7GiB", "--set", "max_split_size_mb=128", oom),
                ("plan", "plan", "--json", "--gpu", "2GiB", train),
                ("diff", "diff", "--json", oom, train, leak),
                ("diff", "diff", "--json", "--align", "step", "--filter", "size:>1MiB", leak, train),
                ("diff", "diff", "--json", f"{train}#at=500", oom),
                ("check", "check", "--format", "json", "--filter", "size:>1MiB", "--rule", "peak < 1GiB", train, oom)):
            self.hold(name, answer(*words, codes=(0, 3)), words)

    def test_batch_and_baseline(self):
        with tempfile.TemporaryDirectory() as folder:
            run("batch", "-q", "--png", "--width", "400", "--height", "300", SAMPLES, "-o", f"{folder}/batch", codes=(0, 4))
            found = sorted(pathlib.Path(folder).rglob("*.json"))
            self.assertGreater(len(found), 30)
            for path in found:
                if path.name == "summary.json" or path.name.endswith(".strata.json") and "refused" not in path.name:
                    name = "summary" if path.name == "summary.json" else "report"
                    document = json.loads(path.read_text())
                    if "devices" in document or name == "summary":
                        self.hold(name, document, path.name)
            baseline = f"{folder}/baseline.json"
            words = ("check", "--baseline", baseline, "--rule", "peak <= baseline + 5%", SAMPLES / "train.pickle", SAMPLES / "oom.pickle")
            run(*words, "--update-baseline", codes=(0, 3))
            self.hold("baseline", json.loads(pathlib.Path(baseline).read_text()), baseline)
            self.hold("check", answer(*words, "--format", "json", codes=(0, 3)), words)

    def test_brief(self):
        """--brief fits on one screen and has the report's words and figures."""
        for path in samples_of_every_kind():
            data = run("report", "--brief", path)
            self.assertLessEqual(len(data), 4096, path)
            brief, whole = json.loads(data), answer("report", "--json", path)
            told = {device["device"]: device for device in whole["devices"]}
            for device in brief["devices"]:
                own = told[device["device"]]
                self.assertEqual((device["peak_bytes"], device["reserved_peak_bytes"]),
                                 (own["peak_bytes"], own["reserved_peak_bytes"]), path)
                if device["oom"] is not None:
                    last = own["oom"][-1]
                    self.assertEqual((device["oom"]["count"], device["oom"]["requested_bytes"], device["oom"]["device_free_bytes"]),
                                     (len(own["oom"]), last["requested_bytes"], last["device_free_bytes"]), path)
                if brief["kind"] != "log":
                    self.assertTrue(own["peak_made_of"]["text"].startswith(device["peak_made_of"].removesuffix("...")), path)
                for finding, said in zip(device["findings"], own["findings"]):
                    self.assertEqual(finding["kind"], said["kind"])
                    self.assertTrue(said["title"].startswith(finding["title"].removesuffix("...")), path)
            self.assertEqual(len(brief["devices"]) + brief["devices_left_out"], len(whole["devices"]), path)

    def test_brief_has_the_plans_first_lines(self):
        """--brief has strata plan's first lines only after an out-of-memory event or for a named device."""
        for name, words in (("oom", ()), ("oom", ("--gpu", "6GiB")), ("oom", ("--gpu", "1GiB")), ("train", ("--gpu", "7GiB")), ("train", ())):
            path = SAMPLES / f"{name}.pickle"
            data = run("report", "--brief", *words, path)
            self.assertLessEqual(len(data), 4096)
            self.hold("brief", json.loads(data), path)
            (device,) = json.loads(data)["devices"]
            shown = subprocess.run([str(STRATA), "plan", *words, str(path)], capture_output=True, text=True, check=True, timeout=300,
                                   env={**os.environ, "COLUMNS": "2000"}).stdout
            lines = [line.strip().removeprefix("- ") for line in shown.splitlines() if line.strip()]
            self.assertEqual(len(device["plan"]) == 0, name == "train" and not words)
            if device["plan"]:
                at = lines.index(device["plan"][0])
                self.assertEqual(lines[at:at + len(device["plan"])], device["plan"])
                self.assertTrue(len(device["plan"]) == 3 or lines[at + len(device["plan"])].startswith("What each change"), lines)

    def test_brief_is_one_screen_of_anything(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / ("\x01" * 200 + ".pickle")
            frames = [{"filename": "\x02" * 3000 + ".py", "line": 1, "name": "\x03" * 3000}]
            trace = [{"action": "alloc", "addr": 1 << 21, "size": 1 << 30, "stream": 0, "frames": frames},
                     {"action": "oom", "device_free": 5, "size": 1 << 30, "stream": 0, "frames": frames}]
            path.write_bytes(pickle.dumps({"segments": [], "device_traces": [[dict(event) for event in trace] for _ in range(9)]}))
            data = run("report", "--json", "--brief", path)
            self.assertLessEqual(len(data), 4096)
            document = json.loads(data)
            self.hold("brief", document, "hostile names")
            self.assertEqual(len(document["devices"]) + document["devices_left_out"], 9)


if __name__ == "__main__":
    unittest.main(verbosity=2)
