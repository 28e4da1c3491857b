"""One rank of four over the fake process group: train.py tensor|stages"""
import sys

import torch
import torch.distributed as dist
from model import GPT
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore


def steps(model, optimizer, count=4):
    for step in range(count):
        x = torch.randint(16384, (4, 512), device="cuda")  # truth: inputs
        _, loss = model(x, x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(loss.item())


def tensor():
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = init_device_mesh("cuda", (4,))
    model = GPT(layers=4, dim=512, heads=8, length=512).cuda()
    for block in model.blocks:
        parallelize_module(block, mesh, {"mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel()})
    steps(model, torch.optim.AdamW(model.parameters(), foreach=False))


def stages():
    """The second stage of a pipeline: activations of four microbatches wait for their backward."""
    stage = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)) for _ in range(4)]).cuda()
    optimizer = torch.optim.AdamW(stage.parameters())
    for step in range(4):
        waiting = []
        for micro in range(4):
            x = torch.empty(1024, 1024, device="cuda", requires_grad=True)  # truth: inputs
            dist.recv(x.detach(), src=1)
            waiting.append((x, stage(x)))
        for x, y in waiting:
            y.backward(torch.ones_like(y))
            dist.send(x.grad, dst=1)
        del x, y, waiting
        optimizer.step()
        optimizer.zero_grad()


dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
globals()[sys.argv[1]]()
