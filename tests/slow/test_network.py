"""Hosts in namespaces: what they can reach, how fast their links are, and what a failure says."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import sleep

import psutil
import pytest
import torch

from dlperf import network
from dlperf.environment import pinnable_cores
from dlperf.network import PAYLOAD, Network, Unavailable, template
from tests import hosts, processes
from tests.conftest import ROOT
from tests.processes import DEADLINE_S, alive, busy, fail_beside_busy, network_of, networks

why = network.unavailable()
needs_namespaces = pytest.mark.skipif(bool(why), reason=why)
why_not_delayed = network.unavailable(delay=0.001)
needs_delays = pytest.mark.skipif(bool(why_not_delayed), reason=why_not_delayed)


@pytest.fixture(scope="module")
def pair() -> Iterator[Network]:
    with Network(2) as made:
        yield made


@needs_namespaces
def test_every_host_runs_the_function_with_its_rank(pair: Network) -> None:
    assert pair.run(hosts.hello, "word") == [("word", 0), ("word", 1)]


@needs_namespaces
def test_hosts_are_processes_with_interfaces_of_their_own(pair: Network) -> None:
    found = pair.run(hosts.identity)
    assert len({os.readlink("/proc/self/ns/net"), *(namespace for namespace, _ in found)}) == 3
    assert [sorted(names) for _, names in found] == [["eth0", "lo"]] * 2


@needs_namespaces
def test_a_host_cannot_reach_what_is_outside(pair: Network) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert hosts.connects(0, port)
        assert pair.run(hosts.connects, port) == [False, False]


@needs_namespaces
@pytest.mark.parametrize("rate", [2e6, 1e7])
def test_a_link_is_never_faster_than_its_rate(rate: float) -> None:
    size = int(rate / 4)
    with Network(2, rate) as made:
        _, seconds = made.run(hosts.trickle, size)
    assert seconds >= 0.95 * size / PAYLOAD / rate  # a full bucket passes at once


@needs_namespaces
def test_all_reduce_adds_over_three_links() -> None:
    with Network(3) as made:
        assert made.run(hosts.summed, 3, 1000) == [[6.0] * 1000] * 3


@needs_namespaces
@pytest.mark.skipif(len(pinnable_cores()) < 2, reason="needs a core for each of two hosts")
def test_the_cores_of_one_host_play_the_network_card_of_all() -> None:
    with Network(2) as made:
        (own, card), (other, same) = made.run(hosts.cores_beside, 2, 1)
    assert own.isdisjoint(other)
    assert card == same
    assert card == {written(other)}
    with Network(2) as made, pytest.raises(RuntimeError, match="hosts are 0 to 1, got 2"):
        made.run(network.process_group_beside, 2, 2)


def written(cores: set[int]) -> str:
    """Returns cores as the kernel writes them, if they lie side by side or all apart."""
    low, high = min(cores), max(cores)
    whole = len(cores) > 1 and high - low + 1 == len(cores)
    return f"{low}-{high}" if whole else ",".join(map(str, sorted(cores)))


@needs_namespaces
def test_a_failure_names_the_host_and_what_it_raised() -> None:
    with Network(2) as made, pytest.raises(RuntimeError, match=r"host 1 failed in fail(.|\n)*no such gradient"):
        made.run(hosts.fail)


@needs_namespaces
def test_a_host_that_ends_is_told_of() -> None:
    with Network(1) as made, pytest.raises(RuntimeError, match="host 0 failed in die: its process has ended"):
        made.run(hosts.die)


@needs_namespaces
def test_the_first_failure_is_raised_while_others_are_busy(tmp_path: Path) -> None:
    """Whoever waited for host 0, which is busy for days, would run into the deadline, which is another error."""
    with Network(2) as made:
        with pytest.raises(RuntimeError, match=r"host 1 failed in fail_beside_busy(.|\n)*no such gradient"):
            made.run(fail_beside_busy, str(tmp_path), timeout=2 * DEADLINE_S)
        with pytest.raises(RuntimeError, match="this network has ended"):
            made.run(hosts.hello, "word")


@needs_namespaces
def test_a_time_limit_names_who_is_late() -> None:
    with Network(2) as made, pytest.raises(TimeoutError, match=r"host 0, 1 did not answer within 0.3 s in busy"):
        made.run(busy, timeout=0.3)


@needs_namespaces
def test_hosts_may_write_as_much_as_they_like(pair: Network) -> None:
    assert pair.run(hosts.shout, timeout=DEADLINE_S) == [0, 1]


@needs_namespaces
def test_what_hosts_wrote_is_told_with_a_failure() -> None:
    with Network(2) as made:
        made.run(hosts.shout)
        with pytest.raises(RuntimeError) as caught:
            made.run(hosts.die)
    assert "no such gradient" in "".join(caught.value.__notes__)


@needs_namespaces
def test_each_link_has_its_own_rate() -> None:
    slow = 1e6
    with Network(3, (1e8, slow, 1e8)) as made:
        _, seconds, _ = made.run(hosts.trickle_of_two, int(slow / 2))
    assert seconds >= 0.9 * int(slow / 2) / PAYLOAD / slow


@needs_delays
@pytest.mark.parametrize(("delay", "trip"), [(0.01, 0.04), ((0.0, 0.02), 0.04)])
def test_a_round_trip_takes_at_least_the_delays_of_both_links_twice(
    delay: float | tuple[float, float], trip: float
) -> None:
    with Network(2, delay=delay) as made:
        trips = made.run(hosts.ping_pong, 5)[0]
    assert min(trips) >= trip


@needs_delays
def test_a_link_with_a_delay_keeps_its_rate_and_every_byte() -> None:
    rate = 5e6
    with Network(2, rate, 0.002) as made:
        _, seconds = made.run(hosts.trickle, int(rate / 2))
    assert seconds >= 0.95 * 0.5 / PAYLOAD


def test_a_delay_without_tap_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlperf.network.delay.TUN", "/dev/net/no-such-file")
    with pytest.raises(Unavailable, match=r"links with a delay need /dev/net/no-such-file"), Network(2, delay=0.1):
        pass


@needs_namespaces
@pytest.mark.parametrize("delay", [0.0, pytest.param(0.001, marks=needs_delays)])
def test_what_is_sent_over_a_cut_link_comes_when_it_is_mended(delay: float) -> None:
    with Network(2, delay=delay) as made:
        made.run(hosts.connect)
        assert made.run(hosts.say, b"before", DEADLINE_S) == [b"", b"before"]
        with made.severed(1):
            assert made.run(hosts.say, b"meanwhile", 0.5) == [b"", b""]
        assert made.run(hosts.listen, DEADLINE_S) == [b"", b"meanwhile"]


@needs_namespaces
def test_a_cut_host_cannot_be_reached_and_the_others_can() -> None:
    with Network(3) as made:
        made.run(hosts.listen_for_connections)
        made.cut(2)
        assert made.run(hosts.can_connect, [DEADLINE_S, DEADLINE_S, 0.5]) == [True, True, False]
        made.mend(2)
        assert made.run(hosts.can_connect, [DEADLINE_S] * 3) == [True] * 3


@needs_namespaces
def test_a_link_is_cut_and_mended_while_hosts_run(pair: Network, tmp_path: Path) -> None:
    pair.run(hosts.connect)
    with ThreadPoolExecutor(1) as pool:
        pair.cut(0)
        sent = tmp_path / "sent"
        answer = pool.submit(pair.run, hosts.say, b"late", DEADLINE_S, str(sent))
        try:
            assert processes.wait_until(sent.exists)
            sleep(0.2)  # in which an uncut link would have brought it
            assert not answer.done()
        finally:
            pair.mend(0)
        assert answer.result() == [b"", b"late"]


@needs_namespaces
def test_only_links_that_are_there_are_cut(pair: Network) -> None:
    with pytest.raises(ValueError, match="hosts are 0 to 1, got 2"):
        pair.cut(2)


PARENT = """
import os, sys
from dlperf.network import Network
from tests.processes import busy, fail_beside_busy
from tests import hosts
folder = sys.argv[1]
with Network(2) as net:
    print("up", flush=True)
    sys.stdin.readline()
    {}
