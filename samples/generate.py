#!/usr/bin/env python3
"""Writes small, realistic PyTorch memory snapshots, and large ones for measurements. README.md lists the stories.

    generate.py                                          rewrites every sample of this folder
    generate.py --story oom -o oom.pickle --protocol 5   one story
    generate.py --story train --events 1000000 -o F      a file of any size, written as a stream
    generate.py --self-check                             proves that both ways of writing agree
"""

import argparse
import hashlib
import io
import pickle
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

from simulator import replay  # noqa: E402
from simulator.pickler import EventStream, JitPickler, StreamPickler  # noqa: E402
from simulator.stories import STORIES, play_fragmented, play_train  # noqa: E402
from simulator.world import Counting, Flavour, Recording, World  # noqa: E402
from simulator.world import annotation_dicts, segments_of, settings, snapshot  # noqa: E402

HERE = Path(__file__).resolve().parent
SEED = 7
PROTOCOL = 4  # what Python 3.8 to 3.13 write by default
CAPACITY = 1 << 42  # large files must not run out of memory
INCOMPLETE = ("overflow", "one_event")  # stories whose recording does not reach back to the beginning


class Large:
    """A story with any number of events."""

    def __init__(self, name, events, live=50_000, distinct=False):
        self.events, self.distinct = events, distinct
        self.play = play_train if name == "train" else lambda world: play_fragmented(world, live)

    def world(self, seed, sink):
        return World(seed, sink, distinct=self.distinct, limit=self.events, capacity=CAPACITY)

    def in_memory(self, seed):
        recording = Recording(Flavour(), 1)
        world = self.world(seed, recording)
        self.play(world)
        return snapshot(world, recording, settings())

    def stream(self, seed, write, protocol):
        """Plays the story twice: the segments stand at the beginning of the file but are known only at the end of the run."""
        first = self.world(seed, Counting())
        self.play(first)
        pickler = StreamPickler(write, protocol)
        nothing = []
        segments = segments_of(first, lambda context: nothing if context is None else context)
        pickler.save_open_dict("segments", segments)
        early = {context.number: context.memo for gpu in first.gpus for block in gpu.blocks.values()
                 for context in (block.context, block.segment_context) if context}
        second = self.world(seed, None)
        second.stacks = first.stacks  # frames are the same objects in both passes
        second.sink = EventStream(pickler, Flavour(), early)
        pickler.open_event_list("device_traces")
        self.play(second)
        pickler.close_event_list(second.sink.written)
        pickler.save("allocator_settings")
        pickler.save(settings())
        pickler.save("external_annotations")
        pickler.save(annotation_dicts(second))
        pickler.raw(b"u")
        pickler.finish()


def write_snapshot(value, write, protocol, jit):
    if jit:
        JitPickler(write).dump(value)
    else:
        write(pickle.dumps(value, protocol=protocol))


def write_file(path, fill):
    """Writes a file beside its final place, so that no half of one is ever left there."""
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb", buffering=1 << 20) as file:
            fill(file.write)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def rewrite_all(protocol):
    for name, story in STORIES.items():
        value = story(SEED)
        path = HERE / f"{name}.pickle"
        write_file(path, lambda write: write_snapshot(value, write, protocol, False))
        print(f"{name:24} {path.stat().st_size:8,} bytes  {sum(map(len, value['device_traces'])):6,} events")


# ---- proofs ----


def same(a, b, twins):
    """Are values equal, and shared alike: is what is one object here one object there too?"""
    todo = [(a, b)]
    while todo:
        a, b = todo.pop()
        if type(a) is not type(b):
            return False
        if not isinstance(a, (list, dict, tuple)):
            if a != b:
                return False
            continue
        if id(a) in twins or ("there", id(b)) in twins:
            if twins.get(id(a)) != id(b) or twins.get(("there", id(b))) != id(a):
                return False
            continue
        if len(a) != len(b) or isinstance(a, dict) and list(a) != list(b):
            return False
        if a or not isinstance(a, tuple):  # there is only one empty tuple
            twins[id(a)], twins["there", id(b)] = id(b), id(a)
        todo.extend(zip(a.values(), b.values()) if isinstance(a, dict) else zip(a, b))
    return True


