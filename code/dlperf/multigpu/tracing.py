"""Trace a device's training step by PyTorch's hooks: forward pass, gradients, messages and update.

On a GPU, moments are events in its streams; on a CPU, `time.perf_counter`, which all processes of a machine share.
The chapter *Training on multiple GPUs, from scratch* draws it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dlperf.device import has_cuda, synchronize
from dlperf.spans import Span


@dataclass(frozen=True)
class StepTrace:
    """Moments of a device's step, in seconds.

    ``ready`` is when each gradient was there and ``gradient_bytes`` its size, both in the order of the backward
    pass. ``sent`` is when each message was handed over, ``arrived`` when its sum was there, ``message_bytes`` its size.
    ``processor`` are the seconds in which the process had a core, all its threads together.
    """

    begin: float
    forward_end: float
    ready: tuple[float, ...]
    gradient_bytes: tuple[int, ...]
    sent: tuple[float, ...]
    arrived: tuple[float, ...]
    message_bytes: tuple[int, ...]
    update: float
    end: float
    processor: float = 0.0

    @property
    def seconds(self) -> float:
        """From the beginning of the forward pass until the weights are changed."""
        return self.end - self.begin

    @property
    def backward_end(self) -> float:
        """When the last gradient was there."""
        return max(self.ready, default=self.forward_end)

    @property
    def computing(self) -> float:
        """The seconds of the forward and the backward pass, and of the update."""
        return self.backward_end - self.begin + self.end - self.update

    @property
    def waiting(self) -> float:
        """The seconds between the last gradient and the update: for other devices, and for what they send."""
        return self.update - self.backward_end

    def messages(self) -> list[Span]:
        """Returns when each message was on the link: it waits for those that were sent before it."""
        free = self.begin
        spans = []
        for start, end in sorted(zip(self.sent, self.arrived, strict=True)):
            spans.append((max(start, free), max(end, free)))
            free = max(end, free)
        return spans


class Tracer(AbstractContextManager):
    """Notes when a step of ``model`` and ``optimizer`` on ``device`` does what; `trace` returns it after the block."""

    def __init__(self, model: nn.Module, optimizer: Optimizer, device: torch.device) -> None:
        self.model, self.optimizer, self.device = model, optimizer, device
        self._marks: dict[str, Any] = {}
        self._ready: list[tuple[Any, int]] = []
        self._messages: list[Any] = []
        self._side = torch.cuda.Stream(device) if has_cuda(device) else None

    def __enter__(self) -> Tracer:
        mark = lambda name: lambda *_: self._marks.__setitem__(name, self._now())
        self._handles: list[Any] = [
            self.model.register_forward_pre_hook(mark("begin")),
            self.model.register_forward_hook(mark("forward_end")),
            self.optimizer.register_step_pre_hook(mark("update")),
            self.optimizer.register_step_post_hook(mark("end")),
        ]
        for weights in self.model.parameters():
            self._handles.append(weights.register_post_accumulate_grad_hook(self._is_ready))
        self._processor = process_time()
        return self

    def __exit__(self, *error: Any) -> None:
        self._processor = process_time() - self._processor
        for handle in self._handles:
            handle.remove()

    def all_reduce(self, sum_up: Callable[[Tensor], Any]) -> Callable[[Tensor], None]:
        """Returns an all-reduce that waits for its sum, and is traced."""

        def traced(tensor: Tensor) -> None:
            sent = self._now()
            sum_up(tensor)
            self._messages.append((sent, self._now(), tensor.nbytes))

        return traced

    def send(self, begin_to: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
        """Returns an all-reduce that returns at once what one can wait for, and is traced."""

        def traced(tensor: Tensor) -> Any:
            message = [self._now(), None, tensor.nbytes]
            self._messages.append(message)
            work = begin_to(tensor)
            if self._side:  # a stream of its own waits, and the others go on
                with torch.cuda.stream(self._side):
                    work.wait()
                    message[1] = self._now()
                return work
            return work.get_future().then(lambda _: message.__setitem__(1, self._now()))

        return traced

    def trace(self) -> StepTrace:
        """Returns the moments, after all that the device has queued."""
        synchronize(self.device)
        zero = self._marks["begin"]
        at = lambda mark: zero.elapsed_time(mark) / 1e3 if has_cuda(self.device) else mark
        ready, weighs = zip(*self._ready, strict=True)
        sent, arrived, sizes = zip(*self._messages, strict=True) if self._messages else ((), (), ())
        return StepTrace(
            **{name: at(mark) for name, mark in self._marks.items()},
            ready=tuple(map(at, ready)),
            gradient_bytes=weighs,
            sent=tuple(map(at, sent)),
            arrived=tuple(map(at, arrived)),
            message_bytes=sizes,
            processor=self._processor,
        )

    def _is_ready(self, weights: Tensor) -> None:
        assert weights.grad is not None
        self._ready.append((self._now(), weights.grad.nbytes))

    def _now(self) -> Any:
        if not has_cuda(self.device):
            return perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event
