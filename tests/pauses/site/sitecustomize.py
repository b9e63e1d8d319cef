"""Python runs this when it starts: what another ``sitecustomize`` would have done, and then the clocks see pauses."""

import os
import runpy
import sys
from pathlib import Path

_here = Path(__file__).resolve().parent
for _folder in map(Path, sys.path):
    if _folder.resolve() != _here and (_folder / "sitecustomize.py").is_file():
        runpy.run_path(str(_folder / "sitecustomize.py"))
        break

if os.environ.get("PAUSES"):
    sys.path.append(str(_here.parents[2]))
    from tests.pauses.clock import activate

    activate()
