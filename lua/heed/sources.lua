--- The text of heed's own Lua sources, which help reads. libheed, which carries them, has a
--- `heed.sources` of its own in place of this one.

---@param name string of a module, or of a stub: `heed.types.core`
---@return string|nil text
local function source(name)
    if not (package and package.searchpath and io) then return nil end
    local path = package.searchpath(name, package.path)
    local file = path and io.open(path, "rb")
    if not file then return nil end
    local text = file:read "a"
    file:close()
    return text
end

return source
