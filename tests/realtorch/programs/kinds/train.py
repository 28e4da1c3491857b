"""Programs of many kinds: train.py KIND [fixed] [late]"""
import collections
import contextlib
import copy
import sys

import torch
import torch.nn.functional as F
from torch import nn
from model import GPT, ConvNet

KIND = sys.argv[1]
FIXED = "fixed" in sys.argv
LATE = "late" in sys.argv


def batch(n=4, t=512, vocab=16384):
    return torch.randint(vocab, (n, t), device="cuda")  # truth: inputs


def late(step, at=2):
    if LATE and step == at:
        torch.cuda.memory._record_memory_history(max_entries=2_000_000, stacks="python", clear_history=True)


def gpt(layers=4, **k):
    return GPT(layers=layers, dim=512, heads=8, length=512, **k).cuda()


def teacher():
    student, big = gpt(2), gpt(6).eval()
    opt = torch.optim.AdamW(student.parameters())
    for step in range(5):
        late(step)
        x = batch()
        with torch.no_grad() if FIXED else contextlib.nullcontext():
            target, _ = big(x)
        logits, _ = student(x)
        loss = F.kl_div(F.log_softmax(logits, -1), F.softmax(target.detach(), -1), reduction="batchmean")
        loss.backward()
        opt.step()
        opt.zero_grad()


def eval_collect():
    model = gpt()
    opt = torch.optim.AdamW(model.parameters())
    for epoch in range(2):
        for step in range(3):
            x = batch()
            _, loss = model(x, x)
            loss.backward()
            opt.step()
            opt.zero_grad()
        with torch.no_grad():
            outs = []
            for _ in range(12):
                logits, _ = model(batch())
                outs.append(logits.cpu() if FIXED else logits)
            print(torch.cat([o.float().mean().reshape(1) for o in outs]).mean())
            del outs


def metrics():
    model = gpt().eval()
    preds = []
    with torch.no_grad():
        for _ in range(10):
            logits, _ = model(batch())
            p = logits.softmax(-1)
            preds.append(p.argmax(-1) if FIXED else p)


def ema():
    model = gpt()
    shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
    opt = torch.optim.AdamW(model.parameters())
    for step in range(5):
        late(step)
        x = batch()
        _, loss = model(x, x)
        loss.backward()
        opt.step()
        opt.zero_grad()
        with torch.no_grad():
            for n, p in model.named_parameters():
                shadow[n] = shadow[n] * 0.99 + p * 0.01


def reload():
    import io
    m = gpt(6)
    f = io.BytesIO()
    torch.save(m.state_dict(), f)
    del m
    f.seek(0)
    model = gpt(6)
    state = torch.load(f, map_location="cpu" if FIXED else "cuda")
    model.load_state_dict(state)
    opt = torch.optim.SGD(model.parameters(), lr=.1)
    for step in range(4):
        x = batch(2)
        _, loss = model(x, x)
        loss.backward()
        opt.step()
        opt.zero_grad()
    print(len(state))


def replay():
    policy = nn.Sequential(nn.Linear(4096, 2048), nn.ReLU(), nn.Linear(2048, 64)).cuda()
    opt = torch.optim.Adam(policy.parameters())
    memory = collections.deque(maxlen=4) if FIXED else []
    for step in range(12):
        state = torch.randn(1024, 4096, device="cuda")  # truth: inputs
        with torch.no_grad():
            action = policy(state).argmax(-1)
        memory.append((state, action))
        s, a = memory[step % len(memory)]
        loss = F.cross_entropy(policy(s), a)
        opt.zero_grad()
        loss.backward()
        opt.step()


def old_optimizer():
    model = gpt(4)
    old = []
    for epoch in range(4):
        opt = torch.optim.AdamW(model.parameters())
        if not FIXED:
            old.append(opt)
        for step in range(3):
            x = batch()
            _, loss = model(x, x)
            loss.backward()
            opt.step()
            opt.zero_grad()


def prefetch():
    model = ConvNet().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=.1)
    side = torch.cuda.Stream()

    def load():
        with torch.cuda.stream(side):
            return torch.randn(32, 3, 64, 64).pin_memory().to("cuda", non_blocking=True)  # truth: inputs
    nxt = load()
    for step in range(6):
        torch.cuda.current_stream().wait_stream(side)
        x = nxt
        x.record_stream(torch.cuda.current_stream())
        nxt = load()
        loss = model(x).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()


