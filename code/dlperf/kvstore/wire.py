"""Wire format of the key-value store: a typed MessagePack header and raw tensor bytes; no code is executed.

Headers are MessagePack, decoded into types: a field that is lacking, of another type or out of bounds is refused
before anybody looks at it. Bytes of tensors are sent as they lie in memory, little-endian.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
import torch
from torch import Tensor

from dlperf.kvstore import updaters
from dlperf.kvstore.errors import Refused

# Tensors are made on bytes that have come, without a copy. PyTorch has no tensor that must not be written to, and
# says so; nothing writes to these.
warnings.filterwarnings("ignore", message="The given buffer is not writable")

HEADER = 2**16
"""The most bytes of a header."""

PAYLOAD = 2**24
"""The most bytes of a frame after it; a part is smaller, but for tables with very long rows."""

REMEMBERED = 1000
"""Of so many of a worker's latest operations on a range it is remembered which were refused, so it has no older ones
under way."""

REASONS = ("malformed", "unknown key", "other shape", "epoch", "gap", "superseded", "early", "lost", "not ready")
Reason = Literal["malformed", "unknown key", "other shape", "epoch", "gap", "superseded", "early", "lost", "not ready"]

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8)
}
Dtype = Literal["float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8"]

Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Small = Annotated[int, msgspec.Meta(ge=0, lt=2**16)]
Key = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Text = Annotated[str, msgspec.Meta(max_length=2000)]
Length = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
Shape = Annotated[tuple[Length, ...], msgspec.Meta(max_length=2)]


class Message(msgspec.Struct, frozen=True, tag=True, array_like=True, forbid_unknown_fields=True):
    """Any header."""


class Request(Message, frozen=True):
    """What a worker asks of a range of keys, as it believes the cluster to be in ``epoch``.

    ``number`` counts a worker's operations on the range from 1 on, and its reads apart from them.
    """

    epoch: Count
    worker: Small
    incarnation: Count
    range: Small
    number: Count


class Create(Request, frozen=True):
    """Have a part, with these bytes to begin with; nothing happens where it is there already."""

    key: Key
    part: Count
    dtype: Dtype
    shape: Shape
    updater: updaters.Any_


class Push(Request, frozen=True):
    """Take these bytes for the updater: of the whole part, or of rows whose numbers are in a second frame."""

    key: Key
    part: Count


class Tick(Request, frozen=True):
    """The worker ends its round, and more if it had not ended ``clock`` - 1 before; where ``clock`` is 0, it ends none.

    It is done when no other is too far behind.
    """

    clock: Count


class Nothing(Request, frozen=True):
    """An operation that was refused: its number is taken, by this, and whoever asks again is told the same."""

    reason: Reason
    detail: Text


class Pull(Request, frozen=True):
    """Give the bytes of a part, or of rows whose numbers are in a second frame."""

    key: Key
    part: Count


class Members(Message, frozen=True):
    """From here on, rounds wait for these workers only; a head has it from the scheduler."""

    active: tuple[Small, ...]


class Done(Message, frozen=True):
    """An operation counts, and no single failure will undo it. The worker has ended ``clock`` rounds."""

    range: Small
    incarnation: Count
    number: Count
    clock: Count


class Value(Message, frozen=True):
    """The bytes that were asked for."""

    range: Small
    number: Count


class Waiting(Message, frozen=True):
    """The operation counts, and the worker has ended ``clock`` rounds; before it is done, these have to come so far."""

    range: Small
    incarnation: Count
    number: Count
    clock: Count
    workers: tuple[Small, ...]


class Refusal(Message, frozen=True):
    """The request changed nothing. ``expected`` is the number, or the epoch, that would be right."""

    range: Small
    incarnation: Count
    number: Count
    read: bool
    reason: Reason
    detail: Text
    expected: Count = 0


Operation = Create | Push | Tick | Nothing | Members
"""What changes a range, and is copied to all that hold it."""

FromWorker = Create | Push | Tick | Pull
ToWorker = Done | Value | Waiting | Refusal


def decoder(types: Any) -> msgspec.msgpack.Decoder:
    """Returns what decodes one of these messages, or raises `Refused`."""
    return msgspec.msgpack.Decoder(types)


def decode(header: Any, by: msgspec.msgpack.Decoder) -> Any:
    """Returns a header's message; raises `Refused`, "malformed", with what is wrong with it."""
    if len(header) > HEADER:
        raise Refused("malformed", f"a header has at most {HEADER} bytes, got {len(header)}")
    try:
        return by.decode(header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused("malformed", f"this is no message: {error}") from None


encode = msgspec.msgpack.encode


def to_bytes(tensor: Tensor) -> memoryview:
    """Returns a tensor's bytes, without a copy where it is contiguous and on the CPU."""
    flat = tensor.detach().cpu().contiguous().view(-1)
    return flat.view(torch.uint8).numpy().data


def from_bytes(payload: Any, dtype: torch.dtype, shape: Sequence[int]) -> Tensor:
    """Returns a tensor on these bytes, not to be written to; raises `Refused` where they are too few or too many."""
    wanted = dtype.itemsize
    for length in shape:
        wanted *= length
    if len(payload) != wanted:
        raise Refused("other shape", f"{tuple(shape)} of {dtype} are {wanted} bytes, got {len(payload)}")
    if not wanted:
        return torch.empty(tuple(shape), dtype=dtype)
    return torch.frombuffer(payload, dtype=dtype).view(tuple(shape))
