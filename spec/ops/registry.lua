--- Every public operation of heed.core: what it takes and what it means. registry_spec.lua holds
--- this against the module's own table and tries each entry; memory_spec.lua lets its allocations
--- fail. An entry:
---
---   name        as in heed.core (syntax = true: not a function there, but t[key] and its like)
---   cases       a list; of each the positional part is the shapes of the inputs, the named part parameters (signed: a
---               parameter below 0, which u8 has not)
---   inputs      a generator of spec.support.values for each input; default: values.any for all
---   call        (case, input...) -> results; default: core[name](input...)
---   naive       (case, array...) -> arrays, by spec.support.naive; nil where `check` says it otherwise
---   check       (case, results, tensors...): for what draws random numbers
---   dtypes      what the inputs may be; default: f32 f64 i64 i32 u8 bool. Every other dtype must be refused
---   others      true: the dtypes that are only stored (naive.dtypes.stored) are taken as well, results are the nearest to those in
---               f32; "halves": so are f16 and bf16 alone; or a list, with the results of another dtype
---   gradient    true: by all inputs of floats, checked by differences in f64 (not in cases that are `rough`)
---   constants   { [i] = true }: no gradient by these inputs
---   varied      true: no gradient where elements are all equal, so none is checked in expanded inputs
---   detached    which results are not recorded
---   mixed       true: inputs may be of different dtypes
---   corners     infinities and their like, for the first input
---   layouts     those that are possible; default: all of spec.support.layouts
---   in_place    the name of the variant that writes into its first input, and takes the case's `scalar` beside it
---   variant     a further entry of a name that is there already: what is different in it
---   large       a case for the comparison over threads and with other layouts; false: too small to matter
---   tolerance   of f32 results, relative above 1; default 1e-5

local registry = { operations = {}, by_name = {} }

for _, family in ipairs { "elementwise", "reduction", "shape", "index", "scatter", "product",
    "rows", "channels", "layers", "recurrent", "losses", "make" } do
    for _, entry in ipairs(require("spec.ops.registry." .. family)) do
        assert(entry.variant or not registry.by_name[entry.name],
            entry.name .. " is registered twice")
        registry.operations[#registry.operations + 1] = entry
        registry.by_name[entry.name] = registry.by_name[entry.name] or entry
    end
end

---What users have beside operations, and why each is none. (What is internal, core.internal, may be
---none.)
registry.not_operations = {
    bytes = "leaves tensors: a string",
    item = "leaves tensors: a number",
    totable = "leaves tensors: nested tables; every spec here reads results by it",
    size = "asks for the shape",
    dim = "asks for the shape",
    numel = "asks for the shape",
    stride = "asks for the layout",
    is_contiguous = "asks for the layout",
    is_tensor = "asks what a value is", is_quantized = "asks what a value is",
    quantize = "spec/ops/quantized_spec.lua",
    requires_grad_ = "sets a property",
    backward = "runs the graph",
    no_grad = "the mode of recording",
    enable_grad = "the mode of recording",
    is_grad_enabled = "the mode of recording",
    func = "makes operations from Lua functions",
    recompute = "runs Lua functions; spec/autograd/recompute_spec.lua",
    detect_anomaly = "the mode of backward; spec/autograd/anomaly_spec.lua",
    uninterrupted = "when an interrupt is seen",
    generator = "a stream of random numbers",
    manual_seed = "the stream of random numbers",
    rng_state = "the stream of random numbers",
    scope = "how long handles live",
    keep = "how long handles live",
    memory = "asks for accounts",
    memory_limit = "sets the limit",
    memory_trim = "gives memory back",
    clock = "the time",
    set_num_threads = "the machine",
    get_num_threads = "the machine",
}

return registry
