"""Trains a small network on scikit-learn's digits."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

BATCH, EPOCHS, TRAIN = 64, 4, 1536


def digits():
    """Returns the examples to train on, and those to test with."""
    images, labels = map(torch.tensor, load_digits(return_X_y=True))
    data = TensorDataset(images.float().view(-1, 1, 8, 8) / 16, labels)
    return TensorDataset(*data[:TRAIN]), TensorDataset(*data[TRAIN:])


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(512, 10),
    )


def report(net, test, device):
    """Prints how well the network does, and keeps its weights."""
    images, labels = test[:]
    with torch.no_grad():
        scores = net(images.to(device)).cpu()
    loss = cross_entropy(scores, labels)
    right = (scores.argmax(1) == labels).float().mean()
    print(f"{loss:.4f} {right:.4f}")
    torch.save(net.cpu().state_dict(), "digits.pt")


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, test = digits()
    net = network().to(device)
    model = net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    order = torch.Generator()
    sampler = RandomSampler(train, generator=order)
    loader = DataLoader(train, BATCH, sampler=sampler)
    for epoch in range(EPOCHS):
        order.manual_seed(epoch)
        for images, labels in loader:
            scores = model(images.to(device))
            loss = cross_entropy(scores, labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    report(net, test, device)


if __name__ == "__main__":
    main()
