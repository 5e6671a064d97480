"""Greedy decoding with keys and values kept, for reference.py: what the rows decode_* of spec/bench/workloads.lua time.

Both models run in evaluation mode as a careful user writes them: keys and values of what was read lie in tensors made once, a
step appends to them, and those of the encoder's memory are made once.
"""

DIM_HEADS_FF = {"gpt": (384, 6, 1536), "encdec": (256, 8, 1024)}


def attention_of(torch, dim, heads):
    """(split, join) between [B, L, E] and [B, H, L, D]."""
    def split(x):
        return x.view(x.shape[0], x.shape[1], heads, dim // heads).transpose(1, 2)

    def join(x):
        return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], dim)
    return split, join


def make_block(torch, dim, heads, ff, crossed, activation):
    nn, F = torch.nn, torch.nn.functional
    sdpa = F.scaled_dot_product_attention
    split, join = attention_of(torch, dim, heads)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            self.linear1, self.linear2 = nn.Linear(dim, ff), nn.Linear(ff, dim)
            if crossed:
                self.norm3 = nn.LayerNorm(dim)
                self.q, self.kv, self.out2 = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)

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


def greedy(torch, step, first, new):
    """step(tokens, at) gives the logits of the last one."""
    tokens, at = step(first, 0).argmax(-1, keepdim=True), first.shape[1]
    taken = [tokens]
    for _ in range(new - 1):
        tokens, at = step(tokens, at).argmax(-1, keepdim=True), at + tokens.shape[1]
        taken.append(tokens)
    return torch.cat(taken, 1)


def decode_gpt(torch, o, batch, prompt, new, layers=6, vocab=65):
    nn, F = torch.nn, torch.nn.functional
    dim, heads, ff = DIM_HEADS_FF["gpt"]
    Block = make_block(torch, dim, heads, ff, False, F.gelu)
    tokens, positions = nn.Embedding(vocab, dim), nn.Embedding(prompt + new, dim)
    blocks, norm, head = [Block() for _ in range(layers)], nn.LayerNorm(dim), nn.Linear(dim, vocab)
    first = torch.randint(0, vocab, (batch, prompt))

    def step(x, at):
        h = tokens(x) + positions.weight[at: at + x.shape[1]]
        for block in blocks:
            h = block(h, at, at == 0)
        return head(norm(h[:, -1]))

    def run():
        with torch.inference_mode():
            for block in blocks:
                block.reset(batch, prompt + new)
            return greedy(torch, step, first, new)
    return run


def decode_encdec(torch, o, batch, prompt, new, layers=3, vocab=8000):
    nn, F = torch.nn, torch.nn.functional
    dim, heads, ff = DIM_HEADS_FF["encdec"]
    Block = make_block(torch, dim, heads, ff, True, F.relu)
    embedding = nn.Embedding(vocab, dim)
    nn.init.normal_(embedding.weight, 0.0, dim ** -0.5)
    layer = nn.TransformerEncoderLayer(dim, heads, ff, 0.0, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(dim), enable_nested_tensor=False).eval()
    blocks, norm = [Block() for _ in range(layers)], nn.LayerNorm(dim)
    longest = max(prompt, new)
    position = torch.arange(longest)[:, None] * torch.exp(torch.arange(0, dim, 2) * (-9.210340372 / dim))
    positions = torch.stack([position.sin(), position.cos()], -1).flatten(1)
    src, begin = torch.randint(2, vocab, (batch, prompt)), torch.ones(batch, 1, dtype=torch.long)

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
                block.reset(batch, new, memory)
            return greedy(torch, step, begin, new)
    return run


# Source or prompt of so many tokens, and so many new ones.
PROMPT, NEW = 32, 64

WORKLOADS = {f"decode_{name}_{batch}": (make, (batch, PROMPT, NEW))
             for name, make in (("gpt", decode_gpt), ("encdec", decode_encdec)) for batch in (1, 32)}
