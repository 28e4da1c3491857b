"""Stands in for the C module: the allocator, its history, and any number of observers."""

import sys
import time

import torch

CAPACITY = 1 << 30
state = {"live": {}, "next": 0x7F0000000000, "events": [], "max": None, "calls": []}
observers = []


def _cuda_isHistoryEnabled():
    return state["max"] is not None


def _cuda_attach_out_of_memory_observer(observer):
    torch.broken("attach")
    observers.append(observer)


def _event(action, address, size):
    frame = sys._getframe(2)
    frames = []
    while frame is not None:
        frames.append({"name": frame.f_code.co_name, "filename": frame.f_code.co_filename, "line": frame.f_lineno})
        frame = frame.f_back
    if state["max"]:
        state["events"].append({"action": action, "addr": address, "size": size, "stream": 0, "frames": frames,
                                "time_us": time.time_ns() // 1000})
        if action == "oom":
            state["events"][-1]["device_free"] = address
        del state["events"][:-state["max"]]


def allocate(size):
    torch.cuda._lazy_init()
    used = sum(state["live"].values())
    if used + size > CAPACITY:
        _event("oom", CAPACITY - used, size)
        for observer in list(observers):
            observer(0, size, CAPACITY, CAPACITY - used)
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate {} bytes".format(size))
    address = state["next"]
    state["next"] += (size + 511) // 512 * 512
    state["live"][address] = size
    _event("alloc", address, size)
    return address


def free(address):
    size = state["live"].pop(address)
    _event("free_requested", address, size)
    _event("free_completed", address, size)
