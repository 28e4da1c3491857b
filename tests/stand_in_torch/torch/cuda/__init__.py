import os
import threading

import torch

OTHERS = 256 << 20  # what other processes hold of the device
_initialized = False
_initialization_lock = threading.Lock()
_in_bad_fork = False


def _after_fork():
    global _in_bad_fork
    _in_bad_fork = _initialized


os.register_at_fork(after_in_child=_after_fork)


def is_initialized():
    return _initialized and not _in_bad_fork


def _lazy_init():
    global _initialized
    if is_initialized():
        return
    with _initialization_lock:
        if is_initialized():
            return
        if _in_bad_fork:
            raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")
        _initialized = True


def device_count():
    return 2


def memory_reserved(device=None):
    return sum(torch._C.state["live"].values()) if device == 0 else 0


def mem_get_info(device=None):
    torch.broken("mem_get_info")
    assert device == 0, "a context is made on a device that the program does not use"
    return torch._C.CAPACITY - memory_reserved(0) - OTHERS, torch._C.CAPACITY


def init():
    _lazy_init()


from . import memory  # noqa: E402, F401
