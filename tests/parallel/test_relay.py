"""Where a host of the relay computes."""

from __future__ import annotations

import pytest
import torch

from dlperf.parallel import relay
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


def test_a_host_computes_alone_what_it_does_in_the_relay(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that a product of a chunk moves by a second. Four matrices for each of two chunks; host 1 has none."""
    now, seen = [0.0], []

    def through(chunk: torch.Tensor, weights: torch.Tensor, layers: int) -> torch.Tensor:
        now[0] += layers
        seen.append(tuple(chunk.shape))
        return chunk

    monkeypatch.setattr(relay, "perf_counter", lambda: now[0])
    monkeypatch.setattr(relay, "_through", through)
    assert relay.alone(0, 2, 4, rows=6, width=5) == 8
    assert seen == [(3, 5)] * 2
    assert relay.alone(1, 2, 4) == 0


def test_examples_go_through_all_layers() -> None:
    x, w = torch.randn(3, 4), torch.randn(4, 4)
    torch.testing.assert_close(relay._through(x, w, 3), x @ w @ w @ w)
