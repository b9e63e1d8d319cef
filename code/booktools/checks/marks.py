"""What `english` and `chinese` share: the marks that `numbers` puts into a text, digits, and what is no ratio."""

from __future__ import annotations

CITE, MARK = "\ue000", "\ue001"
"""Stand for a citation, and for anything else that vouches for itself."""
HAN_DIGITS = "[零〇一二两三四五六七八九十百千万亿]"
NOT_ONE = rf"(?!1(?![\d万亿]|[.,]\d)|one\b(?!-)|一(?!{HAN_DIGITS}|点))"
"""A ratio of one says that two things are equal."""
