"""Python runs this when it starts: every process of a short execution then imports the shortened ``dlperf``."""

import os

if os.environ.get("BOOKTOOLS_SHORT"):
    from booktools.executions.short.loader import activate

    activate()
