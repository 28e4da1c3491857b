#!/usr/bin/env python3
"""Compares Strata's categories with PyTorch's own, for a run that samples/record_cpu.py recorded in both ways.

    STATE_DUMP=path/to/state_dump torch_labels_test.py

The profiler's memory timeline infers categories from the data flow through operators and from the optimizer's state; Strata
infers them from stacks and lifetimes. Allocations of the two files are matched by their time in nanoseconds.
"""

import collections
import decimal
import gzip
import json
import os
import pathlib
import subprocess
import sys
import unittest

SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "samples"
TRACE, TIMELINE = SAMPLES / "cpu_train.trace.json.gz", SAMPLES / "cpu_train.raw.json.gz"
CPU = "-1"
CREATE = 2
NAMES = ("parameter", "optimizer_state", "input", "temporary", "activation", "gradient", "autograd_detail", "unknown")

# Pairs of names for the same thing. PyTorch calls memory that backward makes and drops "autograd detail". It calls
# everything that forward computes an activation, Strata only what backward still needs.
SAME = {("autograd_detail", "temporary"), ("activation", "temporary")}
LEAST_EQUAL, LEAST_SAME, MOST_CONTRADICTED = 0.96, 0.985, 0.005  # shares of bytes times events


def read(path):
    return json.loads(gzip.decompress(path.read_bytes()), parse_float=decimal.Decimal)


def allocations(trace):
    """[(event, nanoseconds, bytes)] of the [memory] events, in the order of time."""
    events = [event for event in trace["traceEvents"] if event["name"] == "[memory]"]
    base = trace["baseTimeNanoseconds"]
    times = sorted((int(event["ts"] * 1000) + base, index, event["args"]["Bytes"]) for index, event in enumerate(events))
    return [(event, time, nbytes) for event, (time, _, nbytes) in enumerate(times) if nbytes > 0]


def categories_of_torch(timeline):
    """{(nanoseconds, bytes): category}"""
    return {(time, nbytes): NAMES[category] for time, action, nbytes, category in timeline if action == CREATE}


def categories_of_strata():
    """{birth event: (death event, category)}"""
    done = subprocess.run([os.environ["STATE_DUMP"], "--categories", TRACE, CPU], capture_output=True, text=True,
                          check=True, timeout=60)
    rows = (line.split() for line in done.stdout.splitlines())
    return {int(birth): (int(death), category) for birth, death, _, category in rows}


class TorchLabels(unittest.TestCase):
    def test_agreement(self):
        torch_says, strata_says = categories_of_torch(read(TIMELINE)), categories_of_strata()
        weight, count = collections.Counter(), collections.Counter()
        for event, time, nbytes in allocations(read(TRACE)):
            death, said = strata_says[event]
            pair = torch_says[time, nbytes], said
            weight[pair] += nbytes * (death - event)
            count[pair] += 1
        whole = sum(weight.values())
        print("\nshare of bytes times events, allocations, torch's word, Strata's word")
        for pair, part in weight.most_common():
            print(f"{100 * part / whole:8.3f} % {count[pair]:6} {pair[0]:16} {pair[1]}")
        equal = sum(part for pair, part in weight.items() if pair[0] == pair[1])
        same = equal + sum(part for pair, part in weight.items() if pair in SAME)
        contradicted = sum(part for pair, part in weight.items()
                           if pair[0] not in (pair[1], "unknown") and pair not in SAME and pair[1] != "other")
        print(f"equal {100 * equal / whole:.2f} %, the same in other words {100 * same / whole:.2f} %, "
              f"contradicted {100 * contradicted / whole:.2f} %, of {sum(count.values())} allocations")
        self.assertEqual(len(torch_says), sum(count.values()), "allocations of the two files are the same ones")
        self.assertGreaterEqual(equal, LEAST_EQUAL * whole)
        self.assertGreaterEqual(same, LEAST_SAME * whole)
        self.assertLessEqual(contradicted, MOST_CONTRADICTED * whole)


if __name__ == "__main__":
    if sys.argv[1:] == ["-v"]:
        sys.argv.pop()
    unittest.main()
