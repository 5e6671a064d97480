--- What the writer of a name may have meant: the last words of a message, "; did you mean sum?", or
--- "" when nothing comes to mind.

local nearest = require "heed.nearest"

local concat, sort, gmatch = table.concat, table.sort, string.gmatch

local suggest = {}

-- What PyTorch, numpy and C call the types, and what they call devices.
local DTYPES = {
    float = "f32", float32 = "f32", single = "f32", fp32 = "f32", number = "f32", double = "f64",
        float64 = "f64", fp64 = "f64",
    long = "i64", int64 = "i64", integer = "i64", int = "i32", int32 = "i32", uint8 = "u8",
        byte = "u8", boolean = "bool",
    short = "i16", int16 = "i16", char = "i8", int8 = "i8", uint16 = "u16", uint32 = "u32",
    half = "f16", float16 = "f16", fp16 = "f16", bfloat16 = "bf16", bfloat = "bf16",
}
local DEVICES = { cuda = true, cpu = true, gpu = true, mps = true, xpu = true }

-- What tensors have elsewhere, and how to come by it.
local MEMBERS = {
    data = "t:detach() shares its values, t:totable() makes a Lua table",
        numpy = "t:totable() makes a Lua table",
    tolist = "t:totable() makes a Lua table", ndim = "t:dim() is the number of dimensions",
        T = "t:t(), or t:transpose(1, 2)",
    mT = "t:transpose(-1, -2)", mm = "t:matmul(u)", bmm = "t:matmul(u)", dot = "t:matmul(u)",
        length = "#t, or t:size(1)",
    len = "#t, or t:size(1)", append = "heed.cat { t, u }", plus = "t + u", equals = "t:equal(u)",
        print = "print(t)",
    device = "there are no devices: everything is on the processor",
        cuda = "there are no devices: everything is on the processor",
    cpu = "there are no devices: everything is on the processor", float = 't:to "f32"',
        double = 't:to "f64"', long = 't:to "i64"',
    int = 't:to "i32"', half = 't:to "f16"', bool = 't:to "bool"', type = "t.dtype, or t:to(dtype)",
        zero_grad = "opt:zero_grad(), "
        .. "model:zero_grad(), or t.grad = nil",
    view_as = "t:view(u.shape)", reshape_as = "t:reshape(u.shape)", expand_as = "t:expand(u.shape)",
        type_as = "t:to(u.dtype)",
    broadcast_to = "t:expand(shape)", ravel = "t:flatten()", clip = "t:clamp(min, max)",
    take_along_dim = "t:gather(dim, index)", index_put_ = "t[{ i, j }] = values",
        masked_scatter_ = "t[mask] = values",
    count_nonzero = "t:ne(0):sum()", mv = "t:matmul(u)", addmm = "t + a:matmul(b)",
        log2 = "t:log() / math.log(2)",
    log10 = "t:log() / math.log(10)", nelement = "t:numel()",
        new_zeros = "heed.zeros(sizes, { dtype = t.dtype })",
    bernoulli = "heed.rand_like(t):lt(t)", remainder = "t % u",
}

-- What is a name of PyTorch's modules, and what to call here.
local LOSS = "losses are functions: heed.loss.cross_entropy(logits, targets)"
local FUNCTIONS = {
    functional = "functions stand in heed itself, heed.relu(x), and losses in heed.loss",
        Parameter = "nn.parameter(t)",
    utils = "heed.optim.clip_grad_norm(params, max), heed.recompute",
        lr_scheduler = "opt.lr = rate(step), of heed.optim.schedule",
    CrossEntropyLoss = LOSS, NLLLoss = LOSS, MSELoss = LOSS, L1Loss = LOSS,
        BCEWithLogitsLoss = LOSS, KLDivLoss = LOSS,
    mm = "heed.matmul(a, b)", bmm = "heed.matmul(a, b)", concat = "heed.cat({ a, b }, dim)",
        from_numpy = "heed.npy.load(path)",
    save = "heed.checkpoint.save, heed.safetensors.save",
        load = "heed.checkpoint.load, heed.safetensors.load",
    arange = "heed.range(first, last), which includes both", as_tensor = "heed.tensor(values)",
        LongTensor = "heed.ids { ... }",
    bce = "heed.loss.bce_with_logits(input, target)",
    inference_mode = "heed.no_grad()",
        scaled_dot_product_attention = "heed.attention(q, k, v, { mask = ... })",
}

