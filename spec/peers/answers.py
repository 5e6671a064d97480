"""What transformers answers with the weights of a GGUF file: for spec/peers/answers.lua.

    python3 spec/peers/answers.py FILE QUESTIONS COUNT OUT

QUESTIONS is JSON: {"texts": [...], "ids": [[...], ...]}, prompts and their ids (from 0). OUT gets, of each prompt N, the
logits of its tokens (N.logits), COUNT greedy tokens behind it (N.written), and its ids by the tokenizer that transformers
makes of the file (N.ids). Needs torch, transformers 5.24, accelerate, gguf and safetensors.
"""

import json
import os
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

torch.set_num_threads(1)
path, questions, count, out = sys.argv[1:]
folder, name = os.path.split(os.path.abspath(path))
with open(questions, encoding="utf-8") as file:
    asked = json.load(file)
model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
answers = {}
with torch.no_grad():
    for i, (text, ids) in enumerate(zip(asked["texts"], asked["ids"]), 1):
        prompt = torch.tensor([ids])
        answers[f"{i}.logits"] = model(prompt).logits[0]
        written = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=int(count),
                                 do_sample=False, repetition_penalty=1.0, eos_token_id=None, pad_token_id=0)
        answers[f"{i}.written"] = written[0, len(ids):]
        answers[f"{i}.ids"] = torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"])
save_file({k: t.clone().contiguous() for k, t in answers.items()}, out)
