"""The breakdown of a step: shares by hand, against counting unit cells, and of real steps whose kinds are known."""

from __future__ import annotations

import time

import matplotlib.pyplot as plt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.profiler import record_function

from dlperf import breakdown, profiles
from dlperf.profiles import Interval

MM, ADD, COPY = "aten::mm", "aten::add", "aten::copy_"


def step(*parts: tuple[str, str, float, float]) -> list[Interval]:
    return [Interval("training step", 0, 10, "step"), *(Interval(n, a, b, lane) for lane, n, a, b in parts)]


def test_shares_by_hand() -> None:
    seen = step(("phase", "data", 0, 2), ("kernel", MM, 3, 6), ("kernel", ADD, 6, 7), ("kernel", COPY, 8, 9))
    expected = {"data": 0.2, "products": 0.3, "other kernels": 0.1, "copies": 0.1, "host": 0.3}
    assert breakdown.parts(seen) == pytest.approx(dict.fromkeys(breakdown.KINDS, 0) | expected)


def test_on_a_gpu_a_kernel_hides_all_else_and_on_a_cpu_the_data_hide_their_kernels() -> None:
    seen = step(("phase", "data", 0, 6), ("kernel", MM, 2, 4), ("wait", "cudaDeviceSynchronize", 3, 9))
    on_gpu, on_cpu = breakdown.parts(seen, on_gpu=True), breakdown.parts(seen)
    assert (on_gpu["products"], on_gpu["data"], on_gpu["waiting"]) == pytest.approx((0.2, 0.4, 0.3))
    assert (on_cpu["products"], on_cpu["data"], on_cpu["waiting"]) == pytest.approx((0, 0.6, 0.3))


LANES = st.sampled_from(
    [
        ("kernel", MM),
        ("kernel", ADD),
        ("kernel", COPY),
        ("message", "gloo:all_reduce"),
        ("phase", "data"),
        ("wait", "w"),
    ]
)


@given(
    st.lists(st.tuples(LANES, st.tuples(st.integers(0, 10), st.integers(0, 10)).map(sorted)), max_size=8), st.booleans()
)
def test_shares_are_those_of_unit_cells(drawn, on_gpu) -> None:
    seen = step(*((lane, name, a, b) for (lane, name), (a, b) in drawn))
    ranks = ["products", "other kernels", "copies", "communication"]
    ranks = [*ranks, "data", "waiting"] if on_gpu else ["data", *ranks, "waiting"]
    kinds = {MM: "products", ADD: "other kernels", COPY: "copies"}
    kinds |= {"gloo:all_reduce": "communication", "data": "data", "w": "waiting"}
    counted = dict.fromkeys(breakdown.KINDS, 0)
    for cell in range(10):
        here = {kinds[name] for (_, name), (a, b) in drawn if a <= cell < b}
        counted[next((rank for rank in ranks if rank in here), "host")] += 1
    assert breakdown.parts(seen, on_gpu) == pytest.approx({name: n / 10 for name, n in counted.items()})


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("aten::convolution_backward", "products"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "products"),
        ("aten::gelu", "other kernels"),
        ("aten::_to_copy", "copies"),
        ("ampere_sgemm_128x64_nn", "products"),
        ("void pytorch_flash::flash_fwd_kernel<...>", "products"),
        ("sm80_xmma_fprop_implicit_gemm_indexed", "products"),
        ("void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*, int)", "products"),
        ("void flip_filter<float, float>(float*, float const*, int, int, int, int)", "products"),
        ("void at::native::vectorized_elementwise_kernel<4, ...>", "other kernels"),
        ("triton_poi_fused_convolution_relu_0", "other kernels"),
        ("triton_tem_fused_mm_3", "products"),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16", "products"),
        ("void at::native::direct_copy_kernel_cuda<...>", "copies"),
        ("Memset (Device)", "other kernels"),
        ("Memcpy HtoD (Pageable -> Device)", "copies"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication"),
    ],
)
def test_kernels_have_a_kind(kernel: str, kind: str) -> None:
    assert breakdown.kind(kernel) == kind


def test_a_real_step_that_sleeps_loads_and_multiplies() -> None:
    x = torch.randn(512, 512)

    def sick() -> None:
        with record_function("data"):
            time.sleep(0.03)
        time.sleep(0.02)
        x @ x

    traces = profiles.traces(sick, "cpu", steps=3, warm_up=1)
    for trace in traces:
        shares, length = breakdown.parts(trace), profiles.length(trace)
        assert sum(shares.values()) == pytest.approx(1)
        assert shares["data"] * length >= 0.99 * 0.03  # the profiler has a clock of its own
        assert shares["host"] * length >= 0.99 * 0.02
        assert shares["products"] > 0
        assert shares["copies"] == shares["communication"] == 0
    assert sum(breakdown.typical(traces).values()) == pytest.approx(1)


def test_a_bar_shows_what_occurs_and_ends_at_the_whole() -> None:
    _, axes = plt.subplots()
    shares = dict.fromkeys(breakdown.KINDS, 0.0) | {"products": 0.6, "host": 0.4}
    breakdown.draw(axes, {"one": shares, "other": shares})
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["products", "host"]
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches]
    assert max(ends) == pytest.approx(100)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "other"]
    plt.close("all")


def test_the_timeline_has_a_row_for_each_lane() -> None:
    _, axes = plt.subplots()
    breakdown.timeline(axes, step(("phase", "forward", 0, 5), ("operator", MM, 1, 4), ("kernel", MM, 2, 3)))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["kernel", "operator", "phase"]
    assert [text.get_text() for text in axes.texts] == ["forward"]
    plt.close("all")


def test_a_loop_that_was_generated_for_a_cpu_is_no_product_whatever_it_is_named_after() -> None:
    name = "graph_0_cpp_fused__scaled_dot_product_flash_attention_for_cpu_clone_1"
    assert profiles.computes(name)
    assert breakdown.kind(name) == "other kernels"
    assert breakdown.kind("fmha_attention_kernel") == "products"
