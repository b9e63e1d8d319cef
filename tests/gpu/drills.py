"""Short programs that need every wait of a module: each fails where one is missing, if a simulation can tell.

Times are those of the virtual clock (`simulated_cuda.clock`), on which a kernel that sleeps takes exactly its time and
other work next to none: a clock that stops too early, or begins too early, shows, however busy the machine is.
"""

from __future__ import annotations

SYSTEM_CLOCK = """
import time, torch
from simulated_cuda import use_virtual_clock
busy = lambda seconds=0.02: torch.cuda._sleep(int(seconds * 1.98e9))
def taken(fn):
    start = time.perf_counter()
    fn()
    return time.perf_counter() - start
"""

START = SYSTEM_CLOCK + "use_virtual_clock()\n"

JOIN = """
import os, tempfile
from dlperf.multigpu import group
group.join(0, 1, os.path.join(tempfile.mkdtemp(), "store"))
"""
"""A process group of one, whose device is the GPU."""

DRILLS = {
    "device.py": """
from dlperf.device import synchronize
busy()
synchronize("cuda")
assert torch.cuda.current_stream().query()
""",
    "timing.py": """
from dlperf import timing
with timing.Benchmark(sync="cuda") as clock:
    busy()
assert clock.seconds > 0.015
assert min(timing.measure(busy, repeats=2, device="cuda").samples) > 0.015
""",
    "measuring/pitfalls.py": """
from dlperf.measuring import pitfalls
assert min(pitfalls.clock_calls(busy, 2, "cuda")) > 0.015
busy(0.2)
assert pitfalls.clock_calls(lambda: None, 1, "cuda")[0] < 0.1
submit, wait = pitfalls.queue_and_wait("cuda")
submit(busy)
assert taken(wait) > 0.015
""",
    "profiles.py": """
from dlperf import profiles
assert profiles.length(profiles.traces(busy, "cuda", 1, 1)[0]) > 0.015  # the profiler has the system's clock
use_virtual_clock()
def step():
    assert torch.cuda.current_stream().query(), "the step before was not waited for"
    busy()
profiles.traces(step, "cuda", 2, 1)
assert torch.cuda.current_stream().query()
assert min(profiles.traced_and_plain(busy, "cuda", 1)[1].samples) > 0.015
""",
    "asynchrony/blocking.py": """
from dlperf.asynchrony import blocking
programs = blocking.blockers_on_gpu(torch.device("cuda"), 64)
for name, program in programs.items():
    busy()
    assert program()[1] > 0.015, name
""",
    "asynchrony/streams.py": """
from dlperf.asynchrony import streams
two = streams.branches("cuda", 20_000_000)["two streams"]
side = [torch.cuda.Stream() for _ in range(32)][-1]  # the pool has 32: the one in use, once more
busy(0.1)
two()
assert taken(side.synchronize) > 0.05, "the side did not wait for the main stream"
torch.cuda.synchronize()
with torch.cuda.stream(side):
    busy(0.1)
two()
assert taken(torch.cuda.current_stream().synchronize) > 0.05, "the main stream did not wait for the side"
assert streams.reused_while_pending("cuda", 2**10)
assert torch.cuda.current_stream().query()
""",
    "asynchrony/engine/scheduler.py": """
from dlperf.asynchrony.engine import Engine
with Engine(["cuda:0", "cuda:1", "cpu"]) as engine:
    x = engine.array(torch.ones(64, 64))
    y = (x @ x + 1).to("cuda:1")
    z = (y @ y).to("cpu")
    assert z.sum().item() == 64 * 64 * 65 * 65 * 64
    x += 1
    assert (x + x).asnumpy().sum() == 4 * 64 * 64
""",
    "asynchrony/engine/arrays.py": """
from dlperf.asynchrony.engine import Engine
with Engine(["cuda:0"]) as engine:
    for draw in (lambda: torch.ones(64, 64), lambda: torch.ones(64, 64, device="cuda") + 1):
        assert (engine.array(draw()) + 0).sum().item() >= 64 * 64
""",
    "compilers/cuda_graphs.py": """
from dlperf.compilers import cuda_graphs
x = torch.ones(4, device="cuda")
graph = cuda_graphs.capture(lambda: x.mul_(2))
graph.replay()
x.add_(1)
assert x.tolist() == [17] * 4
cuda_graphs.behind_a_gate(cuda_graphs.tiny_kernels(5, "cuda"), 5, torch.device("cuda"), 1000)
""",
    "compilers/dispatch.py": """
from dlperf.compilers import dispatch
busy(0.2)
assert dispatch.add_in_python(1, 1, torch.device("cuda"))[1] < 0.1
dispatch.additions(1, torch.device("cuda"), 1, warm_up=0)
real, torch.add = torch.add, lambda *_: busy()
assert dispatch.add_in_python(1, 2, torch.device("cuda"))[1] > 0.015
""",
    "compilers/price.py": """
from dlperf.compilers import price
class Odd:
    model, calls = None, 0
    def __call__(self):
        self.calls += 1
        busy(0.2 if self.calls == 1 else 0.02)
price.steps.gpt_step = lambda device: Odd()
price.WAYS["as it is"] = lambda model: None
assert 0.015 < price.first_step("as it is", "cuda")[0] < 0.1
""",
    "parallel/compute_and_copy.py": """
from dlperf.parallel import compute_and_copy as both
results = both.Results(4, 300, 300, "cuda")
for _ in range(2):
    for steps in (both.products_first(4), both.each_then_its_copy(4)):
        for copy in (results.copy_kept, results.copy_pinned):
            both.run_on_gpu(results, steps, copy, 2)
            for product, copied in zip(results.products, results.copies):
                assert torch.equal(copied, product.cpu())
""",
    "parallel/saturation.py": """
from dlperf.compilers import cuda_graphs
from dlperf.parallel import saturation
for _ in range(5):  # the pool's 32 streams go round
    saturation.against_streams("cuda:0", 16, cuda_graphs.capture, repeats=1)
class Busy:
    replay = staticmethod(busy)
found = saturation.against_streams("cuda:0", 16, lambda way: Busy(), repeats=1)
assert min(m.median for m in found.values()) * 256 > 0.015
""",
    "parallel/overlap.py": """
from dlperf.parallel import overlap
work = overlap.Product(rows=64, inner=4, columns=32, chunks=4)
copy = torch.Tensor.copy_
torch.Tensor.copy_ = lambda *given, **named: (copy(*given, **named), busy() if named else None)[0]
for how in overlap.Strategy:
    trial = overlap.to_host("cuda:0", work, how)
    if how is overlap.Strategy.IN_TURN:
        begins = [begin for begin, _ in trial.computed]
        assert all(begin >= arrived for begin, arrived in zip(begins[1:], trial.arrived)), trial
""",
    "multigpu/declared.py": JOIN
    + """
from dlperf.multigpu import declared
declared.time.sleep = lambda seconds: busy()
assert declared.declared_seconds(0, 1, declared.Declared(0, 0, (4,)), 1) > 0.015
""",
    "multigpu/link.py": JOIN
    + """
from dlperf.multigpu import link
link.first = lambda k: None
link.send_and_receive = lambda messages, group: busy()
assert link.there_and_back(0, 1, 4) > 0.015
class Sent:
    wait = staticmethod(busy)
link.dist.all_reduce = lambda *args, **options: Sent
assert link.begun_at_once(0, 1, 4, 1) > 0.015
""",
    "multigpu/reduce_costs.py": JOIN
    + """
from dlperf.multigpu import reduce_costs
reduce_costs.ALGORITHMS["ring"] = lambda tensor, group: busy()
assert reduce_costs.all_reduce(0, 1, "ring", 1, 8)[0] > 0.015
""",
    "multigpu/scaling.py": JOIN
    + """
from dlperf.multigpu import scaling
class Own:
    model = optimizer = torch.nn.Linear(1, 1).cuda()
    inputs = targets = torch.zeros(1, device="cuda")
scaling._step = lambda *_: Own
scaling.train_batch = lambda *_: busy()
assert scaling.step_seconds(0, 1, 1, 1) > 0.015
""",
    "multigpu/split_steps.py": JOIN
    + """
from dlperf.multigpu import split_steps
class Here:
    device = torch.device("cuda")
    run = staticmethod(lambda link: busy())
split_steps.place = lambda *_: Here
trace = split_steps.step(0, 1, None)
assert trace.end - trace.begin > 0.015
busy(0.2)
Here.run = staticmethod(lambda link: None)
trace = split_steps.step(0, 1, None)
assert trace.end - trace.begin < 0.1
""",
    "multigpu/tracing.py": """
from dlperf.multigpu.data_parallel import train_batch
from dlperf.multigpu.tracing import Tracer
model = torch.nn.Linear(4, 3).cuda()
sgd = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.zeros(2, 4, device="cuda"), torch.zeros(2, dtype=torch.long, device="cuda")
with Tracer(model, sgd, torch.device("cuda")) as tracer:
    train_batch(model, sgd, x, y, 2, busy)
assert tracer.trace().waiting > 0.015
""",
    "servers/step.py": JOIN
    + """
import contextlib, msgspec
from dlperf.kvstore import Config
from dlperf.servers import step
class Share:
    model = torch.nn.Linear(1, 1).cuda()
class Task:
    share = staticmethod(lambda *_: Share)
step.connect = lambda *_: contextlib.nullcontext()
step.create = lambda *_: []
step.train_step = lambda *_: busy()
step.reduced_step = lambda *_: (Share.model.weight.data.add_(1), busy())
config = Config(scheduler="127.0.0.1:5570", servers=("127.0.0.1:5571",), workers=1)
found = step.both(0, 1, msgspec.json.encode(config), Task, 1)
assert min(found["servers"] + found["all-reduce"]) > 0.015
""",
    "slow/ranks.py": """
import contextlib
from dlperf.slow import ranks
ranks.dist.barrier = lambda: None
ranks.dist.get_rank, ranks.dist.get_world_size = (lambda: 0), (lambda: 1)
ranks.dist.all_gather_object = lambda found, mine: found.__setitem__(0, mine)
class Model:
    no_sync = staticmethod(contextlib.nullcontext)
[found] = ranks.pace(busy, Model, steps=2)
assert min(found["alone"] + found["sends"]) > 0.015
""",
    "hardware/accelerator.py": """
from dlperf.hardware import accelerator
accelerator.launch(torch.device("cuda"), 5)
""",
}
"""Programs by the module that they need, after what comes before each."""


