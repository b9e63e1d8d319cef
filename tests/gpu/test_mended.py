"""What was wrong for a GPU, and is not any more."""

from __future__ import annotations

from tests.gpu.conftest import ROOT, Run


def test_a_kernel_on_another_gpu_than_the_current_one_is_waited_for(run: Run) -> None:
    assert not run("""
import torch
from dlperf.timing import measure
def busy():
    with torch.cuda.device(1):
        torch.cuda._sleep(2_000_000)  # a millisecond
assert torch.cuda.current_device() == 0
assert min(measure(busy, repeats=3, device="cuda:1").samples) > 0.0009
""")


def test_side_streams_wait_for_what_came_before_and_not_for_one_another(run: Run) -> None:
    """Side streams come from a pool: one of them may be the stream that captures."""
    assert not run("""
import torch
from dlperf.parallel import saturation
done, products, record = [], saturation.products, torch.cuda.Stream.record_event
saturation.products = lambda *given: (done.append("products"), products(*given))[0]
torch.cuda.Stream.record_event = lambda *given: (done.append("event"), record(*given))[1]
def capture(way):
    done.append("way")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        way()
    torch.cuda.synchronize()
    class Nothing:
        replay = staticmethod(lambda: None)
    return Nothing()
saturation.against_streams("cuda", 16, capture, streams=4, repeats=1)
spread = done[done.index("way", done.index("way") + 1) + 1:][:9]
assert spread == ["event"] + 4 * ["products"] + 4 * ["event"], spread  # the last are what the end waits for
""")


def test_the_timing_of_a_gpu_passes_its_own_tests(run: Run) -> None:
    own = [str(ROOT / "tests" / name) for name in ("test_timing.py", "compilers/test_cuda_graphs.py")]
    assert not run(f"import pytest\nassert pytest.main(['-q', '-x', '-p', 'no:cacheprovider', *{own}]) == 0")
