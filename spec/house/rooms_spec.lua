local shell = require "spec.support.shell"

-- What each room of csrc may include, besides itself and the system.
local may_use = {
    base = {},
    tensor = { "base" },
    kernels = { "base", "tensor" },
    autograd = { "base", "tensor" },
    ops = { "base", "tensor", "kernels", "autograd" },
    layers = { "base", "tensor", "kernels", "autograd", "ops" },
    io = { "base", "tensor", "kernels" },
    text = { "base" },
    lua = { "base", "tensor", "kernels", "autograd", "ops", "layers", "io", "text", "heed.h" },
    host = { "heed.h" },
}

-- Libraries that only some rooms know.
local header_of = {
    { pattern = "^lua[%w]*%.h$", rooms = { lua = true, host = true } },
    { pattern = "^lauxlib%.h$", rooms = { lua = true, host = true } },
    { pattern = "^cJSON%.h$", rooms = { io = true } },
    { pattern = "cjson/", rooms = { io = true } },
    { pattern = "^png%.h$", rooms = { io = true } },
    { pattern = "^jpeglib%.h$", rooms = { io = true } },
    { pattern = "^jerror%.h$", rooms = { io = true } },
    { pattern = "^zlib%.h$", rooms = { io = true } },
    { pattern = "^sndfile%.h$", rooms = { io = true } },
    { pattern = "^soxr%.h$", rooms = { io = true } },
    { pattern = "^kiss_fft%.h$", rooms = { kernels = true } },
    { pattern = "^histedit%.h$", rooms = { host = true } },
    { pattern = "^pcre2%.h$", rooms = { text = true } },
    { pattern = "^utf8proc%.h$", rooms = { text = true } },
}

local function contains(list, value)
    for _, v in ipairs(list) do
        if v == value then return true end
    end
    return false
end

local function includes(path)
    return shell.read(path):gmatch '#%s*include%s*([<"])([^>"\n]+)[>"]'
end

local function sources(folder)
    local list = shell.files(folder, "*.h")
    for _, path in ipairs(shell.files(folder, "*.c")) do list[#list + 1] = path end
    return list
end

-- The room an include leads to: "tensor/shape.h" to tensor; "vec.h" beside the file to the room
-- itself.
local function room_of(name, own)
    if name == "heed.h" then return name end
    return name:match "^(%w+)/" or own
end

describe("the rooms of csrc", function()
    it("are the ones known here", function()
        for _, path in ipairs(shell.lines "ls -d csrc/*/") do
            local room = path:match "csrc/(%w+)/"
            assert.is_true(may_use[room] ~= nil or room == "cmake", "a room without a rule: "
                .. room)
        end
    end)

    for room, allowed in pairs(may_use) do
        it("depend one way only: " .. room, function()
            for _, path in ipairs(sources("csrc/" .. room)) do
                for mark, name in includes(path) do
                    local other = mark == '"' and room_of(name, room)
                    assert.is_true(not other or other == room or contains(allowed, other),
                        path .. " must not include " .. name)
                end
            end
        end)
    end

    it("keep each library to the rooms that wrap it", function()
        for room in pairs(may_use) do
            for _, path in ipairs(sources("csrc/" .. room)) do
                for _, name in includes(path) do
                    for _, rule in ipairs(header_of) do
                        assert.is_true(not name:find(rule.pattern) or rule.rooms[room] == true,
                            path .. " must not include " .. name)
                    end
                end
            end
        end
    end)

    it("include blis.h once", function()
        local users = {}
        for _, path in ipairs(sources "csrc") do
            for _, name in includes(path) do
                if name:find "blis" then users[#users + 1] = path end
            end
        end
        assert.are.same({ "csrc/kernels/gemm.c" }, users)
    end)

    it("leave files as small as one idea", function()
        for _, path in ipairs(sources "csrc") do
            local _, lines = shell.read(path):gsub("\n", "")
            assert.is_true(lines <= 650, path .. " has " .. lines .. " lines: is it two files?")
        end
    end)
end)

local function requires(path)
    return shell.read(path):gmatch 'require%s*%(?%s*["\']([%w_.]+)["\']'
end

describe("the modules of lua/heed", function()
    it("need nothing but Lua and each other", function()
        for _, path in ipairs(shell.files("lua", "*.lua")) do
            for name in requires(path) do
                assert.is_truthy(name:find "^heed%f[.\0]" or name:find "^luassert" or name == "say",
                    path .. " must not require " .. name)
            end
        end
    end)

    it("know nothing of examples and specs, and exist", function()
        for _, path in ipairs(shell.files("lua", "*.lua")) do
            for name in requires(path) do
                local file = "lua/" .. name:gsub("%.", "/")
                local found = io.open(file .. ".lua") or io.open(file .. "/init.lua")
                if found then found:close() end
                assert.is_truthy(found or name == "heed.core" or not name:find "^heed%f[.\0]",
                    path .. " requires " .. name .. ", which is not there")
            end
        end
    end)

    -- What each room of heed.models may require of the others; "" are the families.
    local of_models = {
        settings = {}, files = { "settings" }, weights = {},
        parts = { "settings", "files" },
        [""] = { "settings", "parts" },
        save = { "", "settings", "files", "weights", "parts" },
    }

    it("depend one way within heed.models", function()
        for _, path in ipairs(shell.files("lua/heed/models", "*.lua")) do
            local room = path:match "models/(%l+)/" or ""
            assert.is_not_nil(of_models[room], "a room without a rule: " .. room)
            for name in requires(path) do
                local other = name:match "^heed%.models%.(.*)"
                other = other and (other:match "^(%l+)%." or of_models[other] and other or "")
                assert.is_true(not other or other == room or contains(of_models[room], other)
                    or path == "lua/heed/models/init.lua", path .. " must not require " .. name)
            end
        end
    end)
end)
