local heed = require "heed"
local shell = require "spec.support.shell"
local xml = require "spec.support.xml"

describe("viz.curve in the terminal", function()
    it("draws numbers in dots, with their bounds and count", function()
        assert.are.equal(table.concat({
            "up",
            "4 ┤             ⣀⠤⠒⠉",
            "  │        ⢀⡠⠔⠒⠉",
            "  │    ⣀⠤⠔⠊⠁",
            "1 ┤⣀⠤⠒⠉",
            "  └─────────────────",
            "   1               4" }, "\n"),
                tostring(heed.viz.curve({ 1, 2, 3, 4 }, { width = 20, height = 4, title = "up" })))
    end)

    -- The dots of a picture as a set of "x,y", from the top left.
    local function dots_of(text)
        local set, row = {}, 0
        for line in text:gmatch "[^\n]+" do
            local _, axis = line:find("┤", 1, true)
            if not axis then _, axis = line:find("│", 1, true) end
            if axis then
                local column = 0
                for _, code in utf8.codes(line:sub(axis + 1)) do
                    if code >= 0x2800 and code < 0x2900 then
                        for bit, at in ipairs { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 0 }, { 1, 1 },
                            { 1, 2 }, { 0, 3 }, { 1, 3 } } do
                            if (code - 0x2800) >> (bit - 1) & 1 == 1 then
                                set[("%d,%d"):format(column * 2 + at[1], row * 4 + at[2])] = true
                            end
                        end
                    end
                    column = column + 1
                end
                row = row + 1
            end
        end
        return set
    end

    it("goes from corner to corner", function()
        local dots = dots_of(tostring(heed.viz.curve(heed.range(1, 50),
            { width = 23, height = 5 })))
        assert.is_true(dots["0,19"] and dots["37,0"])
        assert.is_nil(dots["0,0"])
        assert.is_nil(dots["37,19"])
    end)

    it("loses no peak of a long list", function()
        local values = {}
        for i = 1, 20000 do values[i] = 0 end
        values[10001] = 7
        local text = tostring(heed.viz.curve(values, { width = 23, height = 5 }))
        assert.are.equal("7", text:match "^(%S+) ┤")
        local dots, found = dots_of(text), false
        for x = 0, 40 do found = found or dots[x .. ",0"] end
        assert.is_true(found)
    end)

    it("leaves gaps where a number is not finite", function()
        local dots = dots_of(tostring(heed.viz.curve({ 1, 1, 0 / 0, math.huge, 2, 2 },
            { width = 24, height = 3 })))
        local empty = 0
        for x = 0, 39 do
            local any = false
            for y = 0, 11 do any = any or dots[x .. "," .. y] end
            if not any then empty = empty + 1 end
        end
        assert.is_true(empty >= 15, empty)
    end)

    it("loses nothing of a long list beside what is not finite", function()
        local values = {}
        for i = 1, 20000 do values[i] = i % 3 > 0 and 0 / 0 or i end
        local text = tostring(heed.viz.curve(values, { width = 30, height = 5 }))
        local dots, empty = dots_of(text), 0
        for x = 0, 30 do
            local any = false
            for y = 0, 19 do any = any or dots[x .. "," .. y] end
            if not any then empty = empty + 1 end
        end
        assert.are.equal(0, empty)
    end)

    it("names several curves at their ends, sorted and apart", function()
        local text = tostring(heed.viz.curve({ valid = { 1, 3 }, train = { 1, 3 },
            other = { 1, 1 } }, { width = 40, height = 4 }))
        local lines = {}
        for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
        assert.is_truthy(lines[1]:find "train$")
        assert.is_truthy(lines[2]:find "valid$")
        assert.is_truthy(lines[4]:find "other$")
    end)

    it("draws what is constant, alone or nothing", function()
        for _, values in ipairs { { 5, 5, 5 }, { 0 }, {}, { 0 / 0 }, { 1e308, -1e308 } } do
            assert.is_string(tostring(heed.viz.curve(values)))
            assert.is_string(heed.viz.curve(values):svg())
        end
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() heed.viz.curve(5) end, "values: expected a table, got 5")
        assert.error_matches(function() heed.viz.curve { 1, "2" } end,
            'values: expected numbers, got "2" at 2')
        assert.error_matches(function() heed.viz.curve(heed.ones(2, 2)) end,
            "values: expected a vector of numbers, got f32 tensor %[2, 2%]")
        assert.error_matches(function() heed.viz.curve({ 1 }, { tittle = "x" }) end,
            'there is no option "tittle"')
        assert.error_matches(function() heed.viz.curve({ 1 }, { width = 3 }) end,
            "width: expected an integer of at least 20")
        assert.error_matches(function() heed.viz.curve({ 1 }, { height = math.maxinteger }) end,
            "height: expected at most 10000")
    end)
end)

describe("viz.curve as SVG", function()
    it("has a path a curve, its numbers under the pointer, and its name", function()
        local elements = xml.elements(heed.viz.curve({ a = { 3, 2, 1 },
            ["<b>"] = heed.tensor { 1, 2.5 } }, { title = "Loss" }):svg())
        local paths, hints, texts = {}, {}, {}
        for _, element in ipairs(elements) do
            if element.name == "path" then paths[#paths + 1] = element.attributes.d end
            if element.name == "title" then hints[#hints + 1] = element.text end
            if element.name == "text" then texts[element.text] = true end
        end
        assert.are.same({ "<b> 1: 1", "<b> 2: 2.5", "a 1: 3", "a 2: 2", "a 3: 1" }, hints)
        assert.are.equal(2, #paths)
        assert.is_true(texts.Loss and texts.a and texts["<b>"] and texts["3"] and texts["1.5"])
    end)

    it("breaks the path at what is not finite", function()
        local text = heed.viz.curve({ 1, 2, 0 / 0, 2, 1 }):svg()
        local _, moves = text:match ' d="([^"]*)"':gsub("M", "")
        assert.are.equal(2, moves)
        assert.is_nil(text:find ' d="[^"]*nan')
    end)

    it("stays small for long lists", function()
        assert.is_true(#heed.viz.curve(heed.rand(200000)):svg() < 100000)
    end)

    it("writes files, or says why not", function()
        local picture, path = heed.viz.curve { 1, 2, 3 }, os.tmpname()
        assert.is_true(picture:svg(path))
        assert.are.equal(picture:svg(), shell.read(path))
        assert.is_true(picture:html(path))
        xml.elements(shell.read(path), { "meta" })
        os.remove(path)
        assert.is_nil((picture:svg "/nowhere/picture"))
    end)
end)
