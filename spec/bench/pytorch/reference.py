"""Times PyTorch on the workloads that heed's benchmarks are held against.

Run:  env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE \\
          MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592 \\
          ATEN_CPU_CAPABILITY=avx512 \\
          python reference.py WORKLOAD... [--threads N] [--reps 20] [--warmup 3]
                              [--compile] [--bf16] [--seed 1]
      python reference.py --list

The environment is the tuned one and must be set before the process starts (leave
ATEN_CPU_CAPABILITY out where the machine has no AVX-512); the script says on standard error
what it found and which kernels PyTorch picked. A WORKLOAD may be a prefix followed by *,
quoted. Needs torch 2.13.0 (CPU). --set operations takes those of operations.py instead.

Prints  name<TAB>threads<TAB>best_ms<TAB>median_ms  a line. --compile (torch.compile) and
--bf16 (autocast) apply to the models and mark the name with +compile and +bf16. The rows
memory_* hold MB (the process's VmHWM) in both columns; they run in processes of their own,
as do the rows startup_*.

Useful work, for GFLOPS: 2*M*N*K for a product; attention 4*D a visible (query, key) pair
forward, 14*D forward and backward.
"""

import argparse
import contextlib
import fnmatch
import os
import statistics
import subprocess
import sys
import time

WORKLOADS = {}


def workload(name, *args):
    def note(make):
        WORKLOADS[name] = (make, args)
        return make
    return note


def several(names_and_args):
    def note(make):
        for name, *args in names_and_args:
            WORKLOADS[name] = (make, args)
        return make
    return note


# Each maker gets (torch, options, *args) and returns the function to time.

@several([(f"sgemm_{n}", n) for n in (512, 1024, 2048)])
def sgemm(torch, o, n):
    a, b, c = torch.randn(n, n), torch.randn(n, n), torch.empty(n, n)
    return inference(torch, o, lambda: torch.mm(a, b, out=c))


@several([(f"linear_{m}x768x3072", m) for m in (1, 8, 32, 512)])
def linear(torch, o, m):
    x, w, b = torch.randn(m, 768), torch.randn(3072, 768), torch.randn(3072)
    return inference(torch, o, lambda: torch.nn.functional.linear(x, w, b))


LENGTHS = (128, 512, 1024, 2048, 4096)


@several([(f"attention_{way}_L{n}{'_causal' if causal else ''}", n, causal, way == "forward_backward")
          for way in ("forward", "forward_backward") for n in LENGTHS for causal in (False, True)])
def attention(torch, o, n, causal, backward):
    sdpa = torch.nn.functional.scaled_dot_product_attention
    q, k, v = (torch.randn(1, 12, n, 64, requires_grad=backward) for _ in range(3))
    if not backward:
        return inference(torch, o, lambda: sdpa(q, k, v, is_causal=causal))
    g = torch.randn(1, 12, n, 64)

    def step():
        q.grad = k.grad = v.grad = None
        with cast(torch, o):
            out = sdpa(q, k, v, is_causal=causal)
        out.backward(g.to(out.dtype))
    return step


@several([(f"encoder_layer_{b}x{n}{'' if fast else '_plain'}", b, n, fast)
          for b, n in ((8, 128), (1, 512)) for fast in (True, False)])
def encoder_layer(torch, o, b, n, fast):
    # _plain: without PyTorch's fused inference path for this layer
    torch.backends.mha.set_fastpath_enabled(fast)
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True).eval()
    x = torch.randn(b, n, 768)
    f = torch.compile(layer) if o.compile else layer
    return inference(torch, o, lambda: f(x))


@several([(f"{kind}_{way}_{b}x128x256", kind.upper(), b, way == "forward_backward")
          for kind in ("gru", "lstm") for way in ("forward", "forward_backward") for b in (32, 1)])
def recurrent(torch, o, kind, b, backward):
    layer, x = getattr(torch.nn, kind)(256, 256, batch_first=True), torch.randn(b, 128, 256, requires_grad=backward)
    if not backward:
        return inference(torch, o, lambda: layer(x))
    g, params = torch.randn(b, 128, 256), [x, *layer.parameters()]

    def step():
        for p in params:
            p.grad = None
        layer(x)[0].backward(g)
    return step


