"""python -m dlperf.kvstore serve --config cluster.toml --server 0 · schedule --config cluster.toml · keys FOLDER"""

import sys

from dlperf.kvstore.command import main

if __name__ == "__main__":
    sys.exit(main())
