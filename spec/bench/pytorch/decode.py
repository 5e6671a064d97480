"""Greedy decoding with keys and values kept, for reference.py: what the rows decode_* of spec/bench/workloads.lua time.

Both models run in evaluation mode as a careful user writes them: keys and values of what was read lie in tensors made once, a
step appends to them, and those of the encoder's memory are made once.

Run:  python decode.py gpt|encdec FILE      writes the tokens that follow, a row a line

FILE (safetensors) holds heed's weights under PyTorch's names and `prompt` [B, L], as spec/bench/decode.lua saves them, which compares.
"""

import sys

# Tokens of a prompt or source, and new ones.
PROMPT, NEW = 32, 64


def make_block(torch, dim, heads, ff, crossed, activation):
    nn, sdpa = torch.nn, torch.nn.functional.scaled_dot_product_attention

    def split(x):
        return x.view(x.shape[0], x.shape[1], heads, dim // heads).transpose(1, 2)

    def join(x):
        return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], dim)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            self.linear1, self.linear2 = nn.Linear(dim, ff), nn.Linear(ff, dim)
            if crossed:
                self.norm3 = nn.LayerNorm(dim)
                self.q, self.kv, self.out2 = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)

        def load(self, state):
            """From the names of nn.TransformerEncoderLayer or nn.TransformerDecoderLayer, which are heed's."""
            own = {}
            for name, value in state.items():
                part, _, kind = name.rpartition(".")
                if part == "multihead_attn":
                    own["q" + kind[7:].replace("_", ".")], own["kv" + kind[7:].replace("_", ".")] = value.split([dim, 2 * dim])
                else:
                    name = name.replace("self_attn.in_proj_", "qkv.").replace("self_attn.out_proj", "out")
                    own[name.replace("multihead_attn.out_proj", "out2")] = value
            self.load_state_dict(own)

        def reset(self, batch, longest, memory=None):
            self.k, self.v = (torch.empty(batch, heads, longest, dim // heads) for _ in range(2))
            if crossed:
                self.mk, self.mv = (split(t).contiguous() for t in self.kv(memory).chunk(2, -1))

        def forward(self, x, at, causal):
            n = x.shape[1]
            q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
            self.k[:, :, at: at + n], self.v[:, :, at: at + n] = split(k), split(v)
            y = sdpa(split(q), self.k[:, :, : at + n], self.v[:, :, : at + n], is_causal=causal)
            x = x + self.out(join(y))
            if crossed:
                x = x + self.out2(join(sdpa(split(self.q(self.norm2(x))), self.mk, self.mv)))
            return x + self.linear2(activation(self.linear1((self.norm3 if crossed else self.norm2)(x))))
    return Block


def below(state, prefix):
    return {name[len(prefix):]: value for name, value in state.items() if name.startswith(prefix)}


def greedy(torch, step, first, new):
    """step(tokens, at) gives the logits of the last one."""
    tokens, at = step(first, 0).argmax(-1, keepdim=True), first.shape[1]
    taken = [tokens]
    for _ in range(new - 1):
        tokens, at = step(tokens, at).argmax(-1, keepdim=True), at + tokens.shape[1]
        taken.append(tokens)
    return torch.cat(taken, 1)


def decode_gpt(torch, o, batch, state=None, dim=384, heads=6, ff=1536, layers=6, vocab=65):
    nn, F = torch.nn, torch.nn.functional
    Block = make_block(torch, dim, heads, ff, False, F.gelu)
    parts = nn.ModuleDict({"tokens": nn.Embedding(vocab, dim), "positions": nn.Embedding(PROMPT + NEW, dim),
                           "norm": nn.LayerNorm(dim), "head": nn.Linear(dim, vocab)})
    blocks = [Block() for _ in range(layers)]
    first = torch.randint(0, vocab, (batch, PROMPT))
    if state:
        first = state["prompt"] - 1
        for i, block in enumerate(blocks):
            block.load(below(state, f"blocks.layers.{i}."))
        for name, part in parts.items():
            part.load_state_dict(below(state, "blocks.norm." if name == "norm" else name + "."))

    def step(x, at):
        h = parts["tokens"](x) + parts["positions"].weight[at: at + x.shape[1]]
        for block in blocks:
            h = block(h, at, at == 0)
        return parts["head"](parts["norm"](h[:, -1]))

    def run():
        with torch.inference_mode():
            for block in blocks:
                block.reset(batch, PROMPT + NEW)
            return greedy(torch, step, first, NEW)
    return run


def decode_encdec(torch, o, batch, state=None, dim=256, heads=8, ff=1024, layers=3, vocab=8000):
    nn, F = torch.nn, torch.nn.functional
    Block = make_block(torch, dim, heads, ff, True, F.relu)
    embedding = nn.Embedding(vocab, dim)
    nn.init.normal_(embedding.weight, 0.0, dim ** -0.5)
    layer = nn.TransformerEncoderLayer(dim, heads, ff, 0.0, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(dim), enable_nested_tensor=False).eval()
    blocks, norm = [Block() for _ in range(layers)], nn.LayerNorm(dim)
    position = torch.arange(max(PROMPT, NEW))[:, None] * torch.exp(torch.arange(0, dim, 2) * (-9.210340371976184 / dim))
    positions = torch.stack([position.sin(), position.cos()], -1).flatten(1)
    src, begin = torch.randint(2, vocab, (batch, PROMPT)), torch.ones(batch, 1, dtype=torch.long)
    if state:
        src = state["prompt"] - 1
        embedding.load_state_dict(below(state, "tgt_embedding."))
        encoder.load_state_dict(below(state, "encoder."))
        norm.load_state_dict(below(state, "decoder.norm."))
        for i, block in enumerate(blocks):
            block.load(below(state, f"decoder.layers.{i}."))

    def embed(x, at):
        return embedding(x) * dim ** 0.5 + positions[at: at + x.shape[1]]

    def step(x, at):
        h = embed(x, at)
        for block in blocks:
            h = block(h, at, False)
        return F.linear(norm(h[:, -1]), embedding.weight)

    def run():
        with torch.inference_mode():
            memory = encoder(embed(src, 0))
            for block in blocks:
                block.reset(batch, NEW, memory)
            return greedy(torch, step, begin, NEW)
    return run


MODELS = {"gpt": decode_gpt, "encdec": decode_encdec}
WORKLOADS = {f"decode_{name}_{batch}": (make, (batch,)) for name, make in MODELS.items() for batch in (1, 32)}


def main():
    import torch
    from safetensors.torch import load_file
    state = load_file(sys.argv[2])
    for row in MODELS[sys.argv[1]](torch, None, len(state["prompt"]), state)().tolist():
        print(*(token + 1 for token in row))


if __name__ == "__main__":
    main()
