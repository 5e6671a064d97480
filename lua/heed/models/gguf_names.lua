--- What GGUF files call the tensors and the settings of the architectures that are read and written
--- here, by general.architecture. Left is what a Hugging Face directory has: in names `#` is a
--- layer's number, from 0 in both.

---@class heed.models.GGUFNames
---@field tensors { [1]: string, [2]: string }[]
---@field keys table<string, string> of config.json: ARCHITECTURE.KEY

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

---@type table<string, heed.models.GGUFNames>
return {
    llama = { tensors = LLAMA, keys = with {
        num_key_value_heads = "attention.head_count_kv", head_dim = "attention.key_length",
        rms_norm_eps = "attention.layer_norm_rms_epsilon", rope_theta = "rope.freq_base" } },
    bert = { tensors = BERT, keys = with { layer_norm_eps = "attention.layer_norm_epsilon" } },
}
