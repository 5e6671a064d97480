local shell = require "spec.support.shell"

local core = shell.build .. "/lua/heed/core.so"
local shared = shell.build .. "/libheed.so"
local command = shell.build .. "/heed"

local function needed(path)
    local list = {}
    for _, line in ipairs(shell.lines("readelf -dW " .. shell.quote(path))) do
        list[#list + 1] = line:match "%(NEEDED%).*%[(.-)%]"
    end
    return list
end

local function defined(path)
    local list = {}
    for _, line in ipairs(shell.lines("nm -D --defined-only " .. shell.quote(path))) do
        list[#list + 1] = line:match "%S+$"
    end
    return list
end

-- The sanitizers leave marks of their own in what they instrument.
local function is_ours(name)
    return name:find "^luaopen_heed" or name:find "^heed_" or name:find "^__asan"
        or name:find "^__odr_asan"
end

describe("the artefacts", function()
    it("core.so does not bring a second Lua", function()
        for _, library in ipairs(needed(core)) do assert.is_nil(library:find "lua", library) end
    end)

    it("the command, libheed and modules share one Lua", function()
        for _, path in ipairs { command, shared } do
            local count = 0
            for _, library in ipairs(needed(path)) do
                if library:find "lua" then count = count + 1 end
            end
            assert.are.equal(1, count, path)
        end
    end)

    for _, path in ipairs { core, shared } do
        it("show heed's names only: " .. path:match "[^/]+$", function()
            local names = defined(path)
            assert.is_true(#names > 0)
            for _, name in ipairs(names) do assert.is_truthy(is_ours(name), name) end
        end)
    end

    it("open by the names that hosts and require use", function()
        local seen = {}
        for _, name in ipairs(defined(shared)) do seen[name] = true end
        assert.is_true(seen.luaopen_heed)
        seen = {}
        for _, name in ipairs(defined(core)) do seen[name] = true end
        assert.is_true(seen.luaopen_heed_core)
    end)

    it("libheed shows every function of heed.h", function()
        local seen = {}
        for _, name in ipairs(defined(shared)) do seen[name] = true end
        local header = shell.read "csrc/heed.h":gsub("/%*.-%*/", ""):gsub("//[^\n]*", "")
        local count = 0
        for name in header:gmatch "[%w_]+" do
            if (name:find "^heed_" or name:find "^luaopen_heed")
                and header:find("%f[%w_]" .. name .. "%s*%(") then
                assert.is_true(seen[name], name)
                count = count + 1
            end
        end
        assert.is_true(count > 0)
    end)
end)
