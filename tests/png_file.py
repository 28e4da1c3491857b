"""Extracts the picture of a PNG, for tests that compare two."""

import struct


def pixels(png):
    """The PNG's chunks without those of text, which name the options."""
    chunks, at = [], 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind not in (b"tEXt", b"iTXt"):
            chunks.append(png[at:at + 12 + length])
        at += 12 + length
    return chunks