def drill(module: str) -> str:
    """Returns the whole program for a module."""
    return (SYSTEM_CLOCK if module == "profiles.py" else START) + DRILLS[module]


UNSEEN = {
    "asynchrony/streams: torch.cuda.synchronize()": "the first waits until kernels are loaded: there are none to load",
    "asynchrony/engine/arrays: synchronize(gpu)": "it is for GPUs that are not CUDA's, and those are not simulated",
    "asynchrony/engine/scheduler: synchronize(self.device)": "the same",
    "compilers/cuda_graphs: torch.cuda.current_stream().wait_stream(side)": "torch.cuda.graph waits for the device",
    "compilers/cuda_graphs: synchronize(device)": "the first waits for what a real GPU's first call loads",
    "compilers/dispatch: synchronize(device)": "what is timed only asks, and a queue is never full here",
    "parallel/compute_and_copy: torch.cuda.synchronize(self.right.device)": "the run before has waited at its end",
    "parallel/compute_and_copy: torch.cuda.synchronize(device)": "at the start, the run before has waited at its end",
    "parallel/overlap: torch.cuda.synchronize()": "at the start, the first transfer has been waited for",
    "hardware/accelerator: synchronize(device)": "times mean nothing: the clock waits in any case",
}
"""Waits that are not missed, or not all that read so, and why."""
