"""The commands that the Makefile calls: ``python -m booktools --help``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from booktools.source.book import Book, BookError


def main() -> int:
    """Runs one command and returns its exit status; an error is one message on standard error."""
    parser = argparse.ArgumentParser(prog="booktools", description="What the Makefile calls.")
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser("check", help="lints and language parity")
    checked.add_argument("--table", action="store_true", help="count visible lines and numbers of each page, too")
    moved = commands.add_parser("limits", help="register the limits of claims as they are now")
    moved.add_argument("id", nargs="?", default="", help="a claim, outcome or bound; without it, all new ones")
    moved.add_argument("--because", default="", help="why its predicate is not what it was")
    moved.add_argument("--limit", default="", help="what its limit was, in figures, if that is what was changed")
    moved.add_argument("--measured", default="", help="the number that failed the former limit")
    moved.add_argument("--machine", default="", help="the machine that measured it")
    record = commands.add_parser("record", help="execute all chapters here and keep the result as records/NAME")
    record.add_argument("name")
    record.add_argument("pages", nargs="*", help="only these, beside what is recorded (all)")
    record.add_argument("--anyway", action="store_true", help="keep pages for which the machine was not itself, too")
    record.add_argument("--from", dest="folder", type=Path, help="take in what a kit executed, instead")
    looked = commands.add_parser("check-record", help="say what a maintainer wants to know of records/NAME")
    looked.add_argument("name")
    kit = commands.add_parser("kit", help="pack what executes the chapters on a bare machine")
    kit.add_argument("--python", default="3.12", help="that machine's Python (3.12)")
    kit.add_argument("--have", type=Path, help="a file that names what is installed there, such as its pip list")
    kit.add_argument("--no-wheels", action="store_true", help="pack no wheels: all is installed there")
    shown = commands.add_parser("serve", help="build, show, and build again on every save")
    shown.add_argument("--port", type=int, default=8000)
    measured = commands.add_parser("bench", help="measure how long the book takes to build")
    measured.add_argument("--against", default="", help="a revision to measure too, in turn")
    whole = commands.add_parser("build", help="build the site in every language")
    language = commands.add_parser("build-language", help="build one language (the build calls this itself)")
    language.add_argument("code")
    language.add_argument("mark")
    for each in (whole, language):
        each.add_argument("--all", action="store_true", help="forget what was built before")
        each.add_argument("--quiet", action="store_true", help="say only what is wrong")
    options = parser.parse_args()
    try:
        return run(options)
    except BookError as error:
        print(error, file=sys.stderr)
        return 1


def run(options: argparse.Namespace) -> int:
    """Runs the command that the options name; imports only what it needs."""
    book = Book.find()
    name = os.environ.get("MACHINE") or "this"
    if options.command == "build":
        from booktools.site.build import build

        return build(book, name, options.all, options.quiet, planned=True)
    if options.command == "build-language":
        from booktools.site.site import build_language

        return build_language(book, options.code, name, options.mark, options.all, options.quiet)
    if options.command == "check":
        from booktools.checks.check import check

        if options.table:
            from booktools.commands.tally import tally

            print(tally(book))
        check(book)
        return 0
    if options.command == "limits":
        from booktools.claims.limits import register

        register(book, options.id, options.because, options.limit, options.measured, options.machine)
        return 0
    if options.command == "bench":
        from booktools.commands.bench import bench

        bench(book, options.against)
        return 0
    if options.command == "record":
        from booktools.commands.recording import record_machine, take_in

        if options.folder:
            take_in(book, options.name, options.folder)
        else:
            record_machine(book, options.name, options.pages, options.anyway)
        return 0
    if options.command == "check-record":
        from booktools.commands.record_check import check_record

        return check_record(book, options.name)
    if options.command == "kit":
        from booktools.commands.kit import make_kit

        make_kit(book, options.python, options.have, wheels=not options.no_wheels)
        return 0
    from booktools.commands.serve import serve

    serve(book, options.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
