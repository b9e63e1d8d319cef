"""Python runs this when it starts: every process of a rehearsal then has the simulated GPU and the shortened book."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HIDDEN = os.environ.get("CUDA_VISIBLE_DEVICES") == ""  # as a driver would hide a real one

if os.environ.get("SIMULATED_CUDA_LIBRARY") and not HIDDEN:
    sys.path.append(str(Path(__file__).resolve().parents[1]))  # tests/gpu
    import simulated_cuda

    simulated_cuda.activate()

if os.environ.get("REHEARSAL_LINES"):
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from rehearsal import loader

    loader.activate()