-- What PyTorch's modules have, and models here have not.
local NO_DEVICES = "there are no devices: everything is on the processor"
local OF_MODELS = {
    cuda = NO_DEVICES, cpu = NO_DEVICES, gpu = NO_DEVICES, mps = NO_DEVICES, device = NO_DEVICES,
    float = 'model:to "f32"', double = 'model:to "f64"', half = 'model:to "f16"',
    save = "heed.safetensors.save(path, model:state_dict())", predict = "model(x)",
        call = "model(x)",
    load = "model:load_state_dict(assert(heed.safetensors.load(path)))", summary = "print(model)",
    backward = "loss:backward()", step = "opt:step()",
        compile = "there is nothing to compile: call model(x)",
    fit = "a loop of one's own: loss:backward(), opt:step()",
        apply = "for _, m in ipairs(model:modules()) do ... end",
    register_buffer = "model:buffer(name, t)", register_parameter = "model.name = nn.parameter(t)",
    add_module = "model.name = another",
        num_parameters = "print(model) counts them; model:parameters() lists them",
}

-- What options are called elsewhere.
local OPTIONS = {
    learning_rate = "lr", axis = "dim", axes = "dim", keepdims = "keepdim", nhead = "num_heads",
        n_heads = "num_heads",
    n_layers = "num_layers", dim_feedforward = "d_ff", hidden_size = "d_model",
        embed_dim = "d_model", epsilon = "eps",
    attn_mask = "mask", is_causal = "mask", dropout_p = "dropout", need_weights = "weights",
        unbiased = "correction",
    size_average = "reduction", requiresGrad = "requires_grad", batch_size = "size", type = "dtype",
        num_samples = "n",
    max_length = "max_new_tokens", max_tokens = "max_new_tokens", num_return_sequences = "samples",
        eos = "stop", eos_token_id = "stop",
    stop_sequences = "stop", do_sample = "temperature", seed = "generator", callback = "on_token",
        tokenizer = "decode",
    sep = "delimiter", skipinitialspace = "trim", na_values = "missing", skiprows = "skip",
        buffer_size = "shuffle",
}

---@param name string
---@param candidates string|table names: a list, the keys of a table, or a string with blanks
---between them
---@return string
function suggest.near(name, candidates)
    local list = {}
    if type(candidates) == "string" then
        for word in gmatch(candidates, "%S+") do list[#list + 1] = word end
    elseif #candidates > 0 then
        list = candidates
    else
        for known in pairs(candidates) do list[#list + 1] = known end
    end
    sort(list)
    for _, known in ipairs(list) do
        if OPTIONS[name] == known then return "; did you mean " .. known .. "?" end
    end
    local near = nearest(name, list)
    return #near > 0 and "; did you mean " .. concat(near, " or ") .. "?" or ""
end

-- What is called otherwise elsewhere.
local CHOICES = { swish = "silu", gelu_new = "gelu_tanh", quick_gelu = "gelu_sigmoid",
    gelu_pytorch_tanh = "gelu_tanh", glu = "swiglu",
    layernorm = "layer", rmsnorm = "rms" }

---@param name string
---@param choices string[] one of which was expected
---@return string
function suggest.choice(name, choices)
    for _, choice in ipairs(choices) do
        if CHOICES[name:lower()] == choice then return ('; did you mean "%s"?'):format(choice) end
    end
    local near = nearest(name, choices, 1)
    return near[1] and ('; did you mean "%s"?'):format(near[1]) or ""
end

---@param name string what was given for a dtype
---@return string
function suggest.dtype(name)
    local plain = name:lower():gsub("^%a+%.", "")
    if DEVICES[plain:gsub(":%d+$", "")] then
        return "; there are no devices: everything is on the processor"
    end
    if DTYPES[plain] then return ('; did you mean "%s"?'):format(DTYPES[plain]) end
    return ""
end

---@param name string of a field or method that tensors do not have
---@param methods table<string, any> what they have
---@return string
function suggest.member(name, methods)
    if MEMBERS[name] then return "; " .. MEMBERS[name] end
    return suggest.near(name, methods)
end

---@param name string that one of heed's tables has not
---@return string|nil what PyTorch's name is here
function suggest.elsewhere(name) return FUNCTIONS[name] end

---@param name string of a field or method that models do not have
---@return string|nil what to write here
function suggest.of_models(name) return OF_MODELS[name] end

---For heed.core: one of the above by its name.
---@param kind "near"|"dtype"|"member"
---@param name string
---@param candidates string|table|nil
---@return string
function suggest.core(kind, name, candidates) return suggest[kind](name, candidates) end

return suggest
