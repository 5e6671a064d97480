local locale = require "spec.support.locale"

describe("numbers in a locale whose point is a comma", function()
    it("are written with a point", function()
        local output = locale.with_comma [[
            local heed = require "heed"
            local x = heed.tensor { 1.5, 0.25 }
            print("x = " .. heed.tensor(1.5), x, heed.tensor(1.5), heed.tensor { 1e-9, 2.5e7 })
            print(heed.tensor { { 1.5 } } .. "", #tostring(heed.linspace(0, 1, 5)))]]
        if not output then return pending "this machine cannot make the locale" end
        assert.is_nil(output:find "%d,%d", output)
        assert.is_truthy(output:find("x = 1.5", 1, true), output)
    end)

    it("are written with a point in pictures", function()
        local output = locale.with_comma [[
            local heed = require "heed"
            local path = os.tmpname() .. ".svg"
            assert(heed.viz.curve({ 1, 2.5, 0.25 }):save(path))
            local file = io.open(path)
            for number in file:read "a":gmatch '%s[xy]%d?="([^"]*)"' do print(number) end
            file:close()
            os.remove(path)]]
        if not output then return pending "this machine cannot make the locale" end
        assert.is_truthy(output:find "%d", output)
        assert.is_nil(output:find(",", 1, true), output)
    end)
end)
