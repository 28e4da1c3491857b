#!/usr/bin/env python3
"""Builds stand-ins of CUDA's libraries for one installed torch.

    build.py TORCH_LIB_DIR OUT_DIR

Reads with nm and readelf which libraries torch's own need and which functions they take from them; every function that
cuda/*.c does not write by hand returns 0. OUT_DIR then holds a library for each missing one; set LD_LIBRARY_PATH to it.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SRC = HERE / "cuda"
CC = os.environ.get("CC", "gcc")
FLAGS = ["-O2", "-fPIC", "-shared", "-w", "-pthread"]
# Functions without a version name: the library whose name begins like this has them.
PREFIXES = [("cuFile", "libcufile"), ("cusparseLt", "libcusparseLt"), ("cusparse", "libcusparse"), ("cusolver", "libcusolver"),
            ("cublasLt", "libcublasLt"), ("cublas", "libcublas"), ("cudnn", "libcudnn"), ("cufft", "libcufft"),
            ("curand", "libcurand"), ("cupti", "libcupti"), ("nccl", "libnccl"), ("nvrtc", "libnvrtc"), ("nvml", "libnvidia-ml"),
            ("nvshmem", "libnvshmem"), ("nvtx", "libnvToolsExt"), ("nvJitLink", "libnvJitLink"), ("__cuda", "libcudart"),
            ("cuda", "libcudart"), ("cu", "libcuda")]
SYSTEM = {"libc", "libm", "libdl", "libpthread", "librt", "libgcc_s", "libstdc++", "ld-linux-x86-64", "libgomp", "libutil", "libz", "libnuma", "libresolv"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def defined_in(path):
    return {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", str(path)).splitlines() if line.strip()}


def main():
    torch_lib, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    own = {p.name for p in torch_lib.iterdir()}
    needed, wanted, given = set(), {}, set()
    objects = [p for p in torch_lib.iterdir() if re.search(r"\.so(\.\d+)*$", p.name)]
    for p in objects:
        needed |= set(re.findall(r"NEEDED.*\[(.*?)\]", run("readelf", "-dW", str(p))))
        given |= defined_in(p)
        for line in run("nm", "-D", "--undefined-only", str(p)).splitlines():
            name = line.split()[-1]
            symbol, _, version = name.partition("@")
            if re.match(r"(__)?cu[A-Za-z]|nccl|nv[a-zA-Z]", symbol):
                wanted.setdefault(symbol, set()).add(version.lstrip("@"))
    sonames = {n for n in needed if n.split(".so")[0] not in SYSTEM and n not in own}
    sonames |= {"libcuda.so.1", "libnvidia-ml.so.1"}
    majors = [int(m.group(1)) for n in sonames if (m := re.match(r"libcudart\.so\.(\d+)", n))]
    major = majors[0] if majors else 12
    functions = {n: {} for n in sonames}
    for symbol, versions in sorted(wanted.items()):
        if symbol in given and versions == {""}:
            continue
        for version in versions:
            home = next((n for n in sonames if n == version), None)
            if not home:
                prefix = next((lib for start, lib in PREFIXES if symbol.startswith(start)), None)
                home = next((n for n in sorted(sonames) if prefix and re.match(re.escape(prefix) + r"(_host|_static)?\.so", n)), None)
            if home:
                functions[home][symbol] = version
    hand = {"libcuda.so.1": ["driver.c"], "libnvidia-ml.so.1": ["nvml.c"], f"libcudart.so.{major}": ["runtime.c"]}
    libs_c = (SRC / "libs.c").read_text()
    by_hand = set(re.findall(r"^(?:int|size_t|const char \*)\s*(\w+)\(", libs_c, re.M)) | set(re.findall(r"^(?:MAKES|TELLS)\((\w+)\)", libs_c, re.M))
    order = ["libcuda.so.1"] + sorted(n for n in sonames if n != "libcuda.so.1")
    total = 0
    for name in order:
        sources = [str(SRC / f) for f in hand.get(name, [])]
        here = set(functions[name])
        defined = set()
        for f in hand.get(name, []):
            defined |= set(re.findall(r"^(?:int|unsigned|char|void \*\*|const char \*)\s*(\w+)\(", (SRC / f).read_text(), re.M))
        if here & by_hand:
            sources.append(str(SRC / "libs.c"))
        asked = set()  # torch asks for these by name at run time; what is not written by hand is «not supported»
        c10 = torch_lib / "libc10_cuda.so"
        if name in ("libnvidia-ml.so.1", "libcuda.so.1") and c10.exists():
            pattern = rb"nvml[A-Z]\w+" if name == "libnvidia-ml.so.1" else rb"(?<![\w])cu[A-Z]\w+"
            asked = {s.decode() for s in re.findall(pattern, c10.read_bytes())}
            asked = {s for s in asked if not s.endswith("_") and s not in here} - defined
        stubs = sorted(s for s in here - defined - by_hand if re.match(r"^\w+$", s))
        total += len(stubs)
        text = "void fc_trace(const char *name);\n" + "".join(
            f'int {s}(void)\n{{\n\tfc_trace("{s}");\n\treturn 0;\n}}\n' for s in stubs)
        text += "".join(f"int {s}(void)\n{{\n\treturn %d;\n}}\n" for s in sorted(asked)).replace("%d", "3" if name == "libnvidia-ml.so.1" else "801")
        generated = out / (name + ".stubs.c")
        generated.write_text(text)
        versions = sorted({v for v in functions[name].values() if v})
        command = [CC, *FLAGS, f"-I{SRC}", f"-DMAJOR={major}", f"-Wl,-soname,{name}", "-o", str(out / name), *sources, str(generated)]
        if name == "libcudnn.so.8":
            command.insert(1, "-DCUDNN8")
        if versions:
            script = out / (name + ".map")
            script.write_text("".join(f"{v} {{ global: *; }};\n" if i == 0 else f"{v} {{ }};\n" for i, v in enumerate(versions)))
            command.append(f"-Wl,--version-script={script}")
        if name != "libcuda.so.1":
            command += ["-Wl,--no-as-needed", str(out / "libcuda.so.1")]
        command.append("-ldl")
        subprocess.run(command, check=True)
    print(f"CUDA {major}: {len(order)} libraries, {total} functions that return 0, in {out}")


main()
