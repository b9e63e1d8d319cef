"""What a store must do, whoever keeps it: each function is given stores of two workers, in rounds (BSP)."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
import torch

from dlperf.kvstore import SGD, Adam, Refused, StoreError, wire
from tests.processes import DEADLINE_S, wait_until

Stores = list[Any]


def both(stores: Stores, fn: Any) -> list[Any]:
    """Calls ``fn(worker, store)`` for all workers at once, as their processes would."""
    with ThreadPoolExecutor(len(stores)) as pool:
        return list(pool.map(fn, range(len(stores)), stores))


def end_round(stores: Stores) -> None:
    both(stores, lambda _, store: store.clock())


def again(stores: Stores, worker: int) -> None:
    """Has another process take the place of a worker: the former one must not have closed its store.

    The new one is in the list before it is connected, which may have to wait for others.
    """
    former = stores[worker]
    stores[worker] = object.__new__(type(former))
    stores[worker].__init__(former.config, worker)
    former.close()


def waits_for_others(store: Any, call: Future[Any]) -> bool:
    """Returns whether a call that ends a round goes on when every server has said that it waits for other workers.

    What they said before does not count: they are asked again, and say so again.
    """
    for lane in ends_of_a_round(store):
        for ticket in lane:
            ticket.waits_for = ()
    said = lambda: all(any(ticket.waits_for for ticket in lane) for lane in ends_of_a_round(store))
    assert wait_until(lambda: call.done() or said())
    return not call.done()


def ends_of_a_round(store: Any) -> list[list[Any]]:
    """Returns for each range a worker's requests to end a round that are under way."""
    lanes = [list(lane.under_way.values()) for lane in store._client.lanes]
    return [[ticket for ticket in lane if isinstance(ticket.message, wire.Tick)] for lane in lanes]


def pushes_of_a_round_are_added_up(stores: Stores) -> None:
    value = torch.randn(3, 5)
    both(stores, lambda _, store: store.create("sum", value))
    both(stores, lambda worker, store: store.push("sum", torch.full((3, 5), worker + 1.0)))
    assert torch.equal(stores[0].pull("sum"), value)
    end_round(stores)
    assert torch.equal(stores[1].pull("sum"), value + 3)


def a_large_tensor_comes_back_as_it_was(stores: Stores) -> None:
    value = torch.randn(1_000_003, dtype=torch.float64)
    both(stores, lambda _, store: store.create("large", torch.zeros_like(value)))
    stores[0].push("large", value)
    end_round(stores)
    assert torch.equal(stores[1].pull("large"), value)


def pulls_fill_the_tensors_that_they_are_given(stores: Stores) -> None:
    value, into = torch.randn(300, 400), torch.zeros(300, 400)
    stores[0].create("into", value)
    assert stores[0].pull("into", out=into) is into
    assert torch.equal(into, value)
    weight = torch.nn.Parameter(torch.zeros(300, 400))
    stores[0].pull(["into"], out=[weight])
    assert torch.equal(weight.detach(), value)
    for wrong in (torch.zeros(400, 300), torch.zeros(300, 400).double(), torch.zeros(400, 300).T):
        with pytest.raises(ValueError, match=r"'into' is read into a contiguous tensor \(300, 400\) of torch.float32"):
            stores[0].pull("into", out=wrong)
    with pytest.raises(ValueError, match="got 1 keys and 2 tensors"):
        stores[0].pull(["into"], out=[into, into])


def lists_of_keys_are_one_request(stores: Stores) -> None:
    keys, values = ["a", "b", "c"], [torch.randn(n) for n in (1, 70_000, 0)]
    for key, value in zip(keys, values, strict=True):
        both(stores, lambda _, store, key=key, value=value: store.create(key, torch.zeros_like(value)))
    stores[0].push(keys, values)
    end_round(stores)
    for found, value in zip(stores[1].pull(keys), values, strict=True):
        assert torch.equal(found, value)
    with pytest.raises(ValueError, match="got 3 keys and 2 tensors"):
        stores[0].push(keys, values[:2])


def types_and_shapes_stay(stores: Stores) -> None:
    dtypes = (torch.bfloat16, torch.float16, torch.int64, torch.uint8)
    for dtype, shape in product(dtypes, ((), (0,), (2, 0, 3), (2, 3, 4))):
        key, value = f"{dtype} {shape}", torch.randint(0, 100, shape).to(dtype)
        both(stores, lambda _, store, key=key, value=value: store.create(key, value))
        found = stores[1].pull(key)
        assert torch.equal(found, value)
        assert found.dtype == dtype


def servers_take_the_steps_of_the_optimizer(stores: Stores) -> None:
    value = torch.randn(100, requires_grad=True)
    both(stores, lambda _, store: store.create("adam", value, Adam(lr=0.1)))
    optimizer = torch.optim.Adam([value], lr=0.1)
    for _ in range(3):
        parts = torch.randn(2, 100)
        both(stores, lambda worker, store, parts=parts: store.push("adam", parts[worker]))
        end_round(stores)
        value.grad = parts.sum(0)
        optimizer.step()
    torch.testing.assert_close(stores[0].pull("adam"), value.detach())


