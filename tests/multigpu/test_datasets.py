"""Digits as they come, and Fashion-MNIST from files that are right, missing, or corrupt."""

from __future__ import annotations

import gzip
import hashlib
import sys
from pathlib import Path

import pytest
import torch

from dlperf.multigpu import datasets
from dlperf.multigpu.datasets import FILES, digits, fashion_mnist


def idx(values: torch.Tensor) -> bytes:
    """Returns a tensor of uint8 as a gzipped IDX file."""
    sizes = b"".join(size.to_bytes(4, "big") for size in values.shape)
    return gzip.compress(bytes([0, 0, 8, values.dim()]) + sizes + values.numpy().tobytes())


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, dict[str, str], list[torch.Tensor]]:
    """A folder with four files of random values, their checksums, and the values."""
    draw = torch.Generator().manual_seed(0)
    values = [
        torch.randint(256 if len(shape) > 1 else 10, shape, generator=draw, dtype=torch.uint8)
        for shape in ((5, 28, 28), (5,), (3, 28, 28), (3,))
    ]
    sums = {}
    for name, each in zip(FILES, values, strict=True):
        (tmp_path / name).write_bytes(idx(each))
        sums[name] = hashlib.md5((tmp_path / name).read_bytes()).hexdigest()
    return tmp_path, sums, values


def test_digits_have_the_shapes_that_lenet_takes() -> None:
    data = digits(1000)
    assert data.images.shape == (1000, 1, 28, 28)
    assert data.test_images.shape == (797, 1, 28, 28)
    assert data.images.dtype == torch.float32
    assert 0 <= data.images.min() < data.images.max() <= 1
    for labels in (data.labels, data.test_labels):
        assert labels.dtype == torch.int64
        assert set(labels.tolist()) == set(range(10))


@pytest.mark.parametrize("n", [0, 1797, 2000])
def test_both_parts_have_digits(n: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 1796 .* got {n}"):
        digits(n)


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match="not installed: pip install scikit-learn"):
        digits()


def test_files_are_read_as_they_were_written(made: tuple[Path, dict[str, str], list[torch.Tensor]]) -> None:
    folder, sums, (images, labels, test_images, test_labels) = made
    data = fashion_mnist(folder, sums)
    assert torch.equal((data.images * 255).round().to(torch.uint8), images.unsqueeze(1))
    assert torch.equal((data.test_images * 255).round().to(torch.uint8), test_images.unsqueeze(1))
    assert torch.equal(data.labels, labels.long())
    assert torch.equal(data.test_labels, test_labels.long())


def test_all_missing_files_are_named_at_once(made: tuple[Path, dict[str, str], list[torch.Tensor]]) -> None:
    folder, sums, _ = made
    first, *_, last = FILES
    for name in (first, last):
        (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"lacks {first}, {last}; .*{datasets.SOURCE}"):
        fashion_mnist(folder, sums)


def test_a_corrupt_file_is_named_with_both_checksums(made: tuple[Path, dict[str, str], list[torch.Tensor]]) -> None:
    folder, sums, _ = made
    (folder / list(FILES)[2]).write_bytes(b"cut off")
    found = hashlib.md5(b"cut off").hexdigest()
    with pytest.raises(ValueError, match=f"{list(FILES)[2]} is corrupt: .*{found}, expected {sums[list(FILES)[2]]}"):
        fashion_mnist(folder, sums)
