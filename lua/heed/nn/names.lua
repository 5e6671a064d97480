--- The names under which a module may keep parameters, buffers and other modules. Each makes one
--- name of a state ("layers.1.weight"), and no two may make the same: saving would keep only one of
--- them.

local errors = require "heed.errors"

local names = {}

local TAKEN = "is called so, here or in PyTorch's files"

local function refuse(self, key, what)
    local shown = type(key) == "string" and ("%q"):format(key) or tostring(key)
    errors.raise("%s: %s: expected %s", self.class_name, shown, what)
end

-- PyTorch's names count lists from 0, so 1 is "1" here and "0" there.
local function check_string(self, key)
    if key == "" or key:find(".", 1, true) then
        refuse(self, key, "a name without dots (a.b is what b in a is called), one letter at least")
    end
    local number = math.tointeger(tonumber(key))
    if not number or tostring(number) ~= key then return end
    for i = number, number + 1 do
        if rawget(self, i) ~= nil then
            refuse(self, key, ("another name: [%d] %s"):format(i, TAKEN))
        end
    end
end

local function check_integer(self, key)
    if key < 1 then refuse(self, key, "a name or a number from 1") end
    for i = key - 1, key do
        if rawget(self, tostring(i)) ~= nil then
            refuse(self, key, ("another number: [\"%d\"] %s"):format(i, TAKEN))
        end
    end
end

---Refuses a key whose name another one has, and a number that no list has.
---@param self heed.nn.Module
---@param key any of the field that gets a parameter, a buffer or a module
function names.check(self, key)
    if type(key) == "string" then return check_string(self, key) end
    if math.type(key) == "integer" then return check_integer(self, key) end
    if type(key) == "number" then refuse(self, key, "a name or a number from 1") end
end

---Notes a name that a walk came to, once for each tensor or module: plain tables in fields are
---filled unseen.
---@param taken table<string, boolean>
---@param name string
---@param what string "tensors" or "modules"
function names.claim(taken, name, what)
    if taken[name] then
        errors.raise("heed.nn.Module:names: two %s are called %q: expected a name of its own for "
            .. "each; "
            .. "rename a key", what, name)
    end
    taken[name] = true
end

return names
