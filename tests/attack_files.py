"""Hostile files: pickles, archives, JSON and text. Some are small and expand enormously, some contradict themselves,
some hold values that no program would write. This file generates all of them."""

import gzip
import io
import json
import pickle
import struct
import zipfile

FRAME = {"name": "forward", "filename": "/home/user/train.py", "line": 41}
MILLION = 1_000_000


def event(action="alloc", addr=4096, size=512, **more):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 1, "frames": [FRAME], **more}


def snapshot(*traces, segments=(), **more):
    return {"segments": list(segments), "device_traces": [list(trace) for trace in traces], **more}


def segment(address=1 << 21, blocks=(), **more):
    return {"device": 0, "address": address, "total_size": 1 << 21, "allocated_size": 0, "active_size": 0, "requested_size": 0,
            "stream": 0, "segment_type": "small", "blocks": list(blocks), **more}


def block(address, size=512, **more):
    return {"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": [FRAME], **more}


def chain(n, **more):
    return [event(addr=4096 * (i + 1), time_us=i, **more) for i in range(n)]


def itself():
    """A snapshot in which lists and dicts contain themselves, at every level."""
    frames, trace, whole = [], [], snapshot([])
    frames.append(frames)
    trace += [event(frames=frames), trace]
    whole["device_traces"] = [trace, whole]
    whole["segments"] = [segment(blocks=[whole]), whole]
    whole["allocator_settings"] = whole
    return whole


# ---- pickles by value ----

