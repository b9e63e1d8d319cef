"""Images of 28 x 28 points in ten classes: scikit-learn's digits, and Fashion-MNIST where its files are.

The chapter *Training on multiple GPUs, from scratch* trains LeNet on them.
"""

from __future__ import annotations

import gzip
import hashlib
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import interpolate

SOURCE = "https://github.com/zalandoresearch/fashion-mnist"
"""Where Fashion-MNIST and its checksums are published: Xiao, Rasul and Vollgraf, 2017, arXiv:1708.07747."""

FILES = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
"""Its files, images and labels to train on and to test on, with their MD5 checksums."""

FOLDER = Path.home() / ".cache" / "dlperf" / "fashion-mnist"
"""Where the files are looked for, if no other folder is named."""


class Data(NamedTuple):
    """Images of shape (n, 1, 28, 28), float32 from 0 to 1, and labels of shape (n,), int64 from 0 to 9."""

    images: Tensor
    labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def digits(n: int = 1536) -> Data:
    """Returns scikit-learn's 1,797 digits, enlarged from 8 x 8 points; ``n`` of them are to train on, the rest to test.

    Raises ValueError if nothing would be left for one of the two, ImportError without scikit-learn. Source: Alpaydin
    and Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError("scikit-learn, which has the digits, is not installed: pip install scikit-learn") from None
    found = load_digits()
    if not 0 < n < len(found.images):
        raise ValueError(f"1 to {len(found.images) - 1} of the digits can be to train on, got {n}")
    order = torch.randperm(len(found.images), generator=torch.Generator().manual_seed(0))
    small = torch.from_numpy(found.images).float().div(16).unsqueeze(1)[order]
    images = interpolate(small, size=(28, 28), mode="bilinear", align_corners=False)
    labels = torch.from_numpy(found.target).long()[order]
    return Data(images[:n], labels[:n], images[n:], labels[n:])


def fashion_mnist(folder: Path | str = FOLDER, files: Mapping[str, str] = FILES) -> Data:
    """Returns Fashion-MNIST from the ``files`` in ``folder``, by name with their checksums.

    Raises FileNotFoundError that names all files which are missing, and ValueError if a checksum differs.
    """
    missing = [name for name in files if not (Path(folder) / name).is_file()]
    if missing:
        raise FileNotFoundError(f"{folder} lacks {', '.join(missing)}; put them there from {SOURCE}, or use digits()")
    images, labels, test_images, test_labels = (_read(Path(folder) / name, md5) for name, md5 in files.items())
    return Data(_scaled(images), labels.long(), _scaled(test_images), test_labels.long())


def _scaled(images: Tensor) -> Tensor:
    return images.unsqueeze(1).float().div(255)


def _read(path: Path, md5: str) -> Tensor:
    """Returns the bytes of a gzipped IDX file in their shape: type, number of dimensions, big-endian sizes, bytes.

    Source: LeCun, Cortes and Burges, The MNIST database of handwritten digits, section "file formats".
    """
    packed = path.read_bytes()
    found = hashlib.md5(packed, usedforsecurity=False).hexdigest()
    if found != md5:
        raise ValueError(f"{path} is corrupt: its MD5 checksum is {found}, expected {md5}; get it anew from {SOURCE}")
    content = gzip.decompress(packed)
    dimensions = content[3]
    shape = struct.unpack_from(f">{dimensions}I", content, 4)
    return torch.frombuffer(bytearray(content), dtype=torch.uint8, offset=4 + 4 * dimensions).reshape(shape)
