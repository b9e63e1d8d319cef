"""Python runs this when it starts: what another ``sitecustomize`` would have done, and then what a test asks for."""

import os
import runpy
import sys
from pathlib import Path

_here = Path(__file__).resolve().parent
for _folder in map(Path, sys.path):
    if _folder.resolve() != _here and (_folder / "sitecustomize.py").is_file():
        runpy.run_path(str(_folder / "sitecustomize.py"))
        break

sys.path.append(str(_here.parents[1]))
if os.environ.get("PAUSES"):
    from tests.pauses import clock

    clock.activate()
if os.environ.get("REACHED_LINES"):
    from tests.reached import lines

    lines.activate()
