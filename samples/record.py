#!/usr/bin/env python3
"""Records the stories of this folder with real PyTorch (2.1 or newer) on a GPU.

    record.py                          every story that this machine can play, into the current directory
    record.py --story oom -o dumps/    one of them: dumps/oom_torch2.11.pickle

Every story runs in a process of its own: allocator settings are read once, and histories do not mix.
"""

import argparse
import contextlib
import os
import subprocess
import sys
from pathlib import Path

STORIES = ("train", "leak_graph", "leak_two_per_layer", "leak_zero_grad", "leak_zero_grad_healthy", "held_over",
           "held_over_healthy", "leak_forward_only", "leak_forward_only_healthy", "kept_per_layer",
           "kept_per_layer_healthy", "oom", "expandable", "streams", "overflow", "two_devices", "private_pools",
           "hostile_names", "one_event", "user_metadata_annotate")
ENVIRONMENT = {"expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}}
HOSTILE = ("</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "größe_память_メモリ_ذاكرة", "🔥🚀",
           "\u202egnp.exe", "line\u2028separator", "tab\tnewline\nescape\x1b[31m", "a" * 4000)


class Skip(Exception):
    """Raised where this machine or this version of torch cannot play the story."""


# ---- the model; torch is imported by main(), after the environment is set ----


def build_model(torch, layers, width, heads, devices, probe=None):
    """A small transformer; `probe(hidden, weights)` sees every layer's output."""
    nn, functional = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            batch, tokens, _ = x.shape
            q, k, v = (part.view(batch, tokens, heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
            scores = q @ k.transpose(-2, -1) / (width // heads) ** 0.5
            weights = functional.dropout(scores.softmax(dim=-1), 0.1)
            return self.proj((weights @ v).transpose(1, 2).reshape(batch, tokens, width)), weights

    class FeedForward(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            return self.fc2(functional.gelu(self.fc1(x)))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention, self.feed_forward = Attention(), FeedForward()

        def forward(self, x):
            mixed, weights = self.attention(self.ln1(x))
            x = x + mixed
            x = x + self.feed_forward(self.ln2(x))
            if probe is not None:
                probe(x, weights)
            return x

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, width).to(devices[0])
            self.places = [devices[layer * len(devices) // layers] for layer in range(layers)]
            self.blocks = nn.ModuleList(Block().to(place) for place in self.places)
            self.head = nn.Linear(width, VOCABULARY).to(devices[-1])

        def forward(self, tokens):
            x = self.embedding(tokens)
            for place, block in zip(self.places, self.blocks):
                x = block(x.to(place))
            return self.head(x)

    return Transformer()


VOCABULARY = 50257


class Run:
    """A model, its optimizer and the loop around them."""

    def __init__(self, torch, layers=4, width=1024, heads=16, devices=("cuda:0",), probe=None):
        self.torch, self.devices = torch, devices
        self.model = build_model(torch, layers, width, heads, devices, probe)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)

    def batch(self, batch, tokens):
        make = self.torch.randint
        return (make(VOCABULARY, (batch, tokens), device=self.devices[0]),
                make(VOCABULARY, (batch, tokens), device=self.devices[-1]))

    def forward(self, batch=4, tokens=512):
        inputs, labels = self.batch(batch, tokens)
        logits = self.model(inputs)
        return self.torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())

    def step(self, number, batch=4, tokens=512, retain_graph=False, zero_grad=True):
        scope = self.torch.profiler.record_function
        with scope(f"ProfilerStep#{number}"):
            with scope("forward"):
                loss = self.forward(batch, tokens)
            with scope("backward"):
                loss.backward(retain_graph=retain_graph)
            self.optimizer.step()
            if zero_grad:
                self.optimizer.zero_grad(set_to_none=True)
        return loss


# ---- stories: each leaves its recording on and returns; main() dumps it ----


def train(torch, steps):
    run = Run(torch)
    for number in range(steps):
        run.step(number)
    return run


def leak_graph(torch, steps):
    run, losses = Run(torch), []
    for number in range(steps):
        losses.append(run.step(number, retain_graph=True, zero_grad=False))
    return run, losses


def leak_two_per_layer(torch, steps):
    kept = []

    def probe(hidden, weights):
        kept.append(hidden.detach().clone())
        kept.append(weights.detach().sum(dim=-1))

    run = Run(torch, probe=probe)
    for number in range(steps):
        run.step(number)
    return run, kept


def leak_zero_grad(torch, steps, healthy=False):
    run = Run(torch, layers=2, width=512)
    for number in range(steps):
        run.step(number, zero_grad=healthy)
    return run


def held_over(torch, steps, healthy=False):
    """The name `logits` still holds the last step's tensor while the next step runs."""
    run, logits = Run(torch, layers=2, width=512), None
    for _ in range(steps):
        inputs, labels = run.batch(4, 512)
        new = run.model(inputs)
        torch.nn.functional.cross_entropy(new.flatten(0, 1), labels.flatten()).backward()
        run.optimizer.step()
        run.optimizer.zero_grad(set_to_none=True)
        logits = None if healthy else new.detach()
        del new
    return run, logits


def leak_forward_only(torch, steps, healthy=False):
    """A list keeps a hidden state of every batch on the GPU instead of copying it to the CPU."""
    run, history = Run(torch, layers=3, width=512), []
    with torch.no_grad():
        for _ in range(steps + 2):
            hidden = run.model(run.batch(8, 512)[0])[:, -1].clone()
            history.append(hidden.cpu() if healthy else hidden)
    return run, history


def kept_per_layer(torch, steps, healthy=False):
    kept = []
    run = Run(torch, layers=8, width=768, probe=None if healthy else lambda hidden, weights: kept.append(hidden.clone()))
    run.step(0, batch=8)
    return run, kept


def healthy_twin(story):
    return lambda torch, steps: story(torch, steps, healthy=True)


leak_zero_grad_healthy, held_over_healthy = healthy_twin(leak_zero_grad), healthy_twin(held_over)
leak_forward_only_healthy, kept_per_layer_healthy = healthy_twin(leak_forward_only), healthy_twin(kept_per_layer)


def oom(torch, steps):
    """The process may use 8 GiB. The observer dumps at the moment of the failure, before anything is unwound."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, 8 * 2**30 / total), 0)
    run = Run(torch)
    torch._C._cuda_attach_out_of_memory_observer(lambda device, alloc, allocated, free: dump(torch))
    try:
        for number in range(1000):
            run.step(number, tokens=512 + 256 * number)
    except torch.cuda.OutOfMemoryError:
        return None  # the file is written
    raise Skip("it did not run out of memory")


def expandable(torch, steps):
    run = Run(torch)
    for number in range(steps):
        run.step(number, tokens=(1024, 768, 512, 896)[number % 4])
        if number % 2:
            torch.cuda.empty_cache()
    return run


def streams(torch, steps):
    copy, side = torch.cuda.Stream(), torch.cuda.Stream()
    run = Run(torch)
    for number in range(steps):
        with torch.cuda.stream(copy):
            ahead = torch.empty(8 << 20, device="cuda")
        ahead.record_stream(torch.cuda.current_stream())
        bucket = torch.empty(16 << 20, device="cuda")
        bucket.record_stream(side)
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)  # keeps the other stream busy, so that the free has to wait
        del ahead, bucket
        run.step(number)
    waiting = torch.empty(32 << 20, device="cuda")
    waiting.record_stream(side)
    with torch.cuda.stream(side):
        torch.cuda._sleep(2_000_000_000)
    del waiting
    return run


def overflow(torch, steps):
    return train(torch, max(steps, 5))


def two_devices(torch, steps):
    if torch.cuda.device_count() < 2:
        raise Skip("it needs two GPUs")
    run = Run(torch, devices=("cuda:0", "cuda:1"))
    for number in range(steps):
        run.step(number)
        if number == 0:
            torch.cuda.memory._snapshot()  # leaves its marker in the traces
    return run


def private_pools(torch, steps):
    run, graphs = Run(torch), []
    run.model.eval()
    with torch.no_grad():
        for batch in (8, 4, 2, 1):
            inputs = run.batch(batch, 128)[0]
            warm = torch.cuda.Stream()
            warm.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(warm):
                run.model(inputs)
            torch.cuda.current_stream().wait_stream(warm)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                output = run.model(inputs)
            graphs.append((graph, inputs, output))
        for _ in range(steps):
            for graph, _, output in graphs:
                graph.replay()
                output[:, -1].softmax(dim=-1)
    cache = None
    if hasattr(torch.cuda, "MemPool") and hasattr(torch.cuda, "use_mem_pool"):
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            cache = pool, [torch.empty(12_583_162, device="cuda") for _ in range(8)]
    return run, graphs, cache


def hostile_names(torch, steps):
    def allocate(nbytes):
        return torch.empty(nbytes, dtype=torch.uint8, device="cuda")

    kept = []
    for number, text in enumerate(HOSTILE):
        code = allocate.__code__.replace(co_name=text, co_filename=text + ".py")
        named = type(allocate)(code, {"torch": torch}, text, None, allocate.__closure__)
        with torch.profiler.record_function(text):
            kept.append(named((number + 1) << 20))
            named((number + 2) << 20)
    return train(torch, steps), kept


def one_event(torch, steps):
    run = Run(torch, layers=8)
    run.step(0)
    loss = run.forward()
    torch.cuda.memory._snapshot()  # its marker is the one entry
    return run, loss


def user_metadata_annotate(torch, steps):
    memory = torch.cuda.memory
    if not hasattr(memory, "_set_memory_metadata"):
        raise Skip("it needs torch 2.10 or newer")
    run = Run(torch)
    for number in range(steps):
        memory._set_memory_metadata(f"step {number}: forward")
        loss = run.forward()
        memory._set_memory_metadata("backward")
        with torch.autograd.set_detect_anomaly(True):
            loss.backward()
        memory._set_memory_metadata("")
        run.optimizer.step()
        run.optimizer.zero_grad(set_to_none=True)
    if hasattr(memory, "_annotate_tensor"):
        memory._annotate_tensor(run.model.head.weight, "the head's weight")
    return run


# ---- recording ----

target = None  # target of dump(), which cannot be an argument: the out-of-memory observer passes none of ours


def dump(torch):
    part = target.with_name(target.name + ".part")
    torch.cuda.memory._dump_snapshot(str(part))
    part.replace(target)


def record(torch, name, steps, max_entries):
    limits = {"overflow": 2200, "one_event": 1}
    torch.cuda.memory._record_memory_history("state" if name == "one_event" else "all", stacks="all",
                                             max_entries=limits.get(name, max_entries))
    alive = globals()[name](torch, steps)  # holds the story's tensors until the dump is written
    if alive is not None:
        with contextlib.suppress(RuntimeError):
            torch.cuda.current_stream().synchronize()
        dump(torch)
    torch.cuda.memory._record_memory_history(None)


def play_one(name, directory, steps, max_entries):
    """Plays a story in this process. Exit status: 0 written, 3 skipped."""
    global target
    os.environ.update(ENVIRONMENT.get(name, {}))
    try:
        import torch
    except ImportError:
        raise SystemExit("record.py: PyTorch is not installed") from None
    if not torch.cuda.is_available():
        raise SystemExit("record.py: there is no GPU that torch can use")
    version = ".".join(torch.__version__.split(".")[:2])
    target = directory / f"{name}_torch{version}.pickle"
    torch.manual_seed(7)
    try:
        record(torch, name, steps, max_entries)
    except Skip as reason:
        print(f"{name}: skipped, {reason}", file=sys.stderr)
        return 3
    print(f"{target}: {target.stat().st_size:,} bytes")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--story", choices=STORIES, help="default: all, one after another")
    parser.add_argument("-o", "--output", type=Path, default=Path("."), help="directory (made if it is missing)")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--max-entries", type=int, default=100_000)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    if arguments.story:
        return play_one(arguments.story, arguments.output, arguments.steps, arguments.max_entries)
    failed = False
    for name in STORIES:
        command = [sys.executable, __file__, "--story", name, "-o", str(arguments.output),
                   "--steps", str(arguments.steps), "--max-entries", str(arguments.max_entries)]
        failed |= subprocess.run(command).returncode not in (0, 3)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
