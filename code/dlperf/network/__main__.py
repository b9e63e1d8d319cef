"""What the processes of a network run: ``python -m dlperf.network switch`` and ``… host``."""

from __future__ import annotations

import json
import sys

from dlperf.network.switch import Plan, host, switch

if __name__ == "__main__":
    role, told = sys.argv[1:]
    if role == "switch":
        switch(Plan(**json.loads(told)))
    else:
        host(*json.loads(told))
