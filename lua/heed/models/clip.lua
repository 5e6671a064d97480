--- CLIP (Radford et al. 2021): images and texts as vectors of one space.

local activations = require "heed.models.settings.activations"
local check = require "heed.check"
local config = require "heed.models.settings.config"
local fields = require "heed.models.settings.config_fields"
local heed = require "heed.core"
local ImageProcessor = require "heed.models.parts.image_processor"
local masks = require "heed.mask"
local nn = require "heed.nn"
local patches = require "heed.models.parts.patches"
local TextEncoder = require "heed.models.parts.text_encoder"
local unknown = require "heed.unknown"

-- What a config leaves out of its two parts.
local TEXT = { vocab_size = 49408, hidden_size = 512, intermediate_size = 2048,
    num_hidden_layers = 12, num_attention_heads = 8, max_position_embeddings = 77,
    hidden_act = "quick_gelu", layer_norm_eps = 1e-5, attention_dropout = 0, eos_token_id = 49407 }
local VISION = { hidden_size = 768, intermediate_size = 3072, num_hidden_layers = 12,
    num_attention_heads = 12, num_channels = 3, image_size = 224, patch_size = 32,
    hidden_act = "quick_gelu", layer_norm_eps = 1e-5, attention_dropout = 0 }

local function with_defaults(whole, name, defaults)
    local c, given, needs = {}, whole[name] or {}, {}
    for key, value in pairs(defaults) do
        c[key], needs[#needs + 1] = value, key
        if not unknown.absent(given[key]) then c[key] = given[key] end
    end
    fields.check(c, needs, 0, function(key) return name .. "." .. key end)
    return c
end

local function encoder_of(c, final_norm)
    return nn.TransformerEncoder(c.num_hidden_layers, c.hidden_size, c.num_attention_heads,
        c.intermediate_size, { norm_first = true, final_norm = final_norm, dropout = 0,
            activation = activations.of(c, "hidden_act"), eps = c.layer_norm_eps,
            attention_dropout = c.attention_dropout })
end

local TextTower = nn.Module:extend "ClipText"

function TextTower:init(c)
    self.tokens = nn.Embedding(c.vocab_size, c.hidden_size)
    self.positions = nn.LearnedPositions(c.max_position_embeddings, c.hidden_size)
    self.encoder = encoder_of(c, true)
    self.eos, self.max_tokens = c.eos_token_id + 1, c.max_position_embeddings
end

-- Where texts end: at the first token of the end; in files that call it 2, at the highest.
local function ends_of(ids, eos)
    return (eos == 3 and ids or ids:eq(eos):to "i64"):argmax(2)
end

function TextTower:forward(ids, lengths)
    ids = heed.tensor(ids, { dtype = "i64" })
    local mask = masks.causal()
    if lengths then mask = mask & masks.padding(lengths) end
    local x = self.encoder(self.positions(self.tokens(ids)), { mask = mask })
    return x[{ heed.range(1, x:size(1), { dtype = "i64" }), ends_of(ids, self.eos) }]
end

local VisionTower = nn.Module:extend "ClipVision"

function VisionTower:init(c)
    local E = c.hidden_size
    self.patches = nn.Conv2d(c.num_channels, E, c.patch_size, { stride = c.patch_size,
        bias = false })
    self.class_token = nn.parameter(heed.randn(E) * E ^ -0.5)
    self.positions = nn.LearnedPositions(patches.count(c), E)
    self.norm_before = nn.LayerNorm(E, { eps = c.layer_norm_eps })
    self.encoder = encoder_of(c, false)
    self.norm_after = nn.LayerNorm(E, { eps = c.layer_norm_eps })
    self.image_size = c.image_size
end

function VisionTower:forward(pixels)
    local x = patches.tokens(pixels, self.patches, self.class_token, self.image_size)
    x = self.encoder(self.norm_before(self.positions(x)))
    return self.norm_after(x:select(2, 1))
end

---CLIP: how well texts and images fit. heed.models.load makes it of files, with what reads both
---beside it: `model({ "a cat", "a dog" }, model.images { "cat.jpg" }):softmax(2)`.
---
---```lua
---local part = { hidden_size = 8, num_hidden_layers = 1, num_attention_heads = 2,
---    intermediate_size = 16, vocab_size = 20, max_position_embeddings = 7, eos_token_id = 19,
---    image_size = 8, patch_size = 4 }
---local model = heed.models.Clip { text_config = part, vision_config = part, projection_dim = 6,
---    logit_scale_init_value = 2.6592 }
---local texts, pixels = heed.ids { { 3, 5, 20 }, { 4, 20, 20 } }, heed.randn(1, 3, 8, 8)
---print(model(texts, pixels).shape, model:text_features(texts).shape) --> [1, 2] [2, 6]
---```
---@class heed.models.Clip: heed.nn.Module
---@field text heed.nn.Module tokens, positions, encoder
---@field vision heed.nn.Module patches, class_token, positions, encoder, norm_before, norm_after
---@field text_projection heed.nn.Linear
---@field vision_projection heed.nn.Linear
---@field logit_scale heed.Tensor [], the logarithm of what cosines are multiplied by
---@field tokenizer heed.Tokenizer|nil
---@field images heed.models.ImageProcessor|nil
local Clip = nn.Module:extend "Clip"

---@param given table config.json
function Clip:init(given)
    local c = config.of(self, given)
    local text, vision = with_defaults(c, "text_config", TEXT),
        with_defaults(c, "vision_config", VISION)
    self.text, self.vision = TextTower(text), VisionTower(vision)
    self.text_projection = nn.Linear(text.hidden_size, c.projection_dim, { bias = false })
    self.vision_projection = nn.Linear(vision.hidden_size, c.projection_dim, { bias = false })
    self.logit_scale = nn.parameter(heed.tensor(c.logit_scale_init_value, { dtype = "f32" }))
end

---A vector of each text, from the token that ends it.
---@param texts string|string[]|heed.Ids texts, which the model's tokenizer reads, or ids [T, L]
---@param lengths? heed.Ids of the texts, with ids; default: all L
---@return heed.Tensor [T, D]
function Clip:text_features(texts, lengths)
    if type(texts) == "string" then texts = { texts } end
    if type(texts) == "table" and type(texts[1]) == "string" then
        texts, lengths = TextEncoder.tokenizer_of(self, "text_features"):encode_batch(texts,
            { truncate = self.text.max_tokens })
    end
    return self.text_projection(self.text(texts, lengths))
end

---A vector of each image.
---@param pixels heed.Tensor [B, C, H, W]
---@return heed.Tensor [B, D]
function Clip:image_features(pixels) return self.vision_projection(self.vision(pixels)) end

local OPTIONS = check.set "lengths"

local function unit(x) return x / x:norm { dim = 2, keepdim = true } end

---@param texts string|string[]|heed.Ids as of text_features
---@param pixels heed.Tensor [B, C, H, W]
---@param options? { lengths?: heed.Ids } of the texts
---@return heed.Tensor logits [B, T], of each image the texts
function Clip:forward(texts, pixels, options)
    local lengths = check.options("Clip", options, OPTIONS).lengths
    local of_texts = unit(self:text_features(texts, lengths))
    return unit(self:image_features(pixels)):matmul(of_texts:t()) * self.logit_scale:exp()
end

-- Of what is beside the weights: the tokenizer, and what makes pixels of images.
function Clip:read_beside(beside)
    self.tokenizer = beside.tokenizer
    self.images = ImageProcessor.of_directory(beside.path)
end

Clip.needs = { "projection_dim" }
Clip.config = { projection_dim = 512, logit_scale_init_value = 2.6592 }

Clip.names = {
    { "text.tokens.weight", "text_model.embeddings.token_embedding.weight" },
    { "text.positions.weight", "text_model.embeddings.position_embedding.weight" },
    { "text.encoder.norm.*", "text_model.final_layer_norm.*" },
    { "vision.class_token", "vision_model.embeddings.class_embedding" },
    { "vision.patches.weight", "vision_model.embeddings.patch_embedding.weight" },
    { "vision.positions.weight", "vision_model.embeddings.position_embedding.weight" },
    { "vision.norm_before.*", "vision_model.pre_layrnorm.*" },
    { "vision.norm_after.*", "vision_model.post_layernorm.*" },
    { "text_projection.weight", "text_projection.weight" },
    { "vision_projection.weight", "visual_projection.weight" },
    { "logit_scale", "logit_scale" },
}

for _, tower in ipairs { "text", "vision" } do
    local ours, theirs = tower .. ".encoder.layers.#.", tower .. "_model.encoder.layers.#."
    for _, entry in ipairs {
        { ours .. "self_attn.in_proj_*", theirs .. "self_attn.q_proj.*",
            theirs .. "self_attn.k_proj.*", theirs .. "self_attn.v_proj.*" },
        { ours .. "self_attn.out_proj.*", theirs .. "self_attn.out_proj.*" },
        { ours .. "norm1.*", theirs .. "layer_norm1.*" },
        { ours .. "linear1.*", theirs .. "mlp.fc1.*" },
        { ours .. "linear2.*", theirs .. "mlp.fc2.*" },
        { ours .. "norm2.*", theirs .. "layer_norm2.*" },
    } do Clip.names[#Clip.names + 1] = entry end
end
Clip.passed_over = { "position_ids$" }

return Clip
