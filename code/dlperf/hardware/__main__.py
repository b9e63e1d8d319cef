"""``python -m dlperf.hardware``: what this machine can do, measured in a minute or two."""

from __future__ import annotations

import argparse
from pathlib import Path

from dlperf.hardware import survey


def main(arguments: list[str] | None = None) -> None:
    """Asks every probe and prints the answers; writes them to a file, or reads those of other machines."""
    parser = argparse.ArgumentParser(prog="python -m dlperf.hardware", description=__doc__)
    parser.add_argument("--save", type=Path, metavar="FILE", help="write what was measured, to be shared")
    parser.add_argument(
        "--read", type=Path, nargs="+", metavar="FILE", help="show saved machines instead, side by side"
    )
    parser.add_argument("--only", default="", metavar="WORD", help="ask only the probes with this in their name")
    options = parser.parse_args(arguments)
    if options.read:
        try:
            found = [survey.load(path) for path in options.read]
        except (OSError, ValueError) as error:
            parser.error(str(error))
    else:
        probes = [probe for probe in survey.PROBES if options.only.lower() in probe.name.lower()]
        if not probes:
            known = ", ".join(probe.name for probe in survey.PROBES)
            parser.error(f"no probe has {options.only!r} in its name; there are: {known}")
        if options.save and not options.save.parent.is_dir():
            parser.error(f"--save: there is no folder {options.save.parent}")
        found = [survey.ask(probes)]
    print("\n".join(survey.lines(found)))
    if options.save and not options.read:
        found[0].save(options.save)
        print(f"\nMeasured in {found[0].seconds:.0f} s; saved to {options.save}")


if __name__ == "__main__":
    main()
