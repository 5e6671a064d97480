-- lua/heed/types describes heed.core to help and language servers: neither may have a name that the
-- other lacks.

local annotations = require "heed.help.annotations"
local core = require "heed.core"
local shell = require "spec.support.shell"

local PROPERTIES = { shape = true, dtype = true, grad = true, requires_grad = true, is_leaf = true }

local function names(set)
    local list = {}
    for name in pairs(set) do
        if not PROPERTIES[name] then list[#list + 1] = name end
    end
    table.sort(list)
    return table.concat(list, " ")
end

-- What the stubs define, by owner: core, both, inside, Tensor.
local function stubs()
    local owners = { core = {}, both = {}, inside = {}, Tensor = {} }
    for _, path in ipairs(shell.files("lua/heed/types", "*.lua")) do
        for _, entry in ipairs(annotations.read(shell.read(path))) do
            local owner, name = entry.name:match "^(%w+)[.:]([%w_]+)$"
            if owners[owner] then
                assert.is_nil(owners[owner][name], path .. " defines again " .. entry.name)
                owners[owner][name] = true
            end
        end
    end
    return owners
end

describe("the stubs of the C module", function()
    local stub = stubs()

    it("have the module's names", function()
        local all = {}
        for _, owner in ipairs { "core", "both", "inside" } do
            for name in pairs(stub[owner]) do all[name] = true end
        end
        assert.equal(names(core), names(all))
    end)

    it("say of what is internal, and of nothing else, that it is", function()
        assert.equal(names(core.internal), names(stub.inside))
    end)

    it("have the methods of tensors", function()
        local all = {}
        for _, owner in ipairs { "both", "Tensor" } do
            for name in pairs(stub[owner]) do all[name] = true end
        end
        local methods = {}
        for name in pairs(core.methods) do
            if core[name] or all[name] then methods[name] = true end
        end
        assert.equal(names(methods), names(all))
    end)

    it("have as functions only what is no method", function()
        for name in pairs(stub.core) do assert.is_nil(core.methods[name], name) end
    end)
end)
