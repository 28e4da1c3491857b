"""Put before the program by record.py as sitecustomize: runs it under the stand-in runtime with torch's recorder on, and notes what is true. Started by record.py.

No frame of this file lies between the program and an allocation: what wraps torch's functions is compiled under the name
of torch's own file.
"""
import atexit
import collections
import gc
import json
import os
import sys
import time
import traceback
import weakref

import torch
import torch.utils.checkpoint

out, stacks = os.environ["FAKECUDA_OUT"], os.environ.get("FAKECUDA_STACKS", "all")
marks = []          # (unix nanoseconds, what)
seen = {}           # (category, address, bytes) -> unix nanoseconds at which it was there
told = {}


def mark(what):
    marks.append((time.time_ns(), what))


WRAPPER = '''
def wrap(function, begin, end):
    depth = [0]
    def call(*args, **kwargs):
        depth[0] += 1
        if depth[0] == 1:
            begin(args)
        try:
            return function(*args, **kwargs)
        finally:
            depth[0] -= 1
            if depth[0] == 0:
                end()
    return call
'''
scope = {}
exec(compile(WRAPPER, torch._tensor.__file__, "exec"), scope)
wrap = scope["wrap"]


def note(category, tensor):
    if not isinstance(tensor, torch.Tensor):
        return
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    if not tensor.is_cuda:
        return
    try:
        storage = tensor.untyped_storage()
        address, size = storage.data_ptr(), storage.nbytes()
    except Exception:
        return
    if not size:
        return
    now = time.time_ns()
    seen.setdefault((category, address, size), []).append(now)


called = weakref.WeakKeyDictionary()  # modules that the program calls -> how often


def note_module(module):
    for p in module.parameters():
        if isinstance(p, torch.nn.Parameter):  # functional_call puts other tensors there
            note("parameters", p)
            note("gradients", p.grad)
    for b in module.buffers():
        note("buffers", b)


def modules():
    for module in [o for o in gc.get_objects() if isinstance(o, torch.nn.Module)]:
        note_module(module)


def before_forward(args):
    mark("forward")
    called[args[0]] = called.get(args[0], 0) + 1
    if called[args[0]] <= 200:
        note_module(args[0])


def after_backward():
    mark("backward end")
    for module in list(called):
        note_module(module)


def before_step(optimizer, *_):
    mark("optimizer")
    for group in optimizer.param_groups:
        for p in group["params"]:
            note("parameters", p)
            note("gradients", p.grad)


steps = [0]


def note_state(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, collections.deque)):
        for v in value:
            note_state(v)
    else:
        note("optimizer state", value)


def after_step(optimizer, *_):
    mark("optimizer end")
    for group in optimizer.param_groups:
        for p in group["params"]:
            note("parameters", p)
    note_state(dict(optimizer.state))
    steps[0] += 1
    if steps[0] <= 2:
        modules()


from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook  # noqa: E402

register_optimizer_step_pre_hook(before_step)
register_optimizer_step_post_hook(after_step)
if hasattr(torch.autograd.graph, "_engine_run_backward"):
    engine = wrap(torch.autograd.graph._engine_run_backward, lambda args: mark("backward"), after_backward)
    for holder in (torch.autograd.graph, torch.autograd, torch._tensor, torch.utils.checkpoint):
        if hasattr(holder, "_engine_run_backward"):
            holder._engine_run_backward = engine
else:
    torch.Tensor.backward = wrap(torch.Tensor.backward, lambda args: mark("backward"), after_backward)
torch.nn.Module.__call__ = wrap(torch.nn.Module.__call__, before_forward, lambda: mark("forward end"))
torch.backends.cudnn.enabled = False
if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):
    torch.backends.cuda.enable_cudnn_sdp(False)

result = {"torch": torch.__version__, "exit": "ok"}


def dump(name):
    torch.cuda.memory._dump_snapshot(name)


dumped = []


def on_oom(device, wanted, total, free):
    if os.environ.get("FAKECUDA_OOM_DUMP") == "0":
        mark("out of memory")
        return
    if not dumped:
        dumped.append(True)
        result["oom_observer"] = {"wanted": wanted, "total": total, "free": free}
        mark("out of memory")
        dump(out)
        for module in list(called):
            note_module(module)


torch.cuda.init()
torch.cuda.memory._record_memory_history(max_entries=2_000_000, **({"context": None} if stacks == "none" else {"stacks": stacks}))
torch._C._cuda_attach_out_of_memory_observer(on_oom)
began = time.time()


def failed(kind, error, trace):
    if isinstance(error, torch.cuda.OutOfMemoryError):
        result["exit"] = "oom"
        result["error"] = str(error)
        frames = traceback.extract_tb(trace)
        result["where"] = [f"{os.path.basename(f.filename)}:{f.lineno} {f.name}" for f in frames if "/programs/" in f.filename]
    else:
        result["exit"] = "error"
    traceback.print_exception(kind, error, trace)


def ended():
    result["seconds"] = time.time() - began
    if not dumped:
        dump(out)
    if result["exit"] == "ok":
        modules()
    stats = torch.cuda.memory_stats()
    result["max_allocated"] = stats.get("allocated_bytes.all.peak", 0)
    result["max_requested"] = stats.get("requested_bytes.all.peak", 0)
    result["max_reserved"] = stats.get("reserved_bytes.all.peak", 0)
    result["retries"] = stats.get("num_alloc_retries", 0)
    result["ooms"] = stats.get("num_ooms", 0)
    result["steps"] = steps[0]
    result["marks"] = marks
    result["seen"] = [[c, a, n, t] for (c, a, n), t in seen.items()]
    with open(out + ".run.json", "w") as f:
        json.dump(result, f)


sys.excepthook = failed
atexit.register(ended)
