"""Makes small files that expand enormously: opcodes that refer to one text, list or frame again and again, and files
with many of two things at once. small_files_test.py limits the cost of each."""

import functools
import json
import pickle
import struct

EMPTY_DICT, EMPTY_LIST, MARK, APPEND, APPENDS, SETITEM, SETITEMS, STOP = b"}", b"]", b"(", b"a", b"e", b"s", b"u", b"."


class Pickle:
    """Writes opcodes. Named values are written once and then referred to."""

    def __init__(self):
        self.out, self.memo = bytearray(b"\x80\x04"), {}  # the opcode that refers to each named value

    def raw(self, *parts):
        for part in parts:
            self.out += part
        return self

    def refer(self, name):
        self.out += self.memo[name]
        return self

    def keep(self, name):
        """Names the top of the stack."""
        index = len(self.memo)
        put, get, number = (b"q", b"h", bytes([index])) if index < 256 else (b"r", b"j", struct.pack("<I", index))
        self.memo[name] = get + number
        return self.raw(put + number)

    def text(self, value):
        again = self.memo.get(value)
        if again:
            self.out += again
            return self
        data = value.encode()
        return self.raw(b"X", struct.pack("<I", len(data)), data).keep(value)

    def integer(self, value):
        return self.raw(self.integer_bytes(value))

    @staticmethod
    def integer_bytes(value):
        return b"J" + struct.pack("<i", value) if value < 1 << 31 else b"\x8a\x08" + struct.pack("<q", value)

    def list(self, count, item):
        """A list of `count` elements, each written by item(i)."""
        self.raw(EMPTY_LIST, MARK)
        for i in range(count):
            item(i)
        return self.raw(APPENDS)

    def event(self, i, more=lambda: None):
        """An allocation; more() writes further keys and values."""
        self.raw(EMPTY_DICT, MARK).text("action").text("alloc").text("addr").integer(4096 * (i + 1)).text("size").integer(512)
        self.text("stream").integer(0).text("time_us").integer(i)
        more()
        return self.raw(SETITEMS)

    def snapshot(self, count, event):
        self.raw(EMPTY_DICT, MARK).text("segments").raw(EMPTY_LIST).text("device_traces").raw(EMPTY_LIST)
        self.list(count, event)
        return bytes(self.raw(APPEND, SETITEMS, STOP).out)


def forward_frames_again(n_events, n_chunks, chunk):
    """Every event refers to one list of `n_chunks` references to one text."""
    pickle = Pickle()

    def value():
        if "list" in pickle.memo:
            pickle.refer("list")
        else:
            pickle.list(n_chunks, lambda _: pickle.text(chunk)).keep("list")
    return pickle.snapshot(n_events, lambda i: pickle.event(i, lambda: (pickle.text("forward_frames"), value())))


def forward_frames_anew(n_events, n_chunks, chunk):
    """Every event has a list of its own, all with different content."""
    pickle = Pickle()

    def item(i, at):
        pickle.text(f"{i}" if at == 0 else chunk)
    return pickle.snapshot(n_events, lambda i: pickle.event(i, lambda: (
        pickle.text("forward_frames"), pickle.list(n_chunks, lambda at: item(i, at)))))


def forward_frames_alike(n_events, n_chunks, chunk):
    """Every event has a list of its own, all with the same content."""
    pickle = Pickle()
    return pickle.snapshot(n_events, lambda i: pickle.event(i, lambda: (
        pickle.text("forward_frames"), pickle.list(n_chunks, lambda _: pickle.text(chunk)))))


def metadata_anew(n_events, text):
    """Every event has a dict of its own, which refers to one long text."""
    pickle = Pickle()
    return pickle.snapshot(n_events, lambda i: pickle.event(i, lambda: (
        pickle.text("user_metadata").raw(EMPTY_DICT, MARK).text("a").integer(i).text("b").text(text).raw(SETITEMS))))


def metadata_wide(n_events, n_keys):
    """Every event has a dict of its own around one that has many keys."""
    pickle = Pickle()

    def inner():
        if "wide" in pickle.memo:
            return pickle.refer("wide")
        pickle.raw(EMPTY_DICT, MARK)
        for key in range(n_keys):
            pickle.text(f"key {key}").integer(key)
        return pickle.raw(SETITEMS).keep("wide")
    return pickle.snapshot(n_events, lambda i: pickle.event(i, lambda: (
        pickle.text("user_metadata").raw(EMPTY_DICT, MARK).text("a").integer(i).text("b"), inner(), pickle.raw(SETITEMS))))


