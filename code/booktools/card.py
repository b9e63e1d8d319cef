"""The picture that stands for the book where a link to it is shared: its sign and its names, in its colours.

It is committed, since its Han characters need a font that a building machine may lack: ``python -m booktools card``
draws it anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from booktools.book import Book, BookError
from booktools.edition import labels_of
from booktools.look import THEME

SIZE = (1200, 630)
"""Width and height in pixels, as those who show links ask for."""
PATH = THEME / "static" / "card.png"
PAPER, INK, ACCENT, SOFT = "#fcfcfa", "#1c2224", "#0b6670", "#566267"
HAN = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei")


def draw(book: Book, path: Path = PATH) -> None:
    """Draws the picture; BookError where no font has the characters of the Chinese name."""
    import matplotlib
    from matplotlib import font_manager

    known = {font.name for font in font_manager.fontManager.ttflist}
    font = next((name for name in HAN if name in known), None)
    if font is None:
        raise BookError(f"the picture needs a font with Han characters, one of: {', '.join(HAN)}")
    matplotlib.use("agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, SIZE[0]), ylim=(SIZE[1], 0))
    axes.axis("off")
    _sign(axes, left=90, top=100, scale=9)
    title = str(book.config["title"])
    names = [labels_of(book, language).translate(title) for language in book.languages[1:]]
    first, _, rest = title.partition(" for ")
    style: dict[str, Any] = {"color": INK, "family": [font], "va": "baseline"}
    axes.text(90, 370, f"{first} for", size=46, weight="bold", **style)
    axes.text(90, 435, rest, size=46, weight="bold", **style)
    axes.text(90, 520, " · ".join(names), size=34, **{**style, "color": SOFT})
    axes.plot([90, SIZE[0] - 90], [560, 560], color=ACCENT, lw=1.5)
    figure.savefig(path, metadata={"Software": None}, pil_kwargs={"optimize": True})


def _sign(axes: Any, left: float, top: float, scale: float) -> None:
    """Draws the sign of the book: the box of a measurement, as its head shows it."""
    line = lambda points, colour, width: axes.plot(
        [left + scale * x for x, _ in points], [top + scale * y for _, y in points], color=colour, lw=width
    )
    box = [(9, 2), (23, 2), (23, 14), (9, 14), (9, 2)]
    for points in (box, [(1, 8), (9, 8)], [(23, 8), (31, 8)], [(1, 4), (1, 12)], [(31, 4), (31, 12)]):
        line(points, INK, 4)
    line([(14, 2), (14, 14)], ACCENT, 10)
