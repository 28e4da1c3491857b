"""More habits of people who train: train.py NAME [fixed]"""
import sys

import torch
import torch.nn.functional as F
from model import GPT
from torch import nn

NAME = sys.argv[1]
FIXED = "fixed" in sys.argv


def tokens(n=8, length=256, vocab=8192):
    return torch.randint(vocab, (n, length), device="cuda")  # truth: inputs


def small(**more):
    return GPT(**{"vocab": 8192, "dim": 384, "layers": 4, "heads": 6, "length": 512, **more}).cuda()


class Watched(nn.Module):
    """A block that follows the spread of its activations."""

    def __init__(self, dim):
        super().__init__()
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.spread = 0

    def forward(self, x):
        y = self.up(x).relu()
        seen = y.detach() if FIXED else y
        self.spread = .9 * self.spread + .1 * seen.var(0)
        return x + self.down(y)


def activation_stats():
    """A running average of the activations' variance carries the graph of every step."""
    net = nn.Sequential(nn.Linear(128, 512), *(Watched(512) for _ in range(4)), nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(8):
        x = torch.randn(4096, 128, device="cuda")  # truth: inputs
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class Hypothesis:
    def __init__(self, ids, keys, parent=None):
        self.ids, self.keys, self.parent = ids, keys, parent


class Decoder(nn.Module):
    def __init__(self, dim=512, layers=4):
        super().__init__()
        self.embed = nn.Embedding(8192, dim)
        self.layers = nn.ModuleList(nn.Linear(dim, 3 * dim) for _ in range(layers))
        self.head = nn.Linear(dim, 8192)

    def forward(self, ids, past):
        x, now = self.embed(ids[:, -1:]), []
        for layer, kept in zip(self.layers, past or [None] * len(self.layers)):
            q, k, v = layer(x).chunk(3, -1)
            if kept is not None:
                k, v = torch.cat([kept[0], k], 1), torch.cat([kept[1], v], 1)
            x = x + F.scaled_dot_product_attention(q, k, v)
            now.append((k, v))
        return self.head(x[:, -1]), now


@torch.no_grad()
def beam():
    """Each hypothesis points to its parent, so the keys and values of every step stay."""
    net = Decoder().cuda().eval()
    best = Hypothesis(torch.zeros(128, 1, dtype=torch.long, device="cuda"), None)
    for step in range(24):
        logits, keys = net(best.ids, best.keys)
        chosen = logits.log_softmax(-1).topk(4).indices[:, :1]
        best = Hypothesis(torch.cat([best.ids, chosen], 1), keys, None if FIXED else best)


def sample(net, length):
    ids = tokens(48, 96)
    for _ in range(length):
        logits, _ = net(ids)
        ids = torch.cat([ids, logits[:, -1:].argmax(-1)], 1)
    return ids


def decode_in_loop():
    """A sample is decoded for the log, with gradients."""
    net = small(layers=3)
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(5):
        _, loss = net(tokens(8), tokens(8))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 2 == 0:
            with torch.set_grad_enabled(not FIXED):
                text = sample(net, 12)
            print("sample", text.shape)


def val_concat():
    """Validation every two steps; all its outputs are joined at the end."""
    net = small(layers=2)
    optimizer = torch.optim.AdamW(net.parameters())
    outputs = []
    for step in range(8):
        loss = net(tokens(4), tokens(4))[1]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 2 == 1:
            net.eval()
            with torch.no_grad():
                logits = net(tokens(4))[0]
                outputs.append(logits.cpu() if FIXED else logits)
                del logits
            net.train()
    torch.cat(outputs)


class GradientLog:
    """A callback that remembers the gradients for a plot."""

    def __init__(self):
        self.steps = []

    def on_before_step(self, net):
        if FIXED:
            self.steps.append([p.grad.norm().item() for p in net.parameters()])
        else:
            self.steps.append({n: p.grad.clone() for n, p in net.named_parameters()})


def grad_clones():
    """A callback keeps clones of the gradients of each step."""
    net, callbacks = small(layers=3), [GradientLog()]
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(8):
        _, loss = net(tokens(4), tokens(4))
        loss.backward()
        for callback in callbacks:
            callback.on_before_step(net)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    globals()[NAME]()
