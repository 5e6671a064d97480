local shell = require "spec.support.shell"

local DTYPES = { "f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8",
    "u32", "u16", "u8", "bool" }

-- x_f64 is found by x_f32; what is named by numbers or pairs of dtypes is described, not listed.
local function searched(name)
    if name:find "_%d+_%d+_f%d%d$" or name:find "_%d_of_%d_" or name:find "^%w+_to_%w+$" then
        return nil
    end
    return (name:gsub("_f64$", "_f32"))
end

local function names_dtype(symbol)
    for _, dtype in ipairs(DTYPES) do
        if symbol:find("_" .. dtype .. "$") or symbol:find("_" .. dtype .. "_%l+$") then
            return true
        end
    end
    return false
end

-- A build with sanitizers inlines less, so that helpers inside of kernels have symbols too.
local check = os.getenv "HEED_SANITIZED" and pending or it

describe("the kernels", function()
    check("are found by their names: what a macro makes is listed in a comment", function()
        local words = {}
        for _, path in ipairs(shell.files("csrc", "*.[ch]")) do
            for word in shell.read(path):gmatch "[%w_]+" do words[word] = true end
        end
        local count = 0
        for _, line in ipairs(shell.lines("nm --defined-only "
            .. shell.quote(shell.build .. "/libheed.a"))) do
            local symbol = line:match "%x+ t ([%w_]+)"
            local name = symbol and names_dtype(symbol) and searched(symbol)
            if name then
                count = count + 1
                assert.is_true(words[name],
                    symbol .. " is nowhere in csrc: list it above the macro that makes it")
            end
        end
        assert.is_true(count > 300, "libheed.a has no symbols of kernels")
    end)
end)
