"""Trains a small transformer to read scikit-learn's digits:

python one.py
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

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


def main(options):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, test = digits()
    model = network(options.width, options.blocks).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), options.rate)
    order = torch.Generator()
    sampler = RandomSampler(train, generator=order)
    loader = DataLoader(train, options.batch, sampler=sampler)
    for epoch in range(options.epochs):
        order.manual_seed(epoch)
        for images, labels in loader:
            scores = model(images.to(device))
            loss = cross_entropy(scores, labels.to(device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print(f"epoch {epoch}: loss {loss.item():.6f}", flush=True)
    print(f"right {right(model, test, device):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    values = {"epochs": 4, "batch": 64, "rate": 1e-3}
    values |= {"width": 64, "blocks": 4}
    for name, value in values.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    main(parser.parse_args())