"""


class Parent:
    """A process that makes a network, and what belongs to it: processes and namespaces."""

    def __init__(self, body: str, folder: Path) -> None:
        environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'code'}:{ROOT}"}
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-c", PARENT.format(body), str(folder)]
        self.folder, self.process = folder, subprocess.Popen(command, **streams, env=environ)
        self.held: dict[str, int] = {}

    def look(self) -> None:
        """Notes which processes it has started, and in which namespaces they live."""
        self.pids = [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]
        self.networks = {network_of(pid) for pid in self.pids} - {network_of(os.getpid()), ""}
        for pid in self.pids:  # as long as somebody holds a namespace, the system gives no other one its name
            with suppress(OSError):
                if (name := network_of(pid)) not in self.held:
                    self.held[name] = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)

    def let_it_run(self) -> None:
        """Waits until the network is up, looks, and has the body run."""
        self.process.stdout.readline()
        self.look()
        assert len(self.networks) == 3  # the switch's, and one for each host
        self.process.stdin.write(b"go on\n")
        self.process.stdin.flush()

    def has_left_nothing(self) -> bool:
        return not alive(self.pids) and not self.networks & networks()


@pytest.fixture
def parent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Parent]:
    made = Parent(request.param, tmp_path)
    yield made
    made.process.kill()
    made.process.communicate()
    for pid in alive(getattr(made, "pids", [])):  # do not leave behind what a broken network does
        os.kill(pid, signal.SIGKILL)
    for file in made.held.values():
        os.close(file)


@needs_namespaces
@pytest.mark.parametrize("parent", ["net.run(busy, folder)"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_busy_hosts_end_with_their_parent(parent: Parent, number: signal.Signals) -> None:
    parent.let_it_run()
    assert processes.wait_until_busy(range(2), parent.folder)
    parent.process.send_signal(number)
    parent.process.wait(DEADLINE_S)
    assert processes.wait_until(parent.has_left_nothing)


@needs_namespaces
@pytest.mark.parametrize(
    "parent",
    [
        "net.run(fail_beside_busy, folder)",
        "net.run(busy, timeout=0.5)",
        "net.run(hosts.leave_a_child)",
        "net.run(hosts.leave_a_child); os._exit(0)",
        "raise KeyboardInterrupt",
        "",
    ],
    indirect=True,
)
def test_hosts_end_however_the_block_does(parent: Parent) -> None:
    parent.let_it_run()
    parent.process.wait(DEADLINE_S)
    assert processes.wait_until(parent.has_left_nothing)


@needs_namespaces
@pytest.mark.parametrize("parent", ["net.run(busy)"], indirect=True)
@pytest.mark.parametrize("several", [1, 2, 3])
def test_a_network_that_is_just_starting_ends_with_its_parent(parent: Parent, several: int) -> None:
    def started() -> bool:
        parent.look()
        return len(parent.pids) >= several

    assert processes.wait_until(started)
    parent.process.kill()
    parent.process.wait(DEADLINE_S)
    assert processes.wait_until(parent.has_left_nothing)


def switch_of(made: Network) -> psutil.Process:
    """Returns a network's switch, whose children are the hosts."""
    said = Path(f"/proc/self/fdinfo/{made._switch}").read_text(encoding="ascii")
    return psutil.Process(int(said.partition("\nPid:")[2].split()[0]))


