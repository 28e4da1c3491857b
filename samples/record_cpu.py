#!/usr/bin/env python3
"""Records a small training with real PyTorch on the CPU: no GPU is needed, the figures are those of the CPU's allocator.

    record_cpu.py -o DIRECTORY        cpu_train.trace.json.gz and cpu_train.raw.json.gz

One run of the profiler gives both files: a Kineto trace with memory events and Python stacks, and the memory timeline,
which says of every allocation what PyTorch itself takes it for (from its data flow). Strata infers categories from stacks
and lifetimes; tests/torch_labels_test.py compares the two.

It needs torch 2.1 or newer and numpy, installed by hand, best in an environment of its own (the wheel for Linux brings
CUDA along, some 5 GB):

    python3 -m venv torch && torch/bin/pip install torch numpy && torch/bin/python samples/record_cpu.py -o samples
"""

import argparse
import gzip
import json
import re
import sys
import tempfile
from pathlib import Path

PLACES = ((re.compile(r"[^\s\"]*/site-packages/"), "/home/user/venv/lib/python3.12/site-packages/"),
          (re.compile(r"[^\s\"]*/lib/python3\.\d+/"), "/usr/lib/python3.12/"))
WIDTH, HEADS, LAYERS, VOCABULARY, TOKENS, BATCH = 64, 4, 2, 300, 48, 8


def build_model(torch):
    nn, functional = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            batch, tokens, _ = x.shape
            q, k, v = (part.view(batch, tokens, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
            weights = (q @ k.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5).softmax(dim=-1)
            return self.proj((weights @ v).transpose(1, 2).reshape(batch, tokens, WIDTH))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2, self.attention = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Attention()
            self.fc1, self.fc2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            x = x + self.attention(self.ln1(x))
            return x + self.fc2(functional.gelu(self.fc1(self.ln2(x))))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, WIDTH)
            self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
            self.head = nn.Linear(WIDTH, VOCABULARY)

        def forward(self, tokens):
            x = self.embedding(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    return Transformer()


def next_batch(torch):
    return torch.randint(VOCABULARY, (2, BATCH, TOKENS)).unbind()


def train(torch, steps):
    model = build_model(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        inputs, labels = next_batch(torch)
        logits = model(inputs)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return model, optimizer


def slimmed(trace):
    """The trace without what readers of memory do not need, and without paths of the machine that recorded it."""
    keep = ("python_function", "cpu_op", "user_annotation", "cpu_instant_event")
    events = []
    for event in trace["traceEvents"]:
        if event.get("ph") not in ("X", "i") or event.get("cat", "cpu_instant_event") not in keep:
            continue
        if event["ph"] == "X":
            event["args"] = {}
        for pattern, place in PLACES:
            event["name"] = pattern.sub(place, event["name"])
        event["name"] = re.sub(r"^\S*/record_cpu\.py", "record_cpu.py", event["name"])
        events.append(event)
    return {**{key: value for key, value in trace.items()
               if key not in ("traceEvents", "traceName", "host_name", "trace_id")},
            "traceEvents": events}


def write_gz(path, text):
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode("utf-8"))
    print(f"{path}: {path.stat().st_size:,} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path("."), help="directory")
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        raise SystemExit("record_cpu.py: PyTorch is not installed") from None
    torch.manual_seed(7)
    torch.set_num_threads(1)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True, record_shapes=True, with_stack=True) as profile:
        kept = train(torch, arguments.steps)
    with tempfile.TemporaryDirectory() as folder:
        trace, timeline = Path(folder, "trace.json"), Path(folder, "timeline.raw.json.gz")
        profile.export_chrome_trace(str(trace))
        profile.export_memory_timeline(str(timeline), device="cpu")
        write_gz(arguments.output / "cpu_train.trace.json.gz",
                 json.dumps(slimmed(json.loads(trace.read_text())), separators=(",", ":")))
        write_gz(arguments.output / "cpu_train.raw.json.gz", gzip.decompress(timeline.read_bytes()).decode())
    del kept
    return 0


if __name__ == "__main__":
    sys.exit(main())
