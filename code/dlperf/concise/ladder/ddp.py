"""Trains a small transformer to read scikit-learn's digits:

torchrun --standalone --nproc-per-node 2 ddp.py
"""

import argparse
import os

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
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


def main(options):
    device = own_device()
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    train, test = digits()
    model = network(options.width, options.blocks).to(device)
    model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(model.parameters(), options.rate)
    sampler = DistributedSampler(train)
    loader = DataLoader(train, options.batch // size, sampler=sampler)
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            scores = model(images.to(device))
            loss = cross_entropy(scores, labels.to(device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        mean = loss.detach() / size
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch}: loss {mean.item():.6f}", flush=True)
    if rank == 0:
        print(f"right {right(model.module, test, device):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    values = {"epochs": 4, "batch": 64, "rate": 1e-3}
    values |= {"width": 64, "blocks": 4}
    for name, value in values.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    main(parser.parse_args())
