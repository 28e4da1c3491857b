"""Ways to spend less, and their mistakes: train.py KIND [fixed]"""
import sys

import torch
from model import GPT
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

FIXED = "fixed" in sys.argv


def steps(model, forward, count=4):
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(count):
        x = torch.randint(16384, (4, 512), device="cuda")  # truth: inputs
        loss = forward(x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def selective():
    """Products of matrices are kept, all else is computed again."""
    model = GPT(layers=4, dim=512, heads=8, length=512).cuda()

    def policy(context, op, *args, **kwargs):
        return CheckpointPolicy.MUST_SAVE if op == torch.ops.aten.addmm.default else CheckpointPolicy.PREFER_RECOMPUTE
    for block in model.blocks:
        block.forward = (lambda f: lambda x: checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy)))(block.forward)
    steps(model, lambda x: model(x, x)[1])


def offload():
    """What backward needs waits in the host's memory."""
    model = GPT(layers=4, dim=512, heads=8, length=512).cuda()

    def forward(x):
        with torch.autograd.graph.save_on_cpu():
            return model(x, x)[1]
    steps(model, forward, 3)


def cuda_graph():
    """A captured forward with static inputs."""
    model = GPT(layers=2, dim=512, heads=8, length=512).cuda().eval()
    x = torch.zeros(4, 512, dtype=torch.long, device="cuda")  # truth: inputs
    with torch.no_grad():
        model(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)[0]
        for _ in range(8):
            graph.replay()
    print(y.shape)


def debug_states():
    """Hidden states of every step are kept for a look at them later; the mended one keeps a norm on the host."""
    model = GPT(layers=4, dim=512, heads=8, length=512).cuda()
    kept = []
    model.norm.register_forward_hook(lambda m, a, out: kept.append(out.detach().norm().item() if FIXED else out.detach().clone()))
    steps(model, lambda x: model(x, x)[1], 8)


globals()[sys.argv[1]]()
