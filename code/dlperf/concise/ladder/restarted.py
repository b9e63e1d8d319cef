"""Trains a small transformer to read scikit-learn's digits:

torchrun --standalone --nproc-per-node 2 --max-restarts 3 restarted.py
"""

import argparse
import os
from itertools import islice
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.distributed.checkpoint.state_dict as states
from sklearn.datasets import load_digits
from torch import nn
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

TRAIN = 1536


def digits():
    """Returns images to train on, and to test with: eight rows of eight
    pixels each, and which digit it is."""
    images, labels = map(torch.tensor, load_digits(return_X_y=True))
    data = TensorDataset(images.float().view(-1, 8, 8) / 16, labels)
    return TensorDataset(*data[:TRAIN]), TensorDataset(*data[TRAIN:])


def network(width, blocks):
    """Returns the network, the same wherever it is made."""
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer
    sizes = width, 4, 4 * width  # of a row, heads, inside
    options = {"dropout": 0.0, "batch_first": True, "norm_first": True}
    return nn.Sequential(
        nn.Linear(8, width),
        *(block(*sizes, **options) for _ in range(blocks)),
        nn.Flatten(),
        nn.Linear(8 * width, 10),
    )


@torch.no_grad()
def right(model, test, device):
    """Returns the share of the test images that the model reads."""
    images, labels = test[:]
    found = model(images.to(device)).argmax(1).cpu()
    return (found == labels).float().mean().item()


def own_device():
    """Returns this process's GPU, or the CPU where its machine has fewer
    GPUs than processes."""
    processes = int(os.environ["LOCAL_WORLD_SIZE"])
    if torch.cuda.device_count() < processes:
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    return device


class Run(Stateful):
    """All that the next step depends on, and how it is kept."""

    def __init__(self, model, optimizer, folder):
        self.model, self.optimizer, self.folder = model, optimizer, folder
        self.step, self.saving = 0, None
        self.group = dist.new_group(backend="gloo")  # a thread saves

    def state_dict(self):
        parts = states.get_state_dict(self.model, self.optimizer)
        model, optimizer = parts
        return {"model": model, "optimizer": optimizer, "step": self.step}

    def load_state_dict(self, kept):
        states.set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=kept["model"],
            optim_state_dict=kept["optimizer"],
        )
        self.step = kept["step"]

    def advance(self, every):
        """Counts a step. A folder gets its name as soon as it is whole."""
        self.step += 1
        if self.saving and self.saving.done():
            self.finish()
        if self.step % every == 0:
            self.save()

    def save(self):
        """Begins to write a folder, while the training goes on."""
        self.finish()
        self.part = self.folder / f"{self.step:06d}.part"
        where = {"checkpoint_id": self.part, "process_group": self.group}
        self.saving = dcp.async_save({"run": self}, **where)

    def finish(self):
        """Waits for a folder and names it; all wrote when rank 0 ends."""
        if self.saving:
            self.saving.result()
            if dist.get_rank() == 0:
                self.part.rename(self.part.with_suffix(""))
        self.saving = None

    def resume(self):
        """Goes on from the newest folder that is whole, if any is."""
        newest = [sorted(self.folder.glob("??????"))[-1:]]
        dist.broadcast_object_list(newest)
        for kept in newest[0]:
            dcp.load({"run": self}, checkpoint_id=kept)
            if dist.get_rank() == 0:
                print(f"goes on after step {self.step}", flush=True)


def main(options):
    device = own_device()
    backend = "cuda:nccl,cpu:gloo" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    train, test = digits()
    model = network(options.width, options.blocks).to(device)
    mesh = init_device_mesh(device.type, (size,))
    for part in (*model[1:-2], model):  # each block, then what is left
        fully_shard(part, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), options.rate)
    sampler = DistributedSampler(train)
    piece = options.batch // size // options.pieces
    loader = DataLoader(train, piece, sampler=sampler)
    run = Run(model, optimizer, Path(options.folder))
    run.resume()
    steps = len(loader) // options.pieces
    for epoch in range(run.step // steps, options.epochs):
        sampler.set_epoch(epoch)
        losses, done = [], run.step % steps * options.pieces
        rest = islice(loader, done, None)
        for number, (images, labels) in enumerate(rest, done + 1):
            last = number % options.pieces == 0
            model.set_requires_gradient_sync(last)
            scores = model(images.to(device))
            loss = cross_entropy(scores, labels.to(device))
            (loss / options.pieces).backward()
            losses.append(loss.detach())
            if last:
                optimizer.step()
                optimizer.zero_grad()
                run.advance(options.every)
        mean = sum(losses[-options.pieces :]) / options.pieces / size
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch}: loss {mean.item():.6f}", flush=True)
    run.finish()
    share = right(model, test, device)  # needs all processes
    if rank == 0:
        print(f"right {share:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default="run")
    values = {"epochs": 4, "batch": 64, "rate": 1e-3}
    values |= {"width": 64, "blocks": 4}
    values |= {"pieces": 4, "every": 12}
    for name, value in values.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    main(parser.parse_args())
