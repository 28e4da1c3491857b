#!/usr/bin/env python3
"""Compares Strata's figures, stacks and groups with an independent reader, on hundreds of simulated recordings.

    STRATA=path/to/strata STATE_DUMP=path/to/state_dump replay_test.py [SEEDS]

Three parties must agree: the simulator, which knows what really happened, the plain replay in replay.py, and Strata.
A seed that fails is written to a file by `simulate.py SEED FILE`.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import replay
import simulate

FIRST_SEED = 1
DEFAULT_SEEDS = 320
EVENTS_COMPARED = 12  # for each device, besides both ends and the peak
SPARE_MESSAGES = 5  # for one seed


def run(*command):
    """Standard output of a command that has to succeed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{command} exits {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout.decode()


class Comparison:
    """One simulated file."""

    def __init__(self, seed, folder, strata, state_dump):
        self.settings = simulate.settings_of(seed)
        self.simulation = simulate.Simulation(self.settings)
        self.path = pathlib.Path(folder, f"seed{seed}.bin")
        self.path.write_bytes(self.simulation.dump())
        self.strata = strata
        self.state_dump = state_dump
        self.rng = random.Random(f"comparison {seed}")
        self.differences = []

    def expect(self, what, wanted, got):
        if wanted != got and len(self.differences) < SPARE_MESSAGES:
            self.differences.append(f"{what}: expected {str(wanted)[:300]}, got {str(got)[:300]}")

    def compare(self):
        try:
            self.devices = replay.read_devices(self.path)
            for device in self.devices:
                device.site_of = self.site_key
            self.compare_truth()
            self.compare_report("site", self.site_of)
            self.compare_report("stack", lambda allocation: tuple(map(replay.frame_key, allocation.frames)))
            for device in self.devices:
                self.compare_states(device)
        except AssertionError as failure:
            self.differences.append(str(failure))
        finally:
            self.path.unlink()
        return self.differences

    # ---- the control itself ----

    def compare_truth(self):
        """The plain replay must find what really happened, as far as it was recorded."""
        by_ordinal = {device.ordinal: device for device in self.devices}
        for truth in self.simulation.devices:
            device = by_ordinal.get(truth.ordinal)
            if device is None:
                self.expect(f"device {truth.ordinal} is left out", (0, 0), (len(truth.events), len(truth.segments())))
                continue
            if truth.knows_reserved():
                self.expect("true reserved bytes", truth.reserved_after, device.reserved)
            if self.settings.exact():
                for moment in self.moments(device):
                    alive = sorted((allocation.address, allocation.size) for allocation, _ in device.alive_at(moment))
                    self.expect(f"true state at moment {moment}", truth.true_alive(moment), alive)

    def moments(self, device):
        middle = [self.rng.randrange(device.end) for _ in range(EVENTS_COMPARED)]
        return sorted({0, device.end - 1, device.figures()["peak_event"] + 1, *middle})

    # ---- strata report ----

    @staticmethod
    def site_key(frames):
        frame = simulate.site_of(frames)
        return None if frame is None else replay.frame_key(frame)

    def site_of(self, allocation):
        return self.site_key(allocation.frames)

    def compare_report(self, group, key):
        report = json.loads(run(self.strata, "report", "--json", "--top", "0", "--group", group, self.path))
        self.expect("schema", 3, report["schema"])
        wanted = [device.figures() for device in self.devices]
        self.expect("devices", [each["device"] for each in wanted], [each["device"] for each in report["devices"]])
        for device, got in zip(self.devices, report["devices"]):
            for name, value in device.figures().items():
                self.expect(f"device {device.ordinal}, {name}", value, got.get(name))
            self.expect(f"device {device.ordinal}, oom", device.ooms(), got["oom"])
            self.compare_groups(device, got, group, key)

    def compare_groups(self, device, got, group, key):
        peak = got["peak_bytes"]
        groups = replay.groups(device.alive_at(device.curve.index(max(device.curve))), key)
        top = got["top_at_peak"]
        what = f"device {device.ordinal}, top_at_peak by {group}"
        wanted = sorted((nbytes, count) for nbytes, count, _ in groups)
        self.expect(what, wanted, sorted((each["bytes"], each["count"]) for each in top))
        self.expect(f"{what}, order", sorted((each["bytes"] for each in top), reverse=True), [each["bytes"] for each in top])
        self.expect(f"{what}, sum", peak, sum(each["bytes"] for each in top))
        for each in top:
            share = each["bytes"] / peak if peak else 0
            if abs(each["share"] - share) > 0.0051:
                self.expect(f"{what}, share of {each['site']}", share, each["share"])
        if group == "site":
            self.expect(f"{what}, names", *(sorted(names) for names in self.names(groups, top)))
        else:
            self.expect(f"{what}, stacks", *(sorted(stacks) for stacks in self.stacks(groups, top)))

    @staticmethod
    def names(groups, top):
        """(bytes, base name of the file, line, function) of the groups of either party."""
        wanted = []
        for nbytes, _, frame in groups:
            if frame is None:
                wanted.append((nbytes, "(no stack recorded)"))
                continue
            file, line, name, _ = frame
            base = file.replace("\\", "/").rsplit("/", 1)[-1]
            if base.endswith(".py"):
                wanted.append((nbytes, f"{base}:{line} {name}" if line else f"{base} {name}"))
            else:  # for C++ only the function, without types; the simulated frames have no line
                wanted.append((nbytes, re.sub(r"^(?:\S+ )?(.*?)(?:<.*>)?\(.*\)$", r"\1", name)))
        return wanted, [(each["bytes"], each["site"]) for each in top]

    @staticmethod
    def stacks(groups, top):
        wanted = [(nbytes, [list(frame[:3]) for frame in frames]) for nbytes, _, frames in groups]
        got = [(each["bytes"], [[f["file"], f.get("line") or 0, f["name"]] for f in each["stack"]]) for each in top]
        return wanted, got

    # ---- every allocation at a moment ----

    def compare_states(self, device):
        moments = self.moments(device)
        output = run(self.state_dump, self.path, device.ordinal, *(moment - 1 for moment in moments)).splitlines()
        wanted = []
        for moment in moments:
            alive = device.alive_at(moment)
            wanted.append(f"event {moment - 1} {len(alive)}")
            for allocation, offset in alive:
                wanted.append(f"{allocation.address} {allocation.size} {offset} {int(allocation.pending(moment))}")
        for line, (want, got) in enumerate(zip(wanted, output)):
            self.expect(f"device {device.ordinal}, state_dump's line {line}", want, got)
        self.expect(f"device {device.ordinal}, lines of state_dump", len(wanted), len(output))


def main(arguments):
    n_seeds = int(arguments[0]) if arguments else DEFAULT_SEEDS
    strata, state_dump = os.environ["STRATA"], os.environ["STATE_DUMP"]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:

        def compare(seed):
            return seed, Comparison(seed, folder, strata, state_dump).compare()

        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            for seed, differences in pool.map(compare, range(FIRST_SEED, FIRST_SEED + n_seeds)):
                failed += bool(differences)
                for difference in differences:
                    print(f"seed {seed}: {difference}")
    print(f"{n_seeds - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
