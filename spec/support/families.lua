--- The recorded tiny models of other people's families (spec/fixtures/families).

local assert = require "luassert"
local heed = require "heed"
local names = require "heed.models.weights.names"

local families = { FOLDER = "spec/fixtures/families/" }

--- The model, what transformers made of it, its config.
function families.loaded(name, options)
    local model, message, config = heed.models.load(families.FOLDER .. name, options)
    assert(model, message)
    local values = assert(heed.safetensors.load(families.FOLDER .. name .. "/values.safetensors"))
    return model, values, config
end

-- Which rows of one of ours each of theirs is, by the shapes in the file.
local function parts_of(entries, file, prefix, ours, parameter)
    local theirs, entry = names.theirs(entries, ours, prefix)
    local row, parts = 1, {}
    for _, their in ipairs(theirs) do
        local rows = #theirs > 1 and parameter:size(1) // #theirs or nil -- of what files leave out
        if rows and their then rows = file[their]:size(1) end
        if their then
            parts[#parts + 1] = { name = their, row = row, rows = rows, entry = entry }
        end
        row = row + (rows or 0)
    end
    return parts
end

--- Compares gradients with the recorded "grad.NAME" of the file's names; true of each one recorded.
function families.check_gradients(name, model, family, values, prefix)
    local file = assert(heed.safetensors.load(families.FOLDER .. name .. "/model.safetensors"))
    local config = assert(heed.json.decode(assert(io.open(families.FOLDER .. name
        .. "/config.json")):read "a"))
    local entries, left = names.entries(family, config), {}
    for key in pairs(values) do if key:find "^grad%." then left[key] = true end end
    assert.is_truthy(next(left))
    for ours, parameter in model:named_parameters() do
        for _, part in ipairs(parts_of(entries, file, prefix or "", ours,
            parameter)) do
            local key = "grad." .. part.name
            local entry, want, got = part.entry, values[key], parameter.grad
            if want then
                if part.rows then got = got:narrow(1, part.row, part.rows) end
                if entry.transposed and got:dim() == 2 then got = got:transpose(1, 2) end
                if entry.part then
                    local rows = want:size(1) // entry.of
                    want = want:narrow(1, (entry.part - 1) * rows + 1, rows)
                end
                assert.is_close(got, want, 1e-4)
                left[key] = nil
            end
        end
    end
    assert.are.same({}, left)
end

return families
