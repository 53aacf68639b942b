"""``python3 -m tune ...`` is ``tune ...``."""

import os
import sys

from tune._binary import find_binary

if __name__ == "__main__":
    binary = find_binary()
    os.execv(binary, [binary, *sys.argv[1:]])
