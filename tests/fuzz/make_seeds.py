#!/usr/bin/env python3
"""Writes the seeds that the fuzzers start from: small recordings of every kind, made by the project's own simulator.

    make_seeds.py STRATA        rewrites seeds/*/made_*; what the fuzzers found (seeds/*/found_*) stays

Seeds are small, because a fuzzer explores what it can change, and because they are part of the repository.
"""

import base64
import collections
import dataclasses
import gzip
import io
import itertools
import json
import lzma
import pathlib
import pickle
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

FUZZ = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FUZZ), str(FUZZ.parent)]
sys.dont_write_bytecode = True

sys.path.append(str(FUZZ.parent.parent / "samples"))
import log_forms  # noqa: E402
import log_threads  # noqa: E402
import seeds_of_calls  # noqa: E402
import seeds_of_samples as samples  # noqa: E402
import simulate  # noqa: E402

FORMS = ("pickle0", "pickle1", "pickle2", "pickle3", "pickle4", "pickle5", "jit")
SHORT = {"n_steps": 6, "ring": simulate.KEEP_ALL, "record_after": 2}


def recording(seed, **fields):
    settings = dataclasses.replace(simulate.settings_of(seed), **{**SHORT, **fields})
    return simulate.Simulation(settings).dump()


def nested(depth):
    value = ["deep"]
    for _ in range(depth):
        value = [value, value]
    return value


def exaggerated():
    """A few bytes that mean much: references to the same object again and again."""
    frame = {"name": "n" * 3000, "filename": "f.py", "line": 1}
    event = {"action": "alloc", "addr": 4096, "size": (1 << 63) - 1, "stream": 0, "frames": [frame] * 900}
    other = {"action": "alloc", "addr": -4096, "size": 1 << 63, "stream": 0, "frames": [], "user_metadata": {"m": nested(40)}}
    snapshot = {"segments": [], "device_traces": [[event, other, other]], "allocator_settings": {"a": nested(40), "b": ["s" * 3000] * 900}}
    return pickle.dumps(snapshot, 4)


def pickles():
    for seed, form in enumerate(FORMS):
        yield form, recording(seed, form=form, metadata=True, annotations=True, pool_ids=seed % 2 == 0)
    yield "two_devices", recording(20, form="pickle4", n_devices=2, cross_stream=0.6, n_steps=12)
    yield "no_history", recording(21, form="pickle4", ring=1)
    yield "empty_dict", b"\x80\x04}."
    yield "root_list", b"\x80\x02]."
    yield "self_reference", b"\x80\x04]\x94h\x00a."
    yield "exaggerated", exaggerated()
    yield "refused", b"\x80\x02cos\nsystem\n."
    yield "refused_by_stack", b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R."
    yield "ordered", pickle.dumps(collections.OrderedDict(segments=[], device_traces=[[]]), 2)
    yield "text", b"(dp0\nS'segments'\np1\n(lsVdevice_traces\\u0020\n(ls0(I1\nF2.5\nL3L\n1K\x012N0."
    yield "long", b"\x80\x02}\x8b\x04\x00\x00\x00\x01\x02\x03\x04\x8b\x09\x00\x00\x00123456789s."


def as_pieces(sections, pieces):
    """A payload from (entry, [raw bytes]). Its pieces are stored uncompressed, so that a fuzzer changes the content
    directly."""
    entries = b"".join(entry for entry, _ in sections)
    packed = [zlib.compress(raw, 0) for raw in pieces]
    table = b"".join(struct.pack("<II", len(raw), len(data)) for raw, data in zip(pieces, packed))
    return b"STRATAP1" + struct.pack("<II", len(sections), len(pieces)) + entries + table + b"".join(packed)


def stored(payload):
    """The same payload with one stored piece per section."""
    n_sections, n_pieces = struct.unpack_from("<II", payload, 8)
    at = 16 + 16 * n_sections
    sizes = [struct.unpack_from("<II", payload, at + 8 * i) for i in range(n_pieces)]
    at += 8 * n_pieces
    raw = []
    for _, nbytes in sizes:
        raw.append(zlib.decompress(payload[at : at + nbytes]))
        at += nbytes
    sections, joined, first = [], [], 0
    for i in range(n_sections):
        entry = payload[16 + 16 * i : 32 + 16 * i]
        count = struct.unpack_from("<I", entry, 12)[0]
        joined.append(b"".join(raw[first : first + count]))
        sections.append((entry[:12] + struct.pack("<I", 1), count))
        first += count
    return as_pieces(sections, joined)


