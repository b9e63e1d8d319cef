"""The digits against scikit-learn's own, and a loader that believes no file without its checksum."""

from __future__ import annotations

import gzip
import hashlib
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from dlperf.multigpu import datasets

NAMES = list(datasets.FILES)


def idx(values: np.ndarray) -> bytes:
    """Returns an array of unsigned bytes as a gzipped IDX file."""
    header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    return gzip.compress(header + values.astype(np.uint8).tobytes(), mtime=0)


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, dict[str, str], list[np.ndarray]]:
    """Returns a folder with four small files, their checksums, and what is in them."""
    draw = np.random.default_rng(0)
    arrays = [draw.integers(0, top, shape) for n in (5, 3) for top, shape in ((256, (n, 28, 28)), (10, (n,)))]
    folder, files = tmp_path / "there", {}
    folder.mkdir()
    for name, values in zip(NAMES, arrays, strict=True):
        (folder / name).write_bytes(idx(values))
        files[name] = hashlib.md5((folder / name).read_bytes()).hexdigest()
    return folder, files, arrays


def test_digits_are_scikit_learn_s():
    from sklearn.datasets import load_digits

    data = datasets.digits()
    assert [len(part) for part in data] == [1500, 1500, 297, 297]
    assert data.images.shape[1:] == (1, 28, 28)
    assert data.images.dtype == torch.float32
    assert (data.images.min(), data.images.max()) == (0, 1)
    labels = torch.cat([data.labels, data.test_labels])
    assert torch.equal(labels.bincount(), torch.from_numpy(load_digits().target).bincount())
    order = torch.randperm(1797, generator=torch.Generator().manual_seed(0))
    small = torch.from_numpy(load_digits().images).float()[order[0]] / 16
    means = torch.nn.functional.adaptive_avg_pool2d(data.images[0], 4)[0]
    torch.testing.assert_close(means, torch.nn.functional.avg_pool2d(small[None], 2)[0], atol=0.1, rtol=0)


def test_digits_leave_some_to_test_on():
    with pytest.raises(ValueError, match="got 1797"):
        datasets.digits(1797)


def test_digits_say_what_is_lacking(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match="scikit-learn"):
        datasets.digits()


def test_files_on_disk_are_read(small):
    folder, files, arrays = small
    data = datasets.fashion_mnist(folder, "file:///nowhere/", files)
    for found, right in zip(data, arrays, strict=True):
        scaled = right[:, None] / 255 if right.ndim == 3 else right
        np.testing.assert_allclose(found.numpy(), scaled, rtol=1e-6)
    assert data.labels.dtype == torch.int64


def test_missing_files_are_fetched(small, tmp_path):
    folder, files, arrays = small
    here = tmp_path / "new" / "folder"
    data = datasets.fashion_mnist(here, folder.as_uri() + "/", files)
    assert np.array_equal(data.test_labels.numpy(), arrays[3])
    assert sorted(path.name for path in here.iterdir()) == sorted(NAMES)


def test_a_missing_file_is_named_and_nothing_is_left(small, tmp_path):
    folder, files, _ = small
    (folder / NAMES[2]).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{NAMES[2]} is missing .*{files[NAMES[2]]}.*digits\(\)"):
        datasets.fashion_mnist(folder, (tmp_path / "nowhere").as_uri() + "/", files)
    assert len(list(folder.iterdir())) == 3


def test_a_corrupt_file_is_named_with_what_was_expected(small):
    folder, files, _ = small
    (folder / NAMES[0]).write_bytes(b"<html>not found</html>")
    with pytest.raises(ValueError, match=rf"{NAMES[0]} is corrupt: .* expected {files[NAMES[0]]}. Delete"):
        datasets.fashion_mnist(folder, "file:///nowhere/", files)


BAD = {  # not in the ids: compressed bytes carry the time at which they were made
    "not gzip": (b"no gzip", "is no gzipped IDX file"),
    "too short": (gzip.compress(b"\0\0"), "is no gzipped IDX file"),
    "shape": (gzip.compress(struct.pack(">HBBI", 0, 8, 1, 9) + bytes(8)), r"8 bytes behind its header.*\(9,\)"),
    "type": (gzip.compress(struct.pack(">HBBI", 0, 13, 1, 2) + bytes(8)), "type 13"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_with_the_right_checksum_may_still_be_none(small, case):
    content, said = BAD[case]
    folder, files, _ = small
    (folder / NAMES[1]).write_bytes(content)
    files[NAMES[1]] = hashlib.md5(content).hexdigest()
    with pytest.raises(ValueError, match=said):
        datasets.fashion_mnist(folder, "file:///nowhere/", files)
