--- Methods of strings that ask what they are made of: isdigit, isupper ...

local arguments = require "heed.text.template.arguments"
local characters = require "heed.text.template.characters"

local classes = { methods = {} }

local methods = classes.methods

local SUPERSCRIPTS = { ["²"] = true, ["³"] = true, ["¹"] = true, ["⁰"] = true }

local function is_digit(character)
    return characters.category(character) == "Nd" or SUPERSCRIPTS[character] or false
end

-- All characters are so, and there is one.
local function all(name, holds)
    methods[name] = function(machine, text, args)
        arguments.bind(name, args, 0)
        machine.budget:bytes_of(#text)
        for _, character in ipairs(characters.list(text)) do
            if not holds(character) then return false end
        end
        return text ~= ""
    end
end

all("isdecimal", function(c) return characters.category(c) == "Nd" end)
all("isdigit", is_digit)
all("isnumeric", function(c) return characters.category(c):sub(1, 1) == "N" end)
all("isalpha", function(c) return characters.category(c):sub(1, 1) == "L" end)
all("isalnum", function(c) return characters.category(c):find "^[LN]" ~= nil end)
all("isspace", characters.is_space)

function methods.isascii(_, text, args)
    arguments.bind("isascii", args, 0)
    return not text:find "[\x80-\xFF]"
end

-- No character has the other case, and one has this.
local function in_case(wanted)
    return function(text)
        local found = false
        for _, character in ipairs(characters.list(text)) do
            local category = characters.category(character)
            if category == wanted then
                found = true
            elseif category == "Lu" or category == "Ll" or category == "Lt" then
                return false
            end
        end
        return found
    end
end

---Is it written in upper case?
---@return boolean
classes.upper = in_case "Lu"

---Is it written in lower case?
---@return boolean
classes.lower = in_case "Ll"

function methods.isupper(machine, text, args)
    arguments.bind("isupper", args, 0)
    return classes.upper(machine.budget:text(text))
end

function methods.islower(machine, text, args)
    arguments.bind("islower", args, 0)
    return classes.lower(machine.budget:text(text))
end

function methods.isidentifier(_, text, args)
    arguments.bind("isidentifier", args, 0)
    return text:find "^[%a_\x80-\xFF][%w_\x80-\xFF]*$" ~= nil
end

return classes
