-- What is timed: attention on one shape, under a name that says it all, "forward B1 H12/4 D64 L128
-- S512 causal".
--
-- The words: forward, or backward for forward and backward; batch entries, heads (query/key when
-- they differ), the size of a head, queries, keys (as many as queries when left out); then any of
-- causal, window (causal, the last 256 keys) and padded (lengths differ). All sides read the same
-- names (rival.py too). cases.list has { name, threads } in the order of the run.

local cases = { WINDOW = 256, list = {} }

local function number_after(name, letter)
    local first, second = name:match("%f[%w]" .. letter .. "(%d+)/?(%d*)%f[%W]")
    return math.tointeger(tonumber(first)), math.tointeger(tonumber(second))
end

---@param name string
---@return table? case { name, B, H, Hk, D, L, S, backward, causal, window, padded }
---@return string? message
function cases.parse(name)
    local case = { name = name }
    local words = {}
    for word in name:gmatch "%S+" do
        if not word:find "^[BDLS]%d+$" and not word:find "^H%d+/?%d*$" then words[word] = true end
    end
    for _, letter in ipairs { "B", "D", "L", "S" } do case[letter] = number_after(name, letter) end
    case.H, case.Hk = number_after(name, "H")
    case.Hk, case.S = case.Hk or case.H, case.S or case.L
    if not (case.B and case.H and case.D and case.L) then
        return nil, name .. ": B, H, D and L are needed"
    end
    if case.H % case.Hk ~= 0 then return nil, name .. ": H is no multiple of the heads of keys" end
    if (words.forward == nil) == (words.backward == nil) then
        return nil, name .. ": forward or backward"
    end
    case.backward, case.padded = words.backward or false, words.padded or false
    case.window = words.window or false
    case.causal = words.causal or case.window
    for _, word in ipairs { "forward", "backward", "causal", "window", "padded" } do
        words[word] = nil
    end
    if next(words) then return nil, name .. ": what is " .. next(words) .. "?" end
    return case
end

---The keys of batch entry b, from 1, when the batch is padded: from an eighth of S to all but one,
---scattered.
function cases.length(case, b)
    local least = case.S // 8
    return least + (b - 1) * 7919 % (case.S - least)
end

-- Keys that query i, from 1, may see among the first `keys`.
local function seen_by(case, i, keys)
    local last = case.causal and math.min(keys, case.S - case.L + i) or keys
    local first = case.window and math.max(1, case.S - case.L + i - cases.WINDOW + 1) or 1
    return math.max(0, last - first + 1)
end

---How many pairs of a query and a key may meet in all batch entries and heads.
function cases.pairs(case)
    local count = 0
    for b = 1, case.B do
        local keys = case.padded and cases.length(case, b) or case.S
        for i = 1, case.L do count = count + seen_by(case, i, keys) end
        if not case.padded then
            count = count * case.B
            break
        end
    end
    return count * case.H
end

---Useful operations: 4 D a pair forward, 14 D forward and backward.
function cases.work(case) return (case.backward and 14 or 4) * case.D * cases.pairs(case) end

---Bytes of f32 that forward cannot but move: q, k and v read, the output written. Backward reads
---these and the gradient, and writes three.
function cases.bytes(case)
    local queries, keys = case.B * case.H * case.L * case.D, case.B * case.Hk * case.S * case.D
    return 4 * (2 * queries + 2 * keys + (case.backward and 4 * queries + 4 * keys or 0))
end

-- ---- what is run --------------------------------------------------------------------------------

