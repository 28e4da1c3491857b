import inspect
import pickle
import sys

import torch


def _record_memory_history_legacy(enabled, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False,
                                  device=None, record_context_cpp=False):
    _switch(enabled, trace_alloc_max_entries, dict(legacy=True, cpp=record_context_cpp))


def _record_memory_history_impl(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None,
                                clear_history=False, compile_context=False, global_record_annotations=False):
    _switch(enabled, max_entries, dict(stacks=stacks, annotations=global_record_annotations))


def _record_memory_history_pinned(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None,
                                  clear_history=False, compile_context=False, global_record_annotations=False,
                                  skip_actions=None, record_pinned_host_memory=False):
    _switch(enabled, max_entries, dict(stacks=stacks, annotations=global_record_annotations,
                                       pinned=record_pinned_host_memory))


def _switch(enabled, max_entries, how):
    torch.broken("history")
    state = torch._C.state
    state["max"] = max_entries if enabled else None
    state["calls"].append(how)
    if not enabled:
        state["events"] = []


def _record_memory_history(enabled="all", *args, **kwargs):
    if isinstance(enabled, bool):
        return _record_memory_history_legacy(enabled, *args, **kwargs)
    return _impl(enabled, *args, **kwargs)


_numbers = tuple(int(part) for part in torch.__version__.split(".")[:2])
_impl = _record_memory_history_pinned if _numbers >= (2, 14) else _record_memory_history_impl
if _numbers >= (2, 1):
    _record_memory_history.__signature__ = inspect.signature(_impl)
else:
    _record_memory_history = _record_memory_history_legacy


def _snapshot(device=None):
    torch.broken("snapshot")
    state = torch._C.state
    blocks = [{"address": address, "size": (size + 511) // 512 * 512, "requested_size": size, "state": "active_allocated",
               "frames": []} for address, size in sorted(state["live"].items())]
    segments = [{"device": 0, "address": block["address"], "total_size": block["size"], "allocated_size": block["size"],
                 "active_size": block["size"], "requested_size": block["requested_size"], "stream": 0,
                 "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                 "blocks": [block]} for block in blocks]
    return {"segments": segments, "device_traces": [list(state["events"])], "allocator_settings": {},
            "external_annotations": [], "stand_in": state["calls"]}


def _dump_snapshot(filename="dump_snapshot.pickle"):
    snapshot = _snapshot()
    with open(filename, "wb") as out:
        pickle.dump(snapshot, out, protocol=4)
