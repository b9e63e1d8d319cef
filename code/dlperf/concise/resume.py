"""A training script that outlives its workers: `torchrun` starts them again, and they go on from the last checkpoint.

    export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1  # or new workers may call the old ones' addresses
    torchrun --standalone --nproc-per-node 2 --max-restarts 3 resume.py runs/first

It needs PyTorch alone: a small GPT learns to write this very file. The chapter *Multiple GPUs, concisely* tells more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.optim import AdamW, Optimizer
from torch.utils.data import DistributedSampler, TensorDataset

TIME, SEED = 32, 0


class GPT(nn.Module):
    """Bytes (batch, time) -> a score for each that may follow; with dropout, so that each step draws at random."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.bytes, self.positions = nn.Embedding(256, width), nn.Embedding(TIME, width)
        block = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.1, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
        self.scores = nn.Linear(width, 256)

    def forward(self, seen: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(seen.shape[1], device=seen.device)
        return self.scores(self.blocks(self.bytes(seen) + self.positions.weight, mask, is_causal=True))


def pieces() -> Tensor:
    """Returns the text to learn as overlapping pieces: (pieces, `TIME` + 1), bytes as int64."""
    return torch.tensor(list(Path(__file__).read_bytes())).unfold(0, TIME + 1, 8)


def batches(data: Tensor, step: int, size: int) -> Iterator[Tensor]:
    """Yields this rank's batches from ``step`` on, without end: which ones, only the seed and the step decide."""
    sampler: DistributedSampler[Any] = DistributedSampler(TensorDataset(data), seed=SEED)
    per_epoch = len(sampler) // size
    while True:
        epoch, done = divmod(step, per_epoch)
        sampler.set_epoch(epoch)
        mine = list(sampler)[done * size : per_epoch * size]
        for part in torch.tensor(mine).split(size):
            yield data[part]
            step += 1


class Run(Stateful):
    """All that the next step depends on: what is saved, and loaded in place."""

    def __init__(self, model: nn.Module, optimizer: Optimizer, device: torch.device) -> None:
        self.model, self.optimizer, self.device = model, optimizer, device
        self.step = 0

    def state_dict(self) -> dict[str, Any]:
        model, optimizer = get_state_dict(self.model, self.optimizer)
        random = {"cpu": torch.get_rng_state()}
        if self.device.type != "cpu":
            random["device"] = torch.get_device_module(self.device).get_rng_state()
        shared = {"model": model, "optimizer": optimizer, "step": self.step}  # saved once
        return shared | {f"random {dist.get_rank()}": random}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        random = state[f"random {dist.get_rank()}"]
        set_state_dict(
            self.model, self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )  # fmt: skip
        self.step = state["step"]
        torch.set_rng_state(random["cpu"])
        if self.device.type != "cpu":
            torch.get_device_module(self.device).set_rng_state(random["device"])


def latest(folder: Path) -> Path | None:
    """Returns the newest checkpoint that is complete."""
    found = folder.glob("step-*")
    whole = [path for path in found if path.suffix != ".partial"]
    return max(whole, default=None)


class Checkpoints:
    """Saves beside the training, one checkpoint at a time, and keeps two."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder
        self.saving: Any = None
        self.group = dist.new_group(backend="gloo")

    def save(self, run: Run) -> None:
        """Begins to save; returns when the state is copied."""
        self.wait()  # for the last one
        self.path = self.folder / f"step-{run.step:08d}.partial"
        self.saving = dcp.async_save(
            {"run": run},
            checkpoint_id=self.path,
            process_group=self.group,  # for the thread that saves, alone
        )

    def poll(self) -> None:
        """Finishes a checkpoint if all ranks have written their parts."""
        if self.saving is not None and self.saving.done():
            self.wait()

    def wait(self) -> None:
        """Waits until all have written, and names the folder."""
        if self.saving is None:
            return
        self.saving.result()  # raises what went wrong
        self.saving = None
        if dist.get_rank() == 0:
            self.path.rename(self.path.with_suffix(""))
            for old in sorted(self.folder.glob("step-*"))[:-2]:
                shutil.rmtree(old)

    def restore(self, run: Run) -> None:
        """Loads the newest complete checkpoint, if there is one."""
        if dist.get_rank() == 0:
            for path in self.folder.glob("*.partial"):
                shutil.rmtree(path)
        newest = [latest(self.folder)]
        dist.broadcast_object_list(newest, src=0)  # one decides for all
        if newest[0] is not None:
            dcp.load({"run": run}, checkpoint_id=newest[0])


def train(run: Run, checkpoints: Checkpoints, args: argparse.Namespace) -> None:
    """Trains up to step ``args.steps``, and saves every ``args.every`` steps."""
    checkpoints.restore(run)
    for batch in batches(pieces(), run.step, args.batch):
        if run.step == args.steps:
            break
        seen, follows = batch[:, :-1].to(run.device), batch[:, 1:].to(run.device)
        loss = cross_entropy(run.model(seen).flatten(0, 1), follows.flatten())
        loss.backward()
        run.optimizer.step()
        run.optimizer.zero_grad()
        run.step += 1
        tell(step=run.step, loss=loss.item())
        checkpoints.poll()
        if run.step % args.every == 0:
            checkpoints.save(run)
    checkpoints.wait()


def tell(**what: Any) -> None:
    """Prints one JSON object, with the moment."""
    print(json.dumps(what | {"moment": time.time()}), flush=True)


def own_device() -> torch.device:
    """Returns the GPU of this worker where there is one for each on its machine, else the CPU."""
    rank, size = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    if not torch.accelerator.is_available() or torch.accelerator.device_count() < size:
        return torch.device("cpu")
    torch.accelerator.set_device_index(rank)
    return torch.device(f"{torch.accelerator.current_accelerator()}:{rank}")


def main() -> None:
    """Trains as one of the ranks that `torchrun` starts."""
    parser = argparse.ArgumentParser(description="trains a small GPT, and goes on where the last attempt left off")
    parser.add_argument("folder", type=Path, help="of the checkpoints; all ranks must see it")
    for name, default in {"steps": 60, "every": 10, "batch": 8, "width": 32}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    tell(pid=os.getpid())
    device = own_device()
    dist.init_process_group(dist.get_default_backend_for_device(device))  # torchrun has set rank, size and address
    torch.manual_seed(SEED)
    model = DistributedDataParallel(GPT(args.width).to(device))
    torch.manual_seed(SEED + 1 + dist.get_rank())  # each rank drops out other numbers
    run = Run(model, AdamW(model.parameters(), lr=1e-3), device)
    train(run, Checkpoints(args.folder), args)
    weights = b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())
    tell(weights=hashlib.sha256(weights).hexdigest())  # equal only where every bit is
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
