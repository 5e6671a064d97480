-- Does examples/atoms.lua map atoms as RXNMapper does, on the reactions of its tests?
--
--     heed spec/peers/atoms.lua PYTHON DIR
--
-- DIR is RXNMapper's model as config.json, vocab.txt and model.safetensors. PYTHON needs the packages
-- that spec/peers/map_atoms.py names.

local heed = require "heed"

local here = arg[0]:match "^(.*/)" or "./"
local python, directory = arg[1], arg[2]
if not directory then error("usage: heed spec/peers/atoms.lua PYTHON DIR", 0) end

-- The lines of the example: a product's atom, its element, the reactant's or nil; the confidence.
local function mapped(reaction)
    local pipe = assert(io.popen(("'%s' '%s../../examples/atoms.lua' '%s' '%s'"):format(arg[-1], here,
        directory, reaction)))
    local atoms, confidence = {}, nil
    for line in pipe:lines() do
        local of = line:match "^%d+\t[^\t]+\t(%S+)"
        if of then atoms[#atoms + 1] = (math.tointeger(tonumber(of)) or 0) - 1 end
        confidence = confidence or tonumber(line:match "^confidence\t(%S+)")
    end
    assert(pipe:close(), "examples/atoms.lua failed")
    return atoms, confidence
end

local pipe = assert(io.popen(("exec '%s' '%smap_atoms.py'"):format(python, here)))
local count, bad, most = 0, 0, 0
for line in pipe:lines() do
    local case = assert(heed.json.decode(line))
    local atoms, confidence = mapped(case.reaction)
    local difference = math.abs(confidence - case.confidence)
    count, most = count + 1, math.max(most, difference)
    if table.concat(atoms, " ") ~= table.concat(case.atoms, " ") or difference > 1e-4 then
        bad = bad + 1
        print("differs", case.reaction, confidence, case.confidence)
    end
end
assert(pipe:close(), "map_atoms.py failed")
print(("%d of %d reactions differ; largest difference of confidence %.2g"):format(bad, count, most))
os.exit(bad == 0)
