local heed = require "heed"

local function sink()
    local text = {}
    return { write = function(_, ...)
        for _, part in ipairs { ... } do text[#text + 1] = part end
        return true
    end, flush = function() end, text = function() return table.concat(text) end }
end

describe("progress", function()
    it("counts, and passes an iterator's values through", function()
        local seen = {}
        for step in heed.progress(3, { stream = sink() }) do seen[#seen + 1] = step end
        assert.are.same({ 1, 2, 3 }, seen)
        local pairs_seen = {}
        local i = 0
        for a, b in heed.progress(function()
            i = i + 1
            if i <= 2 then return i, i * 10 end
        end, { stream = sink() }) do pairs_seen[#pairs_seen + 1] = { a, b } end
        assert.are.same({ { 1, 10 }, { 2, 20 } }, pairs_seen)
    end)

    it("writes plain lines where there is no terminal", function()
        local out = sink()
        local bar = heed.progress(2, { stream = out, label = "train", every = 0 })
        for _ in bar do bar:update { loss = 1.5, tokens = 100, lr = heed.tensor { 0.25 } } end
        local text = out.text()
        assert.is_nil(text:find "[\r\27]")
        assert.is_truthy(text:find "train  +50%% 1/2  loss 1.5  lr 0.25  %S+ tokens/s")
        assert.is_truthy(text:find "100%% 2/2")
    end)

    it("is one line on a terminal, with a bar", function()
        local out = sink()
        for _ in heed.progress(2, { stream = out, terminal = true }) do end
        local text = out.text()
        assert.is_truthy(text:find "\r")
        assert.is_truthy(text:find(("█"):rep(20), 1, true))
        assert.are.equal("\n", text:sub(-1))
        assert.are.equal(1, select(2, text:gsub("\n", "")))
    end)

    it("ends by close after a break, once", function()
        local out = sink()
        do
            local bar <close> = heed.progress(5, { stream = out, terminal = true })
            for step in bar do
                if step == 2 then break end
            end
        end
        assert.are.equal(1, select(2, out.text():gsub("\n", "")))
        assert.is_truthy(out.text():find "2/5")
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() heed.progress("10") end,
            'over: expected a count or an iterator, got "10"')
        assert.error_matches(function() heed.progress() end, "got nil")
        local bar = heed.progress(5, { stream = sink() })
        assert.error_matches(function() bar:update { loss = "1" } end,
            'update: loss: expected a number, got "1"')
        assert.error_matches(function() bar:update(1) end,
            "update: values: expected a table, got 1")
    end)

    it("prints above the line, and turns into text", function()
        local out = sink()
        local bar = heed.progress(5, { stream = out })
        bar()
        bar:print("epoch %d", 1)
        assert.is_truthy(out.text():find "epoch 1\n")
        assert.is_truthy(tostring(bar):find "20%% 1/5")
    end)

    it("writes no line of its own for a text in a file, and its last one once", function()
        local out = sink()
        local bar = heed.progress(2, { stream = out })
        for _ in bar do bar:print "text" end
        assert.are.equal("text\ntext\n", (out.text():gsub("[^\n]*100%%[^\n]*\n$", "")))
    end)
end)
