"""Makes snapshots that no program writes, from a seed: sizes near 2^31, 2^32, 2^53 and 2^62 to 2^64, times that run backwards,
addresses that wrap or repeat, frees without an allocation, fields that are missing or have the wrong type."""

import random

NEAR = [0, 1, 511, 512, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, -1, (1 << 53) + 1]
HUGE = [1 << 61, 1 << 62, (1 << 63) - 1, (1 << 64) - 1, -(1 << 63)]
ACTIONS = ["alloc"] * 3 + ["free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
                           "oom", "snapshot", "bogus"]
BEGIN_US = 1_700_000_000_000_000


class Maker:
    def __init__(self, seed):
        """Even seeds have no sizes that the reader refuses, so that the code after the reader runs."""
        self.random = random.Random(seed)
        self.numbers = NEAR + (HUGE if seed % 2 else [])
        self.frames = [[self.frame() for _ in range(self.random.randint(0, 4))] for _ in range(5)]

    def number(self):
        return self.random.choice(self.numbers) + self.random.choice([-1, 0, 0, 0, 1, 512])

    def seldom(self, share, usual):
        return self.number() if self.random.random() < share else usual

    def frame(self):
        choice = self.random.choice
        return {"name": choice(["f", "g", "", "x" * 20000, "a/b c", "forward"]), "line": choice([1, 0, -1, 1 << 31, 1 << 40]),
                "filename": choice(["/a/b.py", "t.py", "", "/lib/python3.1/x.py"])}

    def event(self, i, live, time_us):
        choice = self.random.choice
        action = choice(ACTIONS)
        address = self.seldom(0.1, choice([i << 21, i << 12, choice(live) if live else 0]))
        if action == "alloc":
            live.append(address)
        event = {"action": action, "addr": address, "size": self.seldom(0.15, choice([512, 1024, 1 << 20, 1 << 30])),
                 "stream": choice([0, 0, 1, self.number()]), "time_us": self.seldom(0.05, time_us), "frames": choice(self.frames)}
        if action == "oom":
            event["device_free"] = self.number()
        if self.random.random() < 0.05:
            event["user_metadata"] = choice(["m", {"a": 1}, None, 5])
        if self.random.random() < 0.02:
            event.pop(choice(list(event)))
        return event

    def trace(self):
        live, time_us, events = [], BEGIN_US, []
        for i in range(self.random.choice([0, 1, 3, 30, 200])):
            time_us += self.random.choice([0, 1, 1000, 10**6])
            events.append(self.event(i, live, time_us))
        return events

    def segment(self, i):
        choice, address, blocks, total = self.random.choice, self.seldom(0.2, i << 30), [], 0
        for _ in range(self.random.randint(0, 6)):
            size = self.seldom(0.1, choice([512, 1 << 20, 2 << 20]))
            blocks.append({"address": self.seldom(0.05, address + total), "size": size, "frames": choice(self.frames),
                           "requested_size": choice([size, size - 1, self.number()]),
                           "state": choice(["inactive", "active_allocated", "active_pending_free", "active_awaiting_free", "x"])})
            total += max(size, 0)
        return {"device": self.seldom(0.1, choice([0, 0, 0, 1])), "address": address, "total_size": self.seldom(0.1, total),
                "allocated_size": choice([total, self.number()]), "active_size": total, "requested_size": total,
                "stream": choice([0, 1, self.number()]), "segment_type": choice(["large", "small", "q"]), "blocks": blocks,
                "segment_pool_id": choice([(0, 0), (0, 1), (self.number(), self.number())]),
                "is_expandable": self.random.random() < 0.3}

    def settings(self):
        conf = f"max_split_size_mb:{self.number()},roundup_power2_divisions:[256:{self.number()},>:0]"
        return self.random.choice([{}, {"PYTORCH_CUDA_ALLOC_CONF": conf}, {
            "max_split_size": self.number(), "expandable_segments": self.random.choice([True, "x"]),
            "garbage_collection_threshold": self.random.choice([0.8, float("nan"), 1e300, -1]),
            "roundup_power2_divisions": {"1": self.number()}}])

    def annotations(self):
        names = [f"ProfilerStep#{self.number()}", "forward", "backward", "Optimizer.step#A.step", "x"]
        return [{"name": self.random.choice(names), "stage": self.random.choice(["START", "END"]),
                 "time_us": BEGIN_US + self.random.choice([i * 1000, self.number()]), "device": self.seldom(0.5, 0)}
                for i in range(self.random.choice([0, 4, 30]))]

    def snapshot(self):
        return {"segments": [self.segment(i) for i in range(self.random.randint(0, 5))],
                "device_traces": [self.trace() for _ in range(self.random.choice([1, 1, 2, 5]))],
                "allocator_settings": self.settings(), "external_annotations": self.annotations()}
