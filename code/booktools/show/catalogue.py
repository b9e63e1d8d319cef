"""Translate what stands in figures, tables, outputs and code comments.

Numbers in a string become ``#`` and units lose their prefix, so that ``8 threads`` and ``16 threads`` are one entry,
and so are ``step 0.9 s`` and ``step 870 ms``: which of them is printed is a matter of the machine. A string that has
no words (numbers, units, identifiers) passes through.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
import unicodedata
from itertools import groupby
from pathlib import Path

from booktools.source.book import BookError

NUMBER = re.compile(r"(?<![\w.#])[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w#])")
_UNIT = r"(?:FLOP|bit|Hz|B|s)(?:/s)?(?![A-Za-z/])"
QUANTITY = re.compile(rf"{NUMBER.pattern}(?:[ \u00a0](?:[KMGT]i|[kMGTmµn])?(?P<unit>{_UNIT}))?")
_PLACE = re.compile(rf"#(?: ?{_UNIT})?")
_DOCSTRING = re.compile(r'^( *)("""(?=\S).*?""")$', re.M | re.S)
_COMMENT = re.compile(r"((?:^|\s)#)(\s.*)$", re.M)
COLUMNS = 76
"""The width of the code that a page shows: more would scroll."""
UNITS = frozenset(
    [
        "s",
        "ms",
        "µs",
        "ns",
        "B",
        "kB",
        "MB",
        "GB",
        "TB",
        "KiB",
        "MiB",
        "GiB",
        "FLOP",
        "kFLOP",
        "MFLOP",
        "GFLOP",
        "TFLOP",
        "Hz",
        "MHz",
        "GHz",
        "bit",
        "kbit",
        "Mbit",
        "Gbit",
        "n",
        "IQR",
    ]
)
CONSTANTS = frozenset(["None", "True", "False"])
"""What Python prints for what has no number."""
_IDENTIFIER = re.compile(r"\S*(?:[\w)\]][_.(\[{=:/@]|[\]})]|__|[A-Za-z]\d|\d[A-Za-z])\S*")


def has_words(text: str) -> bool:
    """Returns whether anything in ``text`` is language, once numbers, units and identifiers are set aside."""
    rest = _IDENTIFIER.sub(" ", text)
    rest = NUMBER.sub(" ", rest)
    return any(word not in UNITS | CONSTANTS for word in re.findall(r"[A-Za-zµ]+", rest) if len(word) > 1)


def is_code(line: str) -> bool:
    """Returns whether a printed line is one of a program, in Python or C++, without a comment.

    Expressions and assignments are not told apart from language here: `has_words` looks into them.
    """
    line = line.strip()
    if "//" in line or re.search(r"#(?!(?:pragma|include|define)\b)", line):
        return False
    if line.startswith("#") or line.endswith((";", "{", "}")):
        return True
    try:
        (statement,) = ast.parse(f"{line} pass" if line.endswith(":") else line).body
    except (SyntaxError, ValueError):
        return False
    typed = isinstance(statement, ast.AnnAssign) and statement.value is not None
    return typed or isinstance(statement, (ast.FunctionDef, ast.Return, ast.Delete))


def template(text: str) -> tuple[str, list[str]]:
    """Returns ``text`` with ``#`` for each number, units without a prefix, and the quantities in order.

    >>> template("step 3: 870 ms")
    ('step #: # s', ['3', '870 ms'])
    """
    found = list(QUANTITY.finditer(text))
    return QUANTITY.sub(lambda match: f"# {match['unit']}" if match["unit"] else "#", text), [m[0] for m in found]


class Catalogue:
    """One language's translations, read from a gettext file; collects what it lacks in ``missing``.

    ``seen`` holds every string that it was asked for since it was last cleared, with what it answered.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.entries: dict[str, str] = {}
        self.missing: dict[str, None] = {}
        self.seen: dict[str, str | None] = {}
        if path is not None:
            from babel.messages.pofile import read_po

            try:
                with path.open("rb") as file:
                    self.entries = {
                        str(m.id): str(m.string) for m in read_po(file, abort_invalid=True) if m.id and m.string
                    }
            except OSError as error:
                raise BookError(f"{path}: the catalogue cannot be read: {error.strerror}") from None
            except Exception as error:
                raise BookError(f"{path}: not a gettext catalogue: {error}") from None

    def translate(self, text: str) -> str:
        """Returns ``text`` in this language; what has no entry comes back as it is and is noted as missing."""
        stripped = text.strip()
        if self.path is None or not stripped:
            return text
        key, quantities = template(stripped)
        key = re.sub(r"\s+", " ", key)
        found = self.seen[key] = self.entries.get(key)
        if found is None:
            if has_words(stripped):
                self.missing[key] = None
            return text
        values = iter(quantities)
        return text.replace(stripped, _PLACE.sub(lambda match: next(values, match[0]), found))

    def translate_lines(self, text: str) -> str:
        """Returns printed text translated line by line; lines of a program stay."""
        return "\n".join(line if is_code(line) else self.translate(line) for line in text.split("\n"))

    def translate_code(self, source: str) -> str:
        """Returns Python source with its comments and docstrings translated and everything else as it was."""
        if self.path is None:
            return source
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(source + "\n").readline))
        except (tokenize.TokenError, SyntaxError):
            return source
        lines = (source + "\n").splitlines(keepends=True)
        edits = []
        previous = tokenize.NEWLINE
        for token in tokens:
            if token.type == tokenize.COMMENT:
                body = token.string.lstrip("#")
                if not re.match(r"\s*(noqa|type:|ruff:)", body):
                    hashes = token.string[: len(token.string) - len(body)]
                    edits.append((token.start, token.end, hashes + self.translate(body)))
            elif (
                token.type == tokenize.STRING
                and previous in (tokenize.NEWLINE, tokenize.INDENT)
                and '"""' in token.string
            ):
                edits.append((token.start, token.end, self._docstring(token.string, token.start[1])))
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                previous = token.type
        for (row, column), (end_row, end_column), new in reversed(edits):
            before, after = lines[row - 1][:column], lines[end_row - 1][end_column:]
            lines[row - 1 : end_row] = [before + new + after]
        return "".join(lines)[:-1]

    def translate_diff(self, diff: str) -> str:
        """Returns a diff of Python source with comments and docstrings translated; what a hunk cuts stays as it is."""
        if self.path is None:
            return diff
        done = []
        for sign, lines in groupby(diff.split("\n"), key=lambda line: line[:1]):
            body = "\n".join(line[1:] for line in lines)
            if sign in ("+", "-", " "):
                body = _DOCSTRING.sub(lambda found: found[1] + self._docstring(found[2], len(found[1]) + 1), body)
                body = _COMMENT.sub(lambda found: found[1] + self.translate(found[2]), body)
            done += [sign + line for line in body.split("\n")]
        return "\n".join(done)

    def _docstring(self, quoted: str, column: int) -> str:
        """Returns a docstring whose paragraphs are translated, each as one entry, and broken into lines anew."""
        opening, body = re.match(r'^(\w*""")(.*)"""$', quoted, re.S).groups()  # type: ignore[union-attr]
        parts = re.split(r"(\n[ \t]*\n[ \t]*|\n[ \t]*$)", body)
        done = []
        for part in parts:
            flat = re.sub(r"\s*\n\s*", " ", part)
            new = self.translate(flat)
            room = COLUMNS - column - len('"""')
            done.append(part if new == flat else f"\n{' ' * column}".join(wrapped(new, room)))
        return opening + "".join(done) + '"""'


def columns(text: str) -> int:
    """Returns how wide ``text`` is in a fixed width: Han counts as two."""
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def wrapped(text: str, room: int) -> list[str]:
    """Returns ``text`` in lines of at most ``room`` columns; Han may be broken after any character.

    No line begins with a closing sign, and no name or literal is broken.
    """
    lines, used = [""], 0
    for piece in re.findall(r"(?:``[^`]*``|[!-~]+|.)[，。；：、）》”]* ?", text):
        width = columns(piece)
        if used and used + width > room:
            lines, used = [*lines, ""], 0
        lines[-1] += piece
        used += width
    return [line.rstrip() for line in lines]


@functools.cache
def catalogue(path: Path | None) -> Catalogue:
    """Returns the catalogue at ``path``, read once; None is the language that the book's labels are in."""
    return Catalogue(path)