local function add(threads, text)
    for name in text:gmatch "[^\n;]+" do
        name = name:match "^%s*(.-)%s*$"
        for _, n in ipairs(name ~= "" and threads or {}) do
            cases.list[#cases.list + 1] = { name = name, threads = n }
        end
    end
end

-- The middle of the road: one sequence, twelve heads.
for _, way in ipairs { "forward", "backward" } do
    for _, length in ipairs { 128, 512, 1024 } do
        for _, mask in ipairs { "", " causal" } do
            add({ 1, 2 }, ("%s B1 H12 D64 L%d%s"):format(way, length, mask))
        end
    end
end
add({ 1 }, "forward B1 H12 D64 L2048; forward B1 H12 D64 L2048 causal")
add({ 2 }, [[
    forward B1 H12 D64 L4096; forward B1 H12 D64 L4096 causal; backward B1 H12 D64 L2048; backward B1 H12 D64 L2048 causal
    backward B1 H4 D64 L4096 causal
]])

-- Short sequences, alone and in batches.
add({ 1 }, [[
    forward B1 H12 D64 L4; forward B1 H12 D64 L16 causal; forward B1 H12 D64 L32; forward B1 H12 D64 L64; forward B1 H12 D64 L65
    forward B64 H4 D32 L32 causal; forward B64 H8 D64 L16; forward B16 H16 D64 L64 causal; forward B32 H1 D64 L48
    backward B1 H12 D64 L16; backward B1 H4 D32 L32 causal; backward B1 H12 D64 L64 causal; backward B64 H4 D32 L32 causal
    backward B16 H16 D64 L64; backward B64 H8 D32 L20 padded
]])
add({ 2 }, "forward B64 H4 D32 L32 causal; backward B64 H8 D32 L20 padded")

-- Heads of other sizes, and one head.
add({ 1 }, [[
    forward B1 H8 D32 L512; forward B1 H8 D32 L1024 causal; forward B1 H8 D96 L512; forward B1 H8 D80 L1024 causal
    forward B1 H8 D128 L512; forward B1 H16 D128 L1024 causal; forward B1 H1 D64 L1024; forward B1 H1 D128 L2048 causal
    backward B1 H8 D32 L512 causal; backward B1 H8 D80 L512; backward B1 H8 D128 L512 causal; backward B1 H8 D128 L1024
]])
add({ 2 }, "forward B1 H1 D64 L2048; forward B1 H1 D64 L2048 causal; backward B1 H1 D64 L2048")

-- Other numbers of keys than queries: a memory, and what follows a cache.
add({ 1 }, [[
    forward B4 H8 D64 L64 S1024; forward B1 H12 D64 L1024 S64; forward B1 H12 D64 L256 S2048 causal
    forward B1 H12 D64 L17 S1000; forward B1 H12 D64 L33 S2048 causal; backward B1 H12 D64 L17 S1000
    forward B8 H8 D64 L128 S384 padded
    backward B1 H12 D64 L128 S1024; backward B1 H12 D64 L512 S96; backward B4 H8 D64 L128 S512 causal
]])

-- Padded batches, windows, batches.
add({ 1 }, [[
    forward B8 H12 D64 L512 padded; forward B8 H12 D64 L512 causal padded; forward B16 H8 D32 L128 padded
    forward B1 H12 D64 L1024 window; forward B4 H12 D64 L512 window; forward B64 H12 D64 L128; forward B16 H6 D64 L256 causal
    backward B4 H12 D64 L512 padded; backward B4 H12 D64 L512 causal padded; backward B16 H6 D64 L256 causal
    backward B32 H12 D64 L128
]])
add({ 2 }, [[
    forward B8 H12 D64 L512 padded; forward B1 H12 D64 L4096 window; backward B4 H12 D64 L512 padded
    backward B16 H6 D64 L256 causal; backward B1 H12 D64 L2048 window
]])

-- Grouped queries.
add({ 1 }, [[
    forward B1 H12/4 D64 L128 causal; forward B1 H12/4 D64 L512 causal; forward B1 H12/4 D64 L1024
    backward B1 H12/4 D64 L128 causal; backward B1 H12/4 D64 L1024
]])
add({ 2 }, "forward B1 H12/4 D64 L1024 causal; backward B1 H12/4 D64 L1024 causal")

-- Decoding, and few tokens at a time.
add({ 1, 2 }, [[
    forward B1 H12 D64 L1 S1024; forward B1 H12/4 D64 L1 S4096; forward B16 H12 D64 L1 S512; forward B1 H12 D64 L4 S2048 causal
]])
add({ 1 }, [[
    forward B1 H12 D64 L1 S512; forward B1 H12 D64 L1 S4096; forward B1 H16/2 D128 L1 S2048; forward B16 H12/4 D64 L1 S1024 padded
    forward B1 H12 D64 L4 S512 causal; forward B1 H12 D64 L4 S4096 causal; forward B8 H12/4 D64 L4 S1024 causal
    forward B1 H12 D64 L8 S2048 causal; forward B1 H12 D64 L9 S1024 causal; backward B4 H12 D64 L4 S1024; backward B1 H12 D64 L1 S2048
]])

return cases
