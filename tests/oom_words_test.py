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

    def make(self, line, nbytes, stream=0):
        stack = self.world.stacks.alloc("empty", ((PROJECT + "work.py", "main", line),))
        return self.world.malloc(nbytes, stack, stream)

    def drop(self, blocks):
        for block in blocks:
            self.world.free(block, self.world.stacks.free(((PROJECT + "work.py", "main", 99),)))

    def fail(self, nbytes, free=0):
        """Makes a request that fails, though `free` more bytes of the device were free; returns the JSON report and
        its text."""
        try:
            self.make(50, nbytes)
            raise AssertionError("it did not fail")
        except OutOfMemory:
            value = snapshot(self.world, self.recording, settings(self.expandable))
        value["device_traces"][0][-1]["device_free"] += free
        with tempfile.TemporaryDirectory() as folder:
            path, page = pathlib.Path(folder, "run.pickle"), pathlib.Path(folder, "run.html")
            path.write_bytes(pickle.dumps(value, protocol=4))
            read = lambda *words: subprocess.run([STRATA, *words], capture_output=True, check=True).stdout  # noqa: E731
            read("html", "-q", path, "-o", page)
            self.plans = [json.loads(read("plan", "--json", each))["devices"][0] for each in (path, page)]
            return json.loads(read("report", "--json", path))["devices"][0], " ".join(read("report", "--full", path).decode().split())


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
                text = subprocess.run([STRATA, "report", "--full", path], capture_output=True, check=True).stdout.decode()
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

    def test_a_block_of_another_stream_is_no_lack_of_size(self):
        """A free block of 864 MiB belongs to another stream, and a request for 300 MiB fails. The model must not serve
        it from that block, neither by the dump nor by its page."""
        run = Run(2 * GIB)
        for _ in range(9):
            run.make(1, 100 * MIB)
        run.drop([run.make(2, 900 * MIB, stream=9)])
        run.make(3, 36 * MIB, stream=9)
        device, text = run.fail(300 * MIB)
        self.assertEqual(device["oom_details"][0]["largest_hole_bytes"], 864 * MIB)
        self.assertIn("no free block of its pool, stream and size class was large enough", advice(device)["fragmented"])
        self.assertIn("no free block of its pool, stream and size class was large enough", text)
        self.assertNotIn("served as it is", text)
        self.assertEqual(device["replay"]["grade"], "exact")
        self.assertEqual([plan["fits"] for plan in run.plans], ["no", "no"])

    def test_a_small_request_fails_beside_free_large_blocks(self):
        run = Run(21 * MIB)
        run.make(1, 5 * MIB)
        device, _ = run.fail(512)
        self.assertIn("no free block of its pool, stream and size class was large enough", advice(device)["fragmented"])

    def test_a_limit_of_the_process(self):
        """30 GiB of the device are free, yet a request for 300 MiB fails: the process had a limit."""
        run = Run(2 * GIB)
        for _ in range(19):
            run.make(1, 100 * MIB)
        device, text = run.fail(300 * MIB, free=30 * GIB)
        self.assertNotIn("not_in_one_piece", advice(device))
        self.assertIn("enough for this request", advice(device)["free_enough"])
        self.assertIn("enough for this request", text)
        # Reserved were 1900 MiB, and the segment of 300 MiB was refused.
        self.assertEqual(run.plans[0]["budget"]["at_most_bytes"], 2200 * MIB - 1)

    def test_what_is_lacking_names_the_budget(self):
        """The process had reserved 1.76 GiB and could have had 248 MiB more: one figure of what is short."""
        run = Run(2 * GIB)
        run.make(1, 1800 * MIB)
        device, text = run.fail(500 * MIB)
        self.assertIn("it would have been 252 MiB short", text)
        self.assertIn("enough in 2.00 GiB, by itself or with one other: 252 MiB are lacking", advice(device)["plan"])
        self.assertNotIn("by cause:", text)  # nothing is unused, so the table would be empty

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
