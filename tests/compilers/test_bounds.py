"""What a profile lets a step win at most: steps by hand, of which every share is known."""

from __future__ import annotations

import pytest

from dlperf import breakdown
from dlperf.compilers import bounds
from dlperf.measurement import Measurement
from dlperf.profiles import Interval

MM, ADD = "aten::mm", "aten::add"


def step(*more: tuple[str, str, float, float]) -> list[Interval]:
    """Returns a traced step of 20 s: products 10, other kernels 4, of which 1 in the update of 3, and host 6."""
    parts = (
        ("kernel", MM, 0, 10),
        ("kernel", ADD, 11, 14),
        ("phase", "update", 16, 19),
        ("kernel", "aten::mul_", 17, 18),
        *more,
    )
    return [Interval("training step", 0, 20, "step"), *(Interval(n, a, b, lane) for lane, n, a, b in parts)]


def plain(*seconds: float) -> Measurement:
    return Measurement(seconds, "s")


def test_what_a_profiler_adds_is_the_hosts() -> None:
    shares = bounds.plain_shares(plain(16), [step()])
    expected = {"products": 10 / 16, "other kernels": 4 / 16, "host": 2 / 16}
    assert shares == pytest.approx(dict.fromkeys(breakdown.KINDS, 0) | expected)


@pytest.mark.parametrize(("seconds", "products", "host"), [(20, 0.5, 0.3), (1000, 0.01, 0.986), (1, 10 / 14, 0)])
def test_no_pause_makes_a_share_negative_or_their_sum_another(seconds: float, products: float, host: float) -> None:
    shares = bounds.plain_shares(plain(seconds), [step()])
    assert (shares["products"], shares["host"]) == pytest.approx((products, host))
    assert sum(shares.values()) == pytest.approx(1)


def test_a_pause_in_one_turn_changes_no_share_and_the_hosts_is_that_of_its_seconds() -> None:
    seconds, steps = plain(16, 500, 15, 17, 16), [step()] * 5
    assert bounds.plain_shares(seconds, steps) == pytest.approx(bounds.plain_shares(plain(16), [step()]))
    host = bounds.host_seconds(seconds, steps).median
    assert bounds.plain_shares(seconds, steps)["host"] == pytest.approx(host / (10 + 4 + host))


def test_the_host_of_a_plain_step_is_what_the_rest_of_the_traced_one_leaves() -> None:
    taken = Measurement((16, 13), "s", pairing_id="in turn")
    host = bounds.host_seconds(taken, [step(), step(("kernel", ADD, 14, 15))])
    assert host.samples == pytest.approx((16 - 14, 13 - 15))
    assert host.pairing_id == taken.pairing_id
    assert bounds.host_share(taken, [step(), step(("kernel", ADD, 14, 15))]).samples == pytest.approx((2 / 16, 0))
    with pytest.raises(ValueError, match="shorter"):
        bounds.host_seconds(taken, [step()])


def test_kernels_of_the_update_are_left_out() -> None:
    found = bounds.kernel_seconds([step(), step(), step(("kernel", ADD, 14, 15))])
    assert found == pytest.approx({"products": 10, "other kernels": 3, "copies": 0})


def test_on_a_gpu_they_are_known_by_their_names_and_not_by_the_hosts_phases() -> None:
    update = "void at::native::multi_tensor_apply_kernel<at::native::FusedAdamMathFunctor<float, 4>>"
    other = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor>"
    seen = [Interval("training step", 0, 20, "step"), Interval("update", 0, 2, "phase")]
    seen += [Interval(update, 10, 14, "kernel"), Interval(other, 0, 3, "kernel")]
    assert bounds.kernel_seconds([seen], on_gpu=True)["other kernels"] == pytest.approx(3)


def test_bounds_by_hand() -> None:
    found = bounds.speedups(plain(16), [step()])
    expected = {"both": 16 / 10, "blocks compiled": 16 / (10 + 1), "fused update": 16 / (16 - 3)}
    assert found == pytest.approx(expected)
    assert bounds.speedups(plain(16), [step()], on_gpu=True) == pytest.approx({"both": 16 / 10})


@pytest.mark.parametrize("seconds", [1e-6, 1, 1e6])
def test_no_pause_makes_a_bound_less_than_one_or_infinite(seconds: float) -> None:
    assert all(1 <= bound <= 100 for bound in bounds.speedups(plain(seconds), [step()]).values())
