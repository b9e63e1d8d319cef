"""C++ from Python: the system's compiler, asked once for each source and remembered."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from torch.utils import cpp_extension

from dlperf.environment import compiler, compiler_path, compilers, cpu_model, cpu_number


class CompilerError(RuntimeError):
    """There is no C++ compiler, or it refused the source."""


def cxx() -> str:
    """Returns the path of the compiler that `environment.compiler` names; CompilerError says what was looked for."""
    found = compiler_path()
    if found is None:
        raise CompilerError(f"no C++ compiler: looked for {', '.join(compilers())}; install g++ or set CXX to another")
    return found


def cache_folder() -> Path:
    """Returns the user's own folder for what was built; where it cannot be written, one of a user's in the temp."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dlperf"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return home
    except OSError:
        return Path(tempfile.mkdtemp(prefix="dlperf-"))


def build(source: str, *options: str, folder: Path | None = None) -> Path:
    """Returns the file that the compiler makes of C++ source with these options; an old one if nothing changed.

    Its name is a hash of all that it depends on: source, options, compiler and, since code for the machine at
    hand may not run on the next, the processor and its design. Raises CompilerError with the compiler's first words.
    """
    folder = folder or cache_folder()
    path = cxx()
    key = "\0".join((source, *options, path, str(compiler()), cpu_model(), str(cpu_number())))
    target = folder / hashlib.sha256(key.encode()).hexdigest()[:16]
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made, text = Path(scratch, "made"), Path(scratch, "source.cpp")
            text.write_text(source, encoding="utf-8")
            done = subprocess.run([path, str(text), "-o", str(made), *options], capture_output=True, text=True)
            if done.returncode:
                raise CompilerError(f"{path} refused the source: {done.stderr.strip()[:2000]}")
            made.replace(target)  # at once, so that two processes cannot meet half a file
    return target


def libtorch_options() -> tuple[str, ...]:
    """Returns what the compiler must know to build against the libtorch inside the installed PyTorch."""
    headers = [f"-I{folder}" for folder in cpp_extension.include_paths()]
    folders = [option for folder in cpp_extension.library_paths() for option in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
    # A PyTorch for GPUs refers to CUDA's libraries, which lie elsewhere. A package, loaded later, finds no library
    # that the program has not loaded.
    linking = ("-Wl,--allow-shlib-undefined", "-Wl,--no-as-needed") if sys.platform == "linux" else ()
    return ("-std=c++20", "-O1", *headers, *folders, *linking, "-ltorch", "-ltorch_cpu", "-lc10")
