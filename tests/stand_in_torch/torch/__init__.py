"""A stand-in for PyTorch in the tests of `strata run`: the functions that a recorder calls, in torch's own order and shapes,
and an allocator that has 1 GiB. Environment: STAND_IN_VERSION (default 2.9.0), STAND_IN_BROKEN: names of functions that raise."""

import os

__version__ = os.environ.get("STAND_IN_VERSION", "2.9.0")


class OutOfMemoryError(RuntimeError):
    pass


def broken(name):
    if name in os.environ.get("STAND_IN_BROKEN", "").split(","):
        raise RuntimeError(name + " is broken")


from . import _C, cuda, optim  # noqa: E402, F401
