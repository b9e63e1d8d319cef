"""Where a host of the relay computes."""

from __future__ import annotations

import pytest
import torch

from dlperf.parallel.relay import place


def test_a_host_computes_where_it_is_told_to() -> None:
    assert place(0, "cpu") == "cpu"
    assert place(0, "meta") == "meta"


@pytest.mark.parametrize("error", [RuntimeError("OS call failed"), AssertionError("not compiled with CUDA enabled")])
def test_a_device_that_does_not_start_leaves_the_cpu(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **options: object) -> None:
        assert options == {"device": "cuda:0"}
        raise error

    monkeypatch.setattr(torch, "empty", refuse)
    assert place(0, "cuda:0") == "cpu"
