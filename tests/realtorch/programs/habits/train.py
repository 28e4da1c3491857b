"""Habits of people who train: train.py NAME [fixed] [late] [ring]"""
import copy
import math
import sys
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

NAME = sys.argv[1]
FIXED = "fixed" in sys.argv


def recorder(step):
    """late: only what follows is recorded; ring: the recorder holds few events."""
    if step == 0 and "ring" in sys.argv:
        torch.cuda.memory._record_memory_history(max_entries=4500, stacks="python", clear_history=True)
    if step == 2 and "late" in sys.argv:
        torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python", clear_history=True)


class Encoder(nn.Module):
    def __init__(self, width=384, layers=4, classes=1000, vocab=8000):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        layer = nn.TransformerEncoderLayer(width, 6, 4 * width, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.classify = nn.Linear(width, classes)

    def forward(self, tokens):
        return self.classify(self.encoder(self.tokens(tokens)))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + x)


class Net(nn.Module):
    def __init__(self, channels=64, blocks=4, classes=100):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.Sequential(*(Residual(channels) for _ in range(blocks)))
        self.fc = nn.Linear(channels, classes)

    def features(self, x):
        return self.blocks(F.relu(self.stem(x)))

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


def images(n=16, size=64):
    return torch.randn(n, 3, size, size, device="cuda")  # truth: inputs


def labels(n=16, classes=100):
    return torch.randint(classes, (n,), device="cuda")  # truth: inputs


def words(n=8, length=256, vocab=8000):
    return torch.randint(vocab, (n, length), device="cuda")  # truth: inputs


def sum_losses():
    """The losses of an epoch are summed before one backward; the mended program goes backward for each."""
    net = Net().cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(3):
        total = 0
        for step in range(5):
            recorder(epoch)
            loss = F.cross_entropy(net(images()), labels())
            if FIXED:
                (loss / 5).backward()
            else:
                total = total + loss / 5
        if not FIXED:
            total.backward()
        optimizer.step()
        optimizer.zero_grad()


class Recurrent(nn.Module):
    def __init__(self, dim=384):
        super().__init__()
        self.ih, self.hh, self.out = nn.Linear(dim, 4 * dim), nn.Linear(dim, 4 * dim), nn.Linear(dim, 2000)

    def forward(self, x, state):
        h, c = state
        ys = []
        for t in range(x.size(1)):
            i, f, g, o = (self.ih(x[:, t]) + self.hh(h)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            ys.append(self.out(h))
        return torch.stack(ys, 1), (h, c)


def carried_state():
    """The state of one window goes into the next with its graph."""
    net = Recurrent().cuda()
    optimizer = torch.optim.Adam(net.parameters())
    state = (torch.zeros(96, 384, device="cuda"), torch.zeros(96, 384, device="cuda"))
    for step in range(6):
        recorder(step)
        x = torch.randn(96, 24, 384, device="cuda")  # truth: inputs
        y, state = net(x, state)
        loss = y.square().mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=not FIXED)
        if FIXED:
            optimizer.step()
            state = tuple(s.detach() for s in state)


def hook_features():
    """Hooks keep the features of each block for statistics at the end."""
    net = Net().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1, momentum=.9)
    features = {}

    def keep(name):
        def hook(module, args, output):
            features.setdefault(name, []).append(output.detach().mean().item() if FIXED else output.detach())
        return hook
    for name, block in net.blocks.named_children():
        block.register_forward_hook(keep(name))
    for step in range(8):
        recorder(step)
        loss = F.cross_entropy(net(images()), labels())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def evaluation(net):
    net.eval()
    outputs = []
    for _ in range(6):
        outputs.append(net(words(16)).softmax(-1))
    net.train()
    return torch.cat([o.argmax(-1) for o in outputs])


def eval_outputs():
    """Evaluation collects probabilities with their graphs."""
    net = Encoder().cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    for epoch in range(2):
        for step in range(3):
            x = words()
            loss = F.cross_entropy(net(x).flatten(0, 1), x.flatten() % 1000)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        if FIXED:
            with torch.inference_mode():
                evaluation(net)
        else:
            evaluation(net)


