local command = require "spec.support.command"

describe("spec/bench/char_lm.lua", function()
    it("trains and prints losses, without PyTorch too", function()
        local output, errors, status =
            command.run "spec/bench/char_lm.lua docs/architecture.md --steps 6"
        assert.equal(0, status, errors)
        local first, last = output:match "\n +1 +([%d.]+) +%-\n.*\n +6 +([%d.]+) +%-\nvalid"
        assert.is_true(tonumber(first) > 3 and tonumber(last) < tonumber(first), output)
    end)
end)
