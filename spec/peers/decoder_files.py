"""Tiny models as GGUF files, and what llama.cpp computes of them: for spec/peers/decoders.lua.

    python3 spec/peers/decoder_files.py write FOLDER FILE      a folder of spec/fixtures/families, as llama.cpp's converter
                                                               would write it
    python3 spec/peers/decoder_files.py logits FILE ID...      JSON: a row for each id (from 0)

Needs the packages gguf 0.19, numpy and safetensors; `logits` llama-cpp-python.
"""

import contextlib
import json
import math
import os
import sys

import numpy as np


def neighbours(w, heads):
    """Rows of queries and keys as architecture llama has them: features i and i + D/2 beside each other."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def architecture_of(c):
    return {"mistral": "llama", "gemma3_text": "gemma3"}.get(c["model_type"], c["model_type"])


def tensors_of(folder, c, architecture):
    from safetensors.numpy import load_file
    heads, kv_heads = c.get("num_attention_heads"), c.get("num_key_value_heads")
    for name, w in load_file(os.path.join(folder, "model.safetensors")).items():
        if architecture == "gpt2" and w.ndim == 2 and ".h." in name:
            w = np.ascontiguousarray(w.T)
        if architecture.startswith("gemma") and "norm" in name:
            w = w + 1
        if architecture == "llama" and "q_proj" in name:
            w = neighbours(w, heads)
        if architecture == "llama" and "k_proj" in name:
            w = neighbours(w, kv_heads)
        yield name, w


def add_settings(w, c, architecture):
    if architecture == "gpt2":
        w.add_context_length(c["n_positions"]), w.add_embedding_length(c["n_embd"]), w.add_block_count(c["n_layer"])
        w.add_head_count(c["n_head"]), w.add_feed_forward_length(c["n_inner"] or 4 * c["n_embd"])
        w.add_layer_norm_eps(c["layer_norm_epsilon"])
        return
    heads, of_head = c["num_attention_heads"], c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    w.add_context_length(c["max_position_embeddings"]), w.add_embedding_length(c["hidden_size"])
    w.add_block_count(c["num_hidden_layers"]), w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(heads), w.add_head_count_kv(c["num_key_value_heads"])
    w.add_layer_norm_rms_eps(c["rms_norm_eps"]), w.add_key_length(of_head), w.add_value_length(of_head)
    rope = c["rope_parameters"].get("full_attention", c["rope_parameters"])
    w.add_rope_freq_base(rope["rope_theta"])
    w.add_rope_dimension_count(int(of_head * rope.get("partial_rotary_factor", 1)))
    if architecture in ("gemma2", "gemma3", "phi3"):
        w.add_sliding_window(c.get("sliding_window") or 0)
    if architecture == "gemma2":
        w.add_attn_logit_softcapping(c["attn_logit_softcapping"])
        w.add_final_logit_softcapping(c["final_logit_softcapping"])
    add_scaling(w, c, rope, of_head)


def add_scaling(w, c, rope, of_head):
    from gguf import RopeScalingType
    kind, n = rope["rope_type"], rope.get("original_max_position_embeddings")
    if kind == "linear":
        w.add_rope_scaling_type(RopeScalingType.LINEAR), w.add_rope_scaling_factor(rope["factor"])
    elif kind == "yarn":
        w.add_rope_scaling_type(RopeScalingType.YARN), w.add_rope_scaling_factor(rope["factor"])
        w.add_rope_scaling_orig_ctx_len(n)
    elif kind == "longrope":
        w.add_rope_scaling_orig_ctx_len(n)
        w.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(c["max_position_embeddings"] / n) / math.log(n)))
        for length in ("long", "short"):
            w.add_tensor(f"rope_factors_{length}.weight", np.array(rope[f"{length}_factor"], dtype=np.float32))
    elif kind == "llama3":
        rates = rope["rope_theta"] ** -(np.arange(0, of_head, 2) / of_head)
        waves, low, high = 2 * np.pi / rates, n / rope["low_freq_factor"], n / rope["high_freq_factor"]
        share = (n / waves - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
        between = 1 / ((1 - share) / rope["factor"] + share)
        factors = np.where(waves < high, 1, np.where(waves > low, rope["factor"], between))
        w.add_tensor("rope_freqs.weight", factors.astype(np.float32))


def write(folder, path):
    from gguf import GGUFWriter, MODEL_ARCH, MODEL_ARCH_NAMES, get_tensor_name_map
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        c = json.load(file)
    architecture = architecture_of(c)
    arch = next(a for a in MODEL_ARCH if MODEL_ARCH_NAMES[a] == architecture)
    names = get_tensor_name_map(arch, c.get("num_hidden_layers") or c["n_layer"])
    w = GGUFWriter(path, architecture)
    add_settings(w, c, architecture)
    w.add_vocab_size(c["vocab_size"])
    w.add_tokenizer_model("none")
    for name, t in tensors_of(folder, c, architecture):
        w.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), t)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def logits(path, ids):
    import llama_cpp
    with open(os.devnull, "w") as quiet, contextlib.redirect_stderr(quiet):
        model = llama_cpp.Llama(path, n_ctx=256, n_batch=256, n_ubatch=256, n_threads=1, logits_all=True, verbose=False,
                                type_k=0, type_v=0, flash_attn=False)
        model.eval(ids)
    return model.scores[: len(ids)].tolist()


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(*sys.argv[2:4])
    else:
        print(json.dumps(logits(sys.argv[2], [int(i) for i in sys.argv[3:]])))
