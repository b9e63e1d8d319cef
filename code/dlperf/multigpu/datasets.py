"""Images of one channel and 28 × 28 points with ten classes: scikit-learn's digits, and Fashion-MNIST.

The digits come with scikit-learn. Fashion-MNIST is read where it lies, fetched where it does not, and believed only
if its checksums are right. The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import struct
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from dlperf.environment import lacking

SOURCE = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
"""Where Fashion-MNIST is published."""

FILES = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
"""Its files and their MD5 checksums, as its authors publish them: Xiao, Rasul and Vollgraf, Fashion-MNIST, 2017."""

FOLDER = Path.home() / ".cache" / "dlperf" / "fashion-mnist"
"""Where it is looked for, and put, if no other folder is named."""

PATIENCE = 20.0
"""Seconds after which a source that does not answer is given up."""


class Data(NamedTuple):
    """Images of shape (n, 1, 28, 28), float32 from 0 to 1, and labels of int64 from 0 to 9: to train on, to test on."""

    images: Tensor
    labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def digits(train: int = 1500) -> Data:
    """Returns scikit-learn's 1,797 digits, enlarged from 8 x 8 points; ``train`` of them are to train on.

    Raises ValueError where one part would be empty, ImportError without scikit-learn. Source: Alpaydin and Kaynak,
    Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError(lacking("scikit-learn")) from None
    found = load_digits()
    small = torch.from_numpy(found.images).float().div(16).unsqueeze(1)
    if not 0 < train < len(small):
        raise ValueError(f"of {len(small)} digits, 1 to {len(small) - 1} are to train on, got {train}")
    images = F.interpolate(small, size=(28, 28), mode="bilinear", align_corners=False)
    order = torch.randperm(len(small), generator=torch.Generator().manual_seed(0))
    images, labels = images[order], torch.from_numpy(found.target).long()[order]
    return Data(images[:train], labels[:train], images[train:], labels[train:])


def fashion_mnist(
    folder: Path | str = FOLDER, source: str = SOURCE, files: Mapping[str, str] = FILES, patience: float = PATIENCE
) -> Data:
    """Returns Fashion-MNIST from the ``files`` in ``folder``; what is not there is fetched from ``source``.

    Raises FileNotFoundError for one that is missing and cannot be fetched, ValueError for one that is not what its
    checksum or its header promises; both name the file, what was expected, and what to do.
    """
    read = [_values(_verified(Path(folder) / name, source, md5, patience)) for name, md5 in files.items()]
    images, labels, test_images, test_labels = read
    return Data(_scaled(images), labels.long(), _scaled(test_images), test_labels.long())


def _scaled(images: Tensor) -> Tensor:
    return images.unsqueeze(1).float().div(255)


def _verified(path: Path, source: str, expected: str, patience: float) -> Path:
    """Returns the path of a file that has the expected checksum."""
    if not path.exists():
        _fetch(path, source + path.name, expected, patience)
    if (found := _md5(path)) != expected:
        raise ValueError(
            f"{path} is corrupt: its MD5 checksum is {found}, expected {expected}. "
            f"Delete it, and it is fetched again, or put there what {source + path.name} has."
        )
    return path


def _fetch(path: Path, url: str, expected: str, patience: float) -> None:
    """Puts what ``url`` has at ``path``, whole or not at all, so that processes which fetch at once do no harm."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with urllib.request.urlopen(url, timeout=patience) as answer, open(handle, "wb") as file:
            shutil.copyfileobj(answer, file)
        os.replace(part, path)
    except OSError as error:
        raise FileNotFoundError(
            f"{path} is missing and could not be fetched from {url} ({error}). Put the file there, with the MD5 "
            f"checksum {expected}, or train on digits(), which needs no file."
        ) from error
    finally:
        Path(part).unlink(missing_ok=True)


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _values(path: Path) -> Tensor:
    """Returns the bytes of a gzipped IDX file in their shape: magic number, sizes as big-endian integers, values.

    Source: LeCun, Cortes and Burges, The MNIST database of handwritten digits, section "file formats".
    """
    try:
        content = gzip.decompress(path.read_bytes())
        zeros, kind, dimensions = struct.unpack_from(">HBB", content)
        shape = struct.unpack_from(f">{dimensions}I", content, 4)
    except (OSError, EOFError, struct.error) as error:
        raise ValueError(f"{path} is no gzipped IDX file ({error}); delete it, and it is fetched again") from error
    start = 4 + 4 * dimensions
    if (zeros, kind) != (0, 8) or len(content) - start != torch.Size(shape).numel():
        raise ValueError(
            f"{path} has {len(content) - start} bytes behind its header, which promises type {kind} of shape {shape}; "
            f"expected unsigned bytes (type 8) that fill it. Delete it, and it is fetched again."
        )
    return torch.frombuffer(bytearray(content), dtype=torch.uint8, offset=start).reshape(shape)
