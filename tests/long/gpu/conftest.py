"""The simulated GPU, what runs a program on it, and the lines that only a GPU reaches, as in `tests/gpu`."""

from tests.gpu.conftest import library, lines, run

__all__ = ["library", "lines", "run"]
