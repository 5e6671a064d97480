"""The model of lesson 11 in PyTorch. Writes its weights, and what it computes for one batch.

Run:  python tagger.py [DIRECTORY]      (default: the folder of this file)
Needs torch and safetensors.
"""

import os
import sys

import torch
from safetensors.torch import save_file
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.positions = nn.Embedding(10, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.output = nn.Linear(16, 3)

    def forward(self, tokens, lengths):
        place = torch.arange(tokens.shape[1])
        x = self.words(tokens) + self.positions(place)
        padding = place[None, :] >= lengths[:, None]  # True is hidden
        return self.output(self.encoder(x, src_key_padding_mask=padding))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    torch.manual_seed(11)
    model = Tagger().eval()
    save_file(model.state_dict(), os.path.join(folder, "tagger.safetensors"))
    tokens, lengths = torch.randint(0, 20, (2, 7)), torch.tensor([7, 4])
    logits = model(tokens, lengths)
    loss = nn.functional.cross_entropy(logits[0], torch.tensor([0, 1, 2, 0, 1, 2, 0]))
    loss.backward()
    save_file({"tokens": tokens, "lengths": lengths, "logits": logits.detach(),
               "gradient": model.encoder.layers[0].linear1.weight.grad}, os.path.join(folder, "tagger_computes.safetensors"))


if __name__ == "__main__":
    main()
