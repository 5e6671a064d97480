--- Where loaded models came from: what heed.models.save needs to write them back as they were.

local origins = {}

---@class heed.models.Origin
---@field path string
---@field family heed.models.Family
---@field given table the file's config
---@field config table with what the file left out
---@field prefix string what the file has before the names of the model itself
---@field gguf? heed.gguf.File
---@field changed? boolean the config is another than the file's

local of_model = setmetatable({}, { __mode = "k" })

---@param model heed.nn.Module
---@param origin heed.models.Origin
function origins.keep(model, origin) of_model[model] = origin end

---@param model heed.nn.Module
---@return heed.models.Origin|nil
function origins.of(model) return of_model[model] end

return origins
