"""Replays a snapshot event by event without knowing anything of the simulator: an independent check of samples."""

from bisect import bisect_left


class Wrong(Exception):
    """Raised where a snapshot contradicts itself."""


def check(snapshot):
    """The figures of each device. Raises Wrong where trace and segments disagree."""
    figures = []
    for device, trace in enumerate(snapshot["device_traces"]):
        segments = [segment for segment in snapshot["segments"] if segment["device"] == device]
        if trace or segments:
            for segment in segments:
                _check_segment(segment)
            figures.append(_device(device, trace, segments))
    _no_overlap(snapshot["segments"])
    return figures


def _require(true, text, *values):
    if not true:
        raise Wrong(text.format(*values))


def _check_segment(segment):
    address = segment["address"]
    for block in segment["blocks"]:
        _require(block["address"] == address, "block {:#x} does not begin where the last one ends", block["address"])
        _require(block["size"] % 512 == 0 and block["size"] > 0, "block size {}", block["size"])
        _require(block["state"] == "inactive" or 0 < block["requested_size"] <= block["size"],
                 "requested size {} of a block of {}", block["requested_size"], block["size"])
        address += block["size"]
    _require(address == segment["address"] + segment["total_size"], "blocks do not cover segment {:#x}",
             segment["address"])
    allocated = [block for block in segment["blocks"] if block["state"] == "active_allocated"]
    active = [block for block in segment["blocks"] if block["state"] != "inactive"]
    _require(segment["allocated_size"] == sum(block["size"] for block in allocated), "allocated_size")
    _require(segment["active_size"] == sum(block["size"] for block in active), "active_size")
    _require(segment["requested_size"] == sum(block["requested_size"] for block in active), "requested_size")
    neighbours = zip(segment["blocks"], segment["blocks"][1:])
    _require(not any(a["state"] == b["state"] == "inactive" for a, b in neighbours), "free neighbours are not merged")


def _no_overlap(segments):
    segments = sorted(segments, key=lambda segment: segment["address"])
    for before, after in zip(segments, segments[1:]):
        _require(before["address"] + before["total_size"] <= after["address"], "segments overlap")


def _device(device, trace, segments):
    allocations, pending = _allocations(trace)
    blocks = {block["address"]: block for segment in segments for block in segment["blocks"]
              if block["state"] != "inactive"}
    opened = {allocation["addr"]: allocation for allocation in allocations if allocation["death"] is None}
    for address, allocation in opened.items():
        _require(address in blocks, "allocation {:#x} is open, but no block is active there", address)
        _require(blocks[address]["requested_size"] == allocation["size"], "sizes differ at {:#x}", address)
        waits = blocks[address]["state"] == "active_pending_free"
        _require(waits == (address in pending), "pending at {:#x}", address)
    for address, block in blocks.items():
        if address not in opened:
            allocations.append({"addr": address, "size": block["requested_size"], "birth": -1, "death": None})
    curve = _curve(allocations, len(trace))
    _require(curve[-1] == sum(segment["requested_size"] for segment in segments), "live bytes at the end")
    reserved = _reserved(trace, sum(segment["total_size"] for segment in segments))
    _check_times(trace)
    peak = max(curve)
    return {
        "device": device, "events": len(trace), "allocations": len(allocations),
        "preexisting": sum(allocation["birth"] == -1 for allocation in allocations), "start_bytes": curve[0], "peak_bytes": peak,
        "peak_event": curve.index(peak) - 1, "end_bytes": curve[-1],
        "live_at_peak": _live_at(allocations, curve.index(peak) - 1),
        "reserved_start": reserved[0], "reserved_peak": max(reserved), "reserved_end": reserved[-1],
        "pending_at_end": sum(block["state"] == "active_pending_free" for block in blocks.values()),
    }


def _allocations(trace):
    """By formats.md's rules: a completion ends an allocation; a free without one ends one from before the recording."""
    allocations, opened, pending = [], {}, set()
    for index, event in enumerate(trace):
        action, address = event["action"], event.get("addr")
        if action == "alloc":
            _require(address not in opened, "event {}: {:#x} is allocated twice", index, address)
            opened[address] = {"addr": address, "size": event["size"], "birth": index, "death": None}
            allocations.append(opened[address])
        elif action in ("free_requested", "free_completed"):
            if address not in opened:
                opened[address] = {"addr": address, "size": event["size"], "birth": -1, "death": None}
                allocations.append(opened[address])
            _require(opened[address]["size"] == event["size"], "event {}: size of a free", index)
            pending.add(address)
            if action == "free_completed":
                opened.pop(address)["death"] = index
                pending.discard(address)
        elif action == "annotate":
            _require(address in opened, "event {}: annotates nothing", index)
    return allocations, pending


