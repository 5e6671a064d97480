--- What GGUF files call the tensors and the settings of the architectures that are read and written
--- here, by general.architecture. Left is what a Hugging Face directory has: in names `#` is a
--- layer's number, from 0 in both. What is not the same there is `transposed` (matrices), or has
--- `added` to it.

---@class heed.models.GGUFNames
---@field model_type? string of config.json, where that is another name
---@field tensors { [1]: string, [2]: string, transposed?: boolean, added?: number }[]
---@field keys table<string, string> of config.json: ARCHITECTURE.KEY
---@field ties? boolean without output.weight it is the embedding's

local LLAMA = {
    { "model.embed_tokens.weight", "token_embd.weight" },
    { "model.norm.weight", "output_norm.weight" },
    { "lm_head.weight", "output.weight" },
    { "model.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight" },
    { "model.layers.#.self_attn.q_proj", "blk.#.attn_q" },
    { "model.layers.#.self_attn.k_proj", "blk.#.attn_k" },
    { "model.layers.#.self_attn.v_proj", "blk.#.attn_v" },
    { "model.layers.#.self_attn.o_proj", "blk.#.attn_output" },
    { "model.layers.#.post_attention_layernorm.weight", "blk.#.ffn_norm.weight" },
    { "model.layers.#.mlp.gate_proj", "blk.#.ffn_gate" },
    { "model.layers.#.mlp.up_proj", "blk.#.ffn_up" },
    { "model.layers.#.mlp.down_proj", "blk.#.ffn_down" },
}

local QWEN3 = table.move(LLAMA, 1, #LLAMA, 3, {
    { "model.layers.#.self_attn.q_norm", "blk.#.attn_q_norm" },
    { "model.layers.#.self_attn.k_norm", "blk.#.attn_k_norm" },
})

local GEMMA = {
    { "model.embed_tokens.weight", "token_embd.weight" },
    { "model.norm.weight", "output_norm.weight", added = 1 },
    { "lm_head.weight", "output.weight" },
    { "model.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight", added = 1 },
    { "model.layers.#.self_attn.q_proj", "blk.#.attn_q" },
    { "model.layers.#.self_attn.k_proj", "blk.#.attn_k" },
    { "model.layers.#.self_attn.v_proj", "blk.#.attn_v" },
    { "model.layers.#.self_attn.q_norm", "blk.#.attn_q_norm", added = 1 },
    { "model.layers.#.self_attn.k_norm", "blk.#.attn_k_norm", added = 1 },
    { "model.layers.#.self_attn.o_proj", "blk.#.attn_output" },
    { "model.layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight",
        added = 1 },
    { "model.layers.#.pre_feedforward_layernorm.weight", "blk.#.ffn_norm.weight", added = 1 },
    { "model.layers.#.post_feedforward_layernorm.weight", "blk.#.post_ffw_norm.weight", added = 1 },
    { "model.layers.#.mlp.gate_proj", "blk.#.ffn_gate" },
    { "model.layers.#.mlp.up_proj", "blk.#.ffn_up" },
    { "model.layers.#.mlp.down_proj", "blk.#.ffn_down" },
}

local PHI3 = {
    { "model.embed_tokens.weight", "token_embd.weight" },
    { "model.norm.weight", "output_norm.weight" },
    { "lm_head.weight", "output.weight" },
    { "model.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight" },
    { "model.layers.#.self_attn.qkv_proj", "blk.#.attn_qkv" },
    { "model.layers.#.self_attn.o_proj", "blk.#.attn_output" },
    { "model.layers.#.post_attention_layernorm.weight", "blk.#.ffn_norm.weight" },
    { "model.layers.#.mlp.gate_up_proj", "blk.#.ffn_up" },
    { "model.layers.#.mlp.down_proj", "blk.#.ffn_down" },
}

local GPT2 = {
    { "wte.weight", "token_embd.weight" },
    { "wpe.weight", "position_embd.weight" },
    { "h.#.ln_1", "blk.#.attn_norm" },
    { "h.#.attn.c_attn", "blk.#.attn_qkv", transposed = true },
    { "h.#.attn.c_proj", "blk.#.attn_output", transposed = true },
    { "h.#.ln_2", "blk.#.ffn_norm" },
    { "h.#.mlp.c_fc", "blk.#.ffn_up", transposed = true },
    { "h.#.mlp.c_proj", "blk.#.ffn_down", transposed = true },
    { "ln_f", "output_norm" },
    { "lm_head.weight", "output.weight" },
}

local BERT = {
    { "embeddings.word_embeddings.weight", "token_embd.weight" },
    { "embeddings.position_embeddings.weight", "position_embd.weight" },
    { "embeddings.token_type_embeddings.weight", "token_types.weight" },
    { "embeddings.LayerNorm", "token_embd_norm" },
    { "encoder.layer.#.attention.self.query", "blk.#.attn_q" },
    { "encoder.layer.#.attention.self.key", "blk.#.attn_k" },
    { "encoder.layer.#.attention.self.value", "blk.#.attn_v" },
    { "encoder.layer.#.attention.output.dense", "blk.#.attn_output" },
    { "encoder.layer.#.attention.output.LayerNorm", "blk.#.attn_output_norm" },
    { "encoder.layer.#.intermediate.dense", "blk.#.ffn_up" },
    { "encoder.layer.#.output.dense", "blk.#.ffn_down" },
    { "encoder.layer.#.output.LayerNorm", "blk.#.layer_output_norm" },
}

local COMMON = {
    hidden_size = "embedding_length", num_hidden_layers = "block_count",
    intermediate_size = "feed_forward_length", num_attention_heads = "attention.head_count",
    max_position_embeddings = "context_length", vocab_size = "vocab_size",
}

local function with(more)
    for key, value in pairs(COMMON) do more[key] = value end
    return more
end

local function with_rotary(more)
    more.num_key_value_heads, more.head_dim = "attention.head_count_kv", "attention.key_length"
    more.rms_norm_eps, more.rope_theta = "attention.layer_norm_rms_epsilon", "rope.freq_base"
    return with(more)
end

local function of_gemma(more)
    more.sliding_window = "attention.sliding_window"
    more.attn_logit_softcapping = "attn_logit_softcapping"
    more.final_logit_softcapping = "final_logit_softcapping"
    return with_rotary(more)
end

---@type table<string, heed.models.GGUFNames>
return {
    llama = { tensors = LLAMA, keys = with_rotary {}, ties = true },
    qwen2 = { tensors = LLAMA, keys = with_rotary {}, ties = true },
    qwen3 = { tensors = QWEN3, keys = with_rotary {}, ties = true },
    gemma2 = { tensors = GEMMA, keys = of_gemma {}, ties = true },
    gemma3 = { model_type = "gemma3_text", tensors = GEMMA, ties = true,
        keys = of_gemma { rope_local_base_freq = "rope.freq_base_swa" } },
    phi3 = { tensors = PHI3, ties = true,
        keys = with_rotary { sliding_window = "attention.sliding_window" } },
    gpt2 = { tensors = GPT2, ties = true, keys = { n_embd = "embedding_length",
        n_layer = "block_count", n_inner = "feed_forward_length", n_head = "attention.head_count",
        n_positions = "context_length", vocab_size = "vocab_size",
        layer_norm_epsilon = "attention.layer_norm_epsilon" } },
    bert = { tensors = BERT, keys = with { layer_norm_eps = "attention.layer_norm_epsilon" } },
}
