"""What sentence-transformers (6.2) makes of texts: for spec/peers/sentences.lua.

    python3 spec/peers/embed_sentences.py DIR < TEXTS > ANSWERS

TEXTS: a JSON string a line. ANSWERS: { ids, vector } a line.
"""

import json
import sys

from sentence_transformers import SentenceTransformer

model = SentenceTransformer(sys.argv[1], device="cpu")
texts = [json.loads(line) for line in sys.stdin]
for text, vector in zip(texts, model.encode(texts)):
    ids = model.preprocess([text])["input_ids"][0].tolist()
    print(json.dumps({"ids": ids, "vector": vector.tolist()}))
