"""The recordings under samples/: each function plays one script and returns the snapshot that it would dump."""

from .allocator import GIB, KIB, MIB, OutOfMemory
from .mistakes import MISTAKES
from .stacks import CALL, LINEAR, MAIN, NO_LINE, PROJECT, STEP, TORCH
from .transformer import Shape, Training
from .world import Flavour, Recording, RecordingEnds, World, settings, snapshot

_EMPTY_CACHE = ((TORCH + "cuda/memory.py", "empty_cache", 222), (PROJECT + "main.py", "train_epoch", 103)) + MAIN


def _record(seed, play, devices=1, flavour=None, max_entries=None, idle_devices=0, more_settings=None, **allocator):
    """Plays a script in a new world with everything recorded and returns the snapshot at its end."""
    recording = Recording(flavour or Flavour(), devices, max_entries)
    world = World(seed, recording, devices, **allocator)
    play(world)
    more = more_settings(recording) if more_settings else {}
    return snapshot(world, recording, settings(allocator.get("expandable", False), **more), idle_devices)


# ---- training, healthy ----


def train(seed):
    """Four steps of a healthy training loop."""
    def play(world):
        training = Training(world, Shape(layers=4, width=1024, batch=8, tokens=1024))
        for number in range(4):
            training.step(number)
    return _record(seed, play)


def play_train(world):
    """The same loop with 64 layers, each called from a line of its own, until the world has enough events."""
    try:
        training = Training(world, Shape(layers=64, width=1024, heads=8, batch=4, tokens=1024), unrolled=True)
        number = 0
        while True:
            training.step(number, clip=True)
            number += 1
            if number % 4 == 0:
                training.evaluate()
    except RecordingEnds:
        pass