def page(strata, snapshot):
    """The page that strata makes of a snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "seed.pickle"
        path.write_bytes(snapshot)
        return subprocess.run([strata, "html", "-q", "-o", "-", path], check=True, capture_output=True).stdout


PAYLOAD = re.compile(rb'(<script[^>]*id="payload"[^>]*>)\s*([A-Za-z0-9+/=\s]+)</script>')


def payload_of(html):
    return base64.b64decode(PAYLOAD.search(html).group(2))


def payloads(strata):
    small = payload_of(page(strata, recording(3, form="pickle4", metadata=True, annotations=True)))
    two = payload_of(page(strata, recording(20, form="pickle4", n_devices=2, cross_stream=0.6)))
    yield "small", small
    yield "stored", stored(small)
    yield "two_devices", stored(two)
    yield "header", small[:16]


def sidecars(strata, sizes):
    """The sidecars of a batch of ranks, each with one allocation of the given size, in the form of target_index.c."""
    frames = [{"name": "forward", "filename": "train.py", "line": 41}]
    with tempfile.TemporaryDirectory() as folder:
        dumps, out = pathlib.Path(folder, "dumps"), pathlib.Path(folder, "out")
        for path, blocks in sizes.items():
            trace = [{"action": "alloc", "addr": (i + 1) << 40, "size": size, "stream": 0, "time_us": i, "frames": frames} for i, size in enumerate(blocks)]
            (dumps / path).parent.mkdir(parents=True, exist_ok=True)
            (dumps / path).write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}, 4))
        subprocess.run([strata, "batch", "-q", dumps, "-o", out], check=True)
        found = [json.loads(path.read_text()) for path in sorted(out.glob("*.strata.json"))]
    for sidecar in found:
        sidecar["batch"]["mtime_ns"] = "0"
    return b"%%\n".join(json.dumps(sidecar, separators=(",", ":")).encode() for sidecar in found)


def indexes(strata):
    """Ranks that differ by their role in the model, and one that differs from the ranks with the same role."""
    mib = 1 << 20
    yield "places", sidecars(strata, {f"tp{rank // 3}/rank{rank}.pickle": [mib, (1 + rank // 3) * 64 * mib + rank] for rank in range(6)})
    yield "odd", sidecars(strata, {f"rank{rank}.pickle": [mib, (900 if rank == 5 else 2) * mib][: 1 if rank == 3 else 2] for rank in range(6)})


def zipped(data, method):
    return zipped_of({"seed/data.pkl": data, "seed/version": b"3\n"}, method)


def zipped_of(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(f"{name}", (2020, 1, 1, 0, 0, 0)), content, method)
    return out.getvalue()


class Pipe(io.RawIOBase):
    """A stream that cannot seek, so that a zip written to it has the sizes after the data."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.data += data
        return len(data)


def streamed(data):
    out = Pipe()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content, method in (("seed/byteorder", b"little", zipfile.ZIP_STORED), ("seed/code.py", b"pass" * 99, zipfile.ZIP_DEFLATED),
                                      ("seed/data.pkl", data, zipfile.ZIP_DEFLATED)):
            member = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            member.compress_type = method
            with archive.open(member, "w", force_zip64=True) as file:
                file.write(content)
    return bytes(out.data)


def zstd(data):
    return subprocess.run(["zstd", "-qc", "--check"], input=data, capture_output=True, check=True).stdout


def zstd_stored(data):
    """A zstd frame with one uncompressed block, after a frame that readers skip."""
    block = (len(data) << 3 | 1).to_bytes(3, "little")
    return b"\x5a\x2a\x4d\x18\x04\0\0\0skip" + b"\x28\xb5\x2f\xfd\xa0" + len(data).to_bytes(4, "little") + block + data


