"""What CTranslate2 and the authors' program make of a sound, as JSON: for spec/peers/whisper.lua.

    python3 spec/peers/whisper_reference.py DIR AUDIO.wav

DIR: CTranslate2's directory of a Whisper model in f16, with tokenizer.json; AUDIO: 16 kHz, mono. Prints an object:
plain and timed, the greedy tokens of the first window by CTranslate2 without times and with them; passages, what
whisper.transcribe gives at temperature 0; words, what whisper.timing finds for the first window. Needs the packages
ctranslate2 4.8, openai-whisper 20250625, soundfile, tokenizers and torch.
"""

import json
import os
import struct
import sys

import ctranslate2
import numpy as np
import soundfile
import torch
import whisper
from whisper import timing
from whisper.audio import N_FRAMES, N_SAMPLES, log_mel_spectrogram

START, NO_TIMES = 50257, 50362


def variables(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0

    def take(format):
        nonlocal at
        values = struct.unpack_from("<" + format, data, at)
        at += struct.calcsize("<" + format)
        return values if len(values) > 1 else values[0]

    def name():
        nonlocal at
        length = take("H")
        at += length
        return data[at - length:at - 1].decode()

    take("I"), name(), take("I")
    found = {}
    for _ in range(take("I")):
        key, rank = name(), take("B")
        shape = struct.unpack_from(f"<{rank}I", data, at)
        at += 4 * rank
        kind, size = take("B"), take("I")
        dtype = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}[kind]
        found[key] = torch.from_numpy(np.frombuffer(data[at:at + size], dtype).reshape(shape).copy())
        at += size
    return found


def weights(v):
    """By the names of the authors' program."""
    out = {"decoder.positional_embedding": v["decoder/position_encodings/encodings"],
           "encoder.positional_embedding": v["encoder/position_encodings/encodings"],
           "decoder.token_embedding.weight": v["decoder/embeddings/weight"]}
    sub = {"layer_norm/gamma": "weight", "layer_norm/beta": "bias"}

    def norm(to, source):
        for theirs, leaf in sub.items():
            out[f"{to}.{leaf}"] = v[f"{source}{theirs}"]

    def linears(names, source):
        for leaf in ("weight", "bias"):
            for to, part in zip(names, v[f"{source}/{leaf}"].chunk(len(names))):
                if not (leaf == "bias" and to.endswith("key")):
                    out[f"{to}.{leaf}"] = part

    norm("encoder.ln_post", "encoder/")
    norm("decoder.ln", "decoder/")
    for i in (1, 2):
        linears([f"encoder.conv{i}"], f"encoder/conv{i}")
    for key in [k for k in v if k.endswith("/ffn/linear_0/weight")]:
        stack, layer = key.split("/")[:2]
        to, source = f"{stack}.blocks.{layer[6:]}.", f"{stack}/{layer}/"
        linears([to + "attn." + n for n in ("query", "key", "value")], source + "self_attention/linear_0")
        linears([to + "attn.out"], source + "self_attention/linear_1")
        norm(to + "attn_ln", source + "self_attention/")
        if stack == "decoder":
            linears([to + "cross_attn.query"], source + "attention/linear_0")
            linears([to + "cross_attn.key", to + "cross_attn.value"], source + "attention/linear_1")
            linears([to + "cross_attn.out"], source + "attention/linear_2")
            norm(to + "cross_attn_ln", source + "attention/")
        linears([to + "mlp.0"], source + "ffn/linear_0")
        linears([to + "mlp.2"], source + "ffn/linear_1")
        norm(to + "mlp_ln", source + "ffn/")
    return {k: x.float() for k, x in out.items()}


def model_of(directory):
    v = variables(os.path.join(directory, "model.bin"))
    with open(os.path.join(directory, "config.json")) as file:
        config = json.load(file)
    vocabulary, width = v["decoder/embeddings/weight"].shape
    layers = sum(k.startswith("decoder/") and k.endswith("/ffn/linear_0/weight") for k in v)
    heads = int(v["decoder/num_heads"])
    model = whisper.model.Whisper(whisper.model.ModelDimensions(
        80, v["encoder/position_encodings/encodings"].shape[0], width, heads, layers, vocabulary,
        v["decoder/position_encodings/encodings"].shape[0], width, heads, layers)).eval()
    model.load_state_dict(weights(v), strict=False)
    chosen = torch.zeros(layers, heads, dtype=torch.bool)
    for layer, head in config["alignment_heads"]:
        chosen[layer, head] = True
    model.register_buffer("alignment_heads", chosen.to_sparse(), persistent=False)
    return model


def main(directory, path):
    samples = soundfile.read(path, dtype="float32")[0]
    spectrum = log_mel_spectrogram(samples, padding=N_SAMPLES)
    first = spectrum[:, :N_FRAMES].contiguous()
    reference = ctranslate2.models.Whisper(directory, compute_type="float32")

    def greedy(prompt):
        view = ctranslate2.StorageView.from_array(first[None].numpy())
        return reference.generate(view, [prompt], beam_size=1, max_length=448)[0].sequences_ids[0]

    out = {"plain": greedy([START, NO_TIMES]), "timed": greedy([START])}
    model = model_of(directory)
    # The last window ends in the silence behind the sound, as in training, and not in zeros of the spectrum.
    sys.modules["whisper.transcribe"].pad_or_trim = lambda x, length: x.as_strided(
        (x.shape[0], length), x.stride(), x.storage_offset())
    said = whisper.transcribe(model, samples, temperature=0.0, condition_on_previous_text=False, fp16=False)
    out["passages"] = [{"from": s["start"], "to": s["end"], "text": s["text"].strip()} for s in said["segments"]
                       if s["text"].strip()]
    tokenizer = whisper.tokenizer.get_tokenizer(False)
    tokens = [t for t in out["timed"] if t < tokenizer.eot]
    frames = min(N_FRAMES, len(samples) // 160)
    words = timing.find_alignment(model, tokenizer, tokens, first, frames)
    timing.merge_punctuations(words, "\"'“¿([{-", "\"'.。,，!！?？:：”)]}、")
    out["words"] = [{"from": w.start, "to": w.end, "text": w.word.strip(), "probability": w.probability}
                    for w in words if w.word]
    json.dump(out, sys.stdout)


main(*sys.argv[1:])
