"""Sentences about a failed request. For each cause one run has it, and another, with a different cause, must not get
its sentence."""

import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "samples"))

from simulator.allocator import GIB, KIB, MIB, OutOfMemory  # noqa: E402
from simulator.stacks import PROJECT  # noqa: E402
from simulator.world import Flavour, Recording, World, settings, snapshot  # noqa: E402

STRATA = os.environ.get("STRATA", "strata")


class Run:
    """A script that makes and drops tensors until memory runs out."""

    def __init__(self, capacity, expandable=False):
        self.recording, self.expandable = Recording(Flavour(), 1), expandable
        self.world = World(1, self.recording, capacity=capacity, expandable=expandable)

    def make(self, line, nbytes):
        stack = self.world.stacks.alloc("empty", ((PROJECT + "work.py", "main", line),))
        return self.world.malloc(nbytes, stack)

    def drop(self, blocks):
        for block in blocks:
            self.world.free(block, self.world.stacks.free(((PROJECT + "work.py", "main", 99),)))

    def fail(self, nbytes):
        """Makes a request that fails; returns the JSON report and its text."""
        try:
            self.make(50, nbytes)
            raise AssertionError("it did not fail")
        except OutOfMemory:
            value = snapshot(self.world, self.recording, settings(self.expandable))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "run.pickle")
            path.write_bytes(pickle.dumps(value, protocol=4))
            read = lambda *words: subprocess.run([STRATA, "report", *words, path], capture_output=True, check=True).stdout  # noqa: E731
            return json.loads(read("--json"))["devices"][0], " ".join(read().decode().split())


def advice(device):
    return {each["code"]: each["text"] for each in device["oom_details"][0]["advice"]}


def kinds(device):
    return {finding["kind"] for finding in device["findings"]}


class Words(unittest.TestCase):
    def test_advice_names_the_variable_of_the_recording(self):
        """Ascend's torch_npu reads another environment variable than CUDA; a file that names no backend counts as
        CUDA's."""
        sample = pickle.loads(pathlib.Path(__file__).resolve().parent.parent.joinpath("samples", "oom.pickle").read_bytes())
        for given, said in (({"PYTORCH_NPU_ALLOC_CONF": ""}, "PYTORCH_NPU_ALLOC_CONF="), ({"PYTORCH_ALLOC_CONF": ""}, " PYTORCH_ALLOC_CONF="), ({}, "PYTORCH_CUDA_ALLOC_CONF=")):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "run.pickle")
                path.write_bytes(pickle.dumps({**sample, "allocator_settings": {"expandable_segments": False, **given}}, protocol=4))
                text = subprocess.run([STRATA, "report", path], capture_output=True, check=True).stdout.decode()
                self.assertIn(said, " " + " ".join(text.split()))

    def test_remainders_are_no_fragmentation(self):
        """Requests of 33 MiB take segments of 34 MiB. The unused remainders add up to the failed request, but no block
        is free."""
        run = Run(4 * GIB)
        while run.world.gpus[0].reserved + 34 * MIB <= 4 * GIB:
            run.make(1, 33 * MIB + 512)
        device, text = run.fail(33 * MIB)
        details = device["oom_details"][0]
        self.assertGreaterEqual(details["reserved_bytes"] - details["live_bytes"], 33 * MIB)
        self.assertEqual(details["hole_bytes"], 0)
        self.assertNotIn("fragmentation", kinds(device))
        self.assertIn("but nothing of that is in free blocks", advice(device)["fragmented"])
        self.assertIn("Largest free block none", text)
        self.assertIn("nothing of the 4.0 GiB reserved is free at the end.", text)

    def test_free_blocks_are_fragmentation(self):
        """The same; then twenty are freed before a request that fits into none of their places."""
        run = Run(2 * GIB)
        large = [run.make(1, 100 * MIB) for _ in range(20)]
        run.drop(large[::2])
        parts = [run.make(2, 60 * MIB) for _ in range(10)]
        device, _ = run.fail(200 * MIB)
        self.assertEqual(len(parts), 10)
        self.assertGreaterEqual(device["oom_details"][0]["hole_bytes"], 200 * MIB)
        self.assertIn("fragmentation", kinds(device))
        self.assertIn("no free block among them was large enough", advice(device)["fragmented"])
        self.assertIn("set_max_split_size", advice(device))

    def test_small_blocks_in_two_halves_are_fragmentation(self):
        """Half of the small segments is in use. Their free blocks would suffice together; max_split_size_mb has no
        effect on small requests."""
        run = Run(700 * MIB)
        for _ in range(700):
            run.make(1, 700 * KIB)
        device, _ = run.fail(700 * KIB)
        self.assertIn("fragmentation", kinds(device))
        self.assertIn("enable_expandable_segments", advice(device))
        self.assertNotIn("set_max_split_size", advice(device))

    def test_a_request_beyond_everything(self):
        run = Run(40 * GIB)
        run.make(1, 3 * GIB)
        self.assertIn("more than all that the process held and the GPU had free together (40.0 GiB)",
                      advice(run.fail(67 * GIB)[0])["memory_in_use"])
        run = Run(40 * GIB)
        run.make(1, 39 * GIB)
        self.assertIn("Even with every free byte", advice(run.fail(2 * GIB)[0])["memory_in_use"])

    def test_a_first_request(self):
        device, text = Run(40 * GIB).fail(67 * GIB)
        self.assertEqual(kinds(device), {"out_of_memory"})
        self.assertIn("[high] Out of memory: 67.0 GiB requested, 40.0 GiB free on the GPU. Requested by work.py:50 main. "
                      "Nothing was in use.", text)
        self.assertEqual(device["judged"]["growth"], "too_short")
        self.assertIn("No allocation was recorded", device["judged"]["text"])

    def test_zero_bytes_are_not_mentioned(self):
        run = Run(1 * GIB)
        run.make(1, 1 * GIB)
        device, text = run.fail(20 * MIB)
        self.assertEqual(device["findings"][0]["title"], "out of memory: 20 MiB requested, nothing free on the GPU")
        self.assertNotIn("0 B", text)


if __name__ == "__main__":
    unittest.main()
