"""What pages call a machine."""

from __future__ import annotations

from typing import Any

import pytest

from booktools.executions.records import Machine
from booktools.show.display import Name, Recording


class Told(Machine):
    """A machine without executions that tells this of itself."""

    def __init__(self, name: str, **environment: Any) -> None:
        super().__init__(name, {})
        self.__dict__["environment"] = environment


class English(Recording):
    """A page in English that shows these machines."""

    machines: list[Machine] = []  # type: ignore[assignment]  # noqa: RUF012

    def say(self, text: str) -> str:
        return text


@pytest.mark.parametrize(
    ("designs", "shown"),
    [
        (["znver4", "znver4"], ["AMD EPYC", "AMD EPYC"]),
        (["znver4", "znver5"], ["AMD EPYC znver4", "AMD EPYC znver5"]),
        (["znver4", "znver5", None], ["AMD EPYC znver4", "AMD EPYC znver5", "AMD EPYC"]),
        (["znver4", None], ["AMD EPYC", "AMD EPYC"]),
    ],
)
def test_a_processor_s_design_is_told_where_its_name_is_another_s_too(
    designs: list[str | None], shown: list[str]
) -> None:
    """And where the record knows it: those from before it was kept do not."""
    page = English()
    page.machines = [
        Told(f"m{i}", cpu="AMD EPYC", cores=2, **({"microarchitecture": design} if design else {}))
        for i, design in enumerate(designs)
    ] + [Told("other", cpu="Intel Xeon", cores=2, microarchitecture="haswell")]
    words = [page.machine_words(machine) for machine in page.machines]
    assert ["".join(node.astext() for node in each) for each in words] == [
        *(f"{name}, 2 cores" for name in shown),
        "Intel Xeon, 2 cores",
    ]
    assert [[node.astext() for node in each if isinstance(node, Name)] for each in words] == [
        *([name] for name in shown),
        ["Intel Xeon"],
    ]
