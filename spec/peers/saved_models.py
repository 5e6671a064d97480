"""Other programs beside heed.models.save: for spec/peers/saved_models.lua.

    python3 spec/peers/saved_models.py transformers FOLDER     FOLDER/saved
    python3 spec/peers/saved_models.py gguf FOLDER             FOLDER/saved.gguf: are all its tensors read?
    python3 spec/peers/saved_models.py llama FOLDER NAME       FOLDER/NAME

compares with FOLDER/expected.json and expected.safetensors, and prints what was compared and what differs.
"""

import json
import os
import sys

import numpy as np


def read_safetensors(path):
    """Without any package: f32 alone."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = file.read()
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], np.float32).reshape(t["shape"])
            for name, t in header.items() if name != "__metadata__"}


def transformers(folder, expected, values):
    import torch
    from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

    path = os.path.join(folder, "saved")
    tokenizer = AutoTokenizer.from_pretrained(path)
    causal = bool(expected["answers"])
    model = (AutoModelForCausalLM if causal else AutoModel).from_pretrained(path).eval()
    worst = 0
    for i, text in enumerate(expected["texts"]):
        ids = expected["ids"][i]
        if tokenizer(text)["input_ids"] != ids:
            print(f"  ids of {text!r}: {tokenizer(text)['input_ids']}, heed {ids}")
        with torch.no_grad():
            out = model(torch.tensor([ids]))
        got = (out.logits if causal else out.last_hidden_state).float().numpy()
        worst = max(worst, float(np.abs(got - values[f"out{i + 1}"]).max()))
        if causal:
            written = model.generate(torch.tensor([ids]), max_new_tokens=len(expected["answers"][i]), do_sample=False,
                                     eos_token_id=None, pad_token_id=0)[0, len(ids):].tolist()
            if written != expected["answers"][i]:
                print(f"  answer to {text!r}: {written}, heed {expected['answers'][i]}")
    print(f"  transformers: {len(expected['texts'])} texts, worst difference {worst:.2e}")


def gguf(folder, expected, values):
    from gguf import GGUFReader, dequantize

    reader = GGUFReader(os.path.join(folder, "saved.gguf"))
    count = sum(dequantize(t.data, t.tensor_type).size for t in reader.tensors)
    print(f"  gguf: {len(reader.tensors)} tensors, {count} numbers, {len(reader.fields)} metadata")


def llama(folder, expected, values, name):
    from llama_cpp import Llama

    causal = bool(expected["answers"])
    model = Llama(os.path.join(folder, name), embedding=not causal, verbose=False, n_ctx=512, n_threads=2, seed=1)
    agree, worst = 0, 1
    for i, text in enumerate(expected["texts"]):
        ids = expected["ids"][i]
        got = model.tokenize(text.encode(), add_bos=True, special=False)
        if got != ids:
            print(f"  ids of {text!r}: {got}, heed {ids}")
        if causal:
            model.reset()
            written = []
            for token in model.generate(ids, temp=0):
                written.append(token)
                if len(written) == len(expected["answers"][i]):
                    break
            agree += written == expected["answers"][i]
        else:
            vector, want = np.array(model.embed(text)), values[f"vector{i + 1}"][0]
            worst = min(worst, float(vector @ want / np.linalg.norm(vector) / np.linalg.norm(want)))
    texts = len(expected["texts"])
    print(f"  llama.cpp, {name}: " + (f"{agree} of {texts} answers are equal" if causal else
                                      f"{texts} vectors, least cosine {worst:.8f}"))


if __name__ == "__main__":
    kind, folder = sys.argv[1:3]
    with open(os.path.join(folder, "expected.json")) as file:
        expected = json.load(file)
    expected["answers"] = expected["answers"] or []
    values = read_safetensors(os.path.join(folder, "expected.safetensors"))
    {"transformers": transformers, "gguf": gguf, "llama": llama}[kind](folder, expected, values, *sys.argv[3:])