def check_stream(name, events, protocol, distinct):
    large = Large(name, events, live=300, distinct=distinct)
    value, stream = large.in_memory(SEED), io.BytesIO()
    large.stream(SEED, stream.write, protocol)
    if not same(pickle.loads(stream.getvalue()), value, {}):
        raise SystemExit(f"{name}: the streamed file of protocol {protocol} differs from the object")
    replay.check_complete(value)
    equal = stream.getvalue() == pickle.dumps(value, protocol=protocol)
    print(f"stream {name:10} {events:6} events, protocol {protocol}, distinct {distinct!s:5}: same object, "
          f"{'same bytes' if equal else 'OTHER BYTES'}")


def jit_view(value):
    """A value as the C++ writer writes it: signed 64 bits, one order of keys, hardly any sharing."""
    if isinstance(value, dict):
        return {key: jit_view(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(jit_view, value))
    if type(value) is int:
        return (value + (1 << 63)) % (1 << 64) - (1 << 63)
    return value


def check_stories():
    for name, story in STORIES.items():
        value = story(SEED)
        (replay.check if name in INCOMPLETE else replay.check_complete)(value)
        digest = hashlib.sha256(pickle.dumps(value, protocol=PROTOCOL)).hexdigest()
        if hashlib.sha256(pickle.dumps(story(SEED), protocol=PROTOCOL)).hexdigest() != digest:
            raise SystemExit(f"{name}: the same seed gives other bytes")
        stream = io.BytesIO()
        JitPickler(stream.write).dump(value)
        if pickle.loads(stream.getvalue()) != jit_view(value):
            raise SystemExit(f"{name}: the JIT encoding differs from the object")
        path = HERE / f"{name}.pickle"
        if not path.exists() or not same(pickle.loads(path.read_bytes()), value, {}):
            raise SystemExit(f"{path.name}: is not what generate.py writes")
        print(f"story {name:24} {digest[:16]}: replayed, repeated, JIT encoding and committed file equal")


def self_check():
    check_stories()
    for protocol in (2, 3, 4, 5):
        for name in ("train", "fragmented"):
            check_stream(name, 5000, protocol, distinct=False)
    check_stream("train", 3000, 4, distinct=True)
    check_stream("train", 1000, 4, distinct=False)


# ---- command line ----


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--story", choices=[*STORIES, "fragmented"])
    parser.add_argument("-o", "--output", type=Path, help="file to write (with --story)")
    parser.add_argument("--protocol", type=int, choices=(2, 3, 4, 5), default=PROTOCOL)
    parser.add_argument("--jit", action="store_true", help="the encoding of torch's C++ JIT pickler")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--events", type=int, help="so many events or a few more (train, fragmented); written as a stream")
    parser.add_argument("--live", type=int, default=50_000, help="fragmented: allocations alive at once")
    parser.add_argument("--distinct-stacks", action="store_true", help="no two lists of frames are equal")
    parser.add_argument("--self-check", action="store_true")
    arguments = parser.parse_args()
    if arguments.story and not arguments.output:
        parser.error("--story needs -o FILE")
    if arguments.story == "fragmented" and arguments.events is None:
        arguments.events = 100_000
    if arguments.events is not None and arguments.story not in ("train", "fragmented"):
        parser.error("--events works with --story train and --story fragmented")
    if arguments.events is not None and arguments.events < 10:
        parser.error("--events needs at least 10")
    if arguments.distinct_stacks and arguments.events is None:
        parser.error("--distinct-stacks needs --events")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.self_check:
        self_check()
    elif not arguments.story:
        rewrite_all(arguments.protocol)
    elif arguments.events is None or arguments.jit:
        value = (STORIES[arguments.story](arguments.seed) if arguments.events is None
                 else large_of(arguments).in_memory(arguments.seed))
        write_file(arguments.output, lambda write: write_snapshot(value, write, arguments.protocol, arguments.jit))
    else:
        begin = time.monotonic()
        write_file(arguments.output,
                   lambda write: large_of(arguments).stream(arguments.seed, write, arguments.protocol))
        print(f"{arguments.output}: {arguments.output.stat().st_size:,} bytes in {time.monotonic() - begin:.1f} s",
              file=sys.stderr)


def large_of(arguments):
    return Large(arguments.story, arguments.events, arguments.live, arguments.distinct_stacks)


if __name__ == "__main__":
    main()
