"""What the reference makes of random texts, a JSON line each: for spec/peers/tokenizers.lua.

    python3 spec/peers/read_tokens.py FILE SEED COUNT

FILE: a tokenizer.json (the package `tokenizers`), or a SentencePiece model (`sentencepiece` and `protobuf`).
"""

import json
import sys

from random_text import RandomText


def byte_places(text):
    places = [0]
    for c in text:
        places.append(places[-1] + len(c.encode()))
    return places


def hugging_face(path):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]

    def read(text):
        encoding = tokenizer.encode(text)
        places = byte_places(text)
        ends = [places[end] for pair in encoding.offsets for end in pair]
        return encoding.ids, ends, tokenizer.decode(encoding.ids), tokenizer.decode(
            encoding.ids, skip_special_tokens=False)

    return special, read


def sentencepiece(path):
    import sentencepiece as spm

    processor = spm.SentencePieceProcessor(model_file=path)

    def read(text):
        pieces = processor.encode(text, return_type="proto").pieces
        ids = processor.encode(text)
        decoded = processor.decode(ids)
        return ids, [end for piece in pieces for end in (piece.begin, piece.end)], decoded, decoded

    return ["</s>", "<unk>"], read


path, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
of_sentencepiece = path.endswith((".model", ".spm"))
special, read = (sentencepiece if of_sentencepiece else hugging_face)(path)
source = RandomText(seed, special)
for _ in range(count):
    text = source.text()
    if of_sentencepiece:
        text = text.replace("\0", " ")  # its Python package ends texts there
    ids, ends, plain, whole = read(text)
    print(json.dumps({"text": text, "ids": ids, "ends": ends, "plain": plain, "whole": whole}))
