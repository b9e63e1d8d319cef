"""A measurement as a value: its samples, its unit, and what it was taken on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from dlperf.modes import modes

UNITS = ("s", "B", "B/s", "FLOP", "FLOP/s", "1/s", "1")
"""Units that a measurement may have; ``1`` is a pure number, such as a ratio."""

WIDE_SPREAD = 0.25
"""Interquartile range over median from which `measure` warns and tables mark a value, as PyTorch's benchmark does."""

FEW = 5
"""Samples below which their quartiles say little: `measure` warns, and a page shows no median."""

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


class FewSamplesWarning(UserWarning):
    """Fewer samples were taken than asked for: the time for them was used up."""


class UnitError(ValueError):
    """Two quantities were combined whose units do not go together."""


class PairingError(ValueError):
    """Two measurements were combined sample by sample that were not taken in turn."""


def format_quantity(value: float, unit: str, digits: int = 3) -> str:
    """Returns a value for reading: ``3.21 µs``, ``12.4 GB/s``, ``1.83`` for a pure number."""
    if unit == "1" and isinstance(value, int):
        return str(value)  # no comma: MyST-NB would read 10,000 as a tuple
    if unit == "1" or not math.isfinite(value) or value == 0:
        text, prefix = f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}", ""
    else:
        scale, prefix = _scale(value, unit)
        text = _round(value / scale, digits)
    return text + _suffix(prefix, unit)


def scaled(value: float, unit: str) -> tuple[float, str]:
    """Returns what to divide by to read values like this one, and what to write after them: ``1e-6, " µs"``."""
    plain = unit == "1" or not value
    scale, prefix = (1.0, "") if plain else _scale(value, unit)
    return scale, _suffix(prefix, unit)


def _scale(value: float, unit: str) -> tuple[float, str]:
    scales = [(s, p) for s, p in _PREFIXES if (s <= 1 if unit == "s" else s >= 1)]
    return next(((s, p) for s, p in scales if abs(value) >= s * 0.9995), scales[-1])


def _suffix(prefix: str, unit: str) -> str:
    if unit == "1/s":
        return f" {prefix}/s" if prefix else "/s"  # 56.3 k/s, not k1/s
    return "" if unit == "1" else f" {prefix}{unit}"


def _round(value: float, digits: int) -> str:
    value = float(f"{value:.{digits}g}") if abs(value) < 10**digits else value
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{round(value, decimals):.{decimals}f}" if abs(value) < 10**digits else f"{value:.0f}"


