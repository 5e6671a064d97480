--- What Hugging Face's models call their weights, and ours: rules for port.lua.

-- Queries, keys and values are one matrix here.
local function in_proj(before, q, k, v)
    local rules = {}
    for i, name in ipairs { q, k, v } do
        rules[i] = { before .. name .. "%.(%w+)$", before .. "in_proj_%1[" .. i .. "]" }
    end
    return rules
end

local function joined(...)
    local list = {}
    for _, rules in ipairs { ... } do table.move(rules, 1, #rules, #list + 1, list) end
    return list
end

local names = {}

names.transformer = { { "^transformer%.", "" } }

names.bert = joined({
    { "^bert%.", "" },
    { "^embeddings%.word_embeddings", "words" },
    { "^embeddings%.position_embeddings", "positions" },
    { "^embeddings%.token_type_embeddings", "types" },
    { "^embeddings%.LayerNorm", "norm" },
    { "^encoder%.layer%.", "encoder.layers." },
    { "attention%.self%.", "self_attn." },
}, in_proj("self_attn.", "query", "key", "value"), {
    { "attention%.output%.dense", "self_attn.out_proj" },
    { "attention%.output%.LayerNorm", "norm1" },
    { "intermediate%.dense", "linear1" },
    { "output%.dense", "linear2" },
    { "output%.LayerNorm", "norm2" },
    { "^pooler%.dense", "pooler" },
    { "^cls%.seq_relationship", "relation" },
    { "^cls%.predictions%.transform%.dense", "transform.0" },
    { "^cls%.predictions%.transform%.LayerNorm", "transform.2" },
    { "^cls%.predictions%.bias", "bias" },
})

names.gpt2 = {
    { "^transformer%.", "" },
    { "^wte", "words" },
    { "^wpe", "positions" },
    { "^h%.", "decoder.layers." },
    { "^ln_f", "decoder.norm" },
    { "ln_", "norm" },
    { "attn%.c_attn%.(%w+)", "self_attn.in_proj_%1" },
    { "attn%.c_proj", "self_attn.out_proj" },
    { "mlp%.c_fc", "linear1" },
    { "mlp%.c_proj", "linear2" },
    { "(in_proj_weight)$", "%1^T" }, -- its Conv1D keeps matrices the other way round
    { "(out_proj%.weight)$", "%1^T" },
    { "(linear%d%.weight)$", "%1^T" },
}

names.marian = joined({
    { "^model%.", "" },
    { "^shared", "words" },
    { "^(%w+)%.embed_positions", "positions.%1" },
    { "self_attn_layer_norm", "norm1" },
    { "encoder_attn_layer_norm", "norm2" },
    { "(encoder.*)final_layer_norm", "%1norm2" },
    { "(decoder.*)final_layer_norm", "%1norm3" },
    { "encoder_attn", "multihead_attn" },
    { "fc(%d)", "linear%1" },
}, in_proj("attn.", "q_proj", "k_proj", "v_proj"))

names.t5 = joined({
    { "^shared", "words" },
    { "^lm_head", "linear" },
    { "^(%w+)%.block%.0%.layer%.0%.SelfAttention%.relative_attention_bias", "positions.%1" },
    { "final_layer_norm", "norm" },
    { "%.block%.(%d+)%.layer%.0%.layer_norm", ".layers.%1.norm1" },
    { "%.block%.(%d+)%.layer%.1%.layer_norm", ".layers.%1.norm2" },
    { "%.block%.(%d+)%.layer%.2%.layer_norm", ".layers.%1.norm3" },
    { "block%.(%d+)%.layer%.%d", "layers.%1" },
    { "SelfAttention%.o%.", "self_attn.out_proj." },
    { "EncDecAttention%.o%.", "multihead_attn.out_proj." },
    { "SelfAttention", "self_attn" },
    { "EncDecAttention", "multihead_attn" },
    { "DenseReluDense%.wi%.", "linear1." },
    { "DenseReluDense%.wi_0", "linear1" },
    { "DenseReluDense%.wi_1", "linear3" },
    { "DenseReluDense%.wo", "linear2" },
}, in_proj("attn.", "q", "k", "v"))

names.llama = joined({
    { "^model%.", "" },
    { "^embed_tokens", "words" },
    { "^lm_head", "output" },
    { "^layers", "decoder.layers" },
    { "^norm", "decoder.norm" },
    { "self_attn%.o_proj", "self_attn.out_proj" },
    { "input_layernorm", "norm1" },
    { "post_attention_layernorm", "norm2" },
    { "mlp%.gate_proj", "linear1" },
    { "mlp%.down_proj", "linear2" },
    { "mlp%.up_proj", "linear3" },
}, in_proj("attn.", "q_proj", "k_proj", "v_proj"))

return names
