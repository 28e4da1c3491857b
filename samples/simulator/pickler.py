"""Two writers of pickle opcodes: CPython's encoding as a stream, and that of torch's C++ JIT pickler.

The stream is byte for byte what CPython's C pickler writes for the same objects (checked with 3.11), but it never needs
all of them at once: events are encoded as they happen.
"""

from struct import pack

from .stacks import Context
from .world import entry

FRAME_TARGET = 64 * 1024  # protocol 4 and later: a frame ends at the first object that begins beyond this
FRAME_MIN = 4  # shorter frames have no header
BATCH = 1000  # items per MARK ... APPENDS


def encode_int(value):
    if 0 <= value <= 0xFF:
        return b"K" + bytes((value,))
    if 0 <= value <= 0xFFFF:
        return b"M" + value.to_bytes(2, "little")
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return b"J" + pack("<i", value)
    # `value + 1` for a negative number, because -2^(8k - 1) needs k bytes, not k + 1.
    size = ((value + (value < 0)).bit_length() >> 3) + 1
    return b"\x8a" + bytes((size,)) + value.to_bytes(size, "little", signed=True)


class StreamPickler:
    """Writes one pickle through `write(bytes)`."""

    def __init__(self, write, protocol):
        self._write, self._protocol = write, protocol
        self._framed = protocol >= 4
        self._buffer = bytearray()
        self._memo = {}  # id of an object -> number
        self._alive = []  # memoised objects that nobody else keeps alive; their ids must not be used again
        self.count = 0  # memo entries so far
        write(b"\x80" + bytes((protocol,)))

    # ---- output ----

    def _boundary(self):
        if len(self._buffer) >= FRAME_TARGET:
            self._commit()

    def _commit(self):
        buffer = self._buffer
        if self._framed and len(buffer) >= FRAME_MIN:
            self._write(b"\x95" + pack("<Q", len(buffer)))
        self._write(bytes(buffer))
        buffer.clear()

    def raw(self, opcodes):
        """Writes opcodes that begin no object: marks, and those that end a container."""
        self._buffer += opcodes

    def finish(self):
        self.raw(b".")
        self._commit()

    # ---- memo ----

    def _put(self):
        """The opcode that memoises the top of the stack under the next number."""
        number = self.count
        self.count += 1
        if self._protocol >= 4:
            return b"\x94"
        return b"q" + bytes((number,)) if number < 256 else b"r" + pack("<I", number)

    @staticmethod
    def get(number):
        return b"h" + bytes((number,)) if number < 256 else b"j" + pack("<I", number)

    def _memoise(self, value):
        self._memo[id(value)] = self.count
        self._alive.append(value)
        self.raw(self._put())

    def number(self, value):
        """Memo number of an object, or None."""
        return self._memo.get(id(value))

    # ---- objects ----

    def save(self, value):
        self._boundary()
        kind = type(value)
        if kind is int:
            self.raw(encode_int(value))
        elif kind is bool:
            self.raw(b"\x88" if value else b"\x89")
        elif kind is float:
            self.raw(b"G" + pack(">d", value))
        elif value is None:
            self.raw(b"N")
        elif kind is Context:
            self._context(value)
        elif id(value) in self._memo:
            self.raw(self.get(self._memo[id(value)]))
        else:
            {str: self._string, dict: self._dict, list: self._list, tuple: self._tuple}[kind](value)

    def _string(self, value):
        text = value.encode("utf-8", "surrogatepass")
        if len(text) < 256 and self._protocol >= 4:
            header = b"\x8c" + bytes((len(text),))
        else:
            header = b"X" + pack("<I", len(text))
        if len(text) < FRAME_TARGET:
            self.raw(header + text)
        else:  # stands between two frames
            self._commit()
            self._write(header + text)
        self._memoise(value)

    def _dict(self, value):
        self.raw(b"}")
        self._memoise(value)
        if not value:
            return
        items = list(value.items())
        if len(items) > 1:
            self.raw(b"(")
        for key, item in items:
            self.save(key)
            self.save(item)
        self.raw(b"u" if len(items) > 1 else b"s")

    def _list(self, value):
        self.raw(b"]")
        self._memoise(value)
        self._items(value)

    def _items(self, items):
        if len(items) == 1:
            self.save(items[0])
            self.raw(b"a")
            return
        for index, item in enumerate(items):
            if index % BATCH == 0:
                self.raw(b"e(" if index else b"(")
            self.save(item)
        if items:
            self.raw(b"e")

    def _tuple(self, value):
        for item in value:
            self.save(item)
        self.raw((b")", b"\x85", b"\x86", b"\x87")[len(value)])
        if value:
            self._memoise(value)

    def _context(self, context):
        """Writes a list of frames: in full the first time, then as a reference."""
        if context.memo is not None:
            self.raw(self.get(context.memo))
            return
        context.memo = self.count
        self.raw(b"]" + self._put())
        self._items(context.stack.frames)

    # ---- the snapshot's root, piece by piece ----

    def save_open_dict(self, key, value):
        """Opens a dict of several keys with its first key; the caller goes on with save() and closes it with raw(b"u")."""
        self._boundary()
        self.raw(b"}" + self._put() + b"(")
        self.save(key)
        self.save(value)

    def open_event_list(self, key):
        """Opens the list of devices, with its key, and the list of the first device's events."""
        self.save(key)
        for _ in range(2):
            self._boundary()
            self.raw(b"]" + self._put())

    def close_event_list(self, written):
        """Closes one device's events; the last of their batches is open."""
        assert written > 1  # a list of one has no mark
        self.raw(b"ea")


