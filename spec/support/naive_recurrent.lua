--- GRU and LSTM over the arrays of spec.support.naive, element by element, as PyTorch's pages write
--- them.

local naive = require "spec.support.naive"

local recurrent = {}

local function sigmoid(v) return 1 / (1 + math.exp(-v)) end

local function tanh(v)
    if math.abs(v) > 20 then return v > 0 and 1.0 or -1.0 end
    local e = math.exp(2 * math.abs(v))
    return (v < 0 and -1 or 1) * (math.abs(v) < 1e-4 and math.abs(v) or (e - 1) / (e + 1))
end

-- Row `row` of w times v, and b.
local function affine(w, b, row, v)
    local sum = b and b:get(row) or 0.0
    for k, value in ipairs(v) do sum = sum + w:get(row, k) * value end
    return sum
end

-- h after a step, and c; p: the parameters; x, h and c lists.
local function gru_step(p, x, h)
    local H, after = #h, {}
    local function pair(gate, j)
        return affine(p.w_ih, p.b_ih, gate * H + j, x), affine(p.w_hh, p.b_hh, gate * H + j, h)
    end
    for j = 1, H do
        local xr, hr = pair(0, j)
        local xz, hz = pair(1, j)
        local xn, hn = pair(2, j)
        local z = sigmoid(xz + hz)
        after[j] = (1 - z) * tanh(xn + sigmoid(xr + hr) * hn) + z * h[j]
    end
    return after
end

local function lstm_step(p, x, h, c)
    local H, after, cell = #h, {}, {}
    for j = 1, H do
        local function gate(i)
            return affine(p.w_ih, p.b_ih, i * H + j, x) + affine(p.w_hh, p.b_hh, i * H + j, h)
        end
        cell[j] = sigmoid(gate(1)) * c[j] + sigmoid(gate(0)) * tanh(gate(2))
        after[j] = sigmoid(gate(3)) * tanh(cell[j])
    end
    return after, cell
end

local function row_of(state, b)
    local row = {}
    for j = 1, state.shape[2] do row[j] = state:get(b, j) end
    return row
end

local function token_of(x, b, i)
    local token = {}
    for j = 1, x.shape[3] do token[j] = x:get(b, i, j) end
    return token
end

-- y, h and c of a layer in one direction; c of a GRU is nil.
local function run(p, x, h, c, lengths, step)
    local B, L, H = x.shape[1], x.shape[2], h.shape[2]
    local outputs, last_h, last_c = {}, {}, {}
    for b = 1, B do
        local n, state, cell = lengths and lengths:get(b) or L, row_of(h, b), c and row_of(c, b)
        outputs[b] = {}
        for s = 1, n do
            local i = p.reverse and n + 1 - s or s
            state, cell = step(p, token_of(x, b, i), state, cell)
            outputs[b][i] = state
        end
        last_h[b], last_c[b] = state, cell
    end
    local y = naive.build({ B, L, H }, x.dtype, function(index)
        local row = outputs[index[1]][index[2]]
        return row and row[index[3]] or 0.0
    end)
    return y, naive.nested(last_h, { B, H }, x.dtype),
        c and naive.nested(last_c, { B, H }, x.dtype)
end

---@param p { w_ih: table, w_hh: table, b_ih: table?, b_hh: table?, reverse: boolean? }
function recurrent.gru(p, x, h, lengths)
    local y, last = run(p, x, h, nil, lengths, gru_step)
    return y, last
end

function recurrent.lstm(p, x, h, c, lengths) return run(p, x, h, c, lengths, lstm_step) end

return recurrent
