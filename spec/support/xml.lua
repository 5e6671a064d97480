--- Enough of XML to see that a text is well formed, and what is in it.
local xml = {}

local ENTITY = { amp = "&", lt = "<", gt = ">", quot = '"', ["#39"] = "'" }

local function decoded(text)
    return (text:gsub("&([^;]*);?", function(name)
        return assert(ENTITY[name], "no entity: &" .. name)
    end))
end

local function attributes_of(text)
    local attributes = {}
    local rest = text:gsub('%s+([%w:-]+)="([^"<]*)"', function(name, value)
        assert(attributes[name] == nil, "twice: " .. name)
        attributes[name] = decoded(value)
        return ""
    end)
    assert(rest:find "^%s*/?$", "no attributes: " .. rest)
    return attributes
end

--- The elements of a text that must be well formed, in order.
--- @param text string
--- @param void string[]? elements that need no end (HTML's meta)
--- @return { name: string, attributes: table<string, string>, text: string, parent: string? }[]
function xml.elements(text, void)
    local without_end = {}
    for _, name in ipairs(void or {}) do without_end[name] = true end
    assert(utf8.len(text), "not UTF-8")
    assert(not text:find "[\0-\8\11\12\14-\31]", "a control character")
    local list, open, at = {}, {}, 1
    text = text:gsub("^<%?xml[^>]*%?>%s*", ""):gsub("^<!DOCTYPE html>%s*", "")
    while at <= #text do
        local from, to, slash, name, rest = text:find("<(/?)([%w]+)([^<>]*)>", at)
        local between = text:sub(at, (from or #text + 1) - 1)
        assert(not between:find "[<>]", "a bare < or >: " .. between)
        if #open > 0 then open[#open].text = open[#open].text .. decoded(between) end
        if not from then break end
        if slash == "/" then
            assert(#open > 0 and open[#open].name == name, "</" .. name .. "> closes nothing")
            open[#open] = nil
        else
            local element = { name = name, attributes = attributes_of(rest), text = "",
                parent = open[#open] }
            list[#list + 1] = element
            if not rest:find "/$" and not without_end[name] then open[#open + 1] = element end
            if name == "script" then
                element.text = text:match("^(.-)</script>", to + 1)
                to = to + #element.text
            end
        end
        at = to + 1
    end
    assert(#open == 0, "an element that is not closed")
    return list
end

return xml