class EventStream:
    """A sink for the second pass: writes every event when it happens.

    An event whose keys, action and frames have all been written before is put together from ready-made bytes. All
    others go through StreamPickler.save, and so do those that may reach the end of a protocol 4 frame.
    """

    def __init__(self, pickler, flavour, early):
        self.pickler, self.flavour = pickler, flavour
        self.early = early  # number of a context -> memo number, of lists that the segments held
        self.written = 0
        self._heads = {}  # action -> opcodes up to the address
        self._keys = None  # opcodes of the keys between the values
        self._integers = {}

    def event(self, world, device, action, address, size, stream, context, pool):
        pickler = self.pickler
        if self.written % BATCH == 0:
            pickler.raw(b"e(" if self.written else b"(")
        self.written += 1
        if context is not None and context.memo is None:
            context.memo = self.early.get(context.number)
        pickler._boundary()
        if not self._quick(world, action, address, size, stream, context):
            self._whole(world, action, address, size, stream, context, pool)

    def _whole(self, world, *rest):
        pickler = self.pickler
        alive = len(pickler._alive)
        item = entry(self.flavour, world, *rest, lambda context: context)
        pickler.save(item)
        self._learn(item)
        kept = []
        for value in pickler._alive[alive:]:
            if value is item or value is item["compile_context"]:
                del pickler._memo[id(value)]
            else:
                kept.append(value)
        pickler._alive[alive:] = kept

    def _learn(self, item):
        """Prepares bytes for the next event of this action."""
        if "frames" not in item or "addr" not in item or self.flavour.pool_id:
            return
        pickler = self.pickler
        keys = {key: pickler.get(pickler.number(key)) for key in item}
        values = pickler.get(pickler.number(item["action"]))
        self._heads[item["action"]] = b"(" + keys["action"] + values + keys["addr"]
        self._keys = (keys["size"], keys["stream"], keys["time_us"] + b"\x8a\x07", keys["compile_context"],
                      keys["user_metadata"] + pickler.get(pickler.number("")) + keys["frames"])

    def _quick(self, world, action, address, size, stream, context):
        head = self._heads.get(action)
        if head is None or context is None or world.compile_context != "N/A" or world.user_metadata:
            return False
        pickler = self.pickler
        body = b"" if context.memo is not None else self._frames(context.stack)
        if body is None or len(pickler._buffer) + len(body) + 160 >= FRAME_TARGET:
            return False
        size_key, stream_key, time_key, compile_key, rest = self._keys
        short = b"\x8c\x03N/A" if pickler._protocol >= 4 else b"X\x03\0\0\0N/A"
        opcodes = b"".join((b"}", pickler._put(), head, self._integer(address), size_key, self._integer(size),
                            stream_key, self._integer(stream), time_key, world.time_us.to_bytes(7, "little"),
                            compile_key, short, pickler._put(), rest))
        if context.memo is None:
            context.memo = pickler.count
            tail = b"]" + pickler._put() + body + b"u"
        else:
            tail = pickler.get(context.memo) + b"u"
        pickler._buffer += opcodes
        pickler._buffer += tail
        return True

    def _frames(self, stack):
        """Opcodes that fill a list with the frames of a stack. None: some frames have not been written yet."""
        if stack.pickled is None:
            numbers = [self.pickler.number(frame) for frame in stack.frames]
            if None in numbers or len(numbers) < 2:
                return None
            stack.pickled = b"(" + b"".join(map(self.pickler.get, numbers)) + b"e"
        return stack.pickled

    def _integer(self, value):
        found = self._integers.get(value)
        if found is None:
            if len(self._integers) > 500_000:
                self._integers.clear()
            found = self._integers[value] = encode_int(value)
        return found