def _curve(allocations, events):
    """Live bytes before the first event and after each."""
    change = [0] * (events + 1)
    for allocation in allocations:
        change[allocation["birth"] + 1] += allocation["size"]
        if allocation["death"] is not None:
            change[allocation["death"] + 1] -= allocation["size"]
    total, curve = 0, []
    for delta in change:
        total += delta
        curve.append(total)
    return curve


def _live_at(allocations, event):
    return sum(allocation["birth"] <= event and (allocation["death"] is None or allocation["death"] > event) for allocation in allocations)


def _reserved(trace, end):
    """Reserved bytes, computed backwards from the segments."""
    sign = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
    reserved = [end]
    for index in range(len(trace) - 1, -1, -1):
        reserved.append(reserved[-1] - sign.get(trace[index]["action"], 0) * trace[index]["size"])
        _require(reserved[-1] >= 0, "event {}: reserved bytes are negative", index)
    reserved.reverse()
    return reserved


def _check_times(trace):
    times = [event["time_us"] for event in trace if "time_us" in event]
    _require(times == sorted(times), "time runs backwards")


# ---- what also holds if the recording has been on since the process began and nothing was lost ----

_PAGE = 2 << 20  # every range that the driver gives or takes is a multiple of this


def check_complete(snapshot):
    """Raises Wrong unless the trace alone explains the segments."""
    for figures in check(snapshot):
        trace = snapshot["device_traces"][figures["device"]]
        segments = [segment for segment in snapshot["segments"] if segment["device"] == figures["device"]]
        _require(figures["preexisting"] == 0 and figures["start_bytes"] == 0, "something is older than the recording")
        _require(figures["reserved_start"] == 0, "memory was reserved before the recording")
        _check_pairs(trace)
        _require(_walk_ranges(trace) == _pages(((s["address"], s["total_size"]) for s in segments)),
                 "segments are not what the trace reserved")


def _check_pairs(trace):
    """Every completion follows its request."""
    requested = set()
    for index, event in enumerate(trace):
        if event["action"] == "free_requested":
            _require(event["addr"] not in requested, "event {}: freed twice", index)
            requested.add(event["addr"])
        elif event["action"] == "free_completed":
            _require(event["addr"] in requested, "event {}: completes what nobody requested", index)
            requested.remove(event["addr"])


def _pages(ranges):
    return {page for address, size in ranges for page in range(address // _PAGE, (address + size) // _PAGE)}


def _walk_ranges(trace):
    """Reserved pages at the end. Checks on the way that allocations lie in reserved memory and never overlap."""
    reserved, starts, ends = set(), [], {}
    for index, event in enumerate(trace):
        action, address, size = event["action"], event.get("addr"), event["size"]
        if action in ("segment_alloc", "segment_map"):
            _require(reserved.isdisjoint(_pages([(address, size)])), "event {}: reserved twice", index)
            reserved |= _pages([(address, size)])
        elif action in ("segment_free", "segment_unmap"):
            gone = _pages([(address, size)])
            _require(gone <= reserved, "event {}: gives back what is not reserved", index)
            place = bisect_left(starts, address + size)
            _require(place == 0 or ends[starts[place - 1]] <= address, "event {}: gives back what is in use", index)
            reserved -= gone
        elif action == "alloc":
            end = address + (size + 511) // 512 * 512
            _require(all(page in reserved for page in range(address // _PAGE, (end - 1) // _PAGE + 1)),
                     "event {}: allocates what is not reserved", index)
            place = bisect_left(starts, end)
            _require(place == 0 or ends[starts[place - 1]] <= address, "event {}: allocates what is in use", index)
            starts.insert(place, address)
            ends[address] = end
        elif action == "free_completed":
            del starts[bisect_left(starts, address)], ends[address]
    return reserved
