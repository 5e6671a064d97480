local heed = require "heed"

-- After which value it stopped, or nil.
local function stop_of(stopping, values)
    for i, value in ipairs(values) do
        if stopping:step(value) then return i end
    end
end

describe("optim.EarlyStopping", function()
    it("stops after so many values that are not better", function()
        local stopping = heed.optim.EarlyStopping { patience = 2 }
        assert.equal(6, stop_of(stopping, { 3, 2, 2.5, 1.5, 1.5, 1.6, 1 }))
        assert.same({ 1.5, 4, 6 }, { stopping.best, stopping.best_step, stopping.steps })
    end)

    it("looks upwards, and past small changes", function()
        local upwards = heed.optim.EarlyStopping { patience = 1, mode = "max" }
        assert.equal(3, stop_of(upwards, { 0.1, 0.5, 0.5 }))
        local coarse = heed.optim.EarlyStopping { patience = 2, min_delta = 0.5 }
        assert.equal(3, stop_of(coarse, { 3, 2.6, 2.5, 1 }))
        assert.equal(3, coarse.best)
    end)

    it("takes NaN for no better, even at first", function()
        local stopping = heed.optim.EarlyStopping { patience = 2 }
        assert.equal(2, stop_of(stopping, { 0 / 0, 0 / 0 }))
        assert.is_nil(stopping.best)
        assert.is_false(stopping:step(heed.tensor { 4.0 }))
        assert.equal(4, stopping.best)
    end)

    it("says which value was the best, and calls on_best with it", function()
        local seen = {}
        local stopping = heed.optim.EarlyStopping { patience = 2, min_delta = 0.1,
            on_best = function(value, step)
            seen[#seen + 1] = { value, step }
        end }
        local said = {}
        for i, value in ipairs { 3, 0 / 0, 2, 1.95, 1.5 } do said[i] = { stopping:step(value) } end
        assert.same({ { false, true }, { false, false }, { false, true }, { false, false },
            { false, true } }, said)
        assert.same({ { 3, 1 }, { 2, 3 }, { 1.5, 5 } }, seen)
    end)

    it("has counted the value when on_best raises, and raises what a save that failed gives",
        function()
        local stopping = heed.optim.EarlyStopping { patience = 2,
            on_best = function() error("full", 0) end }
        assert.error_matches(function() stopping:step(3) end, "^full$")
        assert.same({ 3, 1, 1 }, { stopping.best, stopping.best_step, stopping.steps })
        local saving = heed.optim.EarlyStopping { patience = 2, on_best = function()
            return heed.checkpoint.save("/nowhere/best.safetensors",
                { model = heed.nn.Linear(1, 1) })
        end }
        assert.error_matches(function() saving:step(3) end,
            "heed.optim.EarlyStopping: on_best: .*/nowhere/best")
        assert.is_false((heed.optim.EarlyStopping({ patience = 1,
            on_best = function() end }):step(1)))
    end)

    it("goes on after save and load", function()
        local path = os.tmpname()
        local first = heed.optim.EarlyStopping { patience = 3 }
        stop_of(first, { 3, 2, 2.5 })
        assert(heed.checkpoint.save(path, { stopping = first }))
        local second = heed.optim.EarlyStopping { patience = 3 }
        assert(heed.checkpoint.load(path, { stopping = second }))
        os.remove(path)
        assert.is_false(second:step(2.5))
        assert.is_true(second:step(2.5))
        assert.equal(2, second.best)
        for _, state in ipairs { 5, {}, { steps = 1, best_step = 2 },
            { steps = 2, best_step = 1, best = "1" },
            { steps = 2, best_step = 1, best = 1, mode = "max" } } do
            assert.is_nil((second:check_state_dict(state)))
        end
        assert.error_matches(function() second:load_state_dict {} end,
            "not the state of EarlyStopping")
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() heed.optim.EarlyStopping {} end,
            "patience: expected an integer of at least 1, got nil")
        assert.error_matches(function() heed.optim.EarlyStopping { patience = 1, mode = "low" } end,
            'mode: expected "min" or "max", got "low"')
        assert.error_matches(function() heed.optim.EarlyStopping { patience = 1,
            on_best = "best" } end,
            'on_best: expected a function, got "best"')
        assert.error_matches(function() heed.optim.EarlyStopping({ patience = 1 }):step() end,
            "value: expected a number, got nil")
    end)
end)
