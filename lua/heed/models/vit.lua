--- The Vision Transformer (Dosovitskiy et al. 2020).

local activations = require "heed.models.settings.activations"
local config = require "heed.models.settings.config"
local heads = require "heed.models.parts.heads"
local heed = require "heed.core"
local ImageProcessor = require "heed.models.parts.image_processor"
local nn = require "heed.nn"
local patches = require "heed.models.parts.patches"
local unknown = require "heed.unknown"

---A Vision Transformer: hidden states of an image's patches behind a class token; or, with a head,
---the logits of its classes. heed.models.load makes it of files, with what makes pixels of images
---beside it: `model(model.images { "cat.jpg" })`.
---
---```lua
---local model = heed.models.Vit { hidden_size = 8, num_hidden_layers = 1, num_attention_heads = 2,
---    intermediate_size = 16, image_size = 8, patch_size = 4 }
---print(model(heed.randn(1, 3, 8, 8)).shape) --> [1, 5, 8]
---```
---@class heed.models.Vit: heed.nn.Module
---@field patches heed.nn.Conv2d
---@field class_token heed.Tensor [1, 1, E]
---@field positions heed.Tensor [1, 1 + patches, E]
---@field encoder heed.nn.TransformerEncoder
---@field head heed.nn.Linear|nil to classes, from the class token
---@field images heed.models.ImageProcessor|nil
local Vit = nn.Module:extend "Vit"

---@param given table config.json
function Vit:init(given)
    local c = config.of(self, given)
    local E = c.hidden_size
    if c.qkv_bias == false then unknown.kind("config.json: qkv_bias", false) end
    self.patches = nn.Conv2d(c.num_channels, E, c.patch_size, { stride = c.patch_size })
    self.class_token = nn.parameter(heed.randn(1, 1, E) * 0.02)
    self.positions = nn.parameter(heed.randn(1, patches.count(c), E) * 0.02)
    self.dropout = nn.Dropout(c.hidden_dropout_prob)
    self.encoder = nn.TransformerEncoder(c.num_hidden_layers, E, c.num_attention_heads,
        c.intermediate_size, { norm_first = true, activation = activations.of(c, "hidden_act"),
            eps = c.layer_norm_eps, dropout = c.hidden_dropout_prob,
            attention_dropout = c.attention_probs_dropout_prob })
    local classifies = c.architectures and c.architectures[1] == "ViTForImageClassification"
    self.head = classifies and nn.Linear(E, heads.count(c)) or nil
    self.image_size = c.image_size
end

---@param pixels heed.Tensor [B, C, H, W]
---@return heed.Tensor hidden [B, 1 + patches, E]; or, with a head, logits [B, classes]
function Vit:forward(pixels)
    local x = patches.tokens(pixels, self.patches, self.class_token, self.image_size)
    x = self.encoder(self.dropout(x + self.positions))
    return self.head and self.head(x:select(2, 1)) or x
end

-- Of what is beside the weights: what makes pixels of images.
function Vit:read_beside(beside) self.images = ImageProcessor.of_directory(beside.path) end

Vit.needs = { "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size" }
Vit.config = { image_size = 224, patch_size = 16, num_channels = 3, hidden_act = "gelu",
    layer_norm_eps = 1e-12, hidden_dropout_prob = 0, attention_probs_dropout_prob = 0 }

Vit.names = {
    { "class_token", "embeddings.cls_token" },
    { "positions", "embeddings.position_embeddings" },
    { "patches.*", "embeddings.patch_embeddings.projection.*" },
    { "encoder.layers.#.self_attn.in_proj_*", "encoder.layer.#.attention.attention.query.*",
        "encoder.layer.#.attention.attention.key.*",
        "encoder.layer.#.attention.attention.value.*" },
    { "encoder.layers.#.self_attn.out_proj.*", "encoder.layer.#.attention.output.dense.*" },
    { "encoder.layers.#.norm1.*", "encoder.layer.#.layernorm_before.*" },
    { "encoder.layers.#.linear1.*", "encoder.layer.#.intermediate.dense.*" },
    { "encoder.layers.#.linear2.*", "encoder.layer.#.output.dense.*" },
    { "encoder.layers.#.norm2.*", "encoder.layer.#.layernorm_after.*" },
    { "encoder.norm.*", "layernorm.*" },
    { "head.*", "classifier.*", outside = true },
}
Vit.prefixes = { "", "vit." }
Vit.passed_over = { "^pooler%.", "^vit%.pooler%." }

return Vit