@several([("char_gpt", 6, 384, 6, 1536, 256, 16), ("small_32x32", 2, 64, 4, 256, 32, 32),
          ("small_1x32", 2, 64, 4, 256, 32, 1), ("small_1x8", 2, 64, 4, 256, 8, 1)])
def gpt_step(torch, o, layers, dim, heads, ff, context, batch, vocab=65):
    """A training step of a decoder-only model: norm first, gelu, learned positions, biases, untied, no dropout."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            self.linear1, self.linear2 = nn.Linear(dim, ff), nn.Linear(ff, dim)

        def forward(self, x):
            b, n, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, heads, dim // heads).permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, n, dim))
            return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(vocab, dim), nn.Embedding(context, dim)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab)

        def forward(self, x):
            x = self.tokens(x) + self.positions.weight[: x.shape[1]]
            return self.head(self.norm(self.blocks(x)))

    model = GPT().train()
    x, y = (torch.randint(0, vocab, (batch, context)) for _ in range(2))
    return training_step(torch, o, model, lambda f: F.cross_entropy(f(x).float().view(-1, vocab), y.view(-1)))


@workload("encdec")
def encdec_step(torch, o, layers=3, dim=256, heads=8, ff=1024, vocab=8000, pairs=64):
    """A training step of a translation model: norm first, one tied vocabulary, dropout 0.1, smoothing 0.1."""
    nn, F = torch.nn, torch.nn.functional
    pad, longest = 0, 20

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocab, dim)
            nn.init.normal_(self.embedding.weight, 0.0, dim ** -0.5)
            self.core = nn.Transformer(dim, heads, layers, layers, ff, 0.1, batch_first=True, norm_first=True)
            self.dropout = nn.Dropout(0.1)
            position = torch.arange(longest + 1)[:, None] * torch.exp(torch.arange(0, dim, 2) * (-9.210340372 / dim))
            self.register_buffer("positions", torch.stack([position.sin(), position.cos()], -1).flatten(1))
            self.register_buffer("hidden", torch.ones(longest + 1, longest + 1, dtype=torch.bool).triu(1))

        def embed(self, x):
            return self.dropout(self.embedding(x) * dim ** 0.5 + self.positions[: x.shape[1]])

        def forward(self, src, tgt):
            hidden, padding = self.hidden[: tgt.shape[1], : tgt.shape[1]], src == pad
            y = self.core(self.embed(src), self.embed(tgt), tgt_mask=hidden, src_key_padding_mask=padding,
                          memory_key_padding_mask=padding, tgt_key_padding_mask=tgt == pad, tgt_is_causal=False)
            return F.linear(y, self.embedding.weight)

    def padded():
        lengths = torch.randint(14, longest + 1, (pairs, 1))
        tokens = torch.randint(1, vocab, (pairs, longest))
        return tokens.masked_fill(torch.arange(longest)[None, :] >= lengths, pad)

    src, labels = padded(), padded()
    tgt = torch.cat([torch.ones(pairs, 1, dtype=torch.long), labels[:, :-1]], 1).masked_fill(labels == pad, pad)
    model = Model().train()
    return training_step(torch, o, model, lambda f: F.cross_entropy(
        f(src, tgt).float().view(-1, vocab), labels.view(-1), ignore_index=pad, label_smoothing=0.1))


@workload("adamw_124m")
def adamw(torch, o):
    shapes = [(50257, 768), (1024, 768)] + [(768, 2304), (768, 768), (768, 3072), (3072, 768)] * 12
    parameters = [torch.nn.Parameter(torch.randn(s) * 0.02) for s in shapes]
    for p in parameters:
        p.grad = torch.randn(p.shape) * 0.01
    return torch.optim.AdamW(parameters, lr=1e-4, fused=True).step


def cast(torch, o):
    return torch.autocast("cpu", torch.bfloat16) if o.bf16 else contextlib.nullcontext()


def inference(torch, o, f):
    def run():
        with torch.inference_mode(), cast(torch, o):
            f()
    return run


def training_step(torch, o, model, loss_of):
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1, fused=True)
    f = torch.compile(model) if o.compile else model

    def step():
        opt.zero_grad(set_to_none=True)
        with cast(torch, o):
            loss = loss_of(f)
        loss.backward()
        opt.step()
        return loss.item()
    return step


# Rows that need a process of their own.

START = {
    "startup_import": "import torch",
    "startup": "import torch; a = torch.ones(4, 4); print((a @ a).sum().item())",
}
MEMORY = {"memory_import": None, "memory_char_gpt": "char_gpt", "memory_encdec": "encdec"}


def startup(name, o):
    env = dict(os.environ, OMP_NUM_THREADS=str(o.threads))
    times = []
    for i in range(max(2, min(o.reps, 5)) + 1):
        t = time.perf_counter()
        subprocess.run([sys.executable, "-c", START[name]], env=env, check=True, stdout=subprocess.DEVNULL)
        if i > 0:  # the first fills the file cache
            times.append(time.perf_counter() - t)
    return times


def memory(name, o):
    command = [sys.executable, os.path.abspath(__file__), "--peak-of", MEMORY[name] or "", "--threads", str(o.threads),
               "--seed", str(o.seed)] + ["--compile"] * o.compile + ["--bf16"] * o.bf16
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def peak_of(name, o):
    import torch
    prepare(torch, o)
    if name:
        make, args = WORKLOADS[name]
        step = make(torch, o, *args)
        for _ in range(3):
            step()
    with open("/proc/self/status") as f:
        print(next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmHWM")))


def prepare(torch, o):
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)


def measure(step, o):
    for _ in range(o.warmup):
        step()
    clock = time.process_time if o.cpu else time.perf_counter
    times, began = [], clock()
    while len(times) < o.reps or (clock() - began < o.seconds and len(times) < 2000):
        t = clock()
        step()
        times.append(clock() - t)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--set", default="workloads", choices=["workloads", "operations"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reps", type=int, default=20, help="at least this many")
    parser.add_argument("--seconds", type=float, default=0.3, help="and at least so long, for the short ones")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--cpu", action="store_true", help="the processor's time: of one thread, on a machine that has other work")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.set == "operations":
        import operations
        WORKLOADS.clear()
        WORKLOADS.update(operations.WORKLOADS)
    else:
        import decode
        WORKLOADS.update(decode.WORKLOADS)
    known = list(WORKLOADS) + (list(START) + list(MEMORY) if o.set == "workloads" else [])
    if o.list:
        return print("\n".join(known))
    if o.peak_of is not None:
        return peak_of(o.peak_of, o)
    names = [n for w in o.workloads for n in (fnmatch.filter(known, w) or sys.exit(f"no workload {w}; see --list"))]
    if not names:
        parser.error("name a workload, or --list")

    import torch
    import warnings
    warnings.filterwarnings("ignore", message="enable_nested_tensor")
    prepare(torch, o)
    tuned = {k: os.environ.get(k) for k in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "ATEN_CPU_CAPABILITY",
                                            "OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    print(f"# torch {torch.__version__}, kernels {torch.backends.cpu.get_cpu_capability()}, "
          f"mkl {torch.backends.mkl.is_available()}, onednn {torch.backends.mkldnn.is_available()}; "
          + " ".join(f"{k}={v}" for k, v in tuned.items()), file=sys.stderr)

    for name in names:
        mark = ("+compile" if o.compile else "") + ("+bf16" if o.bf16 else "")
        if name in MEMORY:
            best = median = memory(name, o)
        else:
            if name in START:
                times, mark = startup(name, o), ""
            else:
                make, args = WORKLOADS[name]
                prepare(torch, o)
                times = measure(make(torch, o, *args), o)
            best, median = min(times) * 1e3, statistics.median(times) * 1e3
        print(f"{name}{mark}\t{o.threads}\t{best:.4f}\t{median:.4f}", flush=True)


if __name__ == "__main__":
    main()