def values():
    name = "n" * MILLION
    yield "nul_in_names", snapshot([event(frames=[{"name": "a\0b", "filename": "\0", "line": 1}, {"name": "\0" * 99, "filename": "x\0.py", "line": 0}])])
    yield "names_of_a_megabyte", snapshot([event(frames=[{"name": name, "filename": name + ".py", "line": 1}], user_metadata=name)])
    yield "deep_stack", snapshot([event(frames=[{**FRAME, "line": i} for i in range(30_000)])])
    yield "negative_devices", snapshot([event()], segments=[segment(device=number) for number in (-1, -2, -(1 << 31), 1 << 31, 1 << 63, "x", None)])
    yield "segments_without_blocks", snapshot([event()], segments=[segment(i << 21) for i in range(50_000)])
    yield "segments_on_each_other", snapshot([event()], segments=[segment(1 << 21, [block(1 << 21)]) for _ in range(5000)])
    yield "blocks_of_nothing", snapshot([], segments=[segment(blocks=[block(i, 0) for i in range(50_000)])])
    yield "blocks_outside", snapshot([], segments=[segment(blocks=[block(at, 1 << 40) for at in (0, -1, (1 << 64) - 1, 1 << 63, 5)])])
    yield "actions", snapshot([event(action) for action in ("", "bogus", "x" * 99999, None, 5, -1, 1.5, [], {}, (), b"alloc", True, "alloc\0")])
    yield "times", snapshot([event(addr=4096 * (i + 1), time_us=time_us) for i, time_us in enumerate(
        [(1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 1 << 200, -1, -(1 << 63), 0, float("nan"), float("inf"), None, "now", [], 1.5])])
    for field in ("size", "addr", "stream", "device_free", "frames", "user_metadata", "compile_context", "pool_id"):
        yield f"kinds_of_{field}", snapshot([event("oom" if field == "device_free" else "alloc", addr=4096, **{}) | {field: value} for value in (
            float("nan"), float("inf"), -1, 1 << 63, 1 << 64, 1 << 4000, True, None, "512", b"512", [], {}, (), [[]], [None], {"a": {"b": 1}}, (1, 2, 3))])
    yield "one_address", snapshot([event(addr=4096, size=512 + i) for i in range(50_000)])
    yield "freed_and_never_made", snapshot([event("free_completed", addr=i * 512) for i in range(50_000)])
    yield "streams", snapshot(chain(20_000) + [event(addr=i << 20, stream=i) for i in range(20_000)])
    yield "pools", snapshot([], segments=[segment(i << 21, [block(i << 21)], segment_pool_id=(i, -i)) for i in range(5000)])
    yield "segment_events", snapshot([event(action, addr=(i % 7) << 21, size=1 << (i % 63)) for i in range(5000) for action in
                                      ("segment_alloc", "segment_map", "segment_unmap", "segment_free")])
    yield "begun_and_never_ended", snapshot(chain(100), external_annotations=[
        {"name": f"ProfilerStep#{i}", "stage": "START", "time_us": i, "device": 0} for i in range(50_000)])
    yield "annotations", snapshot(chain(100), external_annotations=[
        {"name": value, "stage": value, "time_us": value, "device": value} for value in
        ("START", "END", None, -1, 1 << 64, float("nan"), [], {}, "x" * 99999, "\0", "</script>", "\u202e")] + [None, 5, [], "x"])
    yield "settings", snapshot(chain(9), allocator_settings={
        "PYTORCH_CUDA_ALLOC_CONF": "a:b," * 99999, "roundup_power2_divisions": {str(i): i for i in range(20_000)}, "max_split_size": -1,
        "garbage_collection_threshold": float("nan"), "expandable_segments": [[[]]], "x" * 99999: "y" * 99999})
    yield "no_dict", [1, 2, 3]
    yield "strings_for_lists", {"segments": "segments", "device_traces": "device_traces", "external_annotations": "x"}
    yield "numbers_for_lists", {"segments": 1 << 64, "device_traces": -1}
    yield "itself", itself()
    yield "memory_of_an_exabyte", snapshot([event(addr=i << 60, size=1 << 59) for i in range(1, 15)])
    yield "out_of_memory_only", snapshot([event("oom", 0, 1 << 62, device_free=1 << 63) for _ in range(5000)])
    yield "metadata", snapshot([event(addr=4096 * (i + 1), user_metadata={f"key{i}": {"x": [i] * 9}}) for i in range(5000)])
    yield "stacks_all_different", snapshot([event(addr=4096 * (i + 1), frames=[{"name": f"f{i}", "filename": f"{i}.py", "line": i}] * 9) for i in range(9000)])


# ---- pickles by opcode ----

def opcodes():
    begin = b"\x80\x04"
    listed = begin + b"}(\x8c\x08segments]\x8c\x0ddevice_traces]("
    yield "million_devices", listed + b"]" * MILLION + b"eu."
    yield "nested_lists", begin + b"]" * MILLION + b"a" * (MILLION - 1) + b"."
    yield "nested_tuples", begin + b")" + b"\x85" * MILLION + b"."
    yield "nested_dicts", begin + b"}K\x01" * 200_000 + b"s" * 200_000 + b"."
    yield "marks", begin + b"(" * MILLION + b"."
    yield "marks_in_traces", listed + b"(" * MILLION + b"l" * MILLION + b"eu."
    yield "memo_of_everything", begin + b"]" + b"\x94" * 3 * MILLION + b"."
    yield "memo_far_away", begin + b"]r\xff\xff\xff\xffj\xff\xff\xff\xff."
    yield "memo_by_text", begin + b"]p99999999999999999999\ng99999999999999999999\n."
    yield "memo_negative", begin + b"]p-1\ng-1\n."
    yield "persistent", begin + b"K\x01Q."
    yield "persistent_text", begin + b"Pid\n."
    yield "long_of_two_gigabytes", begin + b"\x8b\xff\xff\xff\x7f."
    yield "long_of_minus_one", begin + b"\x8b\xff\xff\xff\xff."
    yield "long_of_a_megabyte", listed + b"]}(\x8c\x06action\x8c\x05alloc\x8c\x04size\x8b" + struct.pack("<I", MILLION) + b"\x7f" * MILLION + b"uaeu."
    yield "bytes_of_exabytes", begin + b"\x8e" + struct.pack("<Q", 1 << 63) + b"x."
    yield "text_of_exabytes", begin + b"\x8d" + struct.pack("<Q", (1 << 64) - 1) + b"x."
    yield "bytearray_of_exabytes", begin + b"\x96" + struct.pack("<Q", 1 << 62) + b"x."
    yield "frame_of_exabytes", begin + b"\x95" + struct.pack("<Q", (1 << 64) - 1) + b"}."
    yield "buffers", b"\x80\x05\x97\x98."
    yield "extensions", begin + b"\x82\x01."
    yield "reduce", begin + b"cos\nsystem\n\x8c\x02ls\x85R."
    yield "build", begin + b"}}b."
    yield "inst", b"(ios\nsystem\n."
    yield "numbers_as_text", b"I" + b"9" * MILLION + b"\n."
    yield "floats_as_text", b"F" + b"9" * 999 + b"e" + b"9" * 999 + b"\n."
    yield "pops", begin + b"0" * 1000 + b"."
    yield "duplicates", begin + b"]" + b"2" * MILLION + b"."
    yield "stops", begin + b"." * MILLION
    yield "protocol", b"\x80\xff}."
    yield "nothing_behind", begin
    yield "set_items_of_nothing", begin + b"}(u."
    yield "odd_items", begin + b"}(K\x01u."
    yield "shared_without_end", begin + b"]\x94" + b"(h\x00" * 5000 + b"l" * 5000 + b"."


# ---- archives ----

def torch_zip(data, method=zipfile.ZIP_DEFLATED, name="archive/data.pkl"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        file.writestr(name, data)
        file.writestr("archive/version", "3\n")
    return out.getvalue()


def archives():
    good = pickle.dumps(snapshot(chain(9)), 4)
    packed = gzip.compress(good, mtime=0)
    yield "gz_cut", packed[:-20]
    yield "gz_head", packed[:10]
    yield "gz_twice", packed + packed
    yield "gz_and_a_cut_one", packed + packed[:30]
    yield "gz_and_garbage", packed + b"garbage" * 999
    yield "gz_and_zeros", packed + bytes(MILLION)
    yield "gz_of_nothing", gzip.compress(b"", mtime=0) * 1000
    yield "gz_in_pieces", b"".join(gzip.compress(good[i:i + 1], mtime=0) for i in range(len(good)))
    for deep in (2, 40):
        nested = good
        for _ in range(deep):
            nested = gzip.compress(nested, mtime=0)
        yield f"gz_in_gz_{deep}", nested
    yield "gz_wrong_sum", packed[:-8] + b"\0\0\0\0" + packed[-4:]
    yield "gz_name_without_end", b"\x1f\x8b\x08\x08\0\0\0\0\0\xff" + b"n" * MILLION
    yield "gz_extra", b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\xff\xff" + bytes(100)
    yield "gz_bomb_of_zeros", gzip.compress(bytes(64 << 20), mtime=0)
    yield "gz_bomb_behind", gzip.compress(good + bytes(64 << 20), mtime=0)
    yield "gz_bomb_of_lists", gzip.compress(b"\x80\x04}(\x8c\x0ddevice_traces](" + b"]" * (20 << 20) + b"eu.", mtime=0)
    yield "zip", torch_zip(good)
    yield "zip_bomb", torch_zip(b"\x80\x04(" + b"]" * (32 << 20))
    yield "zip_bomb_of_zeros", torch_zip(bytes(64 << 20))
    whole = torch_zip(good, zipfile.ZIP_STORED)
    yield "zip_cut", whole[:len(whole) // 2]
    yield "zip_without_data", torch_zip(good, name="archive/other.pkl")
    yield "zip_in_zip", torch_zip(torch_zip(good))
    at = whole.rindex(b"PK\x05\x06")
    for field, nbytes in ((8, 2), (10, 2), (12, 4), (16, 4)):
        yield f"zip_end_{field}", whole[:at + field] + b"\xff" * nbytes + whole[at + field + nbytes:]
    at = whole.index(b"PK\x01\x02")
    for field, nbytes in ((20, 4), (24, 4), (28, 2), (30, 2), (42, 4)):
        yield f"zip_entry_{field}", whole[:at + field] + b"\xff" * nbytes + whole[at + field + nbytes:]
    yield "zip_many", many_entries()


def many_entries():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for i in range(3000):
            file.writestr(f"archive/data/{i}", b"")
    return out.getvalue()


# ---- JSON ----

def texts():
    yield "json_lists", b"[" * MILLION
    yield "json_objects", b'{"a":' * MILLION
    yield "json_lists_in_traces", b'{"segments": [], "device_traces": ' + b"[" * MILLION + b"]" * MILLION + b"}"
    yield "json_numbers", b'{"segments": [], "device_traces": [[' + b",".join(
        b'{"action": "alloc", "addr": %s, "size": %s, "stream": %s, "time_us": %s, "frames": []}' % (number, number, number, number)
        for number in (b"1e99999999", b"-1e99999999", b"1e-99999999", b"18446744073709551616", b"-0", b"0.5", b"9" * 9999, b"1E+19")) + b"]]}"
    yield "json_surrogates", json.dumps(snapshot([event(frames=[{"name": "\ud800", "filename": "\udfff\ud800", "line": 1}])])).encode()
    yield "json_not_utf8", b'{"segments": [], "device_traces": [[{"action": "\xff\xfe", "addr": 1, "size": 1, "frames": [{"name": "\xc0\x80", "filename": "\xed\xa0\x80", "line": 1}]}]]}'
    yield "json_keys_twice", b'{"segments": [], "segments": {}, "device_traces": [], "device_traces": [[]], "device_traces": 5}'
    yield "json_kineto", b'{"traceEvents": [' + b",".join(
        b'{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": %s, "args": {"Addr": %s, "Bytes": %s, "Device Type": %s, "Device Id": %s, "Total Allocated": %s}}' % ((number,) * 6)
        for number in (b"1", b"-1", b"1e400", b"null", b'"x"', b"[]", b"9223372036854775808", b"1.5", b"{}")) + b"]}"
    yield "json_kineto_nested", b'{"traceEvents": [' + b'{"args": ' * 100_000 + b"}" * 100_000 + b"]}"
    yield "json_timeline", b'[[1, 2, "x", null, 1e999], [[1], [2, 3], {}, null, [1e400]]]'
    yield "json_timeline_long", json.dumps([list(range(2000)), [[i] * 10 for i in range(2000)]]).encode()
    yield "log_one_line", b"step 1 | allocated: 1 MB " * 400_000
    yield "log_crlf", b"step 1 | [Rank 0] memory (MB) | allocated: 100.5 | max allocated: 120 | reserved: 128\r\n" * 20_000
    yield "log_nul", b"step 1 | [Rank 0] memory (MB) | allocated: 1\0" * 9000
    yield "log_numbers", b"".join(b"step %s | [Rank %s] memory (MB) | allocated: %s | max allocated: %s | reserved: %s\n" % ((number,) * 5)
                                  for number in (b"1e308", b"-1", b"nan", b"inf", b"9" * 400, b"0x10", b"1.2.3", b"", b"18446744073709551616"))
    yield "log_many_ranks", b"".join(b"step 1 | [Rank %d] memory (MB) | allocated: 100.5 | max allocated: 120 | reserved: 128\n" % rank for rank in range(20_000))
    yield "log_oom", b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " + b"9" * 999 + b" GiB. GPU -1 has a total capacity of 1e999 GiB of which nan MiB is free.\n"
    yield "page_without_end", b"<!doctype html><script>" + b"<" * MILLION
    yield "page_payload", b'<!doctype html><meta name="generator" content="Strata"><script type="application/octet-stream" id="payload">' + b"A" * MILLION + b"</script>"
    yield "viz_page", b"<!doctype html><script>init(evt, '" + b"gASV" * 250_000 + b"', 'Active')</script>"
    yield "sidecar", json.dumps({"schema": 1, "kind": "snapshot", "devices": [{"device": 0, "peak_bytes": float("nan")}]}).encode()


def attacks():
    """Pairs of a name and a file's bytes."""
    for name, value in values():
        yield name, pickle.dumps(value, 4)
    yield from opcodes()
    yield from archives()
    yield from texts()
