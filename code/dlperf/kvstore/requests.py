"""Split create, push and pull calls into one request per part of a value, for its key range, with its payload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dlperf.kvstore import placement, wire


@dataclass(frozen=True)
class Made:
    """What a worker knows of a key that it has created. ``parts`` are each part's range, and its elements, or rows."""

    key: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    parts: tuple[tuple[int, slice], ...]
    table: bool

    def flat(self, value: Tensor) -> Tensor:
        """Returns a tensor as parts are cut from it: a table as it is, anything else as a vector."""
        return value if self.table else value.view(-1)


@dataclass(frozen=True)
class Asked:
    """A request, whose epoch and numbers are filled in when it is sent. ``took`` gets the frames of what was read."""

    message: wire.Request
    frames: Sequence[Any] = ()
    took: Callable[[Sequence[Any]], None] = lambda _: None


def made(key: str, value: Tensor, ring: placement.Ring, table: bool) -> Made:
    """Returns what a key will be. Raises ValueError if the store does not take its type or rows."""
    if str(value.dtype).removeprefix("torch.") not in wire.DTYPES:
        raise ValueError(f"{key!r} has a type of {value.dtype}; the store takes {', '.join(wire.DTYPES)}")
    if table and value.dim() != 2:
        raise ValueError(f"a table has two dimensions, got shape {tuple(value.shape)}")
    rows, width = (value.shape[0], value.shape[1]) if table else (value.numel(), 1)
    if width * value.itemsize > wire.PAYLOAD:
        raise ValueError(f"a row of {key!r} has {width * value.itemsize} bytes, and at most {wire.PAYLOAD} are taken")
    slices = placement.cut(rows, width * value.itemsize, ring.servers)
    parts = tuple((ring.home(key, part), piece) for part, piece in enumerate(slices))
    return Made(key, tuple(value.shape), value.dtype, parts, table)


def create(it: Made, value: Tensor, updater: Any) -> list[Asked]:
    """Returns what creates a key with this value."""
    flat, name = it.flat(value.detach().cpu().contiguous()), str(it.dtype).removeprefix("torch.")
    return [
        Asked(
            wire.Create(0, 0, 0, range_, 0, it.key, part, name, tuple(flat[piece].shape), updater),  # type: ignore[arg-type]
            [wire.to_bytes(flat[piece])],
        )
        for part, (range_, piece) in enumerate(it.parts)
    ]


def push(it: Made, value: Tensor) -> list[Asked]:
    """Returns what pushes a tensor. Raises ValueError where it is not of the shape and type that were created."""
    if tuple(value.shape) != it.shape or value.dtype != it.dtype:
        raise ValueError(f"{it.key!r} is {it.shape} of {it.dtype}, got {tuple(value.shape)} of {value.dtype}")
    flat = it.flat(value.detach().cpu().contiguous())
    return [
        Asked(wire.Push(0, 0, 0, range_, 0, it.key, part), [wire.to_bytes(flat[piece])])
        for part, (range_, piece) in enumerate(it.parts)
    ]


def pull(it: Made, result: Tensor) -> list[Asked]:
    """Returns what reads a key into a tensor; raises ValueError where that is not one to read it into."""
    got = tuple(result.shape), result.dtype, result.device.type, result.is_contiguous()
    if got != (it.shape, it.dtype, "cpu", True):
        of = "contiguous" if got[3] else "not contiguous"
        wanted = f"a contiguous tensor {it.shape} of {it.dtype} on the CPU"
        raise ValueError(f"{it.key!r} is read into {wanted}, got {got[0]} of {got[1]} on {got[2]}, {of}")
    flat = it.flat(result.detach())
    return [
        Asked(wire.Pull(0, 0, 0, range_, 0, it.key, part), (), _into(flat[piece]))
        for part, (range_, piece) in enumerate(it.parts)
    ]


def push_rows(it: Made, rows: Tensor, value: Tensor) -> list[Asked]:
    """Returns what pushes some rows of a table; those that come more than once are added up. Raises as `push` does."""
    check_rows(it, rows)
    wanted = (len(rows), it.shape[1])
    if tuple(value.shape) != wanted or value.dtype != it.dtype:
        got = f"{tuple(value.shape)} of {value.dtype}"
        raise ValueError(f"{len(rows)} rows of {it.key!r} are {wanted} of {it.dtype}, got {got}")
    unique, place = rows.unique(return_inverse=True)
    total = torch.zeros((len(unique), it.shape[1]), dtype=it.dtype).index_add_(0, place, value.detach().cpu())
    return [
        Asked(
            wire.Push(0, 0, 0, range_, 0, it.key, part), [wire.to_bytes(total[a:b]), wire.to_bytes(unique[a:b] - start)]
        )
        for part, range_, start, a, b in _by_part(it, unique)
    ]


def pull_rows(it: Made, rows: Tensor, result: Tensor) -> list[Asked]:
    """Returns what reads some rows of a table into a tensor (rows, width)."""
    check_rows(it, rows)
    unique, place = rows.unique(return_inverse=True)
    order = place.argsort(stable=True)
    edges = torch.cat([torch.zeros(1, dtype=torch.int64), place.bincount(minlength=len(unique)).cumsum(0)])
    return [
        Asked(
            wire.Pull(0, 0, 0, range_, 0, it.key, part),
            [wire.to_bytes(unique[a:b] - start)],
            _into_rows(result, order[edges[a] : edges[b]], place, a, b),
        )
        for part, range_, start, a, b in _by_part(it, unique)
    ]


def check_rows(it: Made, rows: Tensor) -> None:
    """Raises ValueError or IndexError where these are not numbers of a table's rows."""
    if rows.dim() != 1 or rows.dtype != torch.int64:
        raise ValueError(f"rows are a list of int64, got {tuple(rows.shape)} of {rows.dtype}")
    if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < it.shape[0]:
        raise IndexError(f"rows of {it.key!r} are 0 to {it.shape[0] - 1}, got {int(rows.min())} to {int(rows.max())}")


def _by_part(it: Made, rows: Tensor) -> list[tuple[int, int, int, int, int]]:
    """Returns each part that has any of these sorted rows: the part, its range and first row, and which of ``rows``."""
    edges = torch.searchsorted(rows, torch.tensor([piece.stop for _, piece in it.parts])).tolist()
    spans = zip(it.parts, [0, *edges], edges, strict=False)
    return [(part, range_, piece.start, a, b) for part, ((range_, piece), a, b) in enumerate(spans) if b > a]


def _into(result: Tensor) -> Callable[[Sequence[Any]], None]:
    def take(frames: Sequence[Any]) -> None:
        result.copy_(wire.from_bytes(frames[0], result.dtype, result.shape))

    return take


def _into_rows(result: Tensor, where: Tensor, place: Tensor, a: int, b: int) -> Callable[[Sequence[Any]], None]:
    def take(frames: Sequence[Any]) -> None:
        got = wire.from_bytes(frames[0], result.dtype, (b - a, *result.shape[1:]))
        result[where] = got[place[where] - a]

    return take
