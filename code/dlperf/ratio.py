"""A ratio of medians that remembers the samples it was made from."""

from __future__ import annotations

from collections.abc import Callable

from dlperf.measurement import Measurement, UnitError


class Ratio(float):
    """A number made from medians. ``sides`` are the measurements, ``because`` says why it stands over any of them.

    Multiplied or divided it remembers them. A page shows a range where a side has a wide spread, two modes or too few
    samples, unless ``because`` says why one number may stand.
    """

    sides: tuple[Measurement, ...]
    because: str

    def __new__(cls, value: float, sides: tuple[Measurement, ...], because: str = "") -> Ratio:
        ratio = super().__new__(cls, value)
        ratio.sides, ratio.because = sides, because
        return ratio

    def __reduce__(self) -> tuple[type[Ratio], tuple[float, tuple[Measurement, ...], str]]:
        return type(self), (float(self), self.sides, self.because)

    def __mul__(self, other: float) -> Ratio:
        return self._with(other, float.__mul__)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> Ratio:
        return self._with(other, float.__truediv__)

    def __rtruediv__(self, other: float) -> Ratio:
        return self._with(other, float.__rtruediv__)

    def _with(self, other: float, of: Callable[[float, float], float]) -> Ratio:
        if not isinstance(other, Ratio):
            return Ratio(of(self, float(other)), self.sides, self.because)
        reasons = (self.because, other.because)
        return Ratio(of(self, float(other)), self.sides + other.sides, "; ".join(reasons) if all(reasons) else "")


def over(a: Measurement, b: Measurement, *, because: str = "") -> Ratio:
    """Returns the median of ``a`` over that of ``b``, which were not taken in turn; a page judges both.

    Those taken in turn are divided, ``a / b``, sample by sample, which keeps the spread of the ratio itself.
    ``because`` says why the ratio may stand though a side spreads widely or has two modes. Raises UnitError unless
    both have one unit.
    """
    if a.unit != b.unit:
        raise UnitError(f"{a.unit} over {b.unit} is not a ratio of like things")
    return Ratio(a.median / b.median, (a, b), because)
