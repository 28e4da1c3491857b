"""python -m torch_strata: the program itself."""

import os
import sys

from . import program

if __name__ == "__main__":
    os.execv(program(), ["strata", *sys.argv[1:]])
