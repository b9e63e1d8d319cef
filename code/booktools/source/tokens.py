"""Strip comments, docstrings and layout from code: what is left is what an execution depends on.

A comment, a docstring or a line broken elsewhere changes nothing that runs, so it must not make a record stale.
"""

from __future__ import annotations

import io
import tokenize

_LAYOUT = frozenset([tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER])
_EDGES = frozenset([tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT])
_MARKS = {tokenize.NEWLINE: "\n", tokenize.INDENT: "\t>", tokenize.DEDENT: "\t<"}
_FSTRING = tuple(getattr(tokenize, name, -1) for name in ("FSTRING_START", "FSTRING_END"))  # from Python 3.12 on


def code(source: str) -> str:
    """Returns the tokens of Python source, without comments, docstrings and layout; the same on every Python.

    A string that is a statement of its own counts as a docstring. The comma that a formatter adds at the end of a
    call broken over lines counts as layout if there is another in it. Source that is not Python comes back as it is.
    """
    try:
        tokens = _joined(source)
    except (tokenize.TokenError, SyntaxError):
        return source
    kept: list[tuple[int, str]] = []
    for i, (kind, text) in enumerate(tokens):
        following = tokens[i + 1][0] if i + 1 < len(tokens) else tokenize.NEWLINE
        first = not kept or kept[-1][0] in _EDGES
        docstring = kind == tokenize.STRING and first and following == tokenize.NEWLINE
        if not docstring and not (kind == tokenize.NEWLINE and first):  # nor the end of a line without tokens
            kept.append((kind, _MARKS.get(kind, text)))
    return "\0".join(_without_last_commas([text for _, text in kept]))


def _joined(source: str) -> list[tuple[int, str]]:
    """Returns kind and text of each token that runs; an f-string is one token, as it was before Python 3.12."""
    lines = source.splitlines(keepends=True)
    found: list[tuple[int, str]] = []
    depth, begin = 0, (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == _FSTRING[0]:
            begin = begin if depth else token.start
            depth += 1
        elif token.type == _FSTRING[1]:
            depth -= 1
            if not depth:
                found.append((tokenize.STRING, _between(lines, begin, token.end)))
        elif not depth and token.type not in _LAYOUT:
            found.append((token.type, token.string))
    return found


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """Returns the text from one place of (line, column) to another; lines count from 1."""
    part = lines[start[0] - 1 : end[0]]
    part[-1] = part[-1][: end[1]]
    part[0] = part[0][start[1] :]
    return "".join(part)


def _without_last_commas(texts: list[str]) -> list[str]:
    """Returns tokens without the comma before a closing bracket, where the bracket holds another: (a,) is no (a)."""
    commas, kept = [0], list[str]()
    for i, text in enumerate(texts):
        if text in ("(", "[", "{"):
            commas.append(0)
        elif text in (")", "]", "}"):
            commas.pop()
        elif text == ",":
            if commas[-1] and i + 1 < len(texts) and texts[i + 1] in (")", "]", "}"):
                continue
            commas[-1] += 1
        kept.append(text)
    return kept
