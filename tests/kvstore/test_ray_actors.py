"""What Ray may do to messages and processes, one thing at a time, without a Ray: actors as objects of an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dlperf.kvstore import peers, ray_actors, ray_messages, wire
from dlperf.kvstore.membership import begin, empty
from dlperf.kvstore.ray_actors import SchedulerActor, ServerActor, lock
from dlperf.kvstore.ray_messages import QUEUE, Sender, pack, ray
from tests.kvstore.simulated import config
from tests.processes import DEADLINE_S

Wire = list[tuple[Any, list[Any]]]


class Remote:
    """An actor as a `Sender` sees it: notes each call, and answers when it may, or fails."""

    def __init__(self, may: asyncio.Event | None = None, fails: int = 0) -> None:
        self.take, self.calls, self.may, self.fails = self, Wire(), may, fails

    async def remote(self, sender: Any, packets: list[Any]) -> None:
        self.calls.append((sender, packets))
        if self.may:
            await self.may.wait()
        if len(self.calls) <= self.fails:
            raise ray.exceptions.ActorUnavailableError("it was restarted", None)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), DEADLINE_S))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def beat(server: int, process: int, epoch: int = 0, at: int = 1) -> Any:
    return pack(peers.Beat("server", server, process, epoch, at))


def test_the_schedulers_word_for_a_former_process_gives_its_successor_no_lease() -> None:
    """Ray keeps a call while an actor is restarted, maybe on a machine whose clock is far behind."""

    async def test() -> None:
        told = config(1, 1)
        server = ServerActor(msgspec.json.encode(told), 0)
        own = server.node.run
        view = begin(msgspec.structs.replace(empty(1, 1), runs=(own,)), 1)
        await server.take(None, [pack(peers.Heard(10**18, view), [(own + 1).to_bytes(8, "little")])])
        assert (server.node.view.epoch, server.node.lease) == (0, float("-inf"))
        await server.take(None, [pack(peers.Heard(10**9, view), [own.to_bytes(8, "little")])])
        assert (server.node.view.epoch, server.node.lease) == (1, 1 + told.lease)

    run(test)


def test_the_scheduler_names_the_process_that_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    actor = Remote()
    monkeypatch.setattr(ray_actors, "find", lambda *_: actor)

    async def test() -> None:
        scheduler = SchedulerActor(msgspec.json.encode(config(1, 1)))
        await scheduler.take((0, 7), [beat(0, 7)])
        await until(lambda: bool(actor.calls))
        _, packets = actor.calls[0]
        assert all(bytes(frames[1]) == (7).to_bytes(8, "little") for frames in packets)

    run(test)


def test_a_scheduler_goes_on_after_what_is_no_message() -> None:
    async def test() -> None:
        scheduler = SchedulerActor(msgspec.json.encode(config(1, 1)))
        await scheduler.take(b"worker 0 1", [[], [b"noise"]])
        answers = await scheduler.answers(b"worker 0 1", 1.0)
        told = [wire.decode(frames[0], wire.decoder(peers.FromScheduler)) for frames in answers]
        assert [type(each) for each in told] == [peers.Unwelcome] * 2

    run(test)


def test_a_scheduler_that_stood_still_gives_up_nobody_before_it_has_taken_their_beats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr(ray_actors, "now", lambda: clock[0])
    monkeypatch.setattr(ray_actors, "find", lambda *_: Remote())

    async def test() -> None:
        told = config(2, 1, copies=2)
        scheduler = SchedulerActor(msgspec.json.encode(told))
        for server in (0, 1):
            await scheduler.take((server, 7 + server), [beat(server, 7 + server)])
        assert scheduler.scheduler.view.runs == (7, 8)
        await asyncio.sleep(ray_actors.TICK / 2)  # it waits for its next look now
        clock[0] += 10 * told.dead
        await asyncio.sleep(1.5 * ray_actors.TICK)  # it has looked
        for server in (0, 1):
            await scheduler.take((server, 7 + server), [beat(server, 7 + server, 1)])
        await asyncio.sleep(3 * told.beat)
        assert scheduler.scheduler.view.runs == (7, 8)
        clock[0] += told.beat  # and who is silent is given up all the same
        for _ in range(20):
            clock[0] += told.beat / 2
            await scheduler.take((0, 7), [beat(0, 7, 1)])
            await asyncio.sleep(2 * ray_actors.TICK)
        assert scheduler.scheduler.view.runs == (7, 0)

    run(test)


def test_what_does_not_fit_into_a_queue_is_dropped_and_counted_and_the_rest_keeps_its_order() -> None:
    async def test() -> None:
        may = asyncio.Event()
        actor = Remote(may)
        sender = Sender(None, lambda _: actor)
        sender.send(0, [0])
        await until(lambda: bool(actor.calls))
        for number in range(1, QUEUE + 11):
            sender.send(0, [number])
        assert sender.unsent == 10
        may.set()
        await sender.flush(0, DEADLINE_S)
        assert [packet for _, packets in actor.calls for packet in packets] == [[n] for n in range(QUEUE + 1)]
        sender.send(0, ["later"])
        await sender.flush(0, DEADLINE_S)
        assert actor.calls[-1] == (None, [["later"]])

    run(test)


def test_after_a_failed_call_the_actor_is_looked_up_anew() -> None:
    async def test() -> None:
        actors = [Remote(fails=1), Remote()]
        looked_up = iter(actors)
        sender = Sender(None, lambda _: next(looked_up))
        for number in range(2):
            sender.send(0, [number])
            await sender.flush(0, DEADLINE_S)
        assert [len(actor.calls) for actor in actors] == [1, 1]

    run(test)


def test_a_mailbox_keeps_the_latest_and_is_dropped_when_nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(ray_actors, "now", lambda: clock[0])

    async def test() -> None:
        told = config(1, 1)
        server = ServerActor(msgspec.json.encode(told), 0)
        for number in range(QUEUE + 5):
            server._post(b"worker", [number])
        assert await server.answers(b"worker", 1.0) == [[n] for n in range(5, QUEUE + 5)]
        server._post(b"worker", [0])
        clock[0] += 2.1 * told.dead
        server._forget()
        assert server.mailboxes == {}

    run(test)


def test_a_folder_is_read_when_the_process_before_has_ended(tmp_path: Path) -> None:
    former = lock(tmp_path / "server-0" / "lock")
    begun, got = threading.Event(), threading.Event()

    def take() -> None:
        begun.set()
        with lock(tmp_path / "server-0" / "lock"):
            got.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    assert begun.wait(DEADLINE_S)
    assert not got.wait(0.2)
    former.close()
    assert got.wait(DEADLINE_S)
    thread.join(DEADLINE_S)


def test_a_backend_that_is_none_is_refused() -> None:
    from dlperf.kvstore import connect

    with pytest.raises(ValueError, match="a backend is 'zmq' or 'ray', got 'mpi'"):
        connect(config(1, 1), 0, backend="mpi")  # type: ignore[arg-type]


def test_frames_arrive_as_they_were() -> None:
    frames = [bytes(3), memoryview(b"tensor"), b""]
    header, *packed = ray_messages.pack(wire.Done(0, 1, 2, 3), frames)
    assert wire.decode(header, wire.decoder(wire.ToWorker)) == wire.Done(0, 1, 2, 3)
    assert [bytes(memoryview(each)) for each in packed] == [bytes(3), b"tensor", b""]
