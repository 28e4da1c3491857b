"""XXH3-128 as `xxhsum -H2` prints it: from the program if it is installed, else from the library's function for a whole
buffer (Strata hashes block by block)."""

import ctypes
import shutil
import subprocess


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def by_library(data):
    function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    function.restype, function.argtypes = Hash, [ctypes.c_char_p, ctypes.c_size_t]
    digest = function(data, len(data))
    return f"{digest.high:016x}{digest.low:016x}"


def xxh128(data):
    if shutil.which("xxhsum") is None:
        return "xxh128:" + by_library(data)
    done = subprocess.run(["xxhsum", "-H2", "-"], input=data, capture_output=True, check=True)
    return "xxh128:" + done.stdout.decode().split()[0]


assert by_library(b"") == "99aa06d3014798d86001c324468d497f"  # from the algorithm's specification
