"""What a file says of a cluster: where it is wrong, one line says what is, and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlperf.kvstore import read

RIGHT = """
scheduler = "127.0.0.1:5570"
servers = ["127.0.0.1:5571", "127.0.0.1:5573"]
workers = 2
"""


def test_what_a_file_says_is_a_cluster(tmp_path: Path) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(RIGHT + "staleness = 3\n")
    assert (read(file).workers, read(file).staleness, len(read(file).servers)) == (2, 3, 2)


@pytest.mark.parametrize(
    ("old", "new", "wrong", "right"),
    [
        (
            "workers",
            "worker",
            "unknown field `worker`",
            "it needs scheduler, servers, workers, and may have copies, st",
        ),
        ("workers = 2", "", "missing required field `workers`", "it needs scheduler, servers, workers"),
        ("workers = 2", "workers = 0", "Expected `int` >= 1 - at `$.workers`", ""),
        ("127.0.0.1:5570", "127.0.0.1", "at `$.scheduler`", "an address is a host and a port, such as 10.0.0.1:5570"),
        ("127.0.0.1:5573", "here", "at `$.servers[1]`", "an address is a host and a port"),
        ("workers", "on_lost = 'dorp'\nworkers", "'dorp' - at `$.on_lost`", "it is one of 'wait', 'drop', 'error'"),
        ("workers", "sync = 'never'\nworkers", "'never' - at `$.sync`", "it is one of 'always', 'system'"),
        ("workers", "copies = 3\nworkers", "3 copies need as many servers, got 2", ""),
        ("workers", "lease = 9.0\nworkers", "beat < lease < dead must hold", "got beat=0.2, lease=9.0, dead=2.0"),
        ("5573", "5572", "a server listens on its port and the next, so these collide", ""),
        ("127.0.0.1:5570", "10.0.0.1:5570", "which needs keys", "python -m dlperf.kvstore keys FOLDER"),
        ("workers", "unprotected = true\nkeys = 'here'\nworkers", "an unprotected cluster has no keys", "keys='here'"),
        ('"127.0.0.1:5570"', "127", "Expected `str`, got `int`", ""),
        ("workers = 2", "workers 2", "Expected '=' after a key", "line 4"),
    ],
)
def test_a_wrong_file_is_one_line_that_says_what_is_right(
    tmp_path: Path, old: str, new: str, wrong: str, right: str
) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(RIGHT.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"cluster\.toml") as raised:
        read(file)
    said = str(raised.value)
    assert wrong in said
    assert right in said.partition(wrong)[2]
    assert "\n" not in said
