"""The colours of figures, apart from what draws with them: whoever recolours a page needs no matplotlib."""

from __future__ import annotations

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette, in the order in which series take them. The site's themes recolour them by value."""

INK = "#000000"
"""Text, axes and frames: the site shows it in the page's own text colour."""
