local heed = require "heed.core"

describe("printing", function()
    it("aligns columns and tells dtype and shape", function()
        assert.equal("[[ 1., 20.],\n [-3.,  4.]]\nf32 [2, 2]",
            tostring(heed.tensor({ { 1, 20 }, { -3, 4 } })))
        assert.equal("[1.5000, 2.0000]\nf32 [2]", tostring(heed.tensor({ 1.5, 2 })))
        assert.equal("[ 1, -2]\ni64 [2]", tostring(heed.ids({ 1, -2 })))
        assert.equal("[ true, false]\nbool [2]", tostring(heed.tensor({ true, false })))
        assert.equal("[nan, inf,  1.]\nf64 [3]",
            tostring(heed.tensor({ 0 / 0, 1 / 0, 1 }, { dtype = "f64" })):gsub("%-nan", "nan"))
        assert.equal("[1.0000e-10,  1.0000e+00]\nf32 [2]",
            (tostring(heed.tensor({ 1e-10, 1 })):gsub("%[ *", "[")):gsub(",%s+", ",  "))
        assert.equal("3. f32 []", tostring(heed.tensor(3)))
        assert.equal("f32 [0, 2]", tostring(heed.zeros(0, 2)))
    end)

    it("separates blocks by empty lines", function()
        assert.equal("[[[0.],\n  [0.]],\n\n [[0.],\n  [0.]]]\nf32 [2, 2, 1]",
            tostring(heed.zeros(2, 2, 1)))
    end)

    it("is bounded", function()
        local text = tostring(heed.zeros(1000, 1000))
        assert.is_true(#text < 1000)
        assert.matches("%.%.%.", text)
        assert.is_true(#tostring(heed.zeros(10, 10, 10, 10, 10, 10)) < 10000)
        for line in tostring(heed.rand(1000)):gmatch("[^\n]+") do assert.is_true(#line <= 100) end
    end)

    it("shows shapes as tables that print, concatenate, compare and unpack", function()
        local shape = heed.zeros(2, 4, 8).shape
        assert.equal("[2, 4, 8]", tostring(shape))
        assert.equal("shape: [2, 4, 8]!", "shape: " .. shape .. "!")
        assert.is_true(shape == heed.ones(2, 4, 8).shape)
        assert.is_true(shape == { 2, 4, 8 })
        assert.is_false(shape == { 2, 4 })
        local b, l, e = table.unpack(shape)
        assert.same({ 2, 4, 8 }, { b, l, e })
        assert.equal(3, #shape)
    end)

    it("concatenates one element", function()
        assert.equal("loss 0.1", "loss " .. heed.tensor(0.1))
        assert.equal("2.0 left", heed.tensor({ 2 }) .. " left")
        assert.equal("7!", heed.ids({ 7 }) .. "!")
        assert.equal("is true", "is " .. heed.tensor({ true }))
        assert.error_matches(function() return "x" .. heed.zeros(2) end,
            "expected a tensor of one element, got shape %[2%]")
        assert.error_matches(function() return heed.tensor(1) .. {} end,
            "a %.%. b: b: expected a string or a number")
    end)
end)
