-- lua/heed/types/core.lua describes heed.core to language servers: neither may have a name that the other lacks.

local core = require "heed.core"

local PROPERTIES = { shape = true, dtype = true, grad = true, requires_grad = true, is_leaf = true }

local function names(t)
    local list = {}
    for name in pairs(t) do
        if not PROPERTIES[name] then list[#list + 1] = name end
    end
    table.sort(list)
    return table.concat(list, " ")
end

describe("the stub of the C module", function()
    local stub = dofile(debug.getinfo(1, "S").source:match("^@(.-)spec/lua/stub_spec") .. "lua/heed/types/core.lua")

    it("has the module's names", function()
        assert.equal(names(core), names(stub))
    end)

    it("has the methods of tensors", function()
        local methods = {}
        for name in pairs(core.methods) do
            if core[name] or name == "free" then methods[name] = true end
        end
        assert.equal(names(methods), names(stub.methods))
    end)
end)