def containers(strata):
    tiny = recording(4, form="pickle4", n_steps=3)
    squeezed = gzip.compress(tiny, mtime=0)
    html = page(strata, tiny)
    found = PAYLOAD.search(html)
    head = html[: html.index(b"<script")] if html.index(b"<script") < found.start() else b"<!doctype html>"
    yield "gzip", squeezed
    yield "two_members", gzip.compress(tiny[:200], mtime=0) + gzip.compress(tiny[200:], mtime=0)
    yield "gzip_of_gzip", gzip.compress(squeezed, mtime=0)
    yield "zip_stored", zipped(tiny, zipfile.ZIP_STORED)
    yield "zip_deflated", zipped(tiny, zipfile.ZIP_DEFLATED)
    yield "zip_streamed", streamed(tiny)
    yield "gzip_damaged", squeezed[:900] + bytes((squeezed[900] ^ 64,)) + squeezed[901:]
    packed = lzma.compress(tiny)
    yield "xz", packed
    yield "xz_two_streams", lzma.compress(tiny[:200]) + bytes(4) + lzma.compress(tiny[200:], check=lzma.CHECK_SHA256)
    yield "xz_damaged", packed[:90] + bytes((packed[90] ^ 64,)) + packed[91:]
    yield "zstd", zstd(tiny)
    yield "zstd_stored", zstd_stored(tiny)
    yield "zstd_damaged", zstd(tiny)[:-3] + b"abc"
    yield "page", head[:200] + found.group(0)
    viewer = base64.b64encode(tiny + bytes(-len(tiny) % 3)).decode()
    payload = payload_of(html)
    for name, changed in (("other", b"X" + payload[1:]), ("short", payload[:-40]), ("torn", payload[:-40] + bytes(40))):
        yield f"page_{name}", PAYLOAD.sub(lambda match: match[1] + base64.b64encode(changed) + b"</script>", found.group(0))
    yield "page_unended", found.group(0)[:700]
    yield "page_no_base64", found.group(0)[:700] + b"*</script>"
    yield "page_of_difference", b'<!doctype html><script type="application/octet-stream" id="payload-a">'
    yield "page_of_picture", b'<!doctype html><img src="data:image/png;base64,AAAA">' + bytes(20) * 99
    yield "page_of_nothing", b"<!doctype html><p>a page"
    yield "zip_behind", zipped_of({"seed/version": b"3\n", "seed/data.pkl": tiny})
    yield "zip_cut", zipped(tiny, zipfile.ZIP_STORED)[:900]
    yield "zip_without", zipped_of({"seed/version": b"3\n" * 9})
    yield "zip_bzip2", zipped(tiny, zipfile.ZIP_BZIP2)
    yield "zip_encrypted", b"PK\3\4\x14\0\1" + zipped(tiny, zipfile.ZIP_STORED)[7:]
    yield "gzip_cut", squeezed[:900]
    yield "xz_cut", packed[:900]
    yield "memory_viz", f'<script>const local_files = [{{"name": "snapshot.pickle", "base64": "{viewer}"}}]</script>'.encode()


FRAMES = [{"name": "forward", "filename": "model.py", "line": 7}, {"name": "main", "filename": "train.py", "line": 1}]


def chrome_trace():
    def memory(ts, nbytes, total, address):
        args = {"Device Type": 1, "Device Id": 0, "Addr": address, "Bytes": nbytes, "Total Allocated": total,
                "Total Reserved": 2 << 20, "Ev Idx": ts}
        return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": args}

    def call(ts, dur, name):
        return {"ph": "X", "cat": "python_function", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}

    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "GPU", "totalGlobalMem": 1 << 34}],
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 4},
        "traceEvents": [call(1, 90, "train.py(1): main"), call(5, 50, "model.py(7): forward"), memory(6, 1024, 1024, 4096),
                        memory(7, 512, 1536, 8192), memory(60, -512, 1024, 8192), memory(70, -99, 900, 16384)],
    }


def memory_timelines():
    yield "timeline", [[0, 10, 20], [[0] + [4096] * 9, [0] * 10, [0] + [512] * 9]]
    yield "timeline_raw", [[10, 0, 4096, 1], [20, 1, 4096, 1], [30, 3, 4096, 1]]
    yield "timeline_raw_categories", [[i, i % 4, 512 * (i + 1), i % 9] for i in range(40)]


def jsons():
    yield "snapshot", recording(5, form="json", n_steps=4, metadata=True, annotations=True)
    yield "kineto", json.dumps(chrome_trace()).encode()
    yield "cut", recording(6, form="json", n_steps=9, n_devices=2)[:-900]
    yield "no_finite_numbers", b'{"segments": [], "device_traces": [[{"action": "alloc", "addr": NaN, "size": Infinity}]]}'
    for name, value in memory_timelines():
        yield name, json.dumps(value).encode()


