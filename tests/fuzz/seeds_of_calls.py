"""Seeds of the target "api": what a page requests while somebody works with it, in the encoding of target_api.c."""

import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HANDLES = ("session", "view")
API = (ROOT / "render" / "page" / "page_api.def").read_text()
REQUEST = re.findall(r"FIELD\((\w+)\)", re.search(r"RECORD\(request\)(.*?)RECORD_END", API, re.S)[1])
FILTERS = ("size:>1KiB", "/forward|step/", "category:activation own:yes", "alive:peak", "phase:forward pool:default stream:0",
           "age:>10", "attention.py", '"layer norm"', "size:")


def calls_of(text):
    """{name: (handle, types of arguments)} of page_api.def."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    calls = {}
    for found in re.finditer(r"\b(SESSION|VIEW)\d(?:_RECORD|_ROWS)?\(([^()]*)\)", text):
        words = [word.strip() for word in found[2].split(",")]
        handle = HANDLES.index(found[1].lower())
        calls[HANDLES[handle], words[1]] = [word.split()[0] for word in words[2:]]
    return calls


def name_hash(handle, name):
    value = 2166136261 + HANDLES.index(handle)
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return (value ^ value >> 16) & 0xFFFF


def whole(value):
    """The nearest (n, shift) below a number with n in one byte."""
    shift = max(0, value.bit_length() - 8)
    return value >> shift, shift


def number(kind, value):
    if kind == "i32":
        return bytes((0, value + 128))
    if kind == "u32" and value >= 1 << 16:
        n, shift = whole(value)
        return bytes((224 | shift, n))
    if kind == "u32" and value >= 256:
        return bytes((160 + (value >> 8) % 40, value & 255))
    if kind == "f64" and value < 0:
        return bytes((192, 0))
    if kind == "f64" and value >= 128:
        n, shift = whole(value)
        return bytes((128 + (shift & 31), n))
    return bytes((0, value))


class Calls:
    def __init__(self, recipe, device=0):
        self.calls = calls_of(API)
        self.out = bytearray((0, *divmod(len(recipe), 256))) + recipe
        self.whose = device << 4

    def call(self, handle, name, *values):
        types = self.calls[handle, name]
        values += (0,) * (len(types) - len(values))  # arguments that were added to the call later
        self.out += name_hash(handle, name).to_bytes(2, "big") + bytes((self.whose,))
        self.out += b"".join(number(*pair) for pair in zip(types, values))

    def view(self, name, *values):
        self.call("view", name, *values)

    def session(self, name, *values):
        self.call("session", name, *values)

    def draw(self, **fields):
        whole_run = {"from": 0, "to": 1024, "width": 200, "height": 120, "top_bytes": 1 << 34}
        self.view("request")
        self.out += b"".join(number("f64", {**whole_run, **fields}.get(name, 0)) for name in REQUEST)
        self.view("draw")

    def words(self, slot, text):
        self.view("words", slot, len(text))
        self.out += text.encode()
        self.view("parse", slot)
        self.view("regex", slot, 0)
        for _ in range(8):  # select does a slice of the work at each call
            self.view("select", slot)


def facts(recipe, device):
    """Requests everything once, as a page does when it opens."""
    calls = Calls(recipe, device)
    for name, types in [(key[1], value) for key, value in calls.calls.items() if key[0] == "session"]:
        if name not in ("release", "reserve", "open", "unpack"):
            calls.session(name, *([1] * len(types)))
    calls.draw(capacity_bytes=1 << 33)
    for (handle, name), types in calls.calls.items():
        if handle == "view" and name not in ("release", "words", "request"):
            for value in (0, 1, 120):
                calls.view(name, *([value] * len(types)))
    return bytes(calls.out)


def drawing(recipe, device):
    calls = Calls(recipe, device)
    for color_by in range(7):
        calls.draw(color_by=color_by, areas=(0, 3, 4, 5)[color_by & 3], flags=color_by, axis=color_by & 1, to=64 if color_by & 2 else 1 << 20)
        calls.view("areas")
        calls.view("pick", 100, 100)
        calls.view("outline", 40)
        calls.view("phase_marks", color_by & 1, 9)
        calls.view("curve", 0, 0, 1024, 100, color_by & 1)
    calls.view("light", 0, 3)
    calls.draw(flags=8)
    for index in (0, 1, 5):
        calls.view("band", index)
        calls.view("pick", 60 * index, 110)
    calls.view("lanes")
    return bytes(calls.out)


def searching(recipe, device):
    calls = Calls(recipe, device)
    calls.draw()
    for slot in (1, 0):
        for text in FILTERS:
            calls.words(slot, text)
            for name, values in (("kept", ()), ("matches", (60,)), ("next_match", (0, 1)), ("next_match", (90, -1)),
                                 ("hits", (0, 0, 1024, 50)), ("narrow", (1,)), ("groups", (60, 60, 0, 0)),
                                 ("match_rows", (len(text) % 6, slot, 8 * slot - 1, 200)), *[("match_step", ())] * 12, ("match_list", ()),
                                 ("narrow", (0,))):
                calls.view(name, *values)
        calls.draw(flags=2)
    calls.view("filter_off")
    return bytes(calls.out)


def questions(recipe, device):
    calls = Calls(recipe, device)
    for by in range(6):
        calls.view("sums", by % 5, by, 16, 240, by)
        calls.view("sums_within", by, 1)
        calls.view("sums", (by + 1) % 5, 0, 120, 0, by)
        calls.view("sums_row", by % 5, 0)
        calls.view("pairs", by % 5, (by + 1) % 5)
        calls.view("pair", 0)
        calls.view("group_name", by, 1)
        calls.view("spark", by, 1, 60)
        calls.view("light", by, 1)
    for what in range(7):
        calls.view("tree", what, 16, 240, what & 1, what * 30)
        calls.view("node", 1)
        calls.view("groups", 16, 240, what & 1, what % 3)
        calls.view("group", 0)
    for allocation in (0, 30, 200):
        calls.view("siblings", allocation)
        calls.view("allocation", allocation)
    calls.view("light", 6, 3)
    calls.view("spark", 6, 3, 60)
    return bytes(calls.out)


def memory(recipe, device):
    """The allocator's map."""
    calls = Calls(recipe, device)
    calls.view("replay")
    for order in range(4):
        calls.view("map", (200, 60, 0, 512)[order], order, 300, 200, 256)
        calls.view("map_draw", 0, 150, order & 1, order)
        calls.view("map_labels", 0, 150, 8)
        for index in (0, 1, 2):
            calls.view("map_group", index)
            calls.view("map_part", index)
            calls.view("map_cell", index)
            calls.view("map_place", index, 0)
            calls.view("map_pick", 20 + 70 * index, 30 + 30 * index)
            calls.view("map_block_of", index)
        calls.view("map_part_from", 40)
        calls.view("gap", 200)
        calls.view("next_hole", -1)
        calls.view("next_hole", 3)
        calls.view("hole", 3)
        calls.view("pool_uses")
        calls.view("segments")
        calls.view("blocks")
    return bytes(calls.out)


def crafted(recipe, device):
    """A page that somebody changed, drawn like any other: with 15 bytes of its columns replaced."""
    head, calls = 3 + len(recipe), drawing(recipe, device)
    dice = random.Random(head)
    changes = bytes(dice.choice((0, 1, 2, 127, 255)) if i % 4 == 3 else dice.randrange(256) for i in range(60))
    return bytes((0xF0,)) + calls[1:head] + changes + calls[head:]


KINDS = {"facts": facts, "drawing": drawing, "searching": searching, "questions": questions, "memory": memory, "crafted": crafted}


def seeds(recipes):
    """All kinds of seeds for each of {name: recipe}."""
    for name, recipe in recipes.items():
        for kind, make in KINDS.items():
            yield f"{kind}_{name}", make(recipe, 1 if name == "two_devices" else 0)
