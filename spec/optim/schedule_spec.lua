local schedule = require "heed.optim.schedule"

local function near(want, got)
    assert.is_true(math.abs(want - got) <= 1e-5 * math.abs(want),
        ("want %g, got %g"):format(want, got))
end

describe("optim.schedule", function()
    it("noam is the paper's", function()
        local rate = schedule.noam { d_model = 512, warmup = 4000 }
        near(1.74693e-7, rate(1))
        near(6.98771e-4, rate(4000))
        near(6.98771e-4 / 2, rate(16000))
        near(2 * 1.74693e-7, schedule.noam { d_model = 512, warmup = 4000, factor = 2 }(1))
    end)

    it("wants options", function()
        for _, name in ipairs { "noam", "cosine", "linear", "constant", "inverse_sqrt" } do
            assert.error_matches(function() schedule[name]() end,
                name .. ": [%a_]+: expected an? [%a ]+ of at least %d, got nil")
        end
    end)

    it("counts step 0 as 1, and stays finite without warm-up", function()
        local made = {
            schedule.noam { d_model = 8, warmup = 0 }, schedule.inverse_sqrt { lr = 1, warmup = 0 },
            schedule.cosine { lr = 1, steps = 10, warmup = 0 },
                schedule.linear { lr = 1, steps = 10, warmup = 0 },
            schedule.constant { lr = 1, warmup = 0 },
        }
        for _, rate in ipairs(made) do
            assert.are.equal(rate(1), rate(0))
            assert.is_true(rate(0) > 0 and rate(0) < math.huge)
        end
    end)

    it("inverse_sqrt rises to lr and falls with the root", function()
        local rate = schedule.inverse_sqrt { lr = 1.5e-3, warmup = 400 }
        near(1.5e-3 / 400, rate(1))
        near(1.5e-3, rate(400))
        near(0.75e-3, rate(1600))
    end)

    it("cosine and linear fall to min_lr at the last step and stay", function()
        for _, kind in ipairs { "cosine", "linear" } do
            local rate = schedule[kind] { lr = 1, steps = 110, warmup = 10, min_lr = 0.1 }
            near(0.5, rate(5))
            near(1, rate(10))
            near(0.55, rate(60))
            near(0.1, rate(110))
            near(0.1, rate(1000))
        end
        near(0.5 * (1 + math.cos(math.pi / 4)), schedule.cosine { lr = 1, steps = 100 }(25))
    end)

    it("constant stays", function()
        local rate = schedule.constant { lr = 3, warmup = 3 }
        assert.are.same({ 1.0, 2.0, 3.0, 3.0 }, { rate(1), rate(2), rate(3), rate(99) })
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() schedule.noam {} end,
            "d_model: expected an integer of at least 1, got nil")
        assert.error_matches(function() schedule.cosine { lr = 1, step = 5 } end,
            'no option "step"')
        assert.error_matches(function() schedule.constant({ lr = 1 })(-1) end,
            "step: expected a number of at least 0")
    end)
end)
