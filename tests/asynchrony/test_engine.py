"""The engine: any program gives bitwise what running it in order gives, and nothing hangs, leaks or gets lost."""

from __future__ import annotations

import faulthandler
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import PathPatch, Rectangle

from dlperf.asynchrony.engine import (
    Array,
    Engine,
    Operation,
    Variable,
    draw_graph,
    draw_memory,
    draw_timeline,
)
from dlperf.asynchrony.engine.operations import FRONT_END
from dlperf.plot import figure

TWO = ("cpu:0", "cpu:1")
LONG = 300  # seconds: the watchdog's patience, never a measure


@pytest.fixture(autouse=True)
def watchdog(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Ends a hanging test, and pytest, with the stacks of all threads; after a test no worker is left."""
    with capfd.disabled():
        terminal = os.dup(2)
    faulthandler.dump_traceback_later(LONG, exit=True, file=terminal)
    before = set(threading.enumerate())
    yield
    eventually(lambda: set(threading.enumerate()) <= before)
    faulthandler.cancel_dump_traceback_later()
    os.close(terminal)


def eventually(happened: Callable[[], bool]) -> None:
    """Returns when it has happened; the watchdog ends the test if it never does."""
    while not happened():
        time.sleep(0.001)


def nothing() -> None:
    pass


def boom() -> None:
    raise ZeroDivisionError("boom")


# Any program, against running it in order.

STEP = st.tuples(
    st.sampled_from(("new", "add", "sub", "mul", "iadd", "isub", "swap", "copy")), *[st.integers(0, 4)] * 3
)


def in_order(steps: list[tuple[Any, ...]]) -> list[torch.Tensor]:
    """The oracle: the same program on plain tensors."""
    x = [torch.arange(4.0) + i for i in range(5)]
    for what, a, b, c in steps:
        if what == "new":
            x[a] = torch.full((4,), float(b - c))
        elif what in ("add", "sub", "mul"):
            x[a] = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}[what](x[b], x[c]) * 0.5
        elif what == "iadd":
            x[a] += x[b] * 0.5
        elif what == "isub":
            x[a] -= 1 / 3
        elif what == "swap":
            x[a], x[b] = x[b], x[a]
        elif what == "copy":
            x[a] = x[b].clone()
    return x


@given(st.lists(STEP, max_size=40), st.sampled_from([1, 3, float("inf")]))
def test_random_programs_give_what_running_them_in_order_gives(steps: list[tuple[Any, ...]], depth: float) -> None:
    with Engine((*TWO, "cpu:2"), depth=depth) as engine:
        x = [engine.array(torch.arange(4.0) + i, device=engine.devices[i % 3]) for i in range(5)]
        for what, a, b, c in steps:
            if what == "new":
                x[a] = engine.call(torch.full, (4,), float(b - c), device=engine.devices[c % 3])
            elif what in ("add", "sub", "mul"):
                op = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}[what]
                x[a] = engine.call(op, x[b], x[c], device=engine.devices[b % 3]) * 0.5
            elif what == "iadd":
                x[a] += x[b] * 0.5
            elif what == "isub":
                x[a] -= 1 / 3
            elif what == "swap":
                x[a], x[b] = x[b], x[a]
            elif what == "copy":
                x[a] = x[b].to(engine.devices[c % 3])
        found = [array.asnumpy() for array in x]
    for mine, right in zip(found, in_order(steps), strict=True):
        assert mine.tobytes() == right.numpy().tobytes()


def test_thousands_of_operations_lose_no_update() -> None:
    """Cells that several operations read and write, unprotected but for what they declare, and every device busy."""
    rng, size, devices = random.Random(0), 12, ("cpu:0", "cpu:1", "cpu:2", "cpu:3")
    cells, right, running = [0] * size, [0] * size, [0] * size

    def step(reads: list[int], writes: list[int]) -> None:
        for w in writes:
            running[w] += 1
            assert running[w] == 1
        total = sum(cells[r] for r in reads)
        for w in writes:
            value = cells[w]
            time.sleep(0) if total % 3 == 0 else None  # invites another thread in between
            cells[w] = (value * 3 + total + 1) % 1_000_003
            running[w] -= 1

    with Engine(devices, depth=500, history=100) as engine:
        variables = [Variable() for _ in range(size)]
        for _ in range(6000):
            reads, writes = rng.sample(range(size), 2), rng.sample(range(size), rng.choice((0, 1, 1, 2)))
            device = rng.choice(devices)
            both = [variables[i] for i in {*reads, *writes}]
            fn = lambda reads=reads, writes=writes: step(reads, writes)
            engine.enqueue(fn, both, [variables[w] for w in writes], device, "step")
            total = sum(right[r] for r in reads)
            for w in writes:
                right[w] = (right[w] * 3 + total + 1) % 1_000_003
        engine.waitall()
        assert cells == right
        assert len(engine.history) == 100


def test_finished_readers_are_forgotten() -> None:
    with Engine(["cpu"], depth=8) as engine:
        weight = Variable()
        for _ in range(3000):
            engine.enqueue(nothing, [weight])
        assert len(weight.readers) < 1100


# What runs when.


def test_independent_operations_overlap_on_two_devices() -> None:
    meet = threading.Barrier(2)
    with Engine(TWO) as engine:
        a, b = (engine.enqueue(lambda: meet.wait(LONG), device=device, name="meet") for device in TWO)
        engine.waitall()
    assert a.start < b.end
    assert b.start < a.end
    assert {a.device, b.device} == set(TWO)


def test_enqueue_returns_before_the_work_is_done_and_waiting_is_for_one_array() -> None:
    gate = threading.Event()
    with Engine(TWO) as engine:
        slow = engine.call(lambda: gate.wait(LONG) and torch.ones(1))
        quick = engine.call(torch.ones, 1, device="cpu:1")
        engine.wait_to_read(quick)
        assert slow.writer is not None
        assert not slow.writer.done
        gate.set()
        engine.wait_to_read(slow)
        assert slow.writer.done


def test_dependencies_are_read_after_write_write_after_read_and_write_after_write() -> None:
    with Engine(TWO) as engine:
        x, y = Variable(), Variable()
        first = engine.enqueue(nothing, writes=[x])
        read = engine.enqueue(nothing, reads=[x], writes=[y], device="cpu:1")
        again = engine.enqueue(nothing, writes=[x])
        in_place = engine.enqueue(nothing, reads=[x], writes=[x])
    assert read.after == {first.number: "RAW"}
    assert again.after == {first.number: "WAW", read.number: "WAR"}
    assert in_place.after == {again.number: "RAW"}


def test_the_graph_of_the_chapters_example_is_the_known_one() -> None:
    with Engine(TWO) as engine:
        x, y = engine.call(torch.ones, 1, 2), engine.call(torch.ones, 1, 2, device="cpu:1")
        z = x * y + 2
        assert z.asnumpy().tolist() == [[3, 3]]
    names = {op.number: op.name for op in engine.history}
    graph = [(op.name, [(names[n], why) for n, why in op.after.items()]) for op in engine.history]
    assert graph[:4] == [
        ("ones", []),
        ("ones", []),
        ("mul", [("ones", "RAW"), ("ones", "RAW")]),
        ("add", [("mul", "RAW")]),
    ]
    assert graph[4] == ("asnumpy", [("add", "RAW")])


@pytest.fixture
def branches() -> Iterator[Engine]:
    """Two branches on two devices, a step that both pass by, and memory that is used again."""
    with Engine(TWO) as engine:
        x = engine.call(torch.ones, 4, 2)
        y, z = x * 2, (x.to("cpu:1") + 1).to("cpu:0")
        y += x.sum() + z
        x -= 1
        engine.waitall()
        yield engine
        plt.close("all")


def test_the_graph_is_drawn_with_devices_kinds_and_no_arrow_through_a_box(branches: Engine) -> None:
    fig = draw_graph(branches.history)
    fig.canvas.draw()
    axes = fig.axes[0]
    names = [op.name for op in branches.history if op.device != FRONT_END]
    assert [text.get_text() for text in axes.texts] == names
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [*TWO, "RAW", "WAR"]
    boxes = [patch.get_bbox() for patch in axes.patches if isinstance(patch, Rectangle)]
    arrows = [patch.get_path() for patch in axes.patches if isinstance(patch, PathPatch)]
    assert len(arrows) == sum(len(op.after) for op in branches.history if op.device != FRONT_END)
    for box in boxes:
        inner = box.shrunk(0.98, 0.98).translated(box.width / 100, box.height / 100)
        assert not any(arrow.interpolated(1).intersects_bbox(inner, filled=False) for arrow in arrows)


def test_the_timeline_is_drawn_alone_or_in_given_axes(branches: Engine) -> None:
    axes = draw_timeline(branches.history).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["cpu:1", "cpu:0", FRONT_END]
    fig, (above, below) = figure(rows=2, sharex=True)
    for axes in above, below:
        assert draw_timeline(branches.history, axes, "title", span=2) is fig
    assert below.get_xlim() == pytest.approx((0, 2020))
    assert above.get_title() == "title"
    bars = [path for bars in above.collections for path in bars.get_paths()]
    assert len(bars) >= len(branches.history)


def test_memory_is_drawn_and_so_is_an_empty_record(branches: Engine) -> None:
    axes = draw_memory(this=branches.live_bytes(), title="memory").axes[0]
    assert max(axes.lines[0].get_ydata()) == pytest.approx(max(size for _, size in branches.live_bytes()) / 1e6)
    assert axes.get_title() == "memory"
    draw_graph([]).canvas.draw()
    draw_timeline([]).canvas.draw()


# Waiting.


@pytest.mark.parametrize("look", [repr, str, float, bool, Array.item, Array.asnumpy, lambda x: f"{x}"])
def test_looking_at_a_value_waits_for_it(look: Callable[[Array], Any]) -> None:
    gate, seen = threading.Event(), []
    with Engine(["cpu"]) as engine:
        x, right = engine.call(lambda: gate.wait(LONG) and torch.tensor(3.5)), look(engine.array(3.5))
        looking = threading.Thread(target=lambda: seen.append(look(x)))
        looking.start()
        eventually(lambda: bool(engine._waits) or not looking.is_alive())
        assert not seen
        gate.set()
        looking.join()
        assert seen == [right]


def test_length_and_iteration_are_unknown_rather_than_waited_for() -> None:
    with Engine(["cpu"]) as engine:
        x = engine.call(torch.ones, 3)
        with pytest.raises(TypeError):
            len(x)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            iter(x)  # type: ignore[call-overload]
        assert not [op for op in engine.history if op.device == FRONT_END]


def test_a_write_waits_for_who_still_looks() -> None:
    looking, go = threading.Event(), threading.Event()
    with Engine(["cpu"]) as engine:
        x, seen = engine.array(torch.zeros(1)), []
        look = lambda: (looking.set(), go.wait(LONG), seen.append(x._value.item()))
        reader = threading.Thread(target=lambda: engine.wait(x, fn=look))
        reader.start()
        looking.wait()
        x += 1
        assert not x.writer.done
        go.set()
        assert x.item() == 1
        reader.join()
        assert seen == [0]


def test_views_and_numpy_are_values_of_their_own() -> None:
    with Engine(TWO) as engine:
        x, n = engine.array(torch.arange(4.0)), engine.array(np.arange(3.0), device="cpu:1")
        view, copy, base = (
            engine.call(torch.flip, x, (0,)),
            engine.call(lambda a: a[1:], x),
            engine.call(lambda a: a, n),
        )
        before = x.asnumpy()
        x += 1
        n *= 2
        assert before.tolist() == [0, 1, 2, 3]
        assert view.asnumpy().tolist() == [3, 2, 1, 0]
        assert copy.asnumpy().tolist() == [1, 2, 3]
        assert base.asnumpy().tolist() == [0, 1, 2]
        assert (np.ones(3) - n).asnumpy().tolist() == [1, -1, -3]
        assert n.sum().item() == 6


def test_backpressure_blocks_until_there_is_room() -> None:
    gate, returned = threading.Event(), []
    with Engine(["cpu"], depth=2) as engine:
        engine.enqueue(lambda: gate.wait(LONG))
        engine.enqueue(nothing)
        front = threading.Thread(target=lambda: returned.append(engine.enqueue(nothing)))
        front.start()
        eventually(lambda: len(engine._room._waiters) == 1)  # type: ignore[attr-defined]
        assert not returned
        gate.set()
        front.join()
        assert len(returned) == 1


def test_closing_turns_away_who_is_still_waiting_for_room() -> None:
    gate, errors = threading.Event(), []

    def front() -> None:
        try:
            engine.enqueue(nothing, name="late")
        except RuntimeError as error:
            errors.append(str(error))

    with Engine(["cpu"], depth=1) as engine:
        engine.enqueue(lambda: gate.wait(LONG))
        fronts = [threading.Thread(target=front) for _ in range(3)]
        for thread in fronts:
            thread.start()
        eventually(lambda: len(engine._room._waiters) == 3)  # type: ignore[attr-defined]
        threading.Thread(target=lambda: eventually(lambda: engine._closed) or gate.set()).start()
    for thread in fronts:
        thread.join()
    assert errors == ["cannot enqueue late: closed engine"] * 3


def test_an_operation_may_enqueue_even_when_there_is_no_room() -> None:
    with Engine(["cpu"], depth=1) as engine:
        x, order = Variable(), []

        def child() -> None:
            order.append("child")

        def parent() -> None:
            engine.enqueue(child, writes=[x])
            engine.enqueue(child, writes=[x])
            order.append("parent")

        engine.enqueue(parent)
        engine.waitall()
        assert order == ["parent", "child", "child"]


def test_an_operation_that_waits_is_refused() -> None:
    with Engine(["cpu"]) as engine:
        x = engine.call(torch.ones, 1)
        for wait in (x.item, engine.waitall, engine.close):
            engine.enqueue(wait)
            with pytest.raises(RuntimeError, match="in an operation"):
                engine.waitall()
        assert x.item() == 1


# Failure.


def test_a_failure_surfaces_where_its_result_is_needed_and_says_where_it_was_enqueued() -> None:
    with Engine(TWO) as engine:
        x = engine.call(boom)
        y, other = x + 1, engine.call(torch.ones, 1, device="cpu:1") * 2
        assert other.item() == 2
        with pytest.raises(ZeroDivisionError, match="boom") as caught:
            y.item()
        shown = "".join(traceback.format_exception(caught.value))
        assert "boom was enqueued here" in shown
        assert "x = engine.call(boom)" in shown
        assert "in boom" in shown
        engine.waitall()  # it has been raised once
        with pytest.raises(ZeroDivisionError) as again:
            engine.wait_to_read(x)
        assert len(again.value.__notes__) == 1
        x = engine.call(torch.ones, 1)
        assert x.item() == 1


def test_every_failure_is_raised_once_by_waiting_for_all() -> None:
    def bang() -> None:
        raise KeyError("bang")

    with Engine(["cpu"]) as engine:
        v = Variable()
        engine.enqueue(boom)
        engine.enqueue(bang, writes=[v])
        skipped = engine.enqueue(nothing, reads=[v])
        rewritten = engine.enqueue(nothing, writes=[v])
        with pytest.raises(ZeroDivisionError):
            engine.waitall()
        with pytest.raises(KeyError) as caught:
            engine.waitall()
        assert "bang was enqueued here" in caught.value.__notes__[0]
        engine.waitall()
        assert isinstance(skipped.error, KeyError)
        assert rewritten.error is None


def test_the_blocks_own_exception_wins_and_what_was_enqueued_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, ran = threading.Event(), []

    def block() -> None:
        with Engine(["cpu"]) as engine:
            engine.enqueue(lambda: (gate.wait(LONG), boom()))
            engine.enqueue(lambda: ran.append(1))
            # what runs goes on only once the engine closes: by then it has to be cancelled
            monkeypatch.setattr(engine, "close", lambda: (gate.set(), Engine.close(engine)))
            raise LookupError

    with pytest.raises(LookupError):
        block()
    assert not ran


def test_wrong_arguments_are_named_and_leave_the_engine_usable() -> None:
    with pytest.raises(ValueError, match="depth counts operations from 1, got 0"):
        Engine(depth=0)
    with Engine(TWO) as engine:
        with pytest.raises(ValueError, match="no device cpu:7 here, only cpu:0, cpu:1"):
            engine.call(torch.ones, 1, device="cpu:7")
        with pytest.raises(AttributeError):
            engine.enqueue(nothing, reads=["x"])  # type: ignore[list-item]
        engine.waitall()
    with pytest.raises(RuntimeError, match="cannot enqueue nothing: closed engine"):
        engine.enqueue(nothing)


# The end.


def test_cancelling_drops_what_has_not_begun_and_the_engine_goes_on() -> None:
    gate, begun, ran = threading.Event(), threading.Event(), []
    with Engine(["cpu"], depth=3) as engine:
        first = engine.enqueue(lambda: (begun.set(), gate.wait(LONG)))
        x = engine.call(torch.ones, 1)
        engine.enqueue(lambda: ran.append(1))
        front = threading.Thread(target=lambda: engine.enqueue(lambda: ran.append(2)))
        begun.wait()
        engine.cancel()
        front.start()  # blocked: no room, until what was cancelled is gone
        gate.set()
        with pytest.raises(CancelledError, match="ones was cancelled before it began"):
            x.item()
        front.join()
        engine.waitall()
        assert first.error is None
        assert ran == [2]


def test_closing_finishes_ends_the_threads_and_may_be_repeated() -> None:
    before, done = set(threading.enumerate()), []
    engine = Engine(TWO)
    for device in TWO:
        engine.enqueue(lambda: done.append(1), device=device)
    engine.enqueue(boom)
    assert len(set(threading.enumerate()) - before) == 2
    with pytest.raises(ZeroDivisionError):
        engine.close()
    engine.close()
    assert not set(threading.enumerate()) - before
    assert len(done) == 2


def test_an_engine_that_nobody_refers_to_ends_its_threads() -> None:
    before, gate = set(threading.enumerate()), threading.Event()
    Engine(["cpu"]).enqueue(lambda: gate.wait(LONG))
    gc.collect()
    assert len(set(threading.enumerate()) - before) == 1  # not before its work is done
    gate.set()
    eventually(lambda: gc.collect() >= 0 and set(threading.enumerate()) <= before)


def test_live_bytes_rise_with_results_and_fall_with_the_last_reference() -> None:
    with Engine(["cpu"]) as engine:
        x = engine.array(torch.zeros(100))
        y = x + 1
        y += 1
        engine.waitall()
        assert engine.live_bytes()[-1][1] == 800
        x = x * 2
        engine.waitall()
        del y
        assert [size for _, size in engine.live_bytes()] == [400, 800, 1200, 800, 400]
        assert x.asnumpy().sum() == 0


def test_a_record_of_live_bytes_that_grew_too_long_keeps_its_peak_its_order_and_its_end() -> None:
    with Engine(["cpu"], history=50) as engine:
        x = engine.array(torch.zeros(1000))
        for _ in range(3000):
            engine.call(torch.zeros, 1)
        x = x + 1
        engine.waitall()
        live = engine.live_bytes()
        assert len(live) <= 2000  # of 6,002 moments
        assert max(live, key=lambda point: point[1])[1] in {8000, 8004}
        for _ in range(3000):
            engine.call(torch.zeros, 1)
        engine.waitall()
        del x
        again = engine.live_bytes()
        assert max(size for _, size in again) == max(size for _, size in live)
        assert again == sorted(again, key=lambda point: point[0])
        assert again[-1][1] == 0
        assert len(engine.history) == 50


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Runs code that begins with an engine on two devices; a hang ends it."""
    head = "import os, threading, time, torch\nfrom dlperf.asynchrony.engine import Engine\n"
    head += "engine = Engine(['cpu:0', 'cpu:1'])\n"
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", head + code],
        capture_output=True,
        text=True,
        timeout=LONG,
    )


