"""Trainings whose straggler is more and more slow: steps a second, how stale pushes are, how early a loss is reached.

The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dlperf.servers import consistency
from dlperf.servers.consistency import Run


@dataclass(frozen=True)
class Sweep:
    """Runs by (staleness, slowness); one of each staleness has a slowness of 1, and one of each slowness waits for all.

    A step of who is not slow computes ``step`` seconds.
    """

    runs: Mapping[tuple[int | None, float], Run]
    step: float

    @property
    def stalenesses(self) -> list[int | None]:
        """Each staleness, in the order of the runs."""
        return list(dict.fromkeys(staleness for staleness, _ in self.runs))

    @property
    def slownesses(self) -> list[float]:
        """How slow the straggler was, in order."""
        return sorted({slow for _, slow in self.runs})

    def messages(self, staleness: int | None) -> float:
        """Returns the seconds of a step that are not spent computing, as measured where nobody is slow."""
        return max(0.0, self.runs[staleness, 1].step.median - self.step)

    def told(self, staleness: int | None, slow: float) -> float:
        """Returns the steps per second of all workers that follow from the run in which nobody is slow."""
        run = self.runs[staleness, slow]
        args = staleness, self.step, slow, run.duration, len(run.traces)
        return sum(consistency.rates(*args, messages=self.messages(staleness)))

    @property
    def off(self) -> float:
        """By which part the prediction that is off most is off, of all runs with a straggler."""
        return max(abs(self.told(*each) / run.rate - 1) for each, run in self.runs.items() if each[1] != 1)

    def stale(self, staleness: int | None, slow: float) -> float:
        """Returns how many pushes of others a push did not know of, on average; see `Run.stale`."""
        return self.runs[staleness, slow].stale

    def gain(self, staleness: int | None, slow: float) -> float:
        """Returns how many times as early a run reaches the last loss of the one that waits for all.

        A run that never reaches it counts with its end: it gains less than this; see `has_reached`.
        """
        all_wait = self.runs[0, slow]
        return all_wait.reaches(all_wait.last) / self.runs[staleness, slow].reaches(all_wait.last)

    def has_reached(self, staleness: int | None, slow: float) -> bool:
        """Returns whether a run ever reaches the last loss of the one that waits for all."""
        return self.runs[staleness, slow].has_reached(self.runs[0, slow].last)