def rows_of_a_table_are_pushed_and_pulled(stores: Stores) -> None:
    table = torch.randn(50_000, 8)
    both(stores, lambda _, store: store.create_table("table", table, SGD(lr=0.5)))
    rows = torch.tensor([49_999, 3, 20_000, 3])
    stores[0].push_rows("table", rows, torch.ones(4, 8))
    stores[1].push_rows("table", torch.tensor([0]), torch.ones(1, 8))
    end_round(stores)
    expected = table.clone()
    expected.index_add_(0, rows, torch.ones(4, 8), alpha=-0.5)
    expected[0] -= 0.5
    torch.testing.assert_close(stores[1].pull_rows("table", rows), expected[rows])
    torch.testing.assert_close(stores[1].pull("table"), expected)
    assert stores[0].pull_rows("table", torch.tensor([], dtype=torch.int64)).shape == (0, 8)


def what_a_worker_gets_wrong_it_is_told_at_once(stores: Stores) -> None:
    both(stores, lambda _, store: store.create("right", torch.zeros(3)))
    with pytest.raises(KeyError, match="this worker has not created 'wrong'"):
        stores[0].push("wrong", torch.zeros(3))
    with pytest.raises(ValueError, match=r"'right' is \(3,\) of torch.float32, got \(4,\) of torch.float32"):
        stores[0].push("right", torch.zeros(4))
    with pytest.raises(ValueError, match="'right' is no table"):
        stores[0].pull_rows("right", torch.tensor([0]))
    both(stores, lambda _, store: store.create_table("rows", torch.zeros(3, 2)))
    with pytest.raises(IndexError, match="rows of 'rows' are 0 to 2, got 1 to 3"):
        stores[0].pull_rows("rows", torch.tensor([1, 3]))
    with pytest.raises(ValueError, match="the store takes float64"):
        stores[0].create("complex", torch.zeros(2, dtype=torch.complex64))


def what_a_server_refuses_leaves_the_rest_in_order(stores: Stores) -> None:
    """One refusal among many requests under way, and all others count, once."""
    both(stores, lambda _, store: store.create("before", torch.zeros(4)))
    with pytest.raises(Refused, match="cannot be"):
        stores[0].create("before", torch.zeros(5))
    stores[0].create("before", torch.zeros(4))
    pushes = [stores[0].start_push("before", torch.ones(4)) for _ in range(40)]
    for each in pushes:
        each.wait()
    end_round(stores)
    assert stores[1].pull("before").tolist() == [40.0] * 4


def who_has_left_and_comes_back_is_in_the_round_of_the_others(stores: Stores) -> None:
    one = torch.ones(70_000)
    both(stores, lambda _, store: store.create("left", 0 * one))
    stores[1].close()
    for _ in range(3):
        stores[0].push("left", one)
        stores[0].clock()
    stores[1] = type(stores[1])(stores[1].config, 1)
    stores[1].create("left", 0 * one)
    assert stores[1].rounds == stores[0].rounds
    with ThreadPoolExecutor() as pool:
        both(stores, lambda _, store: store.push("left", one))
        back = pool.submit(stores[1].clock)  # the first, and it already waits for the other
        assert waits_for_others(stores[1], back)
        assert torch.equal(stores[1].pull("left"), 3 * one)
        stores[0].clock()
        back.result(DEADLINE_S)
        assert torch.equal(stores[1].pull("left"), 5 * one)
        waiting = pool.submit(stores[0].clock)  # and the other for it
        assert waits_for_others(stores[0], waiting)
        stores[1].clock()
        waiting.result(DEADLINE_S)


def who_is_started_again_ends_the_round_that_its_former_process_was_in(stores: Stores) -> None:
    one = torch.ones(70_000)
    both(stores, lambda _, store: store.create("again", 0 * one))
    end_round(stores)
    stores[1].push("again", one)
    with ThreadPoolExecutor() as pool:
        stores[0].push("again", one)
        waiting = pool.submit(stores[0].clock)
        again(stores, 1)
        assert waits_for_others(stores[0], waiting)
        assert stores[1].rounds == stores[0].rounds
        stores[1].create("again", 0 * one)
        stores[1].clock()
        waiting.result(DEADLINE_S)
    assert torch.equal(stores[1].pull("again"), 2 * one)


def who_had_ended_a_round_when_it_was_started_again_waits_for_the_others(stores: Stores) -> None:
    one = torch.ones(70_000)
    both(stores, lambda _, store: store.create("ended", 0 * one))
    end_round(stores)
    stores[1].push("ended", one)
    with ThreadPoolExecutor() as pool:
        former = pool.submit(stores[1].clock)
        assert waits_for_others(stores[1], former)
        back = pool.submit(again, stores, 1)
        with pytest.raises(StoreError, match="another process is worker 1 now"):
            former.result(DEADLINE_S)
        assert waits_for_others(stores[1], back)  # the new one, which the scheduler has heard
        stores[0].push("ended", one)
        stores[0].clock()
        back.result(DEADLINE_S)
    assert stores[1].rounds == stores[0].rounds
    stores[1].create("ended", 0 * one)
    both(stores, lambda _, store: store.push("ended", one))
    end_round(stores)
    assert torch.equal(stores[1].pull("ended"), 4 * one)


CHECKS = [
    pushes_of_a_round_are_added_up,
    a_large_tensor_comes_back_as_it_was,
    pulls_fill_the_tensors_that_they_are_given,
    lists_of_keys_are_one_request,
    types_and_shapes_stay,
    servers_take_the_steps_of_the_optimizer,
    rows_of_a_table_are_pushed_and_pulled,
    what_a_worker_gets_wrong_it_is_told_at_once,
    what_a_server_refuses_leaves_the_rest_in_order,
    who_has_left_and_comes_back_is_in_the_round_of_the_others,
    who_is_started_again_ends_the_round_that_its_former_process_was_in,
    who_had_ended_a_round_when_it_was_started_again_waits_for_the_others,
]
