local core = require "heed.core"

local LINES = { "version", "lua", "blis", "gemm", "isa", "cpu", "threads", "png", "jpeg",
    "kissfft", "sndfile", "soxr", "zlib" }

local Info = {
    __tostring = function(self)
        local lines = {}
        for i, name in ipairs(LINES) do
            lines[i] = ("%-8s %s"):format(name, tostring(self[name]))
        end
        return table.concat(lines, "\n")
    end,
}

---What is at work: the version, Lua, BLIS and the kernel in use for products, the instruction set,
---threads, and the libraries for images, sound and npz files ("none" in a build without). It
---prints.
---
---```lua
---print(heed.info())
---print(heed.info().threads)
---```
---@return { version: string, lua: string, blis: string, gemm: string, isa: string, cpu: string, threads: integer, png: string, jpeg: string, kissfft: string, sndfile: string, soxr: string, zlib: string }
local function info() return setmetatable(core.info(), Info) end

return info