def test_a_forked_process_neither_hangs_nor_runs_what_its_parent_will() -> None:
    done = python("""
gate = threading.Event()
x = engine.call(torch.ones, 1)
engine.waitall()
late = engine.call(lambda: gate.wait() and torch.ones(1) * 5)
looking = threading.Thread(target=lambda: engine.wait(x, fn=gate.wait))
looking.start()
while not x.readers: time.sleep(0.001)
child = os.fork()
if child == 0:
    try:
        late.item()
    except BaseException as error:
        print(type(error).__name__, flush=True)
    x += 1
    print(x.item(), flush=True)
    engine.close()
    os._exit(7)
status = os.waitpid(child, 0)[1]
gate.set()
print(os.WEXITSTATUS(status), x.item(), late.item())
""")
    assert done.stderr == ""
    assert done.stdout.split() == ["CancelledError", "2.0", "7", "1.0", "5.0"]


def test_the_interpreters_exit_finishes_what_is_enqueued() -> None:
    done = python("""
def say(word): time.sleep(0.05); print(word, flush=True)
def fail(): raise ValueError("too late")
for word in "abc": engine.enqueue(lambda word=word: say(word))
engine.enqueue(lambda: engine.enqueue(lambda: say("d")))
engine.enqueue(fail, device="cpu:1")
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["a", "b", "c", "d"]
    assert "ValueError: too late" in done.stderr
    assert "fail was enqueued here" in done.stderr


def test_an_enqueue_interrupted_half_way_keeps_the_order_of_the_others() -> None:
    class Interrupting(Variable):
        def __setattr__(self, name: str, value: Any) -> None:
            if isinstance(value, Operation):
                raise KeyboardInterrupt
            super().__setattr__(name, value)

    gate, ran = threading.Event(), []
    with Engine(TWO) as engine:
        x, other = Variable(), Variable()
        engine.enqueue(lambda: (gate.wait(LONG), ran.append(1)), writes=[x])
        with pytest.raises(KeyboardInterrupt):
            engine.enqueue(lambda: ran.append(2), writes=[x, Interrupting()])
        engine.enqueue(lambda: ran.append(3), writes=[x], device="cpu:1")
        engine.enqueue(nothing, writes=[other], device="cpu:1")
        engine.wait(other)  # so all that cpu:1 may run has run
        assert not ran
        half_done = Variable()
        half_done.writer = engine.history[1]
        gate.set()
        with pytest.raises(CancelledError):
            engine.wait(half_done)
        engine.waitall()
    assert ran == [1, 3]


def test_an_interrupted_wait_leaves_the_engine_usable() -> None:
    def interrupt() -> None:
        eventually(lambda: bool(engine._waits))
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    gate, handler = threading.Event(), signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # an exception inside of a callback of the collector, such as Hypothesis has, is swallowed
    try:
        with Engine(["cpu"]) as engine:
            x = engine.call(lambda: gate.wait(LONG) and torch.ones(1))
            threading.Thread(target=interrupt).start()
            with pytest.raises(KeyboardInterrupt):
                x.item()
            gate.set()
            x += 1
            assert x.item() == 2
    finally:
        gc.enable()
        signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize("chained", [False, True])
def test_a_failure_that_was_handled_keeps_no_values_alive(chained: bool) -> None:
    def fail(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        try:
            return a @ b
        except RuntimeError as error:
            raise LookupError("no product") from (error if chained else None)

    def program(engine: Engine) -> None:
        x, y = engine.array(torch.ones(10)), engine.array(torch.ones(3))
        product = engine.call(fail, x, y)
        changed = engine.update(fail, x, y)
        for result in (product, product, changed):
            with pytest.raises(LookupError, match="no product") as caught:
                result.asnumpy()
            shown = "".join(traceback.format_exception(caught.value))
            assert shown.count("fail was enqueued here") == 1
            assert 'raise LookupError("no product")' in shown
            assert ("return a @ b" in shown) == chained

    with Engine(["cpu"]) as engine:
        program(engine)
        gc.collect()
        assert len(engine.history) == 5
        assert engine.live_bytes()[-1][1] == 0


def test_an_error_that_cannot_be_copied_is_raised_itself() -> None:
    class Stubborn(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    def fail() -> None:
        raise Stubborn(1, 2)

    with Engine(["cpu"]) as engine:
        op = engine.enqueue(fail)
        with pytest.raises(Stubborn, match="1 and 2") as caught:
            engine.waitall()
        assert caught.value is op.error


def test_the_record_keeps_no_values_alive() -> None:
    with Engine(["cpu"]) as engine:
        engine.call(torch.ones, 10)
        engine.waitall()
        assert engine.live_bytes()[-1][1] == 0
        assert all(isinstance(op, Operation) and op.fn is None and not op.sources for op in engine.history)
