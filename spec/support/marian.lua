--- Binary files as marian-nmt writes them, and a tiny model of its.

local heed = require "heed"

local marian = {}

local F32, TEXT, INTGEMM8 = 0x404, 0x101, 0x4101

local function floats(t)
    local list = t:reshape(-1):totable()
    return string.pack("<" .. ("f"):rep(#list), table.unpack(list))
end

---An item of numbers.
function marian.item(name, t)
    return { name = name, type = F32, shape = { t:size() }, data = floats(t) }
end

---An item of int8 numbers, which are t times the multiplier: a matrix, stored transposed.
function marian.bytes(name, t, multiplier)
    local data = {}
    local stored = name:find "Wemb$" and t or t:t()
    for i, v in ipairs((stored * multiplier):reshape(-1):totable()) do
        data[i] = string.pack("<i1", math.tointeger(v))
    end
    return { name = name, type = INTGEMM8, shape = { t:size() },
        data = table.concat(data) .. string.pack("<f", multiplier) }
end

function marian.text(name, text)
    return { name = name, type = TEXT, shape = { #text + 1 }, data = text .. "\0" }
end

---A file of items.
function marian.file(items)
    local headers, names, shapes, data = {}, {}, {}, {}
    for i, item in ipairs(items) do
        local padded = item.data .. ("\0"):rep(-#item.data % 256)
        headers[i] = string.pack("<I8I8I8I8", #item.name + 1, item.type, #item.shape, #padded)
        names[i], data[i] = item.name .. "\0", padded
        for _, size in ipairs(item.shape) do shapes[#shapes + 1] = string.pack("<i4", size) end
    end
    local before = string.pack("<I8I8", 1, #items) .. table.concat(headers) .. table.concat(names)
        .. table.concat(shapes)
    local padding = -(#before + 8) % 256
    return before .. string.pack("<I8", padding) .. ("\0"):rep(padding) .. table.concat(data)
end

marian.SETTINGS = [[
dec-cell: ssru
dec-depth: 2
dim-emb: 8
dim-vocabs:
  - 20
  - 20
enc-depth: 1
input-types: []
tied-embeddings-all: true
transformer-decoder-autoreg: rnn
transformer-dim-ffn: 12
transformer-ffn-activation: relu
transformer-guided-alignment-layer: last
transformer-heads: 2
transformer-postprocess: dan
transformer-preprocess: ""
type: transformer
version: v1.9.56 94aeaa46 2021-04-28 00:28:35 +0100
]]

local CONFIG = { ["dim-emb"] = 8, ["dim-vocabs"] = { 20, 20 }, ["enc-depth"] = 1,
    ["dec-depth"] = 2, ["transformer-heads"] = 2, ["transformer-dim-ffn"] = 12 }

-- Numbers that eighths are, so that bytes hold them.
local function rounded(t) return (t * 16):round():clamp(-120, 120) / 16 end

---A model of random numbers, and the items of its file: matrices as f32, or as int8.
---@return heed.models.Marian
---@return table[] items
function marian.tiny(as_bytes)
    local names = require "heed.models.weights.names"
    local model, items = heed.models.Marian(CONFIG):eval(), {}
    for ours, parameter in model:named_parameters() do
        heed.no_grad(function() parameter:copy_(rounded(parameter)) end)
        local theirs, entry = names.theirs(heed.models.Marian.names, ours, "")
        local row, rows = 1, parameter:size(1) // #theirs
        for _, their in ipairs(theirs) do
            local t = parameter:detach():narrow(1, row, rows)
            t = entry.transposed and t:t() or t:dim() == 1 and t:view(1, rows) or t
            local is_matrix = t:size(1) > 1
            items[#items + 1] = as_bytes and is_matrix and marian.bytes(their, t, 16)
                or marian.item(their, t)
            if is_matrix then
                items[#items + 1] = marian.item(their .. "_QuantMultA", heed.ones(1, 1))
            end
            row = row + rows
        end
    end
    items[#items + 1] = marian.text("special:model.yml", marian.SETTINGS)
    return model, items
end

function marian.write(path, bytes)
    local file <close> = assert(io.open(path, "wb"))
    file:write(bytes)
end

return marian