def shape_cache():
    """Biases of positions are cached by length, for ever; the mended program keeps the last one."""
    net = nn.Linear(256, 256).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    cache = {}

    def bias(length):
        if length not in cache:
            if FIXED:
                cache.clear()
            at = torch.arange(length, device="cuda", dtype=torch.float32)
            cache[length] = -(at[None, :] - at[:, None]).abs()
        return cache[length]
    for step in range(14):
        recorder(step)
        length = 1024 + 96 * step
        x = torch.randn(length, 256, device="cuda")  # truth: inputs
        q = net(x)
        y = (q @ q.T + bias(length)).softmax(-1) @ x
        loss = y.square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def tracebacks():
    """Steps that fail are noted with their exceptions, which hold the frames and all that they name."""
    net = Net().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    failures = []

    def step(i):
        x, y = images(32), labels(32)
        features = net.features(x)
        loss = F.cross_entropy(net.fc(features.mean((2, 3))), y)
        if i % 2:
            raise ValueError(f"step {i}: the loss is no number")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    for i in range(10):
        recorder(i)
        try:
            step(i)
        except ValueError as error:
            failures.append(str(error) if FIXED else error)
    print(len(failures))


def running_total():
    """Each micro-batch adds its loss and goes backward through the sum of all."""
    net = Encoder().cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(3):
        recorder(step)
        total = 0
        for micro in range(4):
            x = words()
            loss = F.cross_entropy(net(x).flatten(0, 1), x.flatten() % 1000)
            if FIXED:
                loss.backward()
            else:
                total = total + loss
                total.backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()


