"""Prepare the PDF's fonts: `@font-face` rules, subsets of system fonts, and cubic outlines converted to quadratic.

The faces are those that come with Matplotlib, and a sans-serif and a Han face of the machine's.

Chromium embeds TrueType outlines as one font, and cubic ones, such as Noto's Han faces have, as hundreds of small ones
without a name. So the characters that the book uses are taken out of a face, and cubic outlines made quadratic.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from booktools.source.book import BookError

HAN_SANS = ("Noto Sans CJK SC", "Source Han Sans SC", "Hiragino Sans GB", "Microsoft YaHei")
HAN_SERIF = ("Noto Serif CJK SC", "Source Han Serif SC", "Songti SC", "SimSun")
LATIN_SANS = ("Noto Sans", "Source Sans 3", "Noto Sans CJK JP", "Liberation Sans", "Arial")
"""Of each kind, the first that is there is taken."""
FEATURES = ["kern", "liga", "ccmp", "mark", "chws", "halt", "tnum", "lnum"]
"""Of OpenType: those that the book asks for, and those by which Chromium sets Han punctuation."""
SHIPPED = {
    ("Book Serif", 400, "normal"): "STIXGeneral",
    ("Book Serif", 700, "normal"): "STIXGeneralBol",
    ("Book Serif", 400, "italic"): "STIXGeneralItalic",
    ("Book Serif", 700, "italic"): "STIXGeneralBolIta",
    ("Book Mono", 400, "normal"): "DejaVuSansMono",
    ("Book Mono", 700, "normal"): "DejaVuSansMono-Bold",
    ("Book Mono", 400, "italic"): "DejaVuSansMono-Oblique",
    ("Book Signs", 400, "normal"): "DejaVuSans",
    ("Book Signs", 700, "normal"): "DejaVuSans-Bold",
}
"""Faces that Matplotlib brings, by family, weight and style: the same on every machine."""


def font_rules(characters: Iterable[str], han: bool) -> str:
    """Returns the `@font-face` rules of the book, for these characters; ``han`` is whether it is written in Han.

    Raises BookError where it is and no face here has them.
    """
    wanted = set(characters)
    rules = [*_shipped_rules(), *_machine_rules("Book Sans", HAN_SANS if han else LATIN_SANS, wanted, han)]
    if han:
        rules += _machine_rules("Book Song", HAN_SERIF, wanted, True)
    return "".join(rules)


def _shipped_rules() -> Iterator[str]:
    from matplotlib import get_data_path

    for (family, weight, style), name in SHIPPED.items():
        path = Path(get_data_path(), "fonts", "ttf", f"{name}.ttf")
        yield _rule(family, weight, style, path.as_uri())


def _machine_rules(family: str, names: tuple[str, ...], wanted: set[str], needed: bool) -> Iterator[str]:
    """Yields the rules of the first of these faces that is here, in its weights; BookError if one is needed."""
    from matplotlib.font_manager import fontManager

    known = [entry for entry in fontManager.ttflist if entry.style == "normal"]
    name = next((name for name in names if any(entry.name == name for entry in known)), None)
    if name is None:
        if needed:
            raise BookError(
                f"the PDF needs a font with Han characters, one of: {', '.join(names)}; "
                "on Debian and Ubuntu: apt install fonts-noto-cjk"
            )
        return
    weights = {int(entry.weight): entry for entry in known if entry.name == name}
    for weight in (400, 700):
        if entry := weights.get(weight):
            data = base64.b64encode(subset_font(entry.fname, getattr(entry, "index", 0), wanted)).decode()
            yield _rule(family, weight, "normal", f"data:font/ttf;base64,{data}")


def _rule(family: str, weight: int, style: str, address: str) -> str:
    return (
        f'@font-face {{ font-family: "{family}"; font-weight: {weight}; font-style: {style}; '
        f'src: url("{address}"); font-display: block }}\n'
    )


def make_mathjax_fonts(folder: Path, target: Path) -> None:
    """Writes MathJax's fonts, which lie in a folder, into another under the same names, with quadratic outlines."""
    from fontTools.ttLib import TTFont

    target.mkdir()
    for path in folder.glob("*.woff"):
        font = TTFont(path, recalcTimestamp=False)
        if "CFF " in font:
            _make_quadratic(font)
        font.flavor = None
        font.save(target / path.name)


def subset_font(path: str, index: int, characters: Iterable[str]) -> bytes:
    """Returns a TrueType font of these characters of a font, which is the one at ``index`` where a file holds several.

    Outlines are within half a thousandth of the em of what they were.
    """
    from fontTools import subset

    options = subset.Options(
        layout_features=FEATURES, hinting=False, font_number=index, recalc_bounds=True, notdef_outline=True,
        drop_tables=["VORG", "vhea", "vmtx", "DSIG", "BASE"],
    )  # fmt: skip
    font = subset.load_font(path, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=map(ord, characters))
    subsetter.subset(font)
    font.recalcTimestamp = False
    if "CFF " in font:
        _make_quadratic(font)
    file = io.BytesIO()
    font.save(file)
    return file.getvalue()


def _make_quadratic(font: Any) -> None:
    """Gives a font quadratic outlines in place of its cubic ones."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.cu2quPen import Cu2QuPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    shapes, drawn = font.getGlyphSet(), {}
    most = font["head"].unitsPerEm / 2000
    for name in font.getGlyphOrder():
        pen = TTGlyphPen(None)
        shapes[name].draw(Cu2QuPen(pen, most, reverse_direction=True))
        drawn[name] = pen.glyph()
    widths = {name: font["hmtx"][name][0] for name in drawn}
    del font["CFF "]
    font.sfntVersion = "\0\1\0\0"
    builder = FontBuilder(font=font)
    builder.isTTF = True
    builder.setupMaxp()
    builder.setupGlyf(drawn)
    font["hmtx"].metrics = {name: (width, getattr(drawn[name], "xMin", 0)) for name, width in widths.items()}
    font["post"].formatType = 3.0
