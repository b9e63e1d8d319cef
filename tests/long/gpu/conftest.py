"""The simulated GPU and the lines that only a GPU reaches, as in `tests/gpu`."""

from tests.gpu.conftest import library, lines

__all__ = ["library", "lines"]