def distill():
    """The features of a frozen-by-intent teacher carry a graph."""
    student, master = Net(32, 2).cuda(), Net(64, 6).cuda()
    widen = nn.Conv2d(32, 64, 1).cuda()
    optimizer = torch.optim.Adam([*student.parameters(), *widen.parameters()])
    for step in range(5):
        recorder(step)
        x = images()
        with torch.set_grad_enabled(not FIXED):
            wanted = master.features(x)
        loss = F.mse_loss(widen(student.features(x)), wanted.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def snapshots():
    """A copy of the weights after each epoch, to take the best later; the mended program keeps them on the host."""
    net = Encoder(384, 6).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    best = []
    for epoch in range(5):
        recorder(epoch)
        for step in range(2):
            x = words(4)
            loss = F.cross_entropy(net(x).flatten(0, 1), x.flatten() % 1000)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        best.append({k: v.cpu() for k, v in net.state_dict().items()} if FIXED else copy.deepcopy(net.state_dict()))


def deep_queue():
    """The loader works twelve batches ahead on the device; the mended one two."""
    net = Net(32, 2).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    depth = 2 if FIXED else 12
    ready = deque(images(64, 128) for _ in range(depth))
    for step in range(8):
        recorder(step)
        x = ready.popleft()
        ready.append(images(64, 128))
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def second_stage():
    """The model and optimizer of the first stage are still there while the second trains."""
    first = Encoder(768, 6).cuda()
    optimizer = torch.optim.AdamW(first.parameters())
    for step in range(3):
        x = words(4)
        F.cross_entropy(first(x).flatten(0, 1), x.flatten() % 1000).backward()
        optimizer.step()
        optimizer.zero_grad()
    if FIXED:
        del first, optimizer
    second = Net().cuda()
    train = torch.optim.AdamW(second.parameters())
    for step in range(5):
        loss = F.cross_entropy(second(images(96)), labels(96))
        loss.backward()
        train.step()
        train.zero_grad()


def create_graph():
    """Every backward makes a graph of its own gradients, which hold each other."""
    net = nn.Sequential(*[m for _ in range(5) for m in (nn.Linear(1024, 1024), nn.Softplus())]).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    for step in range(6):
        recorder(step)
        x = torch.randn(2048, 1024, device="cuda")  # truth: inputs
        loss = net(x).square().mean()
        loss.backward(create_graph=not FIXED)
        optimizer.step()
        optimizer.zero_grad()


def log_by_step():
    """A dict by step has what each step predicted."""
    net = Encoder().cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    log = {}
    for step in range(7):
        recorder(step)
        x = words()
        scores = net(x)
        loss = F.cross_entropy(scores.flatten(0, 1), x.flatten() % 1000)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log[step] = {"loss": loss.item()} if FIXED else {"loss": loss.item(), "scores": scores.detach()}


class Concatenated:
    def __init__(self):
        self.seen = None

    def update(self, scores):
        scores = scores.cpu() if FIXED else scores
        self.seen = scores if self.seen is None else torch.cat([self.seen, scores])


def metric_object():
    """A metric concatenates all scores of an epoch on the device."""
    net = Encoder().cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    metric = Concatenated()
    for step in range(10):
        recorder(step)
        x = words()
        scores = net(x)
        loss = F.cross_entropy(scores.flatten(0, 1), x.flatten() % 1000)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        metric.update(scores.detach())


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(1024, 4096), nn.Linear(4096, 1024)

    def forward(self, x):
        h = F.gelu(self.a(x))
        if not FIXED:
            self.hidden = h
        return x + self.b(h)


def remembered():
    """Each block keeps its hidden activations on self until its next forward."""
    net = nn.Sequential(*[Remembers() for _ in range(6)]).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(5):
        recorder(step)
        x = torch.randn(4096, 1024, device="cuda")  # truth: inputs
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def closures():
    """Callbacks for a report at the end close over the batch of their step."""
    net = Net(32, 2).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    callbacks = []
    for step in range(8):
        recorder(step)
        x, y = images(64), labels(64)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        shown = x[:1].cpu() if FIXED else x
        callbacks.append(lambda shown=shown: shown.mean())


def memory_bank():
    """A bank of embeddings keeps their graphs: detach is missing."""
    net = Net(32, 3).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    bank = []
    for step in range(7):
        recorder(step)
        embedding = F.normalize(net(images()), dim=1)
        near = torch.cat([b.detach() for b in bank] + [embedding])
        loss = (embedding @ near.T).logsumexp(1).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.set_grad_enabled(not FIXED):
            bank.append(F.normalize(net(images()), dim=1))


def oom_growth():
    """Features are kept until the device is full."""
    net = Net().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    kept = []
    for step in range(40):
        features = net.features(images())
        loss = net.fc(features.mean((2, 3))).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(features.detach())
        if FIXED:
            kept.clear()


# ---- programs without a fault that look like those above ----

def window():
    """The last three predictions, always."""
    net = Encoder().cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    last = deque(maxlen=3)
    for step in range(8):
        x = words()
        scores = net(x)
        loss = F.cross_entropy(scores.flatten(0, 1), x.flatten() % 1000)
        if last:
            loss = loss + F.mse_loss(scores, last[0])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        last.append(scores.detach())


def static_cache():
    """Generation with keys and values in buffers of fixed size, under inference_mode."""
    dim, layers, longest = 512, 6, 512
    qkv = nn.ModuleList(nn.Linear(dim, 3 * dim) for _ in range(layers)).cuda()
    with torch.inference_mode():
        for prompt in range(2):
            keys = [torch.zeros(8, longest, dim, device="cuda") for _ in range(layers)]  # truth: cache
            values = [torch.zeros(8, longest, dim, device="cuda") for _ in range(layers)]  # truth: cache
            x = torch.randn(8, 1, dim, device="cuda")  # truth: inputs
            for t in range(24):
                for i, layer in enumerate(qkv):
                    q, k, v = layer(x).chunk(3, -1)
                    keys[i][:, t:t + 1], values[i][:, t:t + 1] = k, v
                    a = (q @ keys[i][:, :t + 1].transpose(1, 2) / math.sqrt(dim)).softmax(-1)
                    x = x + a @ values[i][:, :t + 1]


def in_turns():
    """Two networks trained in turns, each with its optimizer."""
    a, b = Net().cuda(), Net(32, 2).cuda()
    one, two = torch.optim.Adam(a.parameters()), torch.optim.Adam(b.parameters())
    for step in range(5):
        x, y = images(), labels()
        for net, optimizer in ((a, one), (b, two)):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()


def teacher_right():
    """A teacher under no_grad that is a moving average of the student."""
    student = Net().cuda()
    average = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.Adam(student.parameters())
    for step in range(6):
        x = images()
        with torch.no_grad():
            wanted = average(x).softmax(-1)
        loss = F.cross_entropy(student(x), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(average.parameters(), student.parameters()):
                p.lerp_(q, .01)


globals()[NAME]()
