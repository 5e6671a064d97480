"""PyTorch's side of table.lua (rival.py has the protocol).

Ways: inputs as a projection leaves them, [B, L, H, D] seen as [B, H, L, D], or contiguous in that order, as caches are; is_causal, or a mask of
booleans or of numbers; grouped heads by enable_gqa or repeated before.
"""

import itertools
import os

import torch

import rival

sdpa = torch.nn.functional.scaled_dot_product_attention


def ways(case, inputs):
    tensors = [torch.from_numpy(x) for x in inputs]
    for (layout, place), (kind, options), grouped in itertools.product(layouts(tensors), masks(case), groups(case)):
        name = " ".join(filter(None, (layout, kind, grouped)))
        yield name, lambda place=place, options=options, grouped=grouped: make(case, place(), options, grouped)


def layouts(tensors):
    """Leaves, and how they are seen: [B, H, L, D]."""
    def rows():
        return [t.clone() for t in tensors], lambda t: t.transpose(1, 2)

    def heads():
        return [t.transpose(1, 2).contiguous() for t in tensors], lambda t: t
    return ("rows", rows), ("heads", heads)


def masks(case):
    seen = rival.visible(case)
    if seen is None:
        return [("", {})]
    if case.causal and case.square and not case.window and not case.padded:
        return [("is_causal", {"is_causal": True})]
    return [("mask", {"attn_mask": torch.from_numpy(seen)}), ("bias", {"attn_mask": torch.from_numpy(rival.as_bias(seen))})]


def groups(case):
    return [""] if case.H == case.Hk else ["enable_gqa", "repeated"]


def make(case, placed, options, grouped):
    leaves, seen_as = placed
    results = [None]

    def attend():
        q, k, v = (seen_as(t) for t in leaves[:3])
        if grouped == "repeated":
            k, v = (t.repeat_interleave(case.H // case.Hk, 1) for t in (k, v))
        return sdpa(q, k, v, enable_gqa=grouped == "enable_gqa", **options)

    def forward():
        with torch.inference_mode():
            results[0] = attend()

    def backward():
        for t in leaves[:3]:
            t.grad = None
        results[0] = attend()
        results[0].backward(seen_as(leaves[3]))

    def arrays():
        seen = [results[0]] + ([seen_as(t.grad) for t in leaves[:3]] if case.backward else [])
        return [t.detach().transpose(1, 2).numpy() for t in seen]

    for t in leaves[:3]:
        t.requires_grad_(case.backward)
    return (backward if case.backward else forward), arrays


def main():
    tuned = {k: os.environ.get(k) for k in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "ATEN_CPU_CAPABILITY")}
    about = f"{torch.__version__}, kernels {torch.backends.cpu.get_cpu_capability()}, " + " ".join(f"{k}={v}" for k, v in tuned.items())
    rival.serve(about, torch.set_num_threads, ways)


if __name__ == "__main__":
    main()
