"""What the simulated GPU computes, waits for, refuses and reports: as PyTorch's own, as far as is documented."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Run

SEEN = "import torch, simulated_cuda\nx = torch.ones(64, 64, device='cuda')\nside = torch.cuda.Stream()\n"
"""A tensor that stream 0 has written, and another stream."""


def test_it_computes_what_a_cpu_computes(run: Run) -> None:
    assert not run("""
import torch
a, b = torch.randn(50, 70), torch.randn(70, 30)
assert torch.equal((a.cuda() @ b.cuda()).cpu(), a @ b)
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2))
grads = []
for device in ("cpu", "cuda"):
    torch.manual_seed(0)
    net = net.to(device).zero_grad() or net.to(device)
    net(torch.ones(3, 1, 8, 8, device=device)).square().mean().backward()
    grads.append([p.grad.cpu().clone() for p in net.parameters()])
for one, other in zip(*grads): torch.testing.assert_close(one, other)
x = torch.arange(6., device="cuda:1").view(2, 3)
assert x.T[1].tolist() == [1, 4] and x[x > 2].tolist() == [3, 4, 5] and str(x.device) == "cuda:1"
""")


@pytest.mark.parametrize(
    ("second", "kind"),
    [
        ("x.add_(1)", "write after write"),
        ("x + 1", "read after write"),
        ("torch.add(x, 1, out=x)", "write after write"),
        ("x[3:5].sum()", "read after write"),
    ],
)
def test_an_access_that_did_not_wait_is_a_race(run: Run, second: str, kind: str) -> None:
    program = SEEN + f"with torch.cuda.stream(side):\n    {{}}\n    {second}"
    found = run(program.format("pass"))
    assert f"simulated race: {kind}" in found
    assert "in cuda:0/stream 1 does not wait for" in found
    for wait in ("side.wait_stream(torch.cuda.default_stream())", "torch.cuda.synchronize()"):
        assert not run(program.format(wait))
    event = "event = torch.cuda.current_stream().record_event()\n"
    assert not run(SEEN + event + f"with torch.cuda.stream(side):\n    side.wait_event(event)\n    {second}")


def test_a_write_waits_for_readers(run: Run) -> None:
    read = SEEN + "side.wait_stream(torch.cuda.default_stream())\nwith torch.cuda.stream(side): y = x + 1\n"
    assert "write after read" in run(read + "x.add_(1)")
    assert not run(read + "torch.cuda.current_stream().wait_stream(side)\nx.add_(1)")
    assert not run(read + "y = x * 2")  # two readers


def test_parts_of_a_tensor_are_apart(run: Run) -> None:
    program = SEEN + "torch.cuda.synchronize()\nx[:32].add_(1)\nwith torch.cuda.stream(side): x[{}:].add_(1)"
    assert not run(program.format(32))
    assert "write after write" in run(program.format(31))


def test_freed_memory_is_dangerous_unless_the_stream_was_recorded(run: Run) -> None:
    program = (
        SEEN
        + """
side.wait_stream(torch.cuda.default_stream())
with torch.cuda.stream(side):
    y = x + 1
{}
place = x.data_ptr()
del x
new = torch.empty(64, 64, device="cuda")
assert new.data_ptr() == place
new.fill_(2)
"""
    )
    assert "write after read" in run(program.format(""))
    assert not run(program.format("x.record_stream(side)"))


def test_what_arrives_in_main_memory_is_not_there_before_the_host_has_waited(run: Run) -> None:
    program = (
        SEEN
        + """
kept = torch.zeros(64, 64, pin_memory=True)
kept.copy_(x, non_blocking=True)
{}
assert kept.sum().item() == 64 * 64, kept.sum()
"""
    )
    assert "AssertionError: tensor(nan)" in run(program.format(""))
    assert not run(program.format("torch.cuda.synchronize()"))
    assert not run(program.format("torch.cuda.current_stream().synchronize()"))
    assert not run(program.format("torch.cuda.current_stream().record_event().synchronize()"))
    assert "AssertionError: tensor(nan)" in run(program.format("side.synchronize()"))
    assert not run(SEEN + "assert x.cpu().sum() == 64 * 64")  # pageable: the call waits


def test_a_clock_of_the_gpu_is_read_only_by_who_has_waited(run: Run) -> None:
    program = """
import torch
from simulated_cuda import use_virtual_clock
use_virtual_clock()
begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
begin.record()
torch.cuda._sleep(20_000_000)
end.record()
assert not end.query()
{}
assert abs(begin.elapsed_time(end) - 20e6 / 1.98e9 * 1e3) < 0.01, "milliseconds of a kernel and a launch"
"""
    assert "device not ready" in run(program.format(""))
    assert not run(program.format("end.synchronize()"))
    assert not run(program.format("torch.cuda.synchronize()"))


def test_each_gpu_is_waited_for_by_itself(run: Run) -> None:
    assert not run("""
