"""Parse a page into blocks: headings, paragraphs, list items, cells, equations, directives.

What parity compares and lints read. Prose inside a directive (an exercise, a caption, a claim)
counts as blocks of their own.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Loaded when a page is parsed, which a build may never need.
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from myst_parser.config.main import MdParserConfig

VERBATIM = frozenset(
    [
        "code-cell",
        "code-block",
        "literalinclude",
        "math",
        "claims",
        "moved",
        "citation",
        "environments",
        "bibliography",
        "glue",
        "raw",
        "solution-end",
        "tableofcontents",
        "toctree",
    ]
)
"""Directives whose content is the same in every language."""
NAMED = frozenset(
    [
        "claim",
        "outcome",
        "machines",
        "glue:figure",
        "figure",
        "image",
        "exercise-start",
        "solution",
        "solution-start",
        "exercise",
        "card",
        "grid-item-card",
    ]
)
"""Directives whose argument is a name, not prose; those not here may have a title to translate."""
TITLED = frozenset(["exercise", "card", "grid-item-card", "exercise-start"])
"""Of those, the ones whose argument is a title after all."""
PROSE_OPTIONS = frozenset({"alt", "caption", "rows"})

_DIRECTIVE = re.compile(r"\{([\w:-]+)\}\s*(.*)")
_OPTION = re.compile(r"^:([\w-]+):[ \t]*(.*)$")


@dataclass(frozen=True)
class Block:
    """One block: its kind, its line counted from 1, its prose, and what must not differ between languages.

    ``shown`` is the source of what shows without being prose: code, mathematics, HTML.
    """

    kind: str
    line: int
    text: str = ""
    same: str = ""
    shown: str = ""


def syntax() -> MdParserConfig:
    """Returns the extensions of Markdown that pages use."""
    from myst_parser.config.main import MdParserConfig

    return MdParserConfig(enable_extensions={"colon_fence", "dollarmath", "deflist", "attrs_inline"})


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it.renderer import RendererHTML
    from myst_parser.parsers.mdit import create_md_parser

    return create_md_parser(dataclasses.replace(syntax(), disable_syntax=["inline"]), RendererHTML)


def blocks(text: str) -> list[Block]:
    """Returns the blocks of a page in order."""
    return _blocks(text, 0)


def _blocks(text: str, offset: int) -> list[Block]:
    found: list[Block] = []
    kinds: list[str] = []
    for token in _parser().parse(text):
        line = offset + (token.map[0] if token.map else 0) + 1
        if token.type in ("fence", "colon_fence"):
            found += _fence(token, line)
        elif token.type == "myst_target":
            found.append(Block("label", line, same=token.content))
        elif token.type in ("math_block", "math_block_label", "amsmath"):
            found.append(
                Block("equation", line, same=_equation(token.content) + (token.info or ""), shown=token.content)
            )
        elif token.type == "inline":
            found.append(Block(kinds[-1], line, token.content))
        elif token.type == "heading_open":
            kinds.append(f"heading {token.tag[1:]}")
        elif token.type in ("paragraph_open", "th_open", "td_open", "dt_open"):
            in_item = any(kind in ("list item", "term", "definition") for kind in kinds)
            names = {"th_open": "table head", "td_open": "table cell", "dt_open": "term"}
            kinds.append(names.get(token.type, "item paragraph" if in_item else "paragraph"))
        elif token.type in ("list_item_open", "dd_open"):
            kinds.append("list item" if token.type == "list_item_open" else "definition")
            found.append(Block(kinds[-1], line))
        elif token.type in (
            "heading_close", "paragraph_close", "th_close", "td_close", "dt_close", "list_item_close", "dd_close"
        ):  # fmt: skip
            kinds.pop()
        elif token.type in ("bullet_list_open", "ordered_list_open", "blockquote_open", "table_open", "hr"):
            found.append(Block(token.type.removesuffix("_open").replace("_", " "), line))
        elif token.type == "html_block":
            found.append(Block("html", line, same=token.content, shown=token.content))
    return found


def _fence(token: Token, line: int) -> list[Block]:
    match = _DIRECTIVE.match(token.info.strip())
    if not match:
        return [Block("code", line, same=token.content, shown=token.content)]
    name, argument = match.groups()
    lines = token.content.splitlines()
    options: dict[str, str] = {}
    start = 0
    while start < len(lines) and (option := _OPTION.match(lines[start])):
        options[option[1]] = option[2]
        start += 1
    body = "\n".join(lines[start:])
    exact = "".join(f":{key}: {value}\n" for key, value in sorted(options.items()) if key not in PROSE_OPTIONS)
    kind = f"{{{name}}}"
    if name == "math":
        return [Block(kind, line, same=exact + _equation(body), shown=body)]
    if name in VERBATIM:
        shown = body if name in ("code-block", "raw") else ""
        return [Block(kind, line, same=f"{argument}\n{exact}{body}", shown=shown)]
    title = argument and (name in TITLED or name not in NAMED)
    found = [Block(kind, line, text=argument if title else "", same=exact if title else f"{argument}\n{exact}")]
    found += [Block("option", line + 1, text=options[key]) for key in sorted(PROSE_OPTIONS & options.keys())]
    if name == "glossary":
        return found + _glossary(lines[start:], line + start)
    return found + _blocks(body, line + start)


def _glossary(lines: list[str], offset: int) -> list[Block]:
    return [
        Block("glossary definition" if text[0].isspace() else "glossary term", offset + number, text.strip())
        for number, text in enumerate(lines, 1)
        if text.strip()
    ]


def _equation(tex: str) -> str:
    """Returns an equation without spaces and without the words in it, which each language has of its own."""
    return re.sub(r"\s+", "", re.sub(r"\\(text|mathrm|operatorname)\{[^{}]*\}", r"\\\1{}", tex))


ROLE = re.compile(r"\{([\w:-]+)\}(`+)(.+?)\2")
CODE = re.compile(r"(?<!\})(`+)(.+?)\1(?!`)")
MATH = re.compile(r"(?<![\\$])\$(?!\s)((?:\\.|[^$\\])+?)(?<!\s)\$(?!\d)")
LINK = re.compile(r"\]\(([^()\s]*)\)")
ATTRIBUTES = re.compile(r"\]\{[\w-]+=[\w.-]+\}")


def directives(*names: str) -> re.Pattern[str]:
    """Returns what finds directives of these names in a page's text, with all that they hold."""
    return re.compile(rf"^(:{{3,}}|`{{3,}})\{{(?:{'|'.join(names)})\}}\n.*?^\1$", re.S | re.M)


def roles(text: str) -> list[tuple[str, str]]:
    """Returns the roles in prose as (name, content)."""
    return [(match[1], match[3]) for match in ROLE.finditer(text)]


def words(text: str) -> str:
    """Returns prose without roles, code, mathematics, link targets and attributes; {term}s keep what they show."""
    text = ROLE.sub(lambda m: f" {m[3].split('<')[0]} " if m[1] in ("term", "index") else " ", text)
    for pattern in (CODE, MATH):
        text = pattern.sub(" ", text)
    return ATTRIBUTES.sub("]", LINK.sub("]", text))
