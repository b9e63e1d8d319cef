"""What cannot be simulated, and what happens instead: compiling for a GPU, the profiler's view of one, and NCCL."""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Any

COPY_US = 2.0
"""So many microseconds does a made-up kernel take in the profiler."""


def install(torch: ModuleType) -> None:
    """Tells the module ``torch``, now that it is imported, that it was built with CUDA."""
    torch.version.cuda = "13.0"
    torch.backends.cuda.is_built = lambda: True
    torch.cuda._device_count_nvml = lambda: -1
    _compile(torch)
    _profile(torch)
    _resize(torch)
    _communicate()


def _compile(torch: ModuleType) -> None:
    """Inductor makes code for the CPU as ever; for a simulated GPU, without Triton, the captured graph is run."""
    real = torch.compile

    def compile(
        model: Any = None, *, backend: Any = "inductor", mode: Any = None, options: Any = None, **rest: Any
    ) -> Any:
        if backend != "inductor" or model is None:
            return real(model, backend=backend, mode=mode, options=options, **rest)

        def chosen(graph: Any, inputs: Any, **_: Any) -> Any:
            if any(isinstance(x, torch.Tensor) and x.is_cuda for x in inputs):
                return graph.forward
            return torch._TorchCompileInductorWrapper(mode, options, rest.get("dynamic"))(graph, inputs)

        return real(model, backend=chosen, **rest)

    torch.compile = compile


def _resize(torch: ModuleType) -> None:
    """A GPU's memory changes its size in place, as FSDP has it do, though PyTorch for the CPU cannot."""
    real = torch.UntypedStorage.resize_

    @functools.wraps(real)
    def resize_(self: Any, size: int) -> Any:
        if self.device.type != "cuda":
            return real(self, size)
        whole = torch.empty(0, dtype=torch.uint8, device=self.device).set_(self)
        torch.ops.simulated.resize_storage(whole, size)
        return self

    torch.UntypedStorage.resize_ = resize_


def _communicate() -> None:
    """Where a program asks for NCCL, or for nothing, it gets gloo, which the library gives the GPUs' memory.

    With ``SIMULATED_CUDA_NCCL`` it is told that it has NCCL; else it may take gloo for what joins the CPU's tensors.
    Gloo joins these too, and NCCL does not: a program that sends them to it by mistake is not seen here.
    """
    import torch.distributed as dist

    core = dist.distributed_c10d
    begin = core.init_process_group

    told, asked = core.get_backend, list[str | None]()

    @functools.wraps(begin)
    def init_process_group(backend: str | None = None, *rest: Any, **named: Any) -> None:
        asked[:] = [backend]
        begin(backend.replace("nccl", "gloo") if backend else "gloo", *rest, **named)

    @functools.wraps(told)
    def get_backend(group: Any = None) -> str:
        return "nccl" if asked == ["nccl"] else told(group)  # what it asked for: its tensors are a GPU's

    default = dist.get_default_backend_for_device
    core.Backend.default_device_backend_map["cuda"] = "gloo"
    dist.init_process_group = core.init_process_group = init_process_group
    if os.environ.get("SIMULATED_CUDA_NCCL"):
        dist.get_backend = get_backend
        dist.get_default_backend_for_device = lambda of: "nccl" if str(of).startswith("cuda") else default(of)


def _profile(torch: ModuleType) -> None:
    """Each outermost operator gets a made-up kernel, each range its copy: a CPU's profiler cannot follow a GPU."""
    import torch.profiler as profiler
    from torch.autograd import DeviceType
    from torch.autograd.profiler_util import EventList, FunctionEvent

    begin, seen = profiler.profile.__init__, profiler.profile.events

    def init(self: Any, *, activities: Any = None, **rest: Any) -> None:
        self.simulated = activities is None or profiler.ProfilerActivity.CUDA in activities
        begin(self, activities=[profiler.ProfilerActivity.CPU], **rest)

    def is_operator(event: Any) -> bool:
        return event is not None and event.name.startswith("aten::")

    def on_gpu(event: Any, number: int) -> FunctionEvent:
        start = event.time_range.start + 3
        length = COPY_US if is_operator(event) else event.time_range.end - event.time_range.start
        return FunctionEvent(
            id=10**9 + number,
            name=f"kernel of {event.name}" if is_operator(event) else event.name,
            thread=0,
            start_us=start,
            end_us=start + length,
            device_type=DeviceType.CUDA,
            is_user_annotation=not is_operator(event),
        )

    def events(self: Any) -> Any:
        found = seen(self)
        if not self.simulated:
            return found
        outermost = [e for e in found if not (is_operator(e) and is_operator(e.cpu_parent))]
        return EventList([*found, *(on_gpu(e, i) for i, e in enumerate(outermost))], use_device="cuda")

    profiler.profile.__init__, profiler.profile.events = init, events
