--- The order of the rows of queries and keys: Hugging Face's files have the two features of a
--- rotated pair D / 2 apart in a head, files of llama.cpp's architecture "llama" side by side.

local rotary_rows = {}

local HEADS = { q_proj = "num_attention_heads", k_proj = "num_key_value_heads" }

-- [heads, first, second, columns] -> [heads, second, first, columns], in rows.
local function swapped(t, heads, first, second)
    local columns = t:dim() == 2 and t:size(2) or 1
    return t:reshape(heads, first, second, columns):transpose(2, 3):reshape(t:size())
end

local function each(tensors, config, change)
    for name, t in pairs(tensors) do
        local key = HEADS[name:match "self_attn%.([%w_]+)%.%w+$" or ""]
        if key then
            local heads = config[key] or config.num_attention_heads
            tensors[name] = change(t, heads, t:size(1) // heads // 2)
        end
    end
end

---To side by side, in place of the table's.
---@param tensors table<string, heed.Tensor> by Hugging Face's names
---@param config table
function rotary_rows.side_by_side(tensors, config)
    each(tensors, config, function(t, heads, half) return swapped(t, heads, 2, half) end)
end

---To half a head apart.
---@param tensors table<string, heed.Tensor>
---@param config table
function rotary_rows.apart(tensors, config)
    each(tensors, config, function(t, heads, half) return swapped(t, heads, half, 2) end)
end

return rotary_rows
