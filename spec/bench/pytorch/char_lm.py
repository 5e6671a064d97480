"""The language model of characters of spec/bench/char_lm.lua in PyTorch, which starts it.

Run:  python char_lm.py TEXT SHARED --heads 4 --threads 2

SHARED (safetensors) holds the initial weights under PyTorch's names, and starts [steps, batch]: where each window of each
batch begins in the first nine tenths of the text. Sizes follow from the weights. Prints "loss VALUE" for each step, then
"seconds VALUE" and "valid VALUE". Needs torch 2.13.0 (CPU) and safetensors.
"""

import argparse
import math
import time
import warnings

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

LR, MIN_LR, WARMUP = 1e-3, 1e-4, 100


class GPT(nn.Module):
    """Norm first, gelu, learned positions, biases, an output layer of its own, no dropout."""

    def __init__(self, layers, dim, heads, ff, context, vocab):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.positions = nn.Embedding(context, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, ff, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab)
        self.register_buffer("hidden", torch.ones(context, context, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x):
        n = x.shape[1]
        h = self.tokens(x) + self.positions.weight[:n]
        return self.head(self.blocks(h, mask=self.hidden[:n, :n], is_causal=True))


def build(state, heads):
    layers = 1 + max(int(name.split(".")[2]) for name in state if name.startswith("blocks.layers."))
    vocab, dim = state["tokens.weight"].shape
    model = GPT(layers, dim, heads, state["blocks.layers.0.linear1.weight"].shape[0], state["positions.weight"].shape[0], vocab)
    model.load_state_dict(state)
    return model


def rate(step, steps):
    if step < WARMUP:
        return LR * step / WARMUP
    progress = min(1.0, (step - WARMUP) / (steps - WARMUP)) if steps > WARMUP else 1.0
    return MIN_LR + (LR - MIN_LR) * 0.5 * (1 + math.cos(math.pi * progress))


def windows(tokens, starts, length):
    at = starts[:, None] + torch.arange(length)
    return tokens[at], tokens[at + 1]


def train(model, tokens, starts, length):
    opt = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.99), weight_decay=0.1)
    begun = time.perf_counter()
    for step, some in enumerate(starts, 1):
        inputs, targets = windows(tokens, some, length)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.param_groups[0]["lr"] = rate(step, len(starts))
        opt.step()
        print(f"loss {loss.item():.6f}")
    print(f"seconds {time.perf_counter() - begun:.2f}")


def evaluate(model, tokens, length):
    starts = torch.arange(0, len(tokens) - length, length)
    total = 0.0
    model.eval()
    with torch.no_grad():
        for some in starts.split(64):
            inputs, targets = windows(tokens, some, length)
            total += F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), reduction="sum").item()
    return total / (len(starts) * length)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text")
    parser.add_argument("shared")
    parser.add_argument("--heads", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    o = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(o.threads)
    state = load_file(o.shared)
    starts = state.pop("starts")
    with open(o.text, encoding="utf-8", newline="") as f:
        text = f.read()
    ids = {c: i for i, c in enumerate(sorted(set(text)))}
    tokens = torch.tensor([ids[c] for c in text])
    cut = int(0.9 * len(tokens))
    model = build(state, o.heads)
    length = model.positions.num_embeddings
    train(model, tokens[:cut], starts, length)
    print(f"valid {evaluate(model, tokens[cut:], length):.6f}")


if __name__ == "__main__":
    main()
