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


def test_cudnn_stays_on_in_training(run: Run) -> None:
    assert not run("""
import torch
from dlperf.compilers import compilation
seen, cross_entropy = [], compilation.F.cross_entropy
def loss(*given):
    seen.append((torch.backends.cudnn.enabled, torch.backends.cudnn.allow_tf32))
    return cross_entropy(*given)
compilation.F.cross_entropy = loss
step, _ = compilation.training(False, "cuda")
step()
assert seen == [(True, False)], seen
""")


def test_a_gpu_for_which_nothing_can_be_packaged_does_not_end_the_page(run: Run) -> None:
    """A compiler for CUDA that happens to be on the path made CUDA_HOME look as if there were all that is needed."""
    assert not run("""
import tempfile, warnings
from pathlib import Path
import torch
from torch.utils import cpp_extension
cpp_extension.CUDA_HOME = "/usr"
from dlperf.compilers import deploy
net = torch.nn.Linear(4, 2).cuda()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    made = deploy.packages(net, {n: [torch.ones(n, 4, device="cuda")] for n in (1, 2)}, Path(tempfile.mkdtemp()))
assert made == {}
assert any("AOTInductor made no package for cuda:0 here: " in str(w.message) for w in said)
""")


def test_the_timing_of_a_gpu_passes_its_own_tests(run: Run) -> None:
    own = [str(ROOT / "tests" / name) for name in ("test_timing.py", "slow/compilers/test_cuda_graphs.py")]
    assert not run(f"import pytest\nassert pytest.main(['-q', '-x', '-p', 'no:cacheprovider', *{own}]) == 0")
