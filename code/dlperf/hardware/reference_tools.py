"""Tools that others trust, asked the same question: what they say stands beside what the book's probes say."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dlperf.environment import pinnable_cores
from dlperf.hardware.probe import Unknown
from dlperf.network import Network


def output(command: list[str], timeout: float = 120) -> str:
    """Returns what a command prints; raises `Unknown` where it is not installed or fails."""
    if shutil.which(command[0]) is None:
        raise Unknown(f"{command[0]} is not installed; on Debian: apt install {command[0]}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Unknown(f"{' '.join(command)} did not end in {timeout} s") from None
    if done.returncode:
        raise Unknown(f"{' '.join(command)} failed with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def mbw(mebibytes: int = 128, runs: int = 5, tests: Sequence[int] = (0, 1)) -> dict[str, list[float]]:
    """Returns the bytes that mbw copied per second, run by run: ``loop`` word by word, ``memcpy`` or ``block``.

    These names say what version 1.2.2 does. It prints MEMCPY over the loop and DUMB over memcpy: its source has the
    two the other way round in its `worker` and its `printout`. And MCBLOCK, our ``block``, copies the same 256 KiB
    again and again, so it reads from a cache. Raises `Unknown` without mbw.
    """
    return parse_mbw(output(["mbw", "-q", "-a", "-n", str(runs), *(f"-t{test}" for test in tests), str(mebibytes)]))


def parse_mbw(text: str) -> dict[str, list[float]]:
    """Returns the rates in what mbw prints, in B/s, under the names that `mbw` explains."""
    names = {"MEMCPY": "loop", "DUMB": "memcpy", "MCBLOCK": "block"}
    rates: dict[str, list[float]] = {name: [] for name in names.values()}
    for method, rate in re.findall(r"Method: (\w+).*?Copy: ([\d.]+) MiB/s", text):
        rates[names[method]].append(float(rate) * 2**20)
    return {name: found for name, found in rates.items() if found}


def counted(event: str, work: Callable[[], object], seconds: float = 0.5) -> float:
    """Returns how often the processor counted an ``event``, such as a cache miss, per call of ``work``.

    perf watches this process for so many ``seconds`` of calls. Raises `Unknown` without perf, and where the processor
    or the system lets nobody count, as in most virtual machines.
    """
    command = ["perf", "stat", "-x,", "--log-fd", "1", "-e", event, "-p", str(os.getpid()), "sleep", str(seconds)]
    calls = 0
    with ThreadPoolExecutor(1) as helper:
        told = helper.submit(output, command)
        while not told.done():
            work()
            calls += 1
    return parse_perf(told.result(), event) / calls


def parse_perf(text: str, event: str) -> float:
    """Returns the count of an event in what ``perf stat -x,`` prints; raises `Unknown` if nothing was counted."""
    for line in text.splitlines():
        count, *rest = line.split(",")
        if any(field.startswith(event) for field in rest) and count.replace(".", "").isdigit():
            return float(count)
    raise Unknown(f"this processor does not count {event} for us, as in most virtual machines: {text.strip()[:100]}")


def fio(path: Path, block: int, depth: int = 1, *, in_order: bool = False, seconds: float = 0.3) -> float:
    """Returns how many reads of so many bytes a second `fio` does of a file, past the page cache.

    It does what `dlperf.hardware.storage.rate` does: ``depth`` threads, each with one ``pread`` under way, into memory
    of the same kind (by default fio's may lie in one piece, which makes large reads faster).
    """
    what = {"filename": path, "rw": "read" if in_order else "randread", "bs": block, "numjobs": depth}
    fixed = {
        "name": "trusted",
        "direct": 1,
        "ioengine": "psync",
        "mem": "mmapshared",
        "size": path.stat().st_size,
        "allow_file_create": 0,
    }
    options = [f"--{name}={value}" for name, value in (fixed | what).items()]
    options += ["--thread", "--norandommap", "--group_reporting", "--time_based", f"--runtime={seconds * 1e3:.0f}ms"]
    return fio_reads(output(["fio", *options, "--output-format=json"]))


def fio_reads(text: str) -> float:
    """Returns the reads per second in the JSON that `fio` printed, whatever it printed before."""
    (job,) = json.loads(text[text.index("{") :])["jobs"]
    return job["read"]["iops"]


def iperf3(amount: int) -> float:
    """Returns the bytes per second that `iperf3` gets through TCP within this machine, sending ``amount`` bytes."""
    _has_iperf3()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with ThreadPoolExecutor() as pool:
        server = pool.submit(iperf3_server, "127.0.0.1", port)
        rate = iperf3_client("127.0.0.1", amount, port)
        server.result()
    return rate


def iperf3_over(link: Network, amount: int) -> float:
    """Returns the bytes per second that `iperf3` gets from the first host of ``link`` to the second."""
    _has_iperf3()
    answers = link.run(_iperf3_end, amount)
    for rank, answer in enumerate(answers):
        if isinstance(answer, str):
            raise Unknown(f"host {rank}: {answer}")
    return answers[0]


def _has_iperf3() -> None:
    if shutil.which("iperf3") is None:
        raise Unknown("iperf3 is not installed; on Debian: apt install iperf3")


def _iperf3_end(rank: int, amount: int) -> float | str:
    """Returns the rate at the first host, 0 at the second, and at either why it could not be had."""
    try:
        return iperf3_client("10.0.0.2", amount) if rank == 0 else 0.0 * len(iperf3_server("10.0.0.2"))
    except Unknown as why:
        return str(why)


def iperf3_server(address: str, port: int = 5201) -> str:
    """Returns what `iperf3` says of the one client that it has served."""
    where = ["--bind", address, "--port", str(port)]
    return output(["iperf3", "--server", "--one-off", *where, "--json"], timeout=20)


def iperf3_client(address: str, amount: int, port: int = 5201, tries: int = 100) -> float:
    """Returns the bytes per second that the server received; waits for the server to begin.

    Both have a core of their own, where there are two to be had.
    """
    where = ["--client", address, "--port", str(port)]
    if len(free := pinnable_cores()) > 1:
        where += ["--affinity", f"{free[0]},{free[1]}"]
    for left in reversed(range(tries)):
        try:
            return iperf3_received(output(["iperf3", *where, "--bytes", str(amount), "--json"]))
        except Unknown:  # the server is not there yet
            if not left:
                raise
            time.sleep(0.05)
    raise ValueError(f"at least one try is needed, got {tries}")


def iperf3_received(text: str) -> float:
    """Returns the bytes per second in the JSON that `iperf3` printed; raises `Unknown` with the error in it."""
    said = json.loads(text)
    if "error" in said:
        raise Unknown(f"iperf3: {said['error']}")
    return said["end"]["sum_received"]["bits_per_second"] / 8