def penalty():
    critic = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(1024, 1024), nn.LeakyReLU())], nn.Linear(1024, 1)).cuda()
    opt = torch.optim.Adam(critic.parameters())
    for step in range(5):
        x = torch.randn(4096, 1024, device="cuda", requires_grad=True)  # truth: inputs
        y = critic(x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        loss = y.mean() + ((g.norm(dim=1) - 1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def maml():
    from torch.func import functional_call
    net = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).cuda()
    opt = torch.optim.Adam(net.parameters())
    for step in range(4):
        total = 0
        for task in range(3):
            x = torch.randn(512, 512, device="cuda")  # truth: inputs
            fast = dict(net.named_parameters())
            for inner in range(2):
                loss = functional_call(net, fast, (x,)).square().mean()
                grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
                fast = {n: p - .1 * g for (n, p), g in zip(fast.items(), grads)}
            total = total + functional_call(net, fast, (x,)).square().mean()
        opt.zero_grad()
        total.backward()
        opt.step()


class Maps(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(512, 1536)
        self.o = nn.Linear(512, 512)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.q(x).view(b, t, 3, 8, 64).permute(2, 0, 3, 1, 4)
        att = (q @ k.transpose(-1, -2) * .125).softmax(-1)
        if not FIXED:
            self.last = att  # truth: fault
        return x + self.o((att @ v).transpose(1, 2).reshape(b, t, c))


def attention_maps():
    net = nn.Sequential(*[Maps() for _ in range(6)]).cuda()
    opt = torch.optim.AdamW(net.parameters())
    for step in range(5):
        late(step)
        x = torch.randn(4, 512, 512, device="cuda")  # truth: inputs
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()


def moco():
    q, k = ConvNet().cuda(), ConvNet().cuda()
    opt = torch.optim.SGD(q.parameters(), lr=.1, momentum=.9)
    queue = torch.randn(4096, 100, device="cuda")
    for step in range(6):
        x = torch.randn(32, 3, 64, 64, device="cuda")  # truth: inputs
        with torch.no_grad():
            for a, b in zip(k.parameters(), q.parameters()):
                a.mul_(.99).add_(b, alpha=.01)
            key = k(x)
        loss = F.cross_entropy(torch.cat([(q(x) * key).sum(1, keepdim=True), q(x) @ queue.T], 1), torch.zeros(32, dtype=torch.long, device="cuda"))
        queue = torch.cat([key, queue])[:4096]
        opt.zero_grad()
        loss.backward()
        opt.step()


def checkpointed():
    model = gpt(6, recompute=6)
    opt = torch.optim.AdamW(model.parameters())
    for step in range(4):
        late(step)
        x = batch()
        _, loss = model(x, x)
        loss.backward()
        opt.step()
        opt.zero_grad()


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(4, 128, 3, padding=1)
        self.mid = nn.ModuleList(nn.Conv2d(128, 128, 3, padding=1) for _ in range(6))
        self.z = nn.Conv2d(128, 4, 3, padding=1)

    def forward(self, x, t):
        h = F.silu(self.a(x) + t)
        for m in self.mid:
            h = h + F.silu(m(h))
        return self.z(h)


def sample(net):
    x = torch.randn(4, 4, 64, 64, device="cuda")  # truth: inputs
    for t in range(20):
        eps = net(x, t / 20)
        x = x - 0.05 * eps
    return x


def diffusion():
    net = Unet().cuda().eval()
    f = torch.no_grad()(sample) if FIXED else sample
    for _ in range(2):
        img = f(net)
    print(img.shape)


def ppo():
    actor = nn.Sequential(nn.Linear(1024, 2048), nn.Tanh(), nn.Linear(2048, 2048), nn.Tanh(), nn.Linear(2048, 16)).cuda()
    opt = torch.optim.Adam(actor.parameters())
    for it in range(3):
        store = []
        obs = torch.randn(2048, 1024, device="cuda")  # truth: inputs
        for t in range(16):
            with torch.no_grad() if FIXED else contextlib.nullcontext():
                logp = actor(obs).log_softmax(-1)
            store.append((obs, logp.max(1).values, logp.argmax(1)))
            obs = torch.randn(2048, 1024, device="cuda")  # truth: inputs
        for o, old, a in store:
            new = actor(o).log_softmax(-1).gather(1, a[:, None])[:, 0]
            loss = -(new - old.detach()).exp().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def functional():
    d = 512
    W = [[torch.randn(d, 3 * d, device="cuda") * .02, torch.randn(d, d, device="cuda") * .02, torch.randn(d, 4 * d, device="cuda") * .02, torch.randn(4 * d, d, device="cuda") * .02] for _ in range(10)]
    for w in W:
        for p in w:
            p.requires_grad_()
    x = torch.randn(4, 512, d, device="cuda")  # truth: inputs

    def block(x, w):
        q, k, v = (x @ w[0]).view(4, 512, 3, 8, 64).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-1, -2) * .125).softmax(-1)
        x = x + (a @ v).transpose(1, 2).reshape(4, 512, d) @ w[1]
        return x + F.gelu(x @ w[2]) @ w[3]
    for w in W:
        x = block(x, w)
    print(x.mean().item())


def epoch_list():
    model = gpt()
    opt = torch.optim.AdamW(model.parameters())
    for epoch in range(3):
        outputs = []
        for step in range(5):
            x = batch()
            logits, loss = model(x, x)
            loss.backward()
            opt.step()
            opt.zero_grad()
            outputs.append(logits.detach().cpu() if FIXED else logits.detach())
        print(len(outputs))


def frozen():
    back, head = gpt(6).requires_grad_(False), nn.Linear(16384, 64).cuda()
    opt = torch.optim.AdamW(head.parameters())
    for step in range(5):
        late(step)
        x = batch(2)
        logits, _ = back(x)
        loss = head(logits.mean(1)).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()


def val_hf():
    """validation decorated; training bf16 autocast; loss logged as float"""
    model = gpt()
    opt = torch.optim.AdamW(model.parameters())

    @torch.no_grad()
    def evaluate():
        model.eval()
        t = sum(model(x, x)[1] for x in (batch() for _ in range(4)))
        model.train()
        return t.item()
    for epoch in range(3):
        for step in range(3):
            x = batch()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                _, loss = model(x, x)
            loss.backward()
            opt.step()
            opt.zero_grad(set_to_none=True)
        print(evaluate())


def onestep():
    model = gpt()
    opt = torch.optim.AdamW(model.parameters())
    x = batch()
    _, loss = model(x, x)
    loss.backward()
    opt.step()


def late_gpt():
    model = gpt(6)
    opt = torch.optim.AdamW(model.parameters())
    for step in range(6):
        late(step, 3)
        x = batch()
        _, loss = model(x, x)
        loss.backward()
        opt.step()
        opt.zero_grad()


def late_lora():
    model = gpt(6).requires_grad_(False)
    for b in model.blocks:
        for m, n in ((b.mlp, "up"), (b.attn, "qkv")):
            lin = getattr(m, n)

            class Lora(nn.Module):
                def __init__(self, lin):
                    super().__init__()
                    self.lin, self.a, self.b = lin, nn.Parameter(torch.randn(16, lin.in_features, device="cuda")), nn.Parameter(torch.zeros(lin.out_features, 16, device="cuda"))

                def forward(self, x):
                    return self.lin(x) + x @ self.a.T @ self.b.T
            setattr(m, n, Lora(lin))
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    for step in range(6):
        late(step, 3)
        x = batch()
        _, loss = model(x, x)
        loss.backward()
        opt.step()
        opt.zero_grad()


def late_masters():
    model = gpt(6).bfloat16()
    masters = [p.detach().float().requires_grad_() for p in model.parameters()]
    opt = torch.optim.AdamW(masters)
    for step in range(6):
        late(step, 3)
        x = batch()
        _, loss = model(x, x)
        loss.backward()
        for m, p in zip(masters, model.parameters()):
            m.grad = p.grad.float()
            p.grad = None
        opt.step()
        opt.zero_grad()
        with torch.no_grad():
            for m, p in zip(masters, model.parameters()):
                p.copy_(m)


def lbfgs():
    net = nn.Sequential(nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 1)).cuda()
    opt = torch.optim.LBFGS(net.parameters(), history_size=5)
    x = torch.randn(512, 1024, device="cuda")  # truth: inputs

    def closure():
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        return loss
    for step in range(4):
        opt.step(closure)