@needs_namespaces
@pytest.mark.parametrize("which", [0, 1])
def test_nothing_is_left_when_one_of_its_first_processes_is_killed(which: int) -> None:
    with Network(2) as made:
        switch = switch_of(made)
        pids = [switch.pid, *(child.pid for child in switch.children())]
        os.kill([switch.parent().pid, switch.pid][which], signal.SIGKILL)
        assert processes.wait_until(lambda: not alive(pids))
        with pytest.raises(RuntimeError, match="this network has ended"):
            made.cut(0)
        with pytest.raises(RuntimeError, match="its process has ended"):
            made.run(hosts.hello, "word")
        with pytest.raises(RuntimeError, match="this network has ended"):
            made.cut(0)


@needs_namespaces
def test_a_host_has_the_environment_and_the_folder_of_who_made_the_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WHO_MADE_IT", "this test")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    with Network(1) as made:
        assert made.run(hosts.surroundings) == [("this test", None, str(tmp_path))]


@needs_namespaces
def test_hosts_do_not_import_again_what_the_program_has_imported() -> None:
    with Network(2) as made:
        assert made.run(hosts.has_imported, [torch.__name__, "pyroute2"]) == [True, True]
        assert made.run(hosts.threads) == [1, 1]


@needs_namespaces
def test_a_template_that_has_ended_is_replaced() -> None:
    with Network(1):
        pass
    before = template.current()
    os.kill(before._process.pid, signal.SIGKILL)
    before._process.wait()
    with Network(1) as made:
        assert made.run(hosts.hello, "word") == [("word", 0)]
    assert template.current() is not before


REFUSED = """
echo 0 > /proc/sys/user/max_user_namespaces
exec "$0" -c "from dlperf import network; print(network.unavailable())"
"""


@needs_namespaces
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs the command unshare")
def test_what_the_system_refuses_is_passed_on() -> None:
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", REFUSED, sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == (
        "this system makes no network namespaces: the system lets us have none of our own: No space left on device\n"
    )


@pytest.mark.parametrize(
    ("hosts", "rate", "delay", "said"),
    [
        (0, 1e8, 0.0, "1 to 250 hosts, got 0"),
        (2, 125.0, 0.0, r"bytes per second, from 10000 to 4e\+09, got 125.0"),
        (2, float("inf"), 0.0, "bytes per second.*got inf"),
        (2, float("nan"), 0.0, "bytes per second.*got nan"),
        (2, [1e6, -1.0], 0.0, "bytes per second.*got -1.0"),
        (2, [1e6] * 3, 0.0, "rate is one number, or one for each of 2 hosts, got 3"),
        (2, 1e8, -0.1, "a delay is in seconds, from 0 to 10, got -0.1"),
        (2, 1e8, float("nan"), "in seconds.*got nan"),
        (2, 1e8, float("inf"), "in seconds.*got inf"),
        (2, 1e8, [0.1], "delay is one number, or one for each of 2 hosts, got 1"),
    ],
)
def test_impossible_networks_are_refused(hosts: int, rate: float, delay: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Network(hosts, rate, delay)
