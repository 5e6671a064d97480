"""Seconds to load a tokenizer.json and to encode a text's lines one by one, and how many ids there are: for tokenizers.lua.

    python3 tokenizers_speed.py FILE TEXT
"""

import sys
import time

from tokenizers import Tokenizer

lines = open(sys.argv[2], encoding="utf-8").read().split("\n")
start = time.perf_counter()
tokenizer = Tokenizer.from_file(sys.argv[1])
loaded = time.perf_counter()
tokenizer.no_truncation()
tokenizer.no_padding()
if lines[-1] == "":
    lines.pop()
count = sum(len(tokenizer.encode(line).ids) for line in lines)
print(loaded - start, time.perf_counter() - loaded, count)
