"""Training steps of networks that are not the book's, tiny or larger, for the instruments that take any function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.profiler import record_function
from torch.utils.checkpoint import checkpoint


@dataclass(frozen=True)
class Step:
    """A training step in three phases; ``loss`` computes forward and returns one number."""

    loss: Callable[[], Tensor]
    optimizer: torch.optim.Optimizer

    def __call__(self) -> None:
        with record_function("forward"):
            loss = self.loss()
        with record_function("backward"):
            loss.backward()
        with record_function("update"):
            self.optimizer.step()
            self.optimizer.zero_grad()


def _step(model: nn.Module, loss: Callable[[], Tensor], adam: bool = False) -> Step:
    kind = torch.optim.AdamW if adam else torch.optim.SGD
    return Step(loss, kind(model.parameters(), lr=1e-3))


def _on(model: nn.Module, *inputs: Tensor, adam: bool = False) -> Step:
    return _step(model, lambda: model(*inputs).square().mean(), adam)


def lstm(large: bool) -> Step:
    batch, time, width = (16, 64, 256) if large else (2, 5, 8)
    model = nn.LSTM(width, width, num_layers=2, batch_first=True)
    x = torch.randn(batch, time, width)
    return _step(model, lambda: model(x)[0].square().mean())


def packed_gru(large: bool) -> Step:
    time, width = (32, 256) if large else (5, 8)
    model = nn.GRU(width, width, batch_first=True)
    lengths = torch.tensor([time, time - 1, time // 2, 1])
    x = torch.randn(4, time, width)
    packed = lambda: pack_padded_sequence(x, lengths, batch_first=True)
    return _step(model, lambda: model(packed())[0].data.square().mean())


def transformer(large: bool) -> Step:
    batch, time, width = (16, 128, 256) if large else (2, 5, 8)
    layer = nn.TransformerEncoderLayer(width, 2, 4 * width, batch_first=True)
    model = nn.TransformerEncoder(layer, 2)
    padded = torch.arange(time) > torch.tensor([[time - 1], [time - 2]] * (batch // 2))
    return _step(model, lambda: model(torch.ones(batch, time, width), src_key_padding_mask=padded).square().mean())


def embedding_bag(large: bool) -> Step:
    rows, width, words = (100000, 64, 4096) if large else (50, 8, 12)
    bag, head = nn.EmbeddingBag(rows, width, mode="mean"), nn.Linear(width, 4)
    ids, offsets = torch.randint(rows, (words,)), torch.arange(0, words, 4)
    return _step(nn.Sequential(bag, head), lambda: head(bag(ids, offsets)).square().mean())


def sparse_embedding(large: bool) -> Step:
    rows, width, words = (100000, 64, 4096) if large else (50, 8, 12)
    table, head = nn.Embedding(rows, width, sparse=True), nn.Linear(width, 4)
    ids = torch.randint(rows, (words,))
    return _on(nn.Sequential(table, head), ids)


def volumes(large: bool) -> Step:
    batch, side, width = (2, 32, 16) if large else (1, 4, 2)
    down = nn.Conv3d(1, width, 3, stride=2, padding=1)
    up = nn.ConvTranspose3d(width, 1, 4, stride=2, padding=1)
    model = nn.Sequential(down, nn.BatchNorm3d(width), nn.ReLU(), nn.Conv3d(width, width, 3, padding=1), nn.ReLU(), up)
    return _on(model, torch.randn(batch, 1, side, side, side))


class Fourier(nn.Module):
    """A layer that weighs frequencies, by complex numbers: (batch, width, time) -> the same."""

    def __init__(self, width: int, time: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width, time // 2 + 1, dtype=torch.complex64))

    def forward(self, x: Tensor) -> Tensor:
        waves = torch.einsum("bit,iot->bot", torch.fft.rfft(x), self.weight)
        return torch.fft.irfft(waves, n=x.shape[-1]) + waves.abs().log1p().mean()


def fourier(large: bool) -> Step:
    batch, width, time = (16, 32, 1024) if large else (2, 3, 8)
    return _on(Fourier(width, time), torch.randn(batch, width, time), adam=True)


def checkpointed(large: bool) -> Step:
    batch, width = (256, 1024) if large else (2, 8)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(4)))
    x = torch.randn(batch, width, requires_grad=True)

    def loss() -> Tensor:
        y = x
        for layer in model:
            y = checkpoint(layer, y, use_reentrant=False)
        return y.square().mean()

    return _step(model, loss)


def autocast(large: bool) -> Step:
    batch, side, width = (16, 32, 64) if large else (2, 4, 4)
    model = nn.Sequential(nn.Conv2d(3, width, 3), nn.ReLU(), nn.Flatten(), nn.Linear(width * (side - 2) ** 2, 10))
    x = torch.randn(batch, 3, side, side)

    def loss() -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(model(x), torch.zeros(batch, dtype=torch.int64))

    return _step(model, loss)


def boolean_indexing(large: bool) -> Step:
    batch, width = (4096, 256) if large else (16, 4)
    model = nn.Linear(width, width)
    x = torch.randn(batch, width)

    def loss() -> Tensor:
        y = model(x)
        return y[y[:, 0] > 0].square().sum()

    return _step(model, loss)


class Added(nn.Module):
    """What ``inner`` returns, added to what went in."""

    def __init__(self, *inner: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.inner, self.shortcut = nn.Sequential(*inner), shortcut or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) + self.shortcut(x)


def _conv(ins: int, outs: int, size: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    kernel = nn.Conv2d(ins, outs, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(kernel, nn.BatchNorm2d(outs))


def _bottleneck(ins: int, width: int, stride: int) -> nn.Module:
    outs, relu = 4 * width, nn.ReLU(inplace=True)
    inner = _conv(ins, width, 1), relu, _conv(width, width, 3, stride), relu, _conv(width, outs, 1)
    same = stride == 1 and ins == outs
    return nn.Sequential(Added(*inner, shortcut=None if same else _conv(ins, outs, 1, stride)), nn.ReLU())


def resnet50(large: bool) -> Step:
    """The layout of ResNet-50 (He et al., 2016, table 1): bottlenecks of three convolutions."""
    width, blocks, side, batch = (64, (3, 4, 6, 3), 96, 4) if large else (2, (1, 2), 16, 2)
    parts: list[nn.Module] = [_conv(3, width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    ins = width
    for stage, count in enumerate(blocks):
        for n in range(count):
            parts.append(_bottleneck(ins, width * 2**stage, 2 if stage and not n else 1))
            ins = 4 * width * 2**stage
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(ins, 10))
    return _on(model, torch.randn(batch, 3, side, side))


class Squeeze(nn.Module):
    """Weighs each channel by what all of them are on average (squeeze and excitation, Hu et al., 2018)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        few = max(width // 4, 1)
        inner = nn.Conv2d(width, few, 1), nn.ReLU(), nn.Conv2d(few, width, 1), nn.Hardsigmoid()
        self.weigh = nn.Sequential(nn.AdaptiveAvgPool2d(1), *inner)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weigh(x)


def mobilenet(large: bool) -> Step:
    """The parts of MobileNet-v3 (Howard et al., 2019): widen, one filter a channel, weigh the channels, narrow."""
    width, count, side, batch = (24, 8, 64, 8) if large else (4, 1, 8, 2)
    wide = 4 * width

    def block() -> nn.Module:
        first, second = (_conv(width, wide, 1), nn.Hardswish()), (_conv(wide, wide, 5, groups=wide), nn.Hardswish())
        return Added(*first, *second, Squeeze(wide), _conv(wide, width, 1))

    model = nn.Sequential(_conv(3, width, 3, 2), nn.Hardswish(), *(block() for _ in range(count)))
    return _on(model, torch.randn(batch, 3, side, side))


class Attention(nn.Module):
    """Attention, causal or not; ``rotary`` turns queries and keys by their position (Su et al., 2021)."""

    def __init__(self, width: int, heads: int, causal: bool, rotary: bool = False, bias: bool = True) -> None:
        super().__init__()
        self.heads, self.causal, self.rotary = heads, causal, rotary
        self.project, self.output = nn.Linear(width, 3 * width, bias), nn.Linear(width, width, bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.rotary:
            q, k = self.turn(q), self.turn(k)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.output(mixed.transpose(1, 2).flatten(-2))

    @staticmethod
    def turn(x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        speeds = 10000.0 ** (-torch.arange(half) / half)
        angles = torch.arange(x.shape[-2])[:, None] * speeds
        left, right = x[..., :half], x[..., half:]
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)


class Gated(nn.Module):
    """The perceptron of Llama: one product gates the other (SwiGLU, Shazeer, 2020)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


def _language(large: bool, block: Callable[[int], nn.Module], norm: Callable[[int], nn.Module]) -> Step:
    words, width, layers, batch, time = (8192, 256, 4, 4, 128) if large else (20, 8, 2, 2, 6)
    model = nn.Sequential(nn.Embedding(words, width), *(block(width) for _ in range(layers)), norm(width))
    head = nn.Linear(width, words, bias=False)
    ids = torch.randint(words, (batch, time))
    loss = lambda: F.cross_entropy(head(model(ids)).flatten(0, -2), ids.flatten())
    return _step(nn.ModuleList([model, head]), loss, adam=True)


def _perceptron(width: int, middle: nn.Module) -> tuple[nn.Module, ...]:
    return nn.Linear(width, 4 * width), middle, nn.Linear(4 * width, width), nn.Dropout(0.1)


def gpt2(large: bool) -> Step:
    def block(width: int) -> nn.Module:
        attention = Added(nn.LayerNorm(width), Attention(width, 2, causal=True), nn.Dropout(0.1))
        return nn.Sequential(attention, Added(nn.LayerNorm(width), *_perceptron(width, nn.GELU("tanh"))))

    return _language(large, block, nn.LayerNorm)


def llama(large: bool) -> Step:
    def block(width: int) -> nn.Module:
        attention = Attention(width, 2, causal=True, rotary=True, bias=False)
        return nn.Sequential(Added(nn.RMSNorm(width), attention), Added(nn.RMSNorm(width), Gated(width)))

    return _language(large, block, nn.RMSNorm)


def bert(large: bool) -> Step:
    def block(width: int) -> nn.Module:
        attention = Added(Attention(width, 2, causal=False), nn.Dropout(0.1))
        return nn.Sequential(attention, nn.LayerNorm(width), Added(*_perceptron(width, nn.GELU())), nn.LayerNorm(width))

    return _language(large, block, nn.LayerNorm)


ZOO: dict[str, Callable[[bool], Step]] = {
    make.__name__: make
    for make in (
        lstm,
        packed_gru,
        transformer,
        embedding_bag,
        sparse_embedding,
        volumes,
        fourier,
        checkpointed,
        autocast,
        boolean_indexing,
        resnet50,
        mobilenet,
        gpt2,
        llama,
        bert,
    )
}
"""Each makes its step, of one mini-batch; large, it takes a tenth of a second or more, else next to none."""
