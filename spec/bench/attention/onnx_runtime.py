"""ONNX Runtime's side of table.lua, forward (rival.py has the protocol).

Ways: its own MultiHeadAttention (mha) and GroupQueryAttention (gqa), and ONNX's Attention (onnx), each in a model of one node, on bound
inputs and outputs. Inputs are [B, L, E] as the operators take them. Where keys come from elsewhere than the queries, mha is also given
them as a cache has them, [B, H, S, D]; gqa has what came before in a cache that it appends to in place.
"""

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

import rival

TYPES = {numpy.dtype(numpy.float32): TensorProto.FLOAT, numpy.dtype(numpy.int32): TensorProto.INT32,
         numpy.dtype(numpy.int64): TensorProto.INT64, numpy.dtype(bool): TensorProto.BOOL}
OPSET = 24

threads = 1


def set_threads(n):
    global threads
    threads = n


def ways(case, inputs):
    if case.backward:
        return
    q, k, v = inputs
    if case.H == case.Hk:
        yield from multi_head(case, q, k, v)
    if case.S >= case.L and (case.L == 1 or not case.padded):
        yield "gqa", lambda: group_query(case, q, k, v)
    yield from standard(case, q, k, v)


def flat(x):
    return x.reshape(*x.shape[:2], -1)


def heads_first(x):
    return numpy.ascontiguousarray(x.transpose(0, 2, 1, 3))


def multi_head(case, q, k, v):
    plain = case.causal and case.square and not case.window
    attributes = {"num_heads": case.H, "unidirectional": int(plain)}
    extra = {}
    if case.padded:
        extra["key_padding_mask"] = numpy.array(case.lengths, numpy.int32)
    if case.causal and not plain:
        bias = rival.as_bias(rival.visible(case))
        extra["attention_bias"] = numpy.maximum(bias, numpy.float32(-1e30))
        extra.pop("key_padding_mask", None)
    order = ("query", "key", "value", "bias", "key_padding_mask", "attention_bias")

    def maker(place):
        given = {"query": flat(q), "key": place(k), "value": place(v), **extra}
        return run(case, "MultiHeadAttention", "com.microsoft", attributes, order, given)
    yield "mha", lambda: maker(flat)
    if not case.square:
        yield "mha, keys by heads", lambda: maker(heads_first)


def group_query(case, q, k, v):
    before = case.S - case.L
    lengths = numpy.array(case.lengths, numpy.int32)
    attributes = {"num_heads": case.H, "kv_num_heads": case.Hk, "causal": int(case.causal),
                  "local_window_size": rival.WINDOW if case.window else -1}
    new = (lengths - case.L)[:, None] + numpy.arange(case.L)  # the rows that are appended
    entry = numpy.arange(case.B)[:, None]
    given = {"query": flat(q), "key": flat(k[entry, new]), "value": flat(v[entry, new])}
    if before:
        caches = {"present_key": heads_first(k), "present_value": heads_first(v)}
        given.update(past_key=caches["present_key"], past_value=caches["present_value"])
    else:
        caches = {name: numpy.empty((case.B, case.Hk, case.S, case.D), numpy.float32) for name in ("present_key", "present_value")}
    given["seqlens_k"] = lengths - 1
    given["total_sequence_length"] = lengths.max(keepdims=True)
    order = ("query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length")
    return run(case, "GroupQueryAttention", "com.microsoft", attributes, order, given, caches)


def standard(case, q, k, v):
    plain = case.causal and case.square and not case.window and not case.padded
    seen = None if plain else rival.visible(case)
    order = ("Q", "K", "V", "attn_mask")
    masks = {} if seen is None else {"attn_mask": numpy.broadcast_to(seen, (*seen.shape[:2], case.L, case.S)).copy()}
    rows = {"Q": flat(q), "K": flat(k), "V": flat(v)}
    heads = {"Q": heads_first(q), "K": heads_first(k), "V": heads_first(v)}
    sizes = {"q_num_heads": case.H, "kv_num_heads": case.Hk}
    yield "onnx", lambda: run(case, "Attention", "", {**sizes, "is_causal": int(plain)}, order, {**rows, **masks})
    yield "onnx, by heads", lambda: run(case, "Attention", "", {"is_causal": int(plain)}, order, {**heads, **masks}, by_heads=True)


def model_of(operator, domain, attributes, order, given, outputs):
    inputs = [helper.make_tensor_value_info(name, TYPES[x.dtype], x.shape) for name, x in given.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in outputs.items()]
    names = [name if name in given else "" for name in order]
    while not names[-1]:
        names.pop()
    node = helper.make_node(operator, names, list(outputs), domain=domain, **attributes)
    graph = helper.make_graph([node], "attention", inputs, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 10
    return model.SerializeToString()


def run(case, operator, domain, attributes, order, given, caches=None, by_heads=False):
    shape = (case.B, case.H, case.L, case.D) if by_heads else (case.B, case.L, case.H * case.D)
    outputs = {"out": numpy.empty(shape, numpy.float32), **(caches or {})}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model_of(operator, domain, attributes, order, given, outputs), options,
                                           providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(x) for name, x in {**given, **outputs}.items()}
    for name in given:
        shared = "present" + name.removeprefix("past")
        binding.bind_ortvalue_input(name, values[shared if shared in outputs else name])
    for name in outputs:
        binding.bind_ortvalue_output(name, values[name])

    def results():
        out = values["out"].numpy()
        return [out.transpose(0, 2, 1, 3) if by_heads else out.reshape(case.B, case.L, case.H, case.D)]
    return (lambda: session.run_with_iobinding(binding)), results


def main():
    rival.serve(f"{onnxruntime.__version__}, onnx {onnx.__version__}", set_threads, ways)


if __name__ == "__main__":
    main()
