#!/usr/bin/env python3
"""Makes a folder of links to the corpus' files that are those of its manifest, by their SHA-256, with a manifest of these
alone, so that a damaged or exchanged file is told once and judges nothing.

    corpus_view.py CORPUS VIEW
"""

import hashlib
import json
import pathlib
import shutil
import sys


def main():
    corpus, view = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
    shutil.rmtree(view, ignore_errors=True)
    view.mkdir(parents=True)
    kept = []
    for entry in json.loads((corpus / "MANIFEST.json").read_text()):
        path = corpus / entry["file"]
        if not path.is_file():
            print(f"skipped: {entry['file']}: not in the corpus")
        elif "sha256" in entry and hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
            print(f"skipped: {entry['file']}: not the file of the corpus' manifest (SHA-256 differs)")
        else:
            (view / entry["file"]).symlink_to(path)
            kept.append(entry)
    (view / "MANIFEST.json").write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
