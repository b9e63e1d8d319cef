"""The process from which those of a network are forked: ``python -m dlperf.network template …``."""

from __future__ import annotations

import json
import sys

from dlperf.network import template
from dlperf.network.switch import begin

if __name__ == "__main__":
    _, told = sys.argv[1:]
    template.serve(begin, *json.loads(told))
