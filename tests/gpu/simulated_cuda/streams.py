"""Streams, events and graphs: the classes of ``torch._C`` on which ``torch.cuda``'s own are built."""

from __future__ import annotations

import weakref
from types import ModuleType
from typing import Any

from simulated_cuda.library import checked, library, races


def stream_base(c: ModuleType) -> type:
    """Returns the class of a stream, derived from PyTorch's general one."""

    class StreamBase(c.Stream):  # type: ignore[name-defined]
        def __new__(cls, priority=0, stream_id=None, device_index=None, device_type=None, stream_ptr=None):  # type: ignore[no-untyped-def]
            import torch

            torch.cuda._lazy_init()
            if stream_id is None:
                device_index = library().sim_device()
                stream_id = library().sim_new_stream(device_index)
            return c.Stream.__new__(cls, stream_id=stream_id, device_index=device_index, device_type=1)

        @property
        def cuda_stream(self) -> int:
            return self.stream_id

        @property
        def priority(self) -> int:
            return 0

        def query(self) -> bool:
            return bool(library().sim_query_stream(self.device_index, self.stream_id))

        def synchronize(self) -> None:
            checked(library().sim_synchronize_stream(self.device_index, self.stream_id))

        def __eq__(self, other: object) -> bool:
            same = lambda a: (getattr(a, "device_index", None), getattr(a, "stream_id", None))
            return same(self) == same(other)

        def __hash__(self) -> int:
            return hash((self.device_index, self.stream_id))

    return StreamBase


class EventBase:
    """An event: what its stream had waited for when it was recorded, and when that will be done."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):  # type: ignore[no-untyped-def]
        self = object.__new__(cls)
        self.timing, self.clock, self.time, self.device_index = enable_timing, None, None, None
        return self

    def record(self, stream: Any) -> None:
        if self.device_index not in (None, stream.device_index):
            raise RuntimeError("Event device does not match recording stream's device")
        self._forget()
        self.device_index = stream.device_index
        self.clock = library().sim_record(stream.device_index, stream.stream_id)
        self.time = library().sim_tail(stream.device_index, stream.stream_id)

    def wait(self, stream: Any) -> None:
        if self.clock:
            checked(library().sim_block(stream.device_index, stream.stream_id, self.clock, self.time))

    def query(self) -> bool:
        if self.clock and self.time > library().sim_now():
            return False
        self.synchronize()  # who is told that it has happened has waited for it
        return True

    def synchronize(self) -> None:
        if self.clock:
            checked(library().sim_wait(self.clock, self.time))

    def elapsed_time(self, end: EventBase) -> float:
        if not (self.timing and end.timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.clock and end.clock):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (library().sim_heard(self.clock) and library().sim_heard(end.clock)):
            # a GPU may be as slow as it likes: that the event has happened by now is no reason to read it
            raise RuntimeError("CUDA error: device not ready (simulated: the host has not waited for the event)")
        return 1e3 * (end.time - self.time)

    @property
    def cuda_event(self) -> int:
        return self.clock or 0

    def _forget(self) -> None:
        if self.clock:
            library().sim_drop_event(self.clock)
            self.clock = None

    __del__ = _forget


class Graph:
    """A CUDA graph: what was launched while its stream captured."""

    def __new__(cls, keep_graph=False):  # type: ignore[no-untyped-def]
        self = object.__new__(cls)
        self.graph = None
        return self

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        self.device = library().sim_device()
        stream = library().sim_current(self.device)
        if stream == 0:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream.")
        self.graph = library().sim_capture_begin(self.device, stream)
        self._drop = weakref.finalize(self, library().sim_drop_graph, self.graph)  # PyTorch's class has a __del__

    def capture_end(self) -> None:
        if missing := library().sim_capture_end(self.graph):
            raise RuntimeError(f"CUDA error: capturing stream has unjoined work ({missing} streams)")

    def instantiate(self) -> None:
        """Nothing is to be done."""

    def replay(self) -> None:
        if not self.graph:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        if library().sim_replay(self.graph, self.device):
            raise RuntimeError(f"simulated race: {races()[-1]}")

    def reset(self) -> None:
        if self.graph:
            self._drop()
            self.graph = None

    def pool(self) -> tuple[int, int]:
        return (0, 1)
