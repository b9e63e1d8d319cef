"""Turn the MyST of a page into the Markdown that Jupyter shows: directives and roles become quotes, links and names.

What was measured is in no sentence: a name such as ``page.key`` stands in its place, and `dlperf.visible_records` shows
that record under its cell. What depends on an outcome is left to the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from booktools.claims.outcomes import PHRASE, parts_of
from booktools.formats.directives import OPENING, Directive, end_of, fenced, read_directive
from booktools.formats.targets import Targets
from booktools.source.blocks import ROLE
from booktools.source.book import BookError

LABEL = re.compile(r"^\s*\([^()\s]+\)=\s*$")
EQUATION = re.compile(r"^(.*)\$\$[ \t]*\(([^()\s]+)\)\s*$")
PAGE_LINK = re.compile(r"\[([^\[\]]+)\]\(([\w./-]*\.md)?(#[\w-]+)?\)")
SHOWN = {"held": "Where it held", "failed": "Where it failed", "not-run": "Where it could not be run"}
"""What stands before each text by outcome."""


@dataclass(frozen=True)
class Markdown:
    """What turns one page of one language into plain Markdown.

    ``say`` translates the few words that come between, ``included`` returns the language and lines of what a
    ``literalinclude`` shows, ``page`` is the address of the page or an empty string.
    """

    where: str
    targets: Targets
    say: Callable[[str], str]
    included: Callable[[Directive], tuple[str, str]]
    code: Callable[[str, str], str]
    page: str = ""

    def convert(self, text: str) -> str:
        """Returns a cell's text as Markdown without directives and roles; BookError names one that is unknown."""
        text = PHRASE.sub(self._by_outcome, text)
        text = re.sub(rf"({re.escape(self.see_page())})(?:\s*\1)+", r"\1", text)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines(text.split("\n")))).strip("\n")

    @property
    def colon(self) -> str:
        """A colon as the language sets it: a full-width one brings its own space."""
        said = self.say(":")
        return ": " if said == ":" else said

    def see_page(self) -> str:
        """Returns what stands for a text that only the page can choose, a link where its address is known."""
        words = self.say("(see the page)")
        return f"[{words}]({self.page})" if self.page else words

    def _by_outcome(self, match: re.Match[str]) -> str:
        """Returns what stands for a phrase by outcome, apart from the words on either side of it."""
        before, after = match.string[: match.start()], match.string[match.end() :][:1]
        spaced = self.colon.endswith(" ")
        opening = " " if spaced and before and before[-1] not in " \n(" else ""
        ending = next((part[-1] for part in parts_of(match[1]) if part.endswith((".", "。"))), "")
        ending = "" if before.rstrip()[-1:] in ("", *".。*)）}") else ending  # a sentence of its own ends in brackets
        closing = " " if spaced and re.match(r"[\w(*`]", after) else ""
        return f"{opening}{self.see_page()}{ending}{closing}"

    def _lines(self, lines: Sequence[str]) -> Iterator[str]:
        number = 0
        while number < len(lines):
            line, opened = lines[number], OPENING.match(lines[number])
            if opened:
                end = end_of(lines, number, opened[2])
                inner = [line.removeprefix(opened[1]) for line in lines[number + 1 : end]]
                if opened[3]:
                    yield from self._directive(read_directive(number, opened[3], opened[4], inner), opened[1])
                else:
                    yield from lines[number : end + 1]
                number = end + 1
                continue
            if not line.startswith("%") and not LABEL.match(line):
                yield self._inline(line)
            number += 1

    def _directive(self, found: Directive, indent: str) -> Iterator[str]:
        """Yields a directive as Markdown, between empty lines."""
        try:
            show = _DIRECTIVES[found.name]
        except KeyError:
            raise BookError(f"{self.where}: a plain notebook cannot show the directive {{{found.name}}}") from None
        shown = list(show(self, found))
        yield from ("", *(indent + line if line else line for line in shown), "") if shown else ()

    def _inside(self, found: Directive) -> list[str]:
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines(found.lines))).strip("\n").split("\n")

    def _inline(self, text: str) -> str:
        """Returns a line of prose without roles; equations keep their number as a tag."""
        if match := EQUATION.match(text):
            text = rf"{match[1]}\tag{{{self.targets.equation(match[2])}}}$$"
        text = ROLE.sub(self._role, text)
        return PAGE_LINK.sub(lambda match: self.targets.link(match[1], (match[2] or "").removesuffix(".md")), text)

    def _role(self, match: re.Match[str]) -> str:
        name, content = match[1], match[3]
        shown, target = content, content
        if explicit := re.fullmatch(r"(.*?)\s*<([^<>]+)>", content):
            shown, target = explicit[1], explicit[2]
        if name in ("given", "term", "index"):
            return shown
        if name in ("glue:text", "here"):
            return f"`{re.sub(r'[.](?:iqr|percent)$', '', content.partition(':')[0])}`"
        if name == "speed":
            return ""
        if name == "recorded":
            return self.see_page()
        if name == "machine":
            return self.say("this machine") if content == "this" or "." in content else content
        if name == "cite":
            return f"[{', '.join(self.targets.citation(key.strip()) for key in content.split(','))}]"
        if name == "eq":
            return f"({self.targets.equation(target)})"
        if name in ("ref", "numref"):
            return self.targets.reference(target, shown if explicit else "")
        raise BookError(f"{self.where}: a plain notebook cannot show the role {{{name}}}")

    # --- directives ---

    def _quote(self, title: str, lines: Sequence[str]) -> Iterator[str]:
        for line in [f"**{title}**", "", *lines]:
            yield f"> {line}".rstrip()

    def _admonition(self, found: Directive) -> Iterator[str]:
        yield from self._quote(self._inline(found.argument), self._inside(found))

    def _claim(self, found: Directive) -> Iterator[str]:
        yield from self._quote(self.say("Claim"), self._inside(found))

    def _exercise(self, found: Directive) -> Iterator[str]:
        number = self.targets.reference(found.options["label"], "")
        title = f"{number}{self.colon}{self._inline(found.argument)}" if found.argument else number
        yield from self._quote(title, self._inside(found))

    def _solution(self, found: Directive) -> Iterator[str]:
        yield f"**{self.say('Solution')}{self.colon}{self.targets.reference(found.argument.strip(), '')}**"

    def _part(self, found: Directive) -> Iterator[str]:
        first, *rest = self._inside(found)
        yield from [f"**{self.say(SHOWN[found.name])}**{self.colon}{first}", *rest]

    def _inner(self, found: Directive) -> Iterator[str]:
        yield from self._inside(found)

    def _tree(self, found: Directive) -> Iterator[str]:
        yield from [f"**{found.argument}**", "", *self._inside(found)]

    def _figure(self, found: Directive) -> Iterator[str]:
        label = found.options.get("name", "")
        title = self.targets.reference(label, "") if label else ""
        caption = " ".join(self._inside(found))
        yield f"**{title}** (`{found.argument.strip()}`) {caption}" if title else f"`{found.argument}` {caption}"

    def _record(self, found: Directive) -> Iterator[str]:
        yield f"`{found.argument.strip()}`{self.colon}{self.say('shown below the cell that records it')}"

    def _machines(self, found: Directive) -> Iterator[str]:
        keys = ", ".join(f"`{key}`" for key in found.argument.split())
        yield f"{keys}{self.colon}{self.say('measured on every recorded machine')} {self.see_page()}"

    def _code(self, found: Directive) -> Iterator[str]:
        language = found.argument.strip()
        yield from fenced(language, self.code(language, "\n".join(found.lines).strip("\n")))

    def _include(self, found: Directive) -> Iterator[str]:
        language, text = self.included(found)
        yield from fenced(language, self.code(language, text.rstrip("\n")))

    def _nothing(self, found: Directive) -> Iterator[str]:
        return iter(())


_DIRECTIVES: dict[str, Callable[[Markdown, Directive], Iterator[str]]] = {
    "admonition": Markdown._admonition,
    "claim": Markdown._claim,
    "exercise": Markdown._exercise,
    "solution-start": Markdown._solution,
    "solution-end": Markdown._nothing,
    "outcome": Markdown._inner,
    "held": Markdown._part,
    "failed": Markdown._part,
    "not-run": Markdown._part,
    "container": Markdown._inner,
    "tree": Markdown._tree,
    "glue:figure": Markdown._figure,
    "samples": Markdown._figure,
    "glue": Markdown._record,
    "machines": Markdown._machines,
    "code-block": Markdown._code,
    "literalinclude": Markdown._include,
}
"""How each directive of a page with cells is shown."""