import time, torch
from simulated_cuda import use_virtual_clock
use_virtual_clock()
with torch.cuda.device(1):
    torch.cuda._sleep(200_000_000)
start = time.perf_counter()
torch.cuda.synchronize()
assert time.perf_counter() - start < 0.05, "the current device is the first, and idle"
torch.cuda.synchronize(1)
assert time.perf_counter() - start > 0.05
""")


def test_the_clock_of_a_gpu_is_the_system_s_unless_a_program_asks_for_a_virtual_one(run: Run) -> None:
    assert not run("""
import time, timeit, torch
from simulated_cuda import use_virtual_clock
def taken():
    start, there = time.monotonic(), time.perf_counter()
    torch.cuda._sleep(198_000_000)
    assert not torch.cuda.current_stream().query() or time.monotonic() - start > 0.1
    torch.cuda.synchronize()
    return time.monotonic() - start, time.perf_counter() - there
assert min(taken()) >= 0.1
use_virtual_clock()
assert timeit.default_timer is time.perf_counter
spent = [taken()[1] for _ in range(3)]
assert all(abs(seconds - 0.1) < 1e-5 for seconds in spent), spent
torch.cuda._sleep(int(3600 * 1.98e9))
torch.cuda.synchronize()  # nobody waits for an hour: the program would be ended before
""")


def test_a_copy_between_gpus_orders_their_streams(run: Run) -> None:
    assert not run("""
import torch
x = torch.ones(10, device="cuda:0")
y = x.to("cuda:1")
y.add_(1)
x.zero_()
assert y.tolist() == [2] * 10 and x.tolist() == [0] * 10
try:
    x + y
except RuntimeError as error:
    assert "at least two devices, cuda:0 and cuda:1" in str(error)
else:
    raise AssertionError
""")


def test_a_graph_replays_and_its_waits_are_seen_inside(run: Run) -> None:
    program = (
        SEEN
        + """
from dlperf.compilers import cuda_graphs
y = torch.zeros_like(x)
def fn():
    main = torch.cuda.current_stream()
    x.add_(1)
    {0}
    with torch.cuda.stream(side):
        y.copy_(x)
    {1}
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    fn()
x.zero_()
graph.replay()
graph.replay()
assert y.unique().tolist() == [2], y
"""
    )
    waits = "side.wait_stream(main)", "main.wait_stream(side)"
    assert not run(program.format(*waits))
    assert "is no part of the capture" in run(program.format("pass", waits[1]))
    inside = waits[0] + "\n    with torch.cuda.stream(side): x.sum()\n    x.mul_(2)"  # which does not wait for the side
    assert "does not wait for" in run(program.format(inside, waits[1]))
    assert "unjoined work" in run(program.format(waits[0], "pass"))


def test_memory_of_a_graph_is_freed_with_it(run: Run) -> None:
    assert not run(
        SEEN
        + """
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.mul_(2)
del x, graph
assert torch.cuda.memory_allocated() == 0
"""
    )


def test_memory_is_counted_and_ends(run: Run) -> None:
    assert not run("""
import torch
x = torch.empty(2**20, device="cuda")
assert torch.cuda.memory_allocated() == 2**22
del x
assert torch.cuda.memory_allocated() == 0 and torch.cuda.max_memory_allocated() == 2**22
try:
    torch.empty(2**40, device="cuda")
except torch.cuda.OutOfMemoryError:
    pass
else:
    raise AssertionError
""")


def test_waiting_calls_are_found_in_debug_mode(run: Run) -> None:
    assert not run("""
from dlperf.asynchrony import blocking
found = blocking.found_waiting("cuda")
assert [name for name, waits in found.items() if not waits] == ["x + 1", "x.sum()", "x.shape"], found
""")


def test_side_streams_come_from_a_pool_of_32(run: Run) -> None:
    assert not run("""
import torch
streams = [torch.cuda.Stream() for _ in range(33)]
assert len({s.stream_id for s in streams}) == 32 and streams[0] == streams[32]
""")


@pytest.mark.parametrize("large", ["torch.ones(2000, 2000, device='cuda')", "torch.rand(2000, 2000).cuda()"])
def test_large_kernels_may_only_take_time(run: Run, large: str) -> None:
    settings = "import os; os.environ['SIMULATED_CUDA_MOST_KILOELEMENTS'] = '1000'; import sys; "
    again = f"""
import subprocess, sys, os
program = '''
import torch, simulated_cuda
x = {large}
y = x @ x
assert y.shape == (2000, 2000) and (x + 1).sum().shape == () and x[:, :3].T.shape == (3, 2000)
assert simulated_cuda.counts()["skipped"] >= 3
'''
given = {{**os.environ, "SIMULATED_CUDA_MOST_KILOELEMENTS": "1000"}}
subprocess.run([sys.executable, "-c", program], env=given, check=True)
"""
    assert not run(settings + again)
