-- Which atom of a product was which of the reactants, from one head of attention of RXNMapper's model
-- (Schwaller et al. 2021); docs/models.md says how to get DIR. The SVG shows what atoms attend to.
--     heed examples/atoms.lua DIR "CCO.CC(=O)O>>CC(=O)OCC" [MAP.svg]

local argparse = require "argparse"
local heed = require "heed"
local TOKENS = [=[\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|/|:|~|@|\?|]=]
    .. [=[>>?|\*|\$|\%[0-9]{2}|[0-9]]=]
local LAYER, HEAD, NEAR = 11, 6, 90 -- who knows the atoms; how much more neighbours of a pair count

-- The atoms of one side, each with its neighbours: where their tokens are, and their elements.
local function atoms_of(tokens, first, last)
    local atoms, branches, rings, previous = { at = {}, element = {} }, {}, {}, nil
    local function join(a, b) if a then atoms[a].near[b], atoms[b].near[a] = true, true end end
    for i = first, last do
        local token = tokens[i]
        local element = token:match "^%[%d*(%a%l?)" or token:match "^%a+" or token:match "%*"
        if element then
            atoms[#atoms + 1] = { text = token, near = {} }
            atoms.at[#atoms], atoms.element[#atoms] = i, tonumber(element, 36) or 0
            join(previous, #atoms)
            previous = #atoms
        elseif token == "(" then
            branches[#branches + 1] = previous
        elseif token == ")" or token == "." then
            previous = token == ")" and table.remove(branches) or nil
        elseif token:find "^%%?%d" then
            join(rings[token], previous)
            rings[token] = not rings[token] and previous or nil
        end
    end
    return atoms
end

-- How much products (rows) and reactants attend to each other, where their element is one.
local function attention(weights, reactants, products)
    local function of(a, b) return weights:index_select(1, a.at):index_select(2, b.at) end
    local same = heed.tensor(products.element):view(-1, 1):eq(heed.tensor(reactants.element))
    return (of(products, reactants) + of(reactants, products):t()):masked_fill(~same, 0)
end

-- The surest pair first; then neighbours of its atoms are likelier pairs, and the two are taken.
local function map(both, reactants, products)
    local factor, found, confidence = heed.ones_like(both), {}, 1
    for _ = 1, #products do
        local scores = both * factor
        local sums = scores:sum { dim = 2, keepdim = true }
        local best, where = (scores / heed.maximum(sums, 1e-300)):max(2)
        local p = best:argmax():item()
        local r = where[p]
        if best[p] < 1e-8 then break end
        found[p], confidence = { atom = r, share = best[p] }, confidence * best[p]
        for i in pairs(products[p].near) do
            for j in pairs(reactants[r].near) do factor[{ i, j }] = factor[{ i, j }] * NEAR end
        end
        factor[p], factor[{ {}, r }] = 0, 0
    end
    return found, confidence
end

local function draw(path, both, reactants, products, found)
    local file <close>, columns = assert(io.open(path, "w")), math.max(#reactants, #products)
    local function add(text, ...) file:write(text:format(...), "\n") end
    add('<svg xmlns="http://www.w3.org/2000/svg" text-anchor="middle" viewBox="0 0 %d 240">',
        48 * columns + 48)
    for p, row in ipairs(both:totable()) do
        for r, weight in ipairs(row) do
            local pair = found[p] and found[p].atom == r
            add('<line x1="%d" y1="40" x2="%d" y2="196" stroke="%s" stroke-opacity="%.2f"/>',
                48 * r, 48 * p, pair and "blue" or "gray", pair and 1 or weight / 2)
        end
    end
    for i, atom in ipairs(reactants) do add('<text x="%d" y="30">%s</text>', 48 * i, atom.text) end
    for i, atom in ipairs(products) do add('<text x="%d" y="214">%s</text>', 48 * i, atom.text) end
    add "</svg>"
end

local parser = argparse("atoms.lua", "Which atom of a product was which of the reactants.")
parser:argument("dir", "of RXNMapper's model: config.json, vocab.txt, model.safetensors")
parser:argument("reaction", "in SMILES")
parser:argument("map", "an SVG of it"):args "?"
local args = parser:parse()
local model = assert(heed.models.load(args.dir))
local tokenizer = assert(heed.text.tokenizer(args.dir .. "/vocab.txt", { pattern = TOKENS }))
local tokens, arrow, ids, offsets = {}, nil, tokenizer:encode(args.reaction, { offsets = true })
for i, pair in ipairs(offsets) do
    tokens[i] = args.reaction:sub(pair[1], pair[2])
    arrow = tokens[i] == ">>" and i or arrow
end
assert(table.concat(tokens) == args.reaction, "a part of the reaction is no SMILES")
local seen <close> = heed.capture(model, { layers = { LAYER }, heads = { HEAD } })
model:hidden { ids }
local reactants = atoms_of(tokens, 2, assert(arrow, "no >> in the reaction") - 1)
local products = atoms_of(tokens, arrow + 1, #tokens - 1)
if #reactants == 0 or #products == 0 then error("no atoms on a side of >>", 0) end
local both = attention(select(2, next(seen))[1][1]:to "f64", reactants, products)
local found, confidence = map(both, reactants, products)
for p, product in ipairs(products) do
    local of = found[p] or {}
    print(p, product.text, of.atom, of.atom and reactants[of.atom].text, of.share)
end
print("confidence", confidence)
if args.map then draw(args.map, both, reactants, products, found) end
