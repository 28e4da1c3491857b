"""Replays a snapshot event by event, without any of the simulator's knowledge: an independent check of samples."""


class Wrong(Exception):
    """The snapshot contradicts itself."""


def check(snapshot):
    """Figures per device; raises Wrong where trace and segments disagree."""
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
    _require(address == segment["address"] + segment["total_size"], "blocks do not cover segment {:#x}", segment["address"])
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
    lives, pending = _lives(trace)
    blocks = {block["address"]: block for segment in segments for block in segment["blocks"]
              if block["state"] != "inactive"}
    opened = {life["addr"]: life for life in lives if life["death"] is None}
    for address, life in opened.items():
        _require(address in blocks, "allocation {:#x} is open, but no block is active there", address)
        _require(blocks[address]["requested_size"] == life["size"], "sizes differ at {:#x}", address)
        _require((blocks[address]["state"] == "active_pending_free") == (address in pending), "pending at {:#x}", address)
    for address, block in blocks.items():
        if address not in opened:
            lives.append({"addr": address, "size": block["requested_size"], "birth": -1, "death": None})
    curve = _curve(lives, len(trace))
    _require(curve[-1] == sum(segment["requested_size"] for segment in segments), "live bytes at the end")
    reserved = _reserved(trace, sum(segment["total_size"] for segment in segments))
    _check_times(trace)
    peak = max(curve)
    return {
        "device": device, "events": len(trace), "allocations": len(lives),
        "preexisting": sum(life["birth"] == -1 for life in lives), "start_bytes": curve[0], "peak_bytes": peak,
        "peak_event": curve.index(peak) - 1, "end_bytes": curve[-1],
        "live_at_peak": _live_at(lives, curve.index(peak) - 1),
        "reserved_start": reserved[0], "reserved_peak": max(reserved), "reserved_end": reserved[-1],
        "pending_at_end": sum(block["state"] == "active_pending_free" for block in blocks.values()),
    }


def _lives(trace):
    """formats.md's rules: a completion ends a life; one without an allocation has lived since the beginning."""
    lives, opened, pending = [], {}, set()
    for index, event in enumerate(trace):
        action, address = event["action"], event.get("addr")
        if action == "alloc":
            _require(address not in opened, "event {}: {:#x} is allocated twice", index, address)
            opened[address] = {"addr": address, "size": event["size"], "birth": index, "death": None}
            lives.append(opened[address])
        elif action in ("free_requested", "free_completed"):
            if address not in opened:
                opened[address] = {"addr": address, "size": event["size"], "birth": -1, "death": None}
                lives.append(opened[address])
            _require(opened[address]["size"] == event["size"], "event {}: size of a free", index)
            pending.add(address)
            if action == "free_completed":
                opened.pop(address)["death"] = index
                pending.discard(address)
        elif action == "annotate":
            _require(address in opened, "event {}: annotates nothing", index)
    return lives, pending


def _curve(lives, events):
    """Live bytes before the first event and after each."""
    change = [0] * (events + 1)
    for life in lives:
        change[life["birth"] + 1] += life["size"]
        if life["death"] is not None:
            change[life["death"] + 1] -= life["size"]
    total, curve = 0, []
    for delta in change:
        total += delta
        curve.append(total)
    return curve


def _live_at(lives, event):
    return sum(life["birth"] <= event and (life["death"] is None or life["death"] > event) for life in lives)


def _reserved(trace, end):
    """Reserved bytes, walked back from the segments."""
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