def play_fragmented(world, live):
    """Keeps `live` allocations of all sizes alive and replaces them in random order."""
    stacks, dice = world.stacks, world.dice
    sites = []
    for line in range(1000):
        places = ((PROJECT + f"cache/bucket_{line % 40}.py", "insert", 20 + line // 40),
                  (PROJECT + "cache/store.py", "put", 71)) + CALL + STEP
        sites.append((stacks.alloc("clone", places), stacks.free(places)))
    blocks = []
    try:
        while True:
            if len(blocks) >= live:
                index = dice.below(len(blocks))
                blocks[index], blocks[-1] = blocks[-1], blocks[index]
                world.free(blocks.pop(), dice.choice(sites)[1])
            blocks.append(world.malloc(_any_size(dice), dice.choice(sites)[0]))
    except RecordingEnds:
        pass


def _any_size(dice):
    """A random size: mostly that of a small tensor, sometimes a few MiB, rarely large."""
    kind = dice.below(100)
    if kind < 70:
        return dice.between(4, 64 * KIB)
    return dice.between(64 * KIB, MIB) if kind < 97 else dice.between(MIB, 12 * MIB)


# ---- leaks ----


def leak_graph(seed):
    """loss.backward(retain_graph=True), losses in a list, and zero_grad never called: every step's graph is kept."""
    class Leaking(Training):
        def zero_grad(self):
            pass

    def play(world):
        training = Leaking(world, Shape(layers=3, width=1024, batch=4, tokens=1024), retain_graph=True)
        for number in range(6):
            training.step(number)
    return _record(seed, play)


def leak_two_per_layer(seed):
    """A debug list keeps two tensors of every layer in every step."""
    class Leaking(Training):
        def after_layer(self, layer, saved):
            stacks, shape = self.world.stacks, self.shape
            rows = shape.batch * shape.tokens
            hidden = stacks.alloc("clone", ((PROJECT + "model/probe.py", "keep_hidden", 27),
                                            (PROJECT + "model/block.py", "forward", 37)) + CALL + STEP)
            entropy = stacks.alloc("clone", ((PROJECT + "model/probe.py", "keep_entropy", 33),
                                             (PROJECT + "model/block.py", "forward", 38)) + CALL + STEP)
            self.retained.append(self.world.malloc(2 * rows * shape.width, hidden))
            self.retained.append(self.world.malloc(4 * shape.batch * shape.heads * shape.tokens, entropy))

    def play(world):
        training = Leaking(world, Shape(layers=3, width=1024, batch=4, tokens=1024))
        for number in range(6):
            training.step(number)
    return _record(seed, play)


# ---- running out, growing, fragmenting ----


def oom(seed):
    """Batches get longer until an attention matrix does not fit. The retry frees cached segments, in vain."""
    def play(world):
        training = Training(world, Shape(layers=4, width=1024, batch=4, tokens=512))
        try:
            for number, tokens in enumerate((512, 1024, 768, 1536, 1280, 2048, 2560, 3072)):
                training.resize(tokens=tokens)
                training.step(number)
        except OutOfMemory:
            return
        raise AssertionError("the story is meant to run out of memory")
    return _record(seed, play, capacity=8 * GIB)


def expandable(seed):
    """expandable_segments:True: segments grow and, at the end of an epoch, shrink with gaps in their middle."""
    def play(world):
        training = Training(world, Shape(layers=3, width=1024, batch=4, tokens=1024))
        cached = []
        for number in range(5):
            training.resize(tokens=(1024, 768, 1024, 512, 896)[number])
            training.step(number)
            stack = world.stacks.alloc("clone", ((PROJECT + "metrics.py", "remember", 44),) + STEP)
            cached.append(world.malloc(24 * MIB + 512 * number, stack))
            if number in (1, 3, 4):
                world.free(cached.pop(0), world.stacks.free(_EMPTY_CACHE[1:]))
                world.empty_cache(world.stacks.empty_cache(_EMPTY_CACHE))
    return _record(seed, play, expandable=True)


def overflow(seed):
    """A ring buffer of 2,200 entries that overflowed: the beginning is missing."""
    entries = 2200

    def play(world):
        training = Training(world, Shape(layers=4, width=1024, batch=8, tokens=512))
        for number in range(5):
            training.step(number)

    def flags(recording):
        return {"trace_alloc_overflowed": recording.overflowed()[0], "trace_alloc_max_entries": entries}
    return _record(seed, play, max_entries=entries, more_settings=flags, flavour=Flavour(pool_id=True))


# ---- streams, devices, pools ----

# Raw cudaStream_t pointers, as snapshots have them.
_COPY_STREAM, _NCCL_STREAM, _GATHER_STREAM = 0x55D0C8A4F2A0, 0x55D0D1B73E10, 0x7F29F4002B40


def streams(seed):
    """Batches prefetched on a copy stream, gradients reduced on another: frees that complete later, some never."""
    class Distributed(Training):
        def take_batch(self):
            places = ((PROJECT + "data.py", "prefetch", 88), (PROJECT + "data.py", "next_batch", 60)) + STEP
            stack, nbytes = self.world.stacks.alloc("to", places), 8 * self.shape.batch * self.shape.tokens
            blocks = [self.world.malloc(nbytes, stack, _COPY_STREAM) for _ in range(2)]
            for block in blocks:
                block.pool.owner.record_stream(block, 0)
            return blocks

        def when_gradient_is_ready(self, block):
            if block.requested < MIB:
                return
            places = ((PROJECT + "distributed/reducer.py", "on_gradient", 52),) + STEP
            bucket = self.world.malloc(block.requested // 2, self.world.stacks.alloc("clone", places))
            bucket.pool.owner.record_stream(bucket, _NCCL_STREAM)
            self.world.free(bucket, self.world.stacks.free(places), delay=self.world.dice.between(3, 40))

        def after_layer(self, layer, saved):
            """Weights of the next layer are gathered on a stream of their own and used by the default one."""
            places = ((PROJECT + "distributed/sharding.py", "gather_weights", 118),) + STEP
            whole = self.world.malloc(12 * MIB + 4096 * layer, self.world.stacks.alloc("cat", places), _GATHER_STREAM)
            whole.pool.owner.record_stream(whole, 0)
            whole.pool.owner.record_stream(whole, _NCCL_STREAM)
            self.world.free(whole, self.world.stacks.free(places), delay=self.world.dice.between(5, 25))

    def play(world):
        training = Distributed(world, Shape(layers=3, width=1024, batch=8, tokens=512))
        for number in range(3):
            training.step(number)
        places = ((PROJECT + "distributed/reducer.py", "broadcast_buffers", 77),) + STEP
        for number in range(5):  # the recording ends before the other stream has passed these blocks
            block = world.malloc((number + 2) * 3 * MIB, world.stacks.alloc("cat", places))
            block.pool.owner.record_stream(block, _NCCL_STREAM)
            world.free(block, world.stacks.free(places), delay=1000)
    return _record(seed, play)


def two_devices(seed):
    """Layers on two GPUs of a node with four; a first snapshot was taken during the recording."""
    def play(world):
        training = Training(world, Shape(layers=4, width=1024, batch=4, tokens=1024),
                            device_of_layer=lambda layer: 0 if layer < 3 else 1)
        for number in range(3):
            training.step(number)
            if number == 0:
                world.snapshot_marker()

    def flags(recording):
        return {"trace_alloc_overflowed": recording.overflowed() + [False, False],
                "trace_alloc_max_entries": [100000] * 4}
    return _record(seed, play, devices=2, idle_devices=2, more_settings=flags, flavour=Flavour(pool_id=True))


def private_pools(seed):
    """Decoding with CUDA graphs, each captured into a pool of its own, and a torch.cuda.MemPool for the KV cache."""
    def play(world):
        gpu, stacks, shape = world.gpus[0], world.stacks, Shape(layers=8, width=2048)
        load = stacks.alloc("to", ((PROJECT + "serve/engine.py", "load", 33),) + MAIN)
        for _ in range(shape.layers * 4):
            world.malloc(2 * shape.width * shape.width, load)
        _key_value_cache(world, gpu.private_pool((0, 1)), shape)
        for graph, batch in enumerate((32, 16, 8, 4, 2, 1)):
            with world.scope(f"capture batch {batch}"):
                _capture(world, gpu, gpu.private_pool((graph + 1, 0)), shape, batch)
        for request in range(60):
            with world.scope(f"request {request}"):
                _serve(world, shape, request)
    return _record(seed, play, flavour=Flavour(pool_id=True))


def _key_value_cache(world, pool, shape):
    stack = world.stacks.alloc("empty", ((PROJECT + "serve/kv_cache.py", "__init__", 41),
                                         (PROJECT + "serve/engine.py", "load", 58)) + MAIN)
    for _ in range(2 * shape.layers):
        world.malloc(48 * MIB + 1000, stack, pool=pool)


def _capture(world, gpu, pool, shape, batch):
    """A captured decode step: temporaries go back to the graph's pool, its output stays."""
    stacks, stream = world.stacks, 0x55D0E0C41B70
    outside = ((PROJECT + "serve/graphs.py", "capture", 96), (PROJECT + "serve/engine.py", "warm_up", 74)) + MAIN
    gpu.capturing = True
    before = None
    for layer in range(shape.layers):
        for line, factor in ((42, 3), (51, 1), (58, 1), (22, 4), (24, 1)):
            places = LINEAR + ((PROJECT + "model/decoder.py", "forward", line),) + CALL + outside
            block = world.malloc(2 * batch * shape.width * factor * 8, stacks.alloc("linear", places), stream, pool)
            if before:
                world.free(before, stacks.free(places))
            before = block
    world.malloc(4 * batch * 50257, stacks.alloc("linear", LINEAR + outside), stream, pool)
    world.free(before, stacks.free(outside))
    gpu.capturing = False


def _serve(world, shape, request):
    """Replays allocate nothing; sampling allocates in the default pool."""
    stacks, batch = world.stacks, 1 << world.dice.below(6)
    places = ((PROJECT + "serve/sampler.py", "sample", 64), (PROJECT + "serve/engine.py", "decode", 121)) + MAIN
    held = [world.malloc(nbytes, stacks.alloc(operator, places))
            for operator, nbytes in (("softmax", 4 * batch * 50257), ("clone", 4 * batch * 50257), ("cat", 8 * batch))]
    for block in held:
        world.free(block, stacks.free(places))
    if request % 7 == 3:
        prompt = ((PROJECT + "serve/engine.py", "prefill", 109),) + MAIN
        block = world.malloc(world.dice.between(3, 40) * MIB, stacks.alloc("embedding", prompt))
        world.free(block, stacks.free(prompt))


# ---- text that wants to be more than text ----

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "'; drop table events; --",
    "${alert(1)} {{7*7}} %s %n \\u003c",
    "<!--", "]]>", "&lt;&amp;&#39;", "javascript:alert(1)",
    "naïve_größe", "记忆_分配", "память", "メモリ", "ذاكرة", "זיכרון",
    "\u202egnp.exe\u202c", "\u2066rtl\u2069",
    "🔥🚀👩‍👩‍👧‍👦", "e\u0301\u0327", "Z\u0351\u036b\u0343a\u0363\u0351lgo",
    "line\u2028separator\u2029paragraph", "nul\0inside", "\0",
    "bell\a tab\t newline\n return\r escape\x1b[31mred\x1b[0m delete\x7f next\x85line",
    "lone \ud800 high", "lone \udfff low", "\udc80\udcff raw bytes", "\ufeffbom", "\ufffe\uffff not characters",
    "\U0010ffff", "a" * 4000, "long/" * 400, " ", "  leading and trailing  ", "\\windows\\path\\file.py",
    "__proto__", "constructor", "toString", "NaN", "-1", "null", "Infinity", "1e999",
)


def hostile_names(seed):
    """Names, paths, annotations, contexts and settings with everything that breaks pages, terminals and parsers."""
    def play(world):
        training = Training(world, Shape(layers=1, width=512, batch=4, tokens=256))
        for number, text in enumerate(HOSTILE):
            world.compile_context = text if number % 3 == 1 else "N/A"
            world.user_metadata = text if number % 3 == 2 else ""
            with world.scope(text):
                _hostile_call(world, number, text)
        world.compile_context, world.user_metadata = "N/A", ""
        _hostile_call(world, len(HOSTILE), "one frame's name that no reader should buffer twice " * 1400)
        for number in range(2):
            training.step(number)
    return _record(seed, play, more_settings=lambda recording: {"conf": HOSTILE[0] + "\u2028\0\ud800"})


def _hostile_call(world, number, text):
    stacks = world.stacks
    frames = [stacks.frame(PROJECT + "model/block.py", text, NO_LINE), stacks.frame("", "", 0)]
    if len(text) < 10000:
        frames += [stacks.frame(text, "forward", number), stacks.frame(text + ".py", text, (1 << 31) + number)]
    outside = stacks.alloc("clone", ((PROJECT + "main.py", "main", 131),))
    stack = stacks.of_frames(("hostile", number), outside.frames[:12] + frames + outside.frames[12:])
    kept = world.malloc((number + 1) * 300 * KIB + number, stack)
    gone = world.malloc((number + 3) * 100 * KIB + 7, stack)
    world.free(gone, stack)
    if number % 2:
        world.free(kept, stack)


# ---- shapes of the file that are easy to get wrong ----


def one_event(seed):
    """_record_memory_history(enabled="state"): gigabytes in segments, and a trace with one entry, an earlier snapshot."""
    recording = Recording(Flavour(), 1, max_entries=1)
    recording.blocks_only = True
    world = World(seed, recording)
    training = Training(world, Shape(layers=12, width=2048, batch=8, tokens=1024))
    training.step(0)
    training.forward()
    recording.blocks_only = False
    world.snapshot_marker()
    return snapshot(world, recording, settings())


def user_metadata_annotate(seed):
    """Newest keys: metadata set by the user, annotated allocations, compiled regions, forward stacks, torch.fx frames."""
    class Annotated(Training):
        def after_layer(self, layer, saved):
            self.world.annotate_block(saved["qkv"], f"layer {layer}: query, key and value")
            if layer == 0:
                self.world.annotate_block(saved["qkv"], "checkpointed: no")

        def forward(self):
            self.world.user_metadata = '{"phase": "forward", "rank": 3}'
            _compiled_region(self.world)
            return super().forward()

        def backward(self, head):
            self.world.user_metadata = "backward"
            super().backward(head)
            self.world.user_metadata = ""

        def _backward_layer(self, layer, gradient):
            self.world.forward_frames = [
                f'  File "{PROJECT}main.py", line 88, in train_step\n    loss = model(batch)\n',
                f'  File "{PROJECT}model/transformer.py", line 57, in forward\n    x = block(x)\n',
                f'  File "{PROJECT}model/block.py", line 34, in forward\n    return x + self.feed_forward(x)  # {layer}\n',
            ]
            gradient = super()._backward_layer(layer, gradient)
            self.world.forward_frames = None
            return gradient

    def play(world):
        training = Annotated(world, Shape(layers=2, width=1024, batch=4, tokens=512))
        for number in range(3):
            training.step(number)
    return _record(seed, play, flavour=Flavour(pool_id=True, forward_frames=True))


def _compiled_region(world):
    """Allocations inside of generated code; its frames say which torch.fx node they come from."""
    stacks, before = world.stacks, world.compile_context
    world.compile_context = "Torch-Compiled Region: 0/0"
    file = "/home/user/.cache/torchinductor/k3/ck3w7zv2yq.py"
    original = f'File "{PROJECT}model/embedding.py", line 24, in forward\n    return self.scale * x + self.shift\n'
    generated = (stacks.frame_with_fx(file, "call", 61, "call_function", "mul_7", "torch.ops.aten.mul.Tensor", original),
                 stacks.frame_with_fx(file, "call", 66, "call_function", "add_9", "torch.ops.aten.add.Tensor", original),
                 stacks.frame_with_fx(file, "call", 70, "output", "output", None, ""))
    held = []
    for number, frame in enumerate(generated):
        outside = stacks.alloc("empty", ((TORCH + "_inductor/output_code.py", "__call__", 613),) + STEP)
        stack = stacks.of_frames(("fx", number),
                                 outside.frames[:13] + [frame, stacks.frame("??", "_PyEval_EvalFrameDefault", 0, number),
                                                        stacks.frame(file, "<eval_with_key>.3", NO_LINE)]
                                 + outside.frames[13:])
        held.append(world.malloc((number + 2) * 5 * MIB + 4 * number, stack))
    for block in held:
        world.free(block, stacks.free(STEP))
    world.compile_context = before


STORIES = {story.__name__: story for story in (
    train, leak_graph, leak_two_per_layer, *MISTAKES, oom, expandable, streams, overflow, two_devices, private_pools,
    hostile_names, one_event, user_metadata_annotate)}
