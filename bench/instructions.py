#!/usr/bin/env python3
"""Counts the instructions of a report: figures that do not depend on the machine's load.

    bench/instructions.py [--against PROGRAM] [--events N] [FILE]

Valgrind counts, thread by thread, for the file or for a generated one of N events (default 1,000,000). Prints a Markdown
table of the threads and one of the functions of the main thread that take the most. --against names another build.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "release" / "strata"


def generate(events):
    path = ROOT / "build" / "bench" / f"train-{events}.pickle"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        subprocess.run([sys.executable, ROOT / "samples" / "generate.py", "--story", "train", "--events", str(events), "-o", path],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def counted(program, path):
    """The functions of each thread as a dict, the main thread first."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        subprocess.run(["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}", program, "report",
                        "--json", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return [functions(part) for part in sorted(pathlib.Path(folder).glob("out-*"))]


def functions(part):
    text = subprocess.run(["callgrind_annotate", "--threshold=100", part], check=True, capture_output=True, text=True).stdout
    rows = re.findall(r"^ *([\d,]+) \([^)]*\) +\S*?:([\w.]+)", text, re.MULTILINE)
    return {name: int(count.replace(",", "")) for count, name in rows}


def millions(count):
    return f"{count / 1e6:,.0f}"


def table(builds):
    names = ["then", "now"] if len(builds) == 2 else ["now"]
    yield "| million instructions | " + " | ".join(names) + " |"
    yield "|---|" + "---|" * len(names)
    for i, thread in enumerate(["main thread", "the helper's"]):
        yield f"| {thread} | " + " | ".join(millions(sum(build[i].values()) if i < len(build) else 0) for build in builds) + " |"
    yield "| all | " + " | ".join(millions(sum(sum(part.values()) for part in build)) for build in builds) + " |"
    most = sorted({name for build in builds for name in build[0]}, key=lambda name: -max(build[0].get(name, 0) for build in builds))
    for name in most[:24]:
        yield f"| `{name}` | " + " | ".join(millions(build[0].get(name, 0)) for build in builds) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="PROGRAM", type=pathlib.Path)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("file", nargs="?", type=pathlib.Path)
    arguments = parser.parse_args()
    path = arguments.file or generate(arguments.events)
    programs = ([arguments.against] if arguments.against else []) + [PROGRAM]
    print("\n".join(table([counted(program, path) for program in programs])))


if __name__ == "__main__":
    main()