def graphs():
    net = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024)).cuda()
    x = torch.randn(256, 1024, device="cuda")
    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(s):
        for _ in range(3):
            net(x)
    torch.cuda.current_stream().wait_stream(s)


def stats():
    """running statistics by a list of detached means: tiny leak"""
    net = ConvNet().cuda()
    opt = torch.optim.SGD(net.parameters(), lr=.1)
    log = []
    for step in range(8):
        x = torch.randn(32, 3, 64, 64, device="cuda")  # truth: inputs
        y = net(x)
        loss = y.square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        log.append(loss.item() if FIXED else loss)


def swap_models():
    """a sweep: each trial makes a model; trials are kept"""
    kept = []
    for trial in range(4):
        net = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)]).cuda()
        opt = torch.optim.Adam(net.parameters())
        for step in range(3):
            x = torch.randn(256, 1024, device="cuda")  # truth: inputs
            net(x).square().mean().backward()
            opt.step()
            opt.zero_grad()
        if FIXED:
            kept.append(net.cpu())
            del opt
        else:
            kept.append((net, opt))


def oom_forward():
    model = gpt(12)
    opt = torch.optim.AdamW(model.parameters())
    for step in range(3):
        x = batch(32)
        _, loss = model(x, x)
        loss.backward()
        opt.step()
        opt.zero_grad()


globals()[KIND]()
