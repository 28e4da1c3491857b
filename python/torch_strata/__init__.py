"""Strata from Python: PyTorch memory snapshots as one page, a picture or a report.

Each function calls the program in the environment's bin/ once. Options of the command line are keywords:
``html("s.pickle", capacity="80GiB", hide_internal=True)`` is ``strata html --capacity 80GiB --hide-internal s.pickle``.
"""

import html as _html
import json as _json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, List, Optional, Union

from .functions import on_oom, record

__all__ = ["Page", "StrataError", "diff", "export", "html", "on_oom", "plan", "png", "program", "record", "report", "show"]

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

_INLINE_NBYTES = 20_000_000


class StrataError(Exception):
    """The program failed: the message is its sentence, and ``code`` its exit code."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


def program() -> str:
    """The path of the program: ``$STRATA``, the one of this environment, or the one on ``PATH``."""
    own = os.path.join(sysconfig.get_path("scripts"), "strata")
    found = os.environ.get("STRATA") or (own if os.path.exists(own) else shutil.which("strata"))
    if not found:
        raise FileNotFoundError("the program strata is not installed")
    return found


def _words(options: "dict[str, Any]") -> List[str]:
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words += [f"{option}={os.fsdecode(one) if isinstance(one, (bytes, os.PathLike)) else one}"]
    return words


def _path(path: Path) -> pathlib.Path:
    return pathlib.Path(os.fsdecode(path))


def _stem(name: str) -> str:
    """The name without the endings that the program replaces: "x.pickle.gz" becomes "x"."""
    for ending in (".gz", ".zst", ".xz", ".pickle", ".pkl", ".json", ".html"):
        name = name[: -len(ending)] if name.endswith(ending) and len(name) > len(ending) else name
    return name


def _run(verb: str, inputs: List[Path], options: "dict[str, Any]") -> bytes:
    words = [program(), verb, *_words(options), "--", *map(os.fsdecode, inputs)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    talk = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode != 0:
        raise StrataError(talk or f"strata {verb} ended with {done.returncode}", done.returncode)
    if talk:
        print(talk, file=sys.stderr)
    return done.stdout


def _file(verb: str, input: Path, output: Optional[Path], ending: str, options: "dict[str, Any]") -> pathlib.Path:
    path = _path(input)
    path = _path(output) if output is not None else path.with_name(_stem(path.name) + ending)
    if path.is_dir():
        path = path / (_stem(_path(input).name) + ending)
    _run(verb, [input], {"quiet": True, "output": path, **options})
    return path


def _document(verb: str, inputs: List[Path], options: "dict[str, Any]") -> Any:
    """What the verb writes as JSON, or with ``json=False`` or another ``format`` as text; None if that went into a file."""
    is_json = options.pop("json", "format" not in options or options["format"] == "json")
    written = _run(verb, inputs, {"quiet": True, **({"json": True} if is_json and "format" not in options else {}), **options})
    if options.get("output") is not None or options.get("o") is not None:
        return None
    return _json.loads(written) if is_json else written.decode("utf-8")


def html(input: Path, output: Optional[Path] = None, **options: Any) -> pathlib.Path:
    """Writes the page of a snapshot and returns its path; without ``output`` it lies beside the snapshot."""
    return _file("html", input, output, ".html", options)


def png(input: Path, output: Optional[Path] = None, **options: Any) -> pathlib.Path:
    """Writes the picture of a snapshot and returns its path."""
    return _file("png", input, output, ".map.png" if options.get("map") else ".png", options)


def report(input: Path, **options: Any) -> Any:
    """The report as ``strata report --json`` writes it; text with ``json=False``, None with ``output``, which gets it."""
    return _document("report", [input], options)


def diff(a: Path, b: Path, **options: Any) -> Any:
    """What changed from one snapshot to another, as ``strata diff --json`` writes it."""
    return _document("diff", [a, b], options)


def plan(input: Path, **options: Any) -> Any:
    """The least change that makes the recording fit, as ``strata plan --json`` writes it."""
    return _document("plan", [input], options)


def export(input: Path, output: Path, **options: Any) -> pathlib.Path:
    """Writes the recording for another tool, chosen by the ending of ``output`` or by ``to``. Returns its path."""
    _run("export", [input], {"quiet": True, "output": output, **options})
    return _path(output)


class Page:
    """A page that a notebook shows. ``path`` is its file; None: the page is in the notebook only."""

    def __init__(self, path: Optional[pathlib.Path], text: Optional[str], height: int) -> None:
        self.path, self._text, self._height = path, text, height

    def _repr_html_(self) -> str:
        source = f'srcdoc="{_html.escape(self._text)}"' if self._text is not None else f'src="{_html.escape(str(self.path))}"'
        return (f'<iframe {source} sandbox="allow-scripts allow-downloads" width="100%" height="{self._height}" '
                'style="border:0"></iframe>')


def show(input: Path, height: int = 720, **options: Any) -> Page:
    """Shows the page in a notebook: up to 20 MB inside of it, else framed from a new file in the working directory."""
    with tempfile.TemporaryDirectory() as folder:
        path = html(input, os.path.join(folder, "page.html"), **options)
        if path.stat().st_size <= _INLINE_NBYTES:
            return Page(None, path.read_text(encoding="utf-8"), height)
        stem, number = _stem(_path(input).name), 1
        while True:
            beside = pathlib.Path(stem + (f"-{number}" if number > 1 else "") + ".strata.html")
            try:
                with open(beside, "xb") as out, open(path, "rb") as made:
                    shutil.copyfileobj(made, out)
                return Page(beside, None, height)
            except FileExistsError:
                number += 1
