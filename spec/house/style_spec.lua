local shell = require "spec.support.shell"

local folders = "csrc lua spec examples docs .ci CMakeLists.txt CMakePresets.json README.md"

local function texts()
    local list = {}
    for _, pattern in ipairs { "*.c", "*.h", "*.lua", "*.md", "*.cmake", "*.py", "*.txt", "*.json",
        "run" } do
        for _, path in ipairs(shell.files(folders, pattern)) do
            if not path:find "^spec/fixtures/" then list[#list + 1] = path end
        end
    end
    return list
end

describe("the specs", function()
    it("run under Lua 5.4", function() assert.are.equal("Lua 5.4", _VERSION) end)

    it("are called so that busted finds them", function()
        for _, path in ipairs(shell.files("spec", "*.lua")) do
            if shell.read(path):find "\ndescribe%(" then
                assert.is_truthy(path:find "_spec%.lua$", path)
            end
        end
    end)
end)

describe("every text", function()
    it("has no tabs (but for what pages show), no trailing blanks, and ends with one newline",
        function()
        for _, path in ipairs(texts()) do
            local text = shell.read(path)
            assert.is_nil(text:find "[ \t\r]\n", path .. ": trailing blanks")
            assert.is_true(path:find "%.md$" ~= nil or not text:find "\t", path .. ": tabs")
            assert.is_truthy(text == "" or text:find "[^\n]\n$", path .. ": how it ends")
        end
    end)

    it("is UTF-8", function()
        for _, path in ipairs(texts()) do assert.is_truthy(utf8.len(shell.read(path)), path) end
    end)

    it("carries no notes to self", function()
        for _, path in ipairs(texts()) do
            if path ~= "spec/house/style_spec.lua" then
                local text = shell.read(path)
                for _, word in ipairs { "TODO", "FIXME", "XXX" } do
                    assert.is_nil(text:find("%f[%w]" .. word .. "%f[%W]"), path .. ": " .. word)
                end
            end
        end
    end)
end)

describe("every header", function()
    it("is guarded and says what it is for", function()
        for _, path in ipairs(shell.files("csrc", "*.h")) do
            local text = shell.read(path)
            assert.is_truthy(text:find "^/%*", path .. ": begins with its purpose")
            -- included again and again on purpose
            local parts = path:find "^csrc/kernels/" or path:find "_body%.h$"
            assert.is_truthy(parts or text:find "\n#ifndef H[%w_]+\n#define H[%w_]+\n",
                path .. ": no guard")
        end
    end)
end)

describe("the library", function()
    it("never prints, exits, aborts, forks or touches signals and the environment", function()
        local forbidden = { "printf", "puts", "putchar", "fputs", "perror", "exit", "_exit",
            "abort", "assert", "fork",
            "signal", "sigaction", "raise", "setenv", "putenv", "unsetenv" }
        -- The one signal that is handled, of pages that a mapped file loses.
        local may = { ["csrc/base/bus_error.c"] = { sigaction = true, raise = true } }
        for _, path in ipairs(shell.files("csrc", "*.[ch]")) do
            if not path:find "^csrc/host/" then
                local code = shell.read(path):gsub("/%*.-%*/", ""):gsub("//[^\n]*",
                    ""):gsub('"[^"\n]*"', '""')
                for _, name in ipairs(forbidden) do
                    local allowed = may[path] and may[path][name]
                    assert.is_true(allowed or not code:find("%f[%w_]" .. name .. "%s*%("),
                        path .. " calls " .. name)
                end
            end
        end
    end)
end)
