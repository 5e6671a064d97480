"""The package gguf beside heed.gguf: for spec/peers/gguf.lua.

    python3 spec/peers/gguf_files.py write FOLDER SEED COUNT   random blocks of every type: FOLDER/random.gguf
    python3 spec/peers/gguf_files.py dequantise FILE FOLDER    its tensors, FOLDER/1.npy and so on
    python3 spec/peers/gguf_files.py check FOLDER              is FOLDER/heed.gguf what this package would write?

`check` reads metadata.json (what there must be) and NAME.npy (what tensor NAME was before it was written), and prints
what differs. Needs the packages gguf 0.19 and numpy.
"""

import json
import os
import sys
import warnings

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, quants
from gguf.constants import GGML_QUANT_SIZES

READ = """Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4 NVFP4 BF16""".split()
PLAIN = {"F32", "F16", "F64", "I8", "I16", "I32", "I64"}


def write(folder, seed, count):
    rng = np.random.default_rng(seed)
    w = GGUFWriter(os.path.join(folder, "random.gguf"), "none")
    for name in READ:
        kind = GGMLQuantizationType[name]
        size = GGML_QUANT_SIZES[kind][1]
        w.add_tensor(name, rng.integers(0, 256, (count, 3 * size), dtype=np.uint8), raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def dequantise(path, folder):
    for i, t in enumerate(GGUFReader(path).tensors):
        plain = t.tensor_type.name in PLAIN
        np.save(os.path.join(folder, f"{i + 1}.npy"), t.data if plain else quants.dequantize(t.data, t.tensor_type))


def quantised(x, kind):
    return x if kind.name in PLAIN and kind.name != "F16" else quants.quantize(x, kind)


def check(folder):
    reader = GGUFReader(os.path.join(folder, "heed.gguf"))
    with open(os.path.join(folder, "metadata.json"), encoding="utf-8") as file:
        expected = json.load(file)
    found = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    different = [name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)]
    for t in reader.tensors:
        x = np.load(os.path.join(folder, t.name + ".npy"))
        same = list(x.shape) == t.shape.tolist()[::-1]
        if not same or quantised(x, t.tensor_type).tobytes() != np.ascontiguousarray(t.data).tobytes():
            different.append(t.name)
    print(f"{len(different)} of {len(found) + len(reader.tensors)} differ as the package reads them: heed.gguf", *different)
    sys.exit(len(different) > 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    command, *arguments = sys.argv[1:]
    if command == "write":
        write(arguments[0], int(arguments[1]), int(arguments[2]))
    elif command == "dequantise":
        dequantise(*arguments)
    else:
        check(*arguments)
