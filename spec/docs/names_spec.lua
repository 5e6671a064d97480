-- Every name of heed's in the pages' inline code is there: `heed.a.b`, `nn.Linear`, `x:method(`.

local heed = require "heed"
local shell = require "spec.support.shell"

local function pages()
    local list = {}
    local listing = assert(io.popen "ls README.md docs/*.md examples/*.md 2>/dev/null")
    for path in listing:lines() do list[#list + 1] = path end
    listing:close()
    return list
end

-- What pages about other libraries say of those: the first column of their tables.
local function own_cells(path, line)
    if path:find "/from_" and line:find "^| `" then return line:match "^| [^|]+|(.*)$" end
    return line
end

local function resolve(path)
    local value = heed
    for key in path:gmatch "[%w_]+" do
        if type(value) ~= "table" or value[key] == nil then return nil end
        value = value[key]
    end
    return value
end

local modules = {}
for _, class in pairs(heed.nn) do
    if type(class) == "table" then modules[#modules + 1] = class end
end

local function is_method(name)
    if heed.methods and heed.methods[name] or require("heed.core").methods[name] then
        return true
    end
    for _, class in ipairs(modules) do
        if class[name] ~= nil then return true end
    end
    for _, optimizer in ipairs { "step", "zero_grad", "state_dict", "load_state_dict" } do
        if name == optimizer then return true end
    end
    return false
end

local function unknown_names(code)
    local list = {}
    for path in code:gmatch "%f[%w_.]heed%.([%a_][%w_.]*)" do
        path = path:gsub("%.$", "")
        if not resolve(path) and path ~= "h" and not path:find "^so" then
            list[#list + 1] = "heed." .. path
        end
    end
    for path in code:gmatch "%f[%w_.]nn%.([%a_][%w_]*)" do
        if heed.nn[path] == nil then list[#list + 1] = "nn." .. path end
    end
    for name in code:gmatch "%f[%w_][txab]:([%a_][%w_]*)" do
        if not is_method(name) then list[#list + 1] = "t:" .. name end
    end
    return list
end

describe("the names in the documentation", function()
    for _, path in ipairs(pages()) do
        it("are there: " .. path, function()
            local wrong, number, fenced = {}, 0, false
            for line in io.lines(path) do
                number = number + 1
                if line:find "^%s*```" then fenced = not fenced end
                for code in (fenced and "" or own_cells(path, line) or ""):gmatch "`([^`]+)`" do
                    for _, name in ipairs(unknown_names(code)) do
                        wrong[#wrong + 1] = ("%d: %s"):format(number, name)
                    end
                end
            end
            assert.same({}, wrong)
        end)
    end
end)

describe("the text of the API's pages", function()
    -- Modules that are asked for by name.
    local REQUIRED = { ["heed.help"] = true, ["heed.luassert"] = true, ["heed.nn.cache"] = true }

    local function is_there(path)
        if resolve(path:match "^heed%.(.*)$") or REQUIRED[path]
            or REQUIRED[path:match "^heed%.%l+"] then
            return true
        end
        return path:find "%.%u" ~= nil or path:find "^heed%.dtype" ~= nil -- a type
    end

    it("names what is there", function()
        local wrong, seen = {}, 0
        for _, path in ipairs(shell.lines "ls docs/api/*.md") do
            for line in io.lines(path) do
                for name in line:gmatch "%f[%w_.\"]heed%.[%a_][%w_.]*[%w_]" do
                    seen = seen + 1
                    if not is_there(name) then wrong[#wrong + 1] = path .. ": " .. name end
                end
            end
        end
        assert.same({}, wrong)
        assert.is_true(seen > 500)
    end)

    it("says every option that a loss knows", function()
        local training = shell.read "docs/api/training.md"
        local section = training:match "\n### `heed%.loss%.linear_cross_entropy.-\n### "
        for _, name in ipairs { "bias", "ignore_index", "label_smoothing", "weight", "reduction",
            "smoothing_exclude" } do
            assert.is_truthy(section:find("  - `" .. name .. "?`", 1, true), name)
        end
    end)
end)

describe("a class or an alias of the annotations", function()
    it("is written once, and is not both", function()
        local kinds, wrong = {}, {}
        local function add(path, kind, name)
            -- For editors, beside what other files say; and what writes that.
            local described = path:find "/types/" ~= nil or path:find "/help/pages" ~= nil
            local before = kinds[name] or { kind = kind, described = true }
            if before.kind ~= kind or not described and not before.described then
                wrong[#wrong + 1] = path .. ": " .. name
            end
            kinds[name] = { kind = kind, described = described and before.described }
        end
        for _, path in ipairs(shell.files("lua/heed", "*.lua")) do
            local text = shell.read(path)
            for _, kind in ipairs { "class", "alias" } do
                for name in text:gmatch("%-%-%-@" .. kind .. " (heed[%w_.]*)") do
                    add(path, kind, name)
                end
            end
        end
        assert.is_truthy(kinds["heed.nn.Module"])
        assert.same({}, wrong)
    end)
end)