def annotations_alike(n_annotations, n_devices, name):
    """All annotations refer to one long name."""
    pickle = Pickle().raw(EMPTY_DICT, MARK).text("external_annotations")

    def annotation(i):
        pickle.raw(EMPTY_DICT, MARK).text("name").text(name).text("stage").text("END" if i % 2 else "START").text("time_us").integer(i)
        pickle.text("device").integer(0).raw(SETITEMS)
    pickle.list(2 * n_annotations, annotation).text("segments").raw(EMPTY_LIST).text("device_traces")
    return bytes(pickle.list(n_devices, lambda _: pickle.list(2, pickle.event)).raw(SETITEMS, STOP).out)


def names_alike(n_events, name):
    """Every event has a frame and a context of its own, which refer to one long file, name and compile context."""
    pickle = Pickle()

    def more(i):
        pickle.text("frames").raw(EMPTY_LIST, EMPTY_DICT, MARK).text("filename").text(name).text("name").text(name).text("line").integer(i)
        pickle.raw(SETITEMS, APPEND).text("compile_context").text(name).text("user_metadata").text(f"u{i}")
    return pickle.snapshot(n_events, lambda i: pickle.event(i, lambda: more(i)))


def frames_one_by_one(n_frames):
    """A stack to which one frame after the other is appended."""
    pickle = Pickle()

    def frame(name):
        pickle.raw(EMPTY_DICT, MARK).text("filename").text("a.py").text("line").integer(1).text("name").text(name)
        pickle.raw(SETITEMS).keep("frame " + name)

    def stack():
        pickle.raw(EMPTY_LIST)
        for at in range(n_frames):
            if at < 2:
                frame("fg"[at])
            else:
                pickle.refer("frame " + "fg"[at % 2])
            pickle.raw(APPEND)
    return pickle.snapshot(1, lambda i: pickle.event(i, lambda: (pickle.text("frames"), stack())))


@functools.cache  # two tests use the same file
def devices_and_sites(n_devices, n_sites):
    """Every device has an event at each of its own `n_sites` call sites."""
    pickle = Pickle()

    def site(name):
        pickle.text("frames").raw(EMPTY_LIST, EMPTY_DICT, MARK).text("filename").text(f"/home/me/{name}.py").text("line").integer(1)
        pickle.text("name").text(name).raw(SETITEMS, APPEND)
    pickle.raw(EMPTY_DICT, MARK).text("segments").raw(EMPTY_LIST).text("device_traces")
    pickle.list(n_devices, lambda d: pickle.list(n_sites, lambda i: pickle.event(i, lambda: site(f"f{d}_{i}"))))
    return bytes(pickle.raw(SETITEMS, STOP).out)