def log_seeds():
    """The project's sample logs, and lines that no logger writes."""
    for path in sorted((FUZZ.parent.parent / "samples").glob("log_*.log")):
        yield path.stem[4:], path.read_bytes()[:2048]
        numbers = itertools.cycle((b"99999999999999999999", b"-1", b"nan", b"1e9", b"0", b"18446744073709551615", b"0.000000001", b"65535.5"))
        yield path.stem[4:] + "_hostile", re.sub(rb"\d+(?:\.\d+)?", lambda _: next(numbers), path.read_bytes()[:1024])
    texts = [text.encode() for _, text, _ in (*log_forms.PASTED, *log_threads.THREADS)]
    for first in range(0, len(texts), 24):
        part = b"\n".join(texts[first:first + 24])
        numbers = itertools.cycle((b"99999999999999999999", b"-1", b"nan", b"1e9", b"0", b"18446744073709551615", b"0.000000001", b"65535.5"))
        yield f"forms{first // 24}", part
        yield f"forms{first // 24}_hostile", re.sub(rb"\d+(?:\.\d+)?", lambda _: next(numbers), part)
    yield "hostile", b"[rank1] GPU 0: 1e400 GB allocated\nMA nan GB CA -1 GB\rout of memory\n| Allocated memory | 1 KiB\n\x1b[31mmemory: 5GiB(1%)"


def log_dictionary():
    """The words that rows of the table of forms look for, without those of one letter or two, and what stands between them."""
    table = (FUZZ.parent.parent / "parser" / "log" / "log_table.c").read_text(encoding="utf-8")
    words = re.findall(r'"((?:[^"\\\n]|\\.){3,})"', re.sub(r"/\*.*?\*/", "", table[table.index("log_forms[] ="):], flags=re.S))
    between = (" GB", "GiB", " MiB", "[rank1]: ", "(after 3 iterations)", "2026-11-22 10:00:00,5", "\\x1b[31m", "File \\\"a.py\\\", line 3, in f", "(1, 2), (3, 4)", "(0.5/30.0 GiB)", "| ")
    return "# Made by make_seeds.py of parser/log/log_table.c.\n" + "".join(f'"{word}"\n' for word in dict.fromkeys((*words, *between)))


def host_log_seeds():
    """Samples with and without a control group, some cut off, and rubbish between them."""
    def look(what, *numbers):
        return bytes((what,)) + b"".join(bytes((len(each),)) + each for each in numbers)
    whole = [look(i % 2, (i << 28).to_bytes(5, "big"), (i << 29).to_bytes(5, "big"), b"\x04\x00\x00\x00\x00") for i in range(1, 60)]
    yield "whole", b"".join(whole)
    yield "cut", b"".join(whole[:9]) + look(6 | 8 * 11, b"\x7f" * 5, b"\x01", b"\x02")
    yield "rubbish", b"".join(whole[:5]) + b"\x07\x20" + b"MA 1.0 GB out of memory\n strata-h" + b"".join(whole[5:9])
    yield "devices", b"".join(each + bytes((5, i % 3)) + look(0, b"\x10\0\0", b"\x40\0\0\0")[1:] for i, each in enumerate(whole[:20]))
    yield "large", b"".join(look(0, b"\xff" * n, b"\xff" * n, b"\xff" * n) for n in range(8))


def main(arguments):
    strata = arguments[0]
    kinds = {"pickle": pickles(), "payload": payloads(strata), "container": containers(strata), "json": jsons(), "log": log_seeds(), "host_log": host_log_seeds(),
             "report": samples.reports(), "export": samples.exports(), "picture": samples.pictures(), "page": samples.pages(), "snapshot": samples.snapshots(),
             "diff": samples.differences(), "plan": samples.plans(), "program": samples.command_lines(),
             "index": indexes(strata),
             "api": seeds_of_calls.seeds(samples.recipes("oom", "private_pools", "two_devices"))}
    (FUZZ / "dictionaries" / "log.dict").write_text(log_dictionary(), encoding="utf-8")
    total = 0
    for kind, seeds in kinds.items():
        folder = FUZZ / "seeds" / kind
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("made_*"):
            old.unlink()
        for name, data in seeds:
            (folder / f"made_{name}").write_bytes(data)
            total += len(data)
    print(f"{total:,} bytes of seeds")


if __name__ == "__main__":
    main(sys.argv[1:])