@dataclass(frozen=True)
class Measurement:
    """Samples of one quantity, with the unit and the environment they were taken in.

    ``samples`` are in ``unit`` (one of ``UNITS``); each is the mean over ``calls_per_sample`` calls. Measurements with
    the same ``pairing_id``, which `dlperf.turns` gives, were taken in turn: sample by sample they belong together.
    Statistics are of the samples: never report the mean without the spread. See the chapter
    *Measuring performance*.
    """

    samples: tuple[float, ...]
    unit: str = "s"
    description: str = ""
    calls_per_sample: int = 1
    environment: dict[str, Any] = field(default_factory=dict, repr=False)
    pairing_id: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise UnitError(f"unknown unit {self.unit!r}; one of {', '.join(UNITS)} would do")
        object.__setattr__(self, "samples", tuple(float(x) for x in self.samples))
        if not self.samples or not all(map(math.isfinite, self.samples)):
            raise ValueError(f"a measurement needs at least one finite sample, got {self.samples!r}")

    @property
    def median(self) -> float:
        """The middle sample, in ``unit``."""
        return float(np.median(self.samples))

    @property
    def mean(self) -> float:
        """The average of the samples, in ``unit``."""
        return float(np.mean(self.samples))

    @property
    def quartiles(self) -> tuple[float, float]:
        """The 25th and 75th percentile of the samples, in ``unit``."""
        low, high = np.percentile(self.samples, [25, 75])
        return float(low), float(high)

    @property
    def iqr(self) -> float:
        """The interquartile range, in ``unit``: how far the middle half of the samples spreads."""
        low, high = self.quartiles
        return high - low

    @property
    def spread(self) -> float:
        """The interquartile range over the median: 0.1 is a tenth."""
        return self.iqr / abs(self.median) if self.median else math.inf

    def modes(self) -> tuple[Measurement, ...]:
        """Returns the samples as one measurement, in order, or as two if they have two modes: see `dlperf.modes`."""
        return tuple(replace(self, samples=group, pairing_id="") for group in modes(self.samples))

    def interval(
        self,
        confidence: float = 0.95,
        resamples: int = 2000,
        statistic: Callable[..., Any] = np.median,
        seed: int = 0,
    ) -> tuple[float, float]:
        """Returns the bootstrap percentile interval of a statistic, in ``unit``.

        Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
        """
        draws = np.random.default_rng(seed).choice(self.samples, (resamples, len(self.samples)))
        tail = 100 * (1 - confidence) / 2
        low, high = np.percentile(statistic(draws, axis=1), [tail, 100 - tail])
        return float(low), float(high)

    def per_second(self, amount: float, unit: str) -> Measurement:
        """Returns the rate at which ``amount`` of ``unit`` ("B", "FLOP" or "1") was done in each sample."""
        if self.unit != "s":
            raise UnitError(f"a rate needs a time in s, this measurement is in {self.unit}")
        return self._with(tuple(amount / t for t in self.samples), f"{unit}/s")

    def pairs(self, other: Measurement) -> list[tuple[float, float]]:
        """Returns the samples of both sides, turn by turn; PairingError unless the two were taken in turn."""
        if not self.pairing_id or self.pairing_id != other.pairing_id or len(self.samples) != len(other.samples):
            raise PairingError(
                f"{self.summary()} and {other.summary()} were not taken in turn, so their samples do not belong "
                "together: take them by timing.interleave or timing.compare, or set median over median by ratio.over"
            )
        return list(zip(self.samples, other.samples, strict=True))

    def __truediv__(self, other: Measurement | float) -> Measurement:
        """Returns the ratio of two measurements of one unit that were taken in turn; or each sample over a number."""
        if not isinstance(other, Measurement):
            return self._with(tuple(a / other for a in self.samples), self.unit)
        if self.unit != other.unit:
            raise UnitError(f"{self.unit} over {other.unit} is not a ratio of like things")
        return self._ratio(a / b for a, b in self.pairs(other))

    def __rtruediv__(self, value: float) -> Measurement:
        """Returns a ``value`` in the unit of this measurement, such as a predicted one, over each of its samples."""
        return self._ratio(value / b for b in self.samples)

    def __mul__(self, factor: float) -> Measurement:
        """Returns so many times each sample."""
        return self._with(tuple(factor * a for a in self.samples), self.unit)

    __rmul__ = __mul__

    def __add__(self, other: Measurement) -> Measurement:
        """Returns the sum of two measurements of one unit that were taken in turn, sample by sample."""
        return self._turn_by_turn(other, "add", lambda a, b: a + b)

    def __sub__(self, other: Measurement) -> Measurement:
        """Returns the difference of two measurements of one unit that were taken in turn, sample by sample."""
        return self._turn_by_turn(other, "subtract", lambda a, b: a - b)

    def larger(self, other: Measurement) -> Measurement:
        """Returns the larger sample of each turn of two measurements of one unit."""
        return self._turn_by_turn(other, "compare", max)

    def _turn_by_turn(self, other: Measurement, verb: str, of: Callable[[float, float], float]) -> Measurement:
        if self.unit != other.unit:
            raise UnitError(f"cannot {verb} {self.unit} and {other.unit}")
        return self._with(tuple(of(a, b) for a, b in self.pairs(other)), self.unit)

    def _ratio(self, samples: Iterable[float]) -> Measurement:
        return replace(self._with(tuple(samples), "1"), description="")  # it is no longer what either side was

    def _with(self, samples: Sequence[float], unit: str) -> Measurement:
        return replace(self, samples=tuple(samples), unit=unit)

    def __format__(self, spec: str) -> str:
        return format(self.median, spec) if spec else str(self)

    @property
    def digits(self) -> int:
        """The significant digits that the spread lets the median have: two or three."""
        if not self.iqr or not self.median:
            return 3
        return min(3, max(2, math.floor(math.log10(abs(self.median))) - math.floor(math.log10(self.iqr)) + 1))

    def __str__(self) -> str:
        return format_quantity(self.median, self.unit, self.digits)

    def summary(self) -> str:
        """Returns median, interquartile range and number of samples in one line."""
        return f"{self} (IQR {format_quantity(self.iqr, self.unit, 2)}, n={len(self.samples)})"

    def to_json(self) -> dict[str, Any]:
        """Returns plain JSON values from which `from_json` makes an equal measurement."""
        return {**asdict(self), "samples": list(self.samples)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Measurement:
        """Returns the measurement that `to_json` described; ValueError names what is missing."""
        try:
            former = {"turns": "pairing_id"}  # as records had it until November 2026
            named = {former.get(name, name): each for name, each in value.items()}
            return cls(**{**named, "samples": tuple(value["samples"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"not a measurement: {error}") from error