def streams_and_segments(count):
    """`count` streams, each with a segment and an allocation of its own; two of three allocations are freed."""
    pickle = Pickle().raw(EMPTY_DICT, MARK)

    def place(i, key, size):
        pickle.raw(EMPTY_DICT, MARK).text(key).integer((1 << 40) + (i << 21)).text("stream").integer(i)
        pickle.text("total_size" if key == "address" else "size").integer(size)

    def event(i, action):
        place(i, "addr", 512)
        pickle.text("action").text(action).raw(SETITEMS)

    def segment(i):
        place(i, "address", 1 << 21)
        pickle.text("segment_type").text("small").raw(SETITEMS)

    def step(i):
        event(i // 2, "free_completed" if i % 2 and i // 2 % 3 else "alloc")
    pickle.text("segments").list(count, segment).text("device_traces").raw(EMPTY_LIST)
    return bytes(pickle.list(2 * count, step).raw(APPEND, SETITEMS, STOP).out)


def rubbish(element, count, in_json=False):
    """A list of `count` meaningless elements in place of events, in batches of a thousand, as picklers write them."""
    if in_json:
        return b'{"segments":[],"device_traces":[[' + (element + b",") * (count - 1) + element + b"]]}"
    pickle = Pickle().raw(EMPTY_DICT, MARK).text("segments").raw(EMPTY_LIST).text("device_traces").raw(EMPTY_LIST, EMPTY_LIST)
    return bytes(pickle.raw((MARK + element * 1000 + APPENDS) * (count // 1000), APPEND, SETITEMS, STOP).out)


def phases_and_allocations(count):
    """Nothing is freed, and each allocation has a phase of its own."""
    forward = [{"filename": "/u/model.py", "line": 3, "name": "forward"}, {"filename": "/u/train.py", "line": 9, "name": "step"}]
    backward = [{"filename": "??", "line": 0, "name": "torch::autograd::Engine::evaluate_function"},
                {"filename": "??", "line": 0, "name": "MulBackward0"}]
    return pickle.dumps({"segments": [], "device_traces": [[
        {"action": "alloc", "addr": 4096 * (i + 1), "size": 512, "stream": 0, "time_us": i, "frames": (forward, backward)[i % 2]}
        for i in range(count)]]})


def blocks_alone(count):
    """An honest state without events: segments of a thousand blocks, each in as few bytes as a pickler can write."""
    pickle = Pickle()

    def block(i):
        pickle.raw(EMPTY_DICT, MARK).text("address").integer(512 * (i + 1)).text("size").integer(512).text("state").text("active_allocated")
        pickle.raw(SETITEMS)

    def blocks(i):
        """The first two write the texts and refer to them; from then on only the address differs."""
        pickle.raw(EMPTY_LIST, MARK)
        written = 2 if i == 0 else 1
        for at in range(written):
            begin = len(pickle.out)
            block(1000 * i + at)
        last = bytes(pickle.out[begin:])
        before, _, after = last.partition(Pickle.integer_bytes(512 * (1000 * i + written)))
        for at in range(written, 1000):
            pickle.raw(before, Pickle.integer_bytes(512 * (1000 * i + at + 1)), after)
        return pickle.raw(APPENDS)

    def segment(i):
        pickle.raw(EMPTY_DICT, MARK).text("address").integer(512_000 * i + 512).text("total_size").integer(512_000).text("blocks")
        blocks(i).raw(SETITEMS)
    pickle.raw(EMPTY_DICT, MARK).text("device_traces").raw(EMPTY_LIST).text("segments")
    return bytes(pickle.list(count // 1000, segment).raw(SETITEMS, STOP).out)


def kineto(rows):
    return json.dumps({"traceEvents": rows}).encode()


def annotation(name, ts, dur):
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}


def memory(device, ts, address, size, total):
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "s": "t",
            "args": {"Device Type": 1, "Device Id": device, "Addr": address, "Bytes": size, "Total Allocated": total,
                     "Total Reserved": 1 << 30}}


def spans_in_spans(count, calls):
    """Nested operators with an allocation in each; with `calls`, each has a different caller."""
    rows = []
    for i in range(count):
        span = {"ph": "X", "cat": "cpu_op", "name": f"op{i}", "pid": 1, "tid": 1, "ts": 2 * i, "dur": 4 * (count - i)}
        rows += [{**span, "args": {"Call stack": f"a.py({i}): f"}} if calls else span, memory(0, 2 * i + 1, 4096 * (i + 1), 512, 512 * (i + 1))]
    return kineto(rows)


def calls_in_calls(count):
    """Nested Python functions with an allocation in each: every stack contains all outer functions."""
    rows = []
    for i in range(count):
        rows += [{"ph": "X", "cat": "python_function", "name": f"f.py({i}): s{i}", "pid": 1, "tid": 1, "ts": 2 * i, "dur": 4 * (count - i)},
                 memory(0, 2 * i + 1, 4096 * (i + 1), 512, 512 * (i + 1))]
    return kineto(rows)


def devices_and_annotations(n_devices, n_annotations):
    """A profiler's trace: annotations of the process, and one memory event of each device."""
    return kineto([annotation(f"ProfilerStep#{i}", i * 10, 9) for i in range(n_annotations)] +
                  [memory(device, 5, 4096, 512, 512) for device in range(n_devices)])


def marks_and_devices(rng):
    """Steps of a process with nested annotations, some with gaps in between, and events of two devices, each in its own
    part of the run. Returns rows of annotations and rows of each device."""
    rows, at = [], 0
    for step in range(rng.randrange(3, 30)):
        length = rng.randrange(20, 200)
        if rng.random() < 0.8:
            rows.append(annotation(f"ProfilerStep#{step}", at, length))
        rows.append(annotation("forward", at + 1, length // 2))
        rows.append(annotation("layer", at + 2, length // 4))
        if rng.random() < 0.8:
            rows.append(annotation("Optimizer.step#Adam.step", at + length // 2 + 2, length // 4))
        at += length + rng.choice((0, 0, 30))
    devices = []
    for device in range(2):
        begin, end = sorted(rng.sample(range(-20, at + 40), 2))
        held, events = [], []
        for ts in sorted(rng.randrange(begin, end + 1) for _ in range(rng.randrange(1, 60))):
            size = rng.choice((512, 4096, 1 << 20))
            if held and rng.random() < 0.5:
                address, size = held.pop(rng.randrange(len(held)))
                events.append(memory(device, ts, address, -size, sum(each for _, each in held)))
            else:
                held.append((4096 * (len(events) + 1) << 12, size))
                events.append(memory(device, ts, held[-1][0], size, sum(each for _, each in held)))
        devices.append(events)
    return rows, devices
