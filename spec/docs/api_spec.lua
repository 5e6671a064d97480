-- The annotations of everything public: there is prose, an example that runs and prints what it
-- says, the parameters are the function's own; and docs/api is made from them.

local calls = require "heed.nn.calls"
local example = require "spec.support.example"
local index = require "heed.help.index"
local pages = require "heed.help.pages"
local shell = require "spec.support.shell"

local function names(list)
    local words = {}
    for i, item in ipairs(list) do words[i] = type(item) == "table" and item.name or item end
    return table.concat(words, ", ")
end

-- Of a function written in Lua.
local function real_parameters(f)
    f = calls.original(f)
    local info, list = debug.getinfo(f, "uS"), {}
    if info.what ~= "Lua" then return nil end
    for i = 1, info.nparams do list[i] = debug.getlocal(f, i) end
    if info.isvararg then list[#list + 1] = "..." end
    return names(list)
end

-- The classes of what functions return are shown with those.
local function has_example(doc)
    if #doc.entry.examples > 0 or doc.kind == "class" and doc.value == nil then return true end
    for _, method in ipairs(doc.kind == "class" and doc.methods or {}) do
        if #method.examples > 0 then return true end
    end
    return false
end

-- Every annotated function of a definition, under the name that a reader knows it by.
local function each_function(doc, visit)
    if doc.kind == "function" then visit(doc.path, doc.entry, doc.value) end
    if doc.path == "heed.Tensor" then return end
    for _, method in ipairs(doc.kind == "class" and doc.methods or {}) do
        visit(doc.path .. ":" .. method.key, method, type(doc.value) == "table"
            and doc.value[method.key] or nil)
    end
end

describe("what is public", function()
    local public = pages.public()

    it("has annotations", function()
        local without = {}
        for _, doc in ipairs(public) do
            if not doc.entry then without[#without + 1] = doc.path end
        end
        assert.same({}, without)
    end)

    it("has prose, and an example", function()
        local without = {}
        for _, doc in ipairs(public) do
            local entry = doc.entry
            local said = entry and (#entry.prose > 0 or doc.kind == "class" and doc.methods[1]
                and #doc.methods[1].prose > 0)
            if entry and not said then without[#without + 1] = doc.path .. ": no prose" end
            if entry and not has_example(doc) then
                without[#without + 1] = doc.path .. ": no example"
            end
        end
        assert.same({}, without)
    end)

    it("has an entry for the call of every table that is called", function()
        local without, called = {}, 0
        local function visit(doc)
            local meta = doc.kind == "module" and getmetatable(doc.value)
            if meta and rawget(meta, "__call") then
                called = called + 1
                if not doc.entry then without[#without + 1] = doc.path end
            end
            for _, member in ipairs(doc.members or {}) do visit(member) end
        end
        visit(index.tree())
        assert.same({}, without)
        assert.is_true(called > 0)
    end)

    it("shows no method as a function of a table", function()
        local wrong = {}
        for _, doc in ipairs(public) do
            if doc.kind == "function" and doc.entry and doc.entry.name:find(":", 1, true) then
                wrong[#wrong + 1] = doc.path
            end
        end
        assert.same({}, wrong)
    end)

    it("says what every method does", function()
        local without = {}
        for _, doc in ipairs(public) do
            each_function(doc, function(name, entry)
                if #entry.prose == 0 and not name:find ":init$" and not name:find ":forward$" then
                    without[#without + 1] = name
                end
            end)
        end
        assert.same({}, without)
    end)

    it("has the parameters that it says", function()
        local wrong = {}
        for _, doc in ipairs(public) do
            each_function(doc, function(name, entry, f)
                local said = names(entry.params)
                local written = entry.arguments and names(entry.arguments)
                local real = type(f) == "function" and real_parameters(f)
                if real then real = real:gsub("^self,? ?", "") end
                -- A last ... that nobody is told of is there to refuse what comes in it.
                if #entry.params > 0 and not said:find("...", 1, true) then
                    written, real = written and written:gsub(", %.%.%.$", ""),
                        real and real:gsub(", %.%.%.$", "")
                end
                if written and written ~= said then
                    wrong[#wrong + 1] = ("%s: (%s) is annotated (%s)"):format(name, written, said)
                end
                if real and real ~= said then
                    wrong[#wrong + 1] = ("%s: (%s) is annotated (%s)"):format(name, real, said)
                end
            end)
        end
        assert.same({}, wrong)
    end)

    for _, doc in ipairs(public) do
        local entries = { doc.entry }
        if doc.kind == "class" and doc.path ~= "heed.Tensor" then
            table.move(doc.methods, 1, #doc.methods, #entries + 1, entries)
        end
        for _, entry in ipairs(entries) do
            for i, code in ipairs(entry.in_place and {} or entry.examples) do
                it(("prints what its example says: %s %s (%d)"):format(doc.path, entry.key, i),
                    function()
                    assert.same({}, example.faults(code))
                end)
            end
        end
    end
end)

describe("docs/api", function()
    it("is what the annotations say (cmake --build BUILD --target api-pages)", function()
        local expected, found = {}, {}
        for name, text in pairs(pages.all()) do
            expected[#expected + 1] = name
            assert.equal(text, shell.read("docs/api/" .. name))
        end
        for _, path in ipairs(shell.files("docs/api", "*.md")) do
            found[#found + 1] = path:match "[^/]+$"
        end
        table.sort(expected)
        table.sort(found)
        assert.same(expected, found)
    end)
end)

describe("the stub of layers", function()
    it("is what the annotations say (cmake --build BUILD --target api-pages)", function()
        assert.equal(pages.layers(), shell.read "lua/heed/types/layers.lua")
    end)
end)