class JitPickler:
    """Writes as torch/csrc/jit/serialization/pickler.cpp does: protocol 2, one batch per container, memo after the container."""

    def __init__(self, write):
        self._write = write
        self._uses = {}
        self._memo = {}  # id of a shared container or text of a string -> number

    def dump(self, value):
        self._count(value)
        self._write(b"\x80\x02")
        self._save(value)
        self._write(b".")

    def _count(self, value):
        if not isinstance(value, (list, dict, tuple)):
            return
        self._uses[id(value)] = self._uses.get(id(value), 0) + 1
        if self._uses[id(value)] == 1:
            for item in value.values() if isinstance(value, dict) else value:
                self._count(item)

    def _put(self, key):
        number = self._memo[key] = len(self._memo)
        self._write(b"q" + bytes((number,)) if number < 256 else b"r" + pack("<I", number))

    def _save(self, value):
        kind = type(value)
        if kind is str:
            self._string(value)
        elif kind is int:
            self._write(self._integer(value))
        elif kind is bool:
            self._write(b"\x88" if value else b"\x89")
        elif kind is float:
            self._write(b"G" + pack(">d", value))
        elif value is None:
            self._write(b"N")
        elif id(value) in self._memo:
            self._write(StreamPickler.get(self._memo[id(value)]))
        else:
            self._container(kind, value)
            if self._uses[id(value)] > 1:
                self._put(id(value))

    def _string(self, value):
        """Raw bytes of a std::string: what is not valid text stays as it is. Equal strings are written once."""
        if value in self._memo:
            self._write(StreamPickler.get(self._memo[value]))
            return
        text = value.encode("utf-8", "surrogatepass")
        self._write(b"X" + pack("<I", len(text)) + text)
        self._put(value)

    @staticmethod
    def _integer(value):
        """Signed 64 bits: a number that does not fit becomes negative, as by the cast in C++."""
        value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
        if -0x80000000 <= value <= 0x7FFFFFFF:
            return encode_int(value)
        return b"\x8a\x08" + value.to_bytes(8, "little", signed=True)

    def _container(self, kind, value):
        if kind is tuple:
            for item in value:
                self._save(item)
            self._write((b")", b"\x85", b"\x86", b"\x87")[len(value)])
            return
        self._write(b"}(" if kind is dict else b"](")
        for item in _jit_items(value) if kind is dict else value:
            self._save(item)
        self._write(b"u" if kind is dict else b"e")


_JIT_ORDER = ("action", "addr", "device_free", "size", "stream", "compile_context", "user_metadata", "time_us",
              "pool_id", "frames", "forward_frames")


def _jit_items(value):
    """Keys and values of a dict in turn; those of a trace event are in the order of the C++ writer."""
    keys = [key for key in _JIT_ORDER if key in value] if "action" in value else value
    for key in keys:
        yield key
        yield value[key]
