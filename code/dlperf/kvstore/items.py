"""A part of a value, as its server has it: the bytes, what the updater keeps beside them, and the round's sum."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import torch
from torch import Tensor

from dlperf.kvstore import updaters, wire
from dlperf.kvstore.errors import Refused


class Spec(msgspec.Struct, frozen=True, array_like=True):
    """What a part is: all that must agree where two workers create it."""

    dtype: wire.Dtype
    shape: wire.Shape
    updater: updaters.Any_


class Item:
    """One part. ``value`` is changed in place by pushes: by each at once, or by all those of a round together.

    Pushes of a round are added up as they come, in the order that all replicas see, so these agree to the last bit.
    Raises `Refused` where the bytes are not those of the shape.
    """

    def __init__(self, spec: Spec, payload: Any) -> None:
        dtype = wire.DTYPES[spec.dtype]
        try:
            updaters.check(spec.updater, dtype)
        except ValueError as error:
            raise Refused("other shape", str(error)) from None
        self.spec, self.steps = spec, 0
        self.value = wire.from_bytes(payload, dtype, spec.shape).clone()
        self.slots = {name: torch.zeros_like(self.value) for name in spec.updater.slots}
        self.sum: Tensor | None = None
        self.pushed: list[Tensor | None] = []  # the rows of each push of the round; None stands for all
        self._read: Callable[[], Any] = lambda: None  # the value's bytes, if they have been read and somebody has them

    def parse(self, payload: Sequence[Any]) -> tuple[Tensor, Tensor | None]:
        """Returns what a push brings, and its rows; raises `Refused` where it does not fit the part."""
        if not 1 <= len(payload) <= 2:
            raise Refused("malformed", f"a push has a frame of numbers, and perhaps one of rows; got {len(payload)}")
        rows = self.rows(payload[1]) if len(payload) == 2 else None
        shape = self.value.shape if rows is None else (len(rows), *self.value.shape[1:])
        return wire.from_bytes(payload[0], self.value.dtype, shape), rows

    def rows(self, payload: Any) -> Tensor:
        """Returns row numbers; raises `Refused` where they are not rows of the part, or one comes twice."""
        if self.value.dim() != 2:
            raise Refused("other shape", "only a table has rows, and this is none")
        if len(payload) % 8:
            raise Refused("malformed", f"row numbers have 8 bytes each, got {len(payload)} bytes")
        rows = wire.from_bytes(payload, torch.int64, (len(payload) // 8,))
        low, high = (int(rows.min()), int(rows.max())) if len(rows) else (0, -1)
        if low < 0 or high >= len(self.value):
            raise Refused("other shape", f"rows are 0 to {len(self.value) - 1}, got {low} to {high}")
        if len(rows.unique()) != len(rows):
            raise Refused("other shape", "a row comes twice: add up what belongs to one row before it is pushed")
        return rows

    def update(self, pushed: Tensor, rows: Tensor | None) -> None:
        """Has the updater take a step, with these rows only or with all."""
        self.steps += 1
        if self._read() is not None:  # they are still on their way
            self.value, self._read = self.value.clone(), lambda: None
        if rows is None:
            self.spec.updater.step(self.value, pushed, self.slots, self.steps)
            return
        value, slots = self.value[rows], {name: slot[rows] for name, slot in self.slots.items()}
        self.spec.updater.step(value, pushed, slots, self.steps)
        self.value[rows] = value
        for name, slot in slots.items():
            self.slots[name][rows] = slot

    def collect(self, pushed: Tensor, rows: Tensor | None) -> None:
        """Adds to the round's sum. The first push of all rows is the sum, where it came: that is not written to."""
        if rows is None:
            self.sum = pushed if self.sum is None else self.sum + pushed
        else:
            if self.sum is None:
                self.sum = torch.zeros_like(self.value)
            elif self.pushed == [None]:
                self.sum = self.sum.clone()
            self.sum.index_add_(0, rows, pushed)
        self.pushed.append(None if rows is None else rows.clone())

    def end_round(self) -> None:
        """Has the updater take one step with the round's sum, if anything was pushed."""
        if self.sum is None:
            return
        rows = self._touched()
        self.update(self.sum if rows is None else self.sum[rows], rows)
        self.sum, self.pushed = None, []

    def _touched(self) -> Tensor | None:
        some = [rows for rows in self.pushed if rows is not None]
        return torch.cat(some).unique() if len(some) == len(self.pushed) else None

    def read(self, rows: Any | None = None) -> memoryview:
        """Returns the value's bytes, or those of rows.

        They stay what they are as long as somebody has them: meanwhile a push changes a copy.
        """
        if rows is not None:
            return wire.to_bytes(self.value[self.rows(rows)])
        found = self._read()
        if found is None:
            found = wire.to_bytes(self.value).obj  # which every view of the bytes keeps alive
            self._read = weakref.ref(found)
        return memoryview(found)

    def save(self) -> tuple[Saved, list[bytes]]:
        """Returns all of the part, as a header and frames, for `load` on another server or on another day."""
        rows = self._touched() if self.pushed else None
        tensors = [self.value, *self.slots.values()]
        tensors += [] if self.sum is None else [self.sum]
        tensors += [] if rows is None else [rows]
        return Saved(self.spec, self.steps, self.sum is not None, rows is not None), [
            bytes(wire.to_bytes(t)) for t in tensors
        ]


class Saved(msgspec.Struct, frozen=True, array_like=True):
    """What a part's frames are: its value, the updater's slots, the round's sum and the sum's rows, where there are."""

    spec: Spec
    steps: wire.Count
    collecting: bool
    some_rows: bool


def load(saved: Saved, frames: Sequence[Any]) -> Item:
    """Returns the part that was saved; raises `Refused` where frames are lacking or of another size."""
    count = 1 + len(saved.spec.updater.slots) + saved.collecting + saved.some_rows
    if len(frames) != count:
        raise Refused("malformed", f"this part has {count} frames, got {len(frames)}")
    item, dtype = Item(saved.spec, frames[0]), wire.DTYPES[saved.spec.dtype]
    item.steps, rest = saved.steps, iter(frames[1:])
    for name in item.slots:
        item.slots[name] = wire.from_bytes(next(rest), dtype, saved.spec.shape).clone()
    if saved.collecting:
        item.sum = wire.from_bytes(next(rest), dtype, saved.spec.shape).clone()
        item.pushed = [None]
    if saved.some_rows:
        item.pushed = [item.rows(next(rest)).clone()]
    return item
