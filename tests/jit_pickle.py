"""Writes pickles as TorchScript's pickler does (torch/csrc/jit/serialization/pickler.cpp)."""

import collections
import io
import struct


def jit_pickle(value):
    """Pickles as torch::jit::Pickler does: protocol 2, one batch of any length, memo entries after the container is
    complete and only for what is shared, strings by value, wide integers as 8 signed bytes."""
    out = io.BytesIO()
    out.write(b"\x80\x02")
    JitPickler(out, value).add(value)
    out.write(b".")
    return out.getvalue()


class JitPickler:
    def __init__(self, out, root):
        self.out = out
        self.memo = {}
        self.uses = collections.Counter()
        self.count_uses(root)

    def count_uses(self, value):
        if isinstance(value, (dict, list)):
            self.uses[id(value)] += 1
            if self.uses[id(value)] == 1:
                for item in value.values() if isinstance(value, dict) else value:
                    self.count_uses(item)

    def add(self, value):
        if isinstance(value, bool):
            self.out.write(b"\x88" if value else b"\x89")
        elif isinstance(value, int):
            self.add_int(value)
        elif isinstance(value, float):
            self.out.write(b"G" + struct.pack(">d", value))
        elif value is None:
            self.out.write(b"N")
        elif isinstance(value, str):
            self.add_shared(("text", value), lambda: self.add_text(value), True)
        elif isinstance(value, tuple):
            self.add_tuple(value)
        else:
            add = self.add_dict if isinstance(value, dict) else self.add_list
            self.add_shared(id(value), lambda: add(value), self.uses[id(value)] > 1)

    def add_shared(self, key, add, shared):
        if key in self.memo:
            self.write_index(b"h", b"j", self.memo[key])
            return
        add()
        if shared:
            self.memo[key] = len(self.memo)
            self.write_index(b"q", b"r", self.memo[key])

    def write_index(self, short, long, index):
        self.out.write(short + bytes([index]) if index < 256 else long + struct.pack("<I", index))

    def add_int(self, value):
        if value >= 1 << 63:
            value -= 1 << 64
        if 0 <= value < 256:
            self.out.write(b"K" + bytes([value]))
        elif 0 <= value < 65536:
            self.out.write(b"M" + struct.pack("<H", value))
        elif -(1 << 31) <= value < 1 << 31:
            self.out.write(b"J" + struct.pack("<i", value))
        else:
            self.out.write(b"\x8a\x08" + struct.pack("<q", value))

    def add_text(self, value):
        data = value.encode()
        self.out.write(b"X" + struct.pack("<I", len(data)) + data)

    def add_tuple(self, value):
        for item in value:
            self.add(item)
        self.out.write(b"\x86")  # pairs are the only tuples of a snapshot

    def add_list(self, value):
        self.out.write(b"](")
        for item in value:
            self.add(item)
        self.out.write(b"e")

    def add_dict(self, value):
        self.out.write(b"}(")
        for key, item in value.items():
            self.add(key)
            self.add(item)
        self.out.write(b"u")
