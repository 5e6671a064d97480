--- The annotations of a Lua source (LuaCATS: `---` lines above a definition), read as text: what
--- help and the API pages say.

local annotations = {}

---@class heed.help.Param
---@field name string
---@field type string
---@field optional boolean
---@field text string
---@field written string|nil the type as it is written, where `type` has names of options written
---out
---@field inner boolean|nil it is a field of a table of options

---@class heed.help.Entry
---@field name string as it is defined: `core.softmax`, `Linear:forward`, or a class
---@field key string the last part of it
---@field kind "function"|"value"|"class"
---@field line integer of the definition
---@field arguments string[] of a function
---@field prose string[] paragraphs
---@field examples string[] Lua
---@field params heed.help.Param[]
---@field returns heed.help.Param[]
---@field fields heed.help.Param[] of a class
---@field parent string|nil of a class
---@field owner string|nil of a class: the local variable that its methods are defined on
---@field section string|nil the heading (`-- ---- name ----`) that it stands below
---@field same_as string|nil the name of the definition that this one is another name of
---@field module string|nil the module whose source it stands in
---@field in_place boolean|nil it is the form in place, `exp_`, of the function that it describes

-- ---- one block ----------------------------------------------------------------------------------

local CLOSES = { ["{"] = "}", ["("] = ")", ["<"] = ">", ["["] = "]" }

-- A type and what follows it. A type ends at the first space outside of brackets that is no part of
-- `fun(...): T`, `A | B`.
local function split_type(text)
    local depth, at = 0, 1
    while at <= #text do
        local c = text:sub(at, at)
        if CLOSES[c] then depth = depth + 1
        elseif c == "}" or c == ")" or c == "]" or c == ">" then depth = depth - 1
        elseif c == '"' then at = text:find('"', at + 1, true) or #text
        elseif c == " " and depth == 0 and not text:sub(1, at - 1):find "[:|,]$"
            and not text:find("^ |", at) then break
        end
        at = at + 1
    end
    return text:sub(1, at - 1), (text:sub(at + 1):gsub("^%s+", ""))
end

local function read_param(text)
    local name, optional, rest = text:match "^([%w_.]+)(%??)%s+(.*)$"
    local type_text, words = split_type(rest or "")
    return { name = name or text, type = type_text, optional = optional == "?", text = words }
end

-- `---@return TYPE [name] [text]`; several types separated by commas are several results.
local function read_return(text)
    local type_text, words = split_type(text)
    words = words:gsub("^#%s*", "") -- what is no name
    if words:find "^%.%.%." then
        type_text, words = type_text .. " ...", words:gsub("^%.%.%.%s*", "")
    end
    return { name = "", type = type_text, optional = type_text:find "%?$" ~= nil, text = words }
end

local TAGS = {}
function TAGS.param(block, text)
    block.last = read_param(text)
    table.insert(block.params, block.last)
end
TAGS["return"] = function(block, text)
    block.last = read_return(text)
    table.insert(block.returns, block.last)
end
function TAGS.field(block, text)
    local hidden = text:find "^private%s" or text:find "^protected%s" or text:find "^package%s"
    block.last = read_param(text:gsub("^public%s+", ""))
    if not hidden then table.insert(block.fields, block.last) end
end
function TAGS.class(block, text)
    block.class, block.parent = text:match "^([%w_.]+)%s*:?%s*([%w_.]*)"
    block.last = nil
end

local function new_block()
    return { prose = {}, examples = {}, params = {}, returns = {}, fields = {} }
end

local function finish_paragraph(block)
    if block.paragraph then table.insert(block.prose, block.paragraph) end
    block.paragraph = nil
end

local function read_prose(block, text)
    if block.last then -- goes on with the tag above
        block.last.text = block.last.text == "" and text or block.last.text .. " " .. text
    elseif text:match "^%s*$" then
        finish_paragraph(block)
    else
        if text:match "^%- " then finish_paragraph(block) end
        block.paragraph = block.paragraph and block.paragraph .. " " .. text:gsub("^%s+", "")
            or text
    end
end

local function read_example(block, raw)
    if raw:match "^%s*```" then
        table.insert(block.examples, table.concat(block.example, "\n"))
        block.example = nil
    else -- the fence says whether a space belongs to the `---`
        table.insert(block.example, raw:sub(1, block.margin) == (" "):rep(block.margin)
            and raw:sub(block.margin + 1) or raw)
    end
end

-- One line of a block, without its `---`.
local function read_line(block, raw)
    if block.example then return read_example(block, raw) end
    local text = raw:gsub("^%s", "")
    local tag, rest = text:match "^%s*@(%a+)%s*(.*)$"
    if text:match "^%s*```" then
        finish_paragraph(block)
        block.last, block.example, block.margin = nil, {}, raw:find "^ " and 1 or 0
    elseif tag then
        finish_paragraph(block)
        if TAGS[tag] then TAGS[tag](block, rest) else block.last = nil end
    else
        read_prose(block, text)
    end
end

-- ---- the definition below it --------------------------------------------------------------------

local function words_of(list)
    local words = {}
    for word in list:gmatch "[%w_.]+" do words[#words + 1] = word end
    return words
end

-- name, arguments (of a function) and the name that it repeats (`b` in `a = b`).
local function read_definition(line)
    local name, arguments = line:match "^%s*local function ([%w_]+)%s*%(([^)]*)%)"
    if not name then name, arguments = line:match "^%s*function ([%w_.:]+)%s*%(([^)]*)%)" end
    if not name then name, arguments = line:match "^%s*local ([%w_]+) = function%s*%(([^)]*)%)" end
    if not name then name, arguments = line:match "^%s*([%w_.]+) = function%s*%(([^)]*)%)" end
    if name then
        return name, words_of((arguments:gsub("^_, ", "")))
    end -- of __call, which gets the table first
    local key, value = line:match "^([%a_][%w_.]*) = ([%w_.]+)%s*$"
    if key then return key, nil, value end
    return line:match "^%s*local ([%w_]+)%s*=" or line:match "^([%w_.]+)%s*="
end

local function entry_of(block, line, number)
    local name, arguments, same_as = read_definition(line)
    local owner = name
    if block.class then name = block.class end
    if not name then return nil end
    finish_paragraph(block)
    return {
        name = name, key = name:match "[^.:]+$", line = number, arguments = arguments,
            same_as = same_as,
        owner = block.class and owner, kind = block.class and "class" or arguments and "function"
            or "value",
        parent = block.parent ~= "" and block.parent or nil,
        prose = block.prose, examples = block.examples, params = block.params,
            returns = block.returns, fields = block.fields,
    }
end

-- ---- a source -----------------------------------------------------------------------------------

-- `a.x, a.y = b.z, b.z` names several at once.
local function several_names(line)
    local left, right = line:match "^([%w_., ]+) = ([%w_., ]+)$"
    if not left or not left:find(",", 1, true) then return {} end
    local list, values = {}, words_of(right)
    for i, name in ipairs(words_of(left)) do list[i] = { name = name, value = values[i] } end
    return list
end

---All definitions with annotations above them, in order; and those that repeat another one under a
---new name.
---@param source string
---@return heed.help.Entry[]
function annotations.read(source)
    local list, block, number, section = {}, nil, 0, nil
    for line in (source .. "\n"):gmatch "(.-)\n" do
        number = number + 1
        local text = line:match "^%s*%-%-%-(.*)$"
        if text and not line:match "^%s*%-%-%-%-%-" then -- `---- item` is one of a list
            block = block or new_block()
            read_line(block, text)
        else
            local entry = (block or line:match "^%S+ = [%w_.]+%s*$")
                and entry_of(block or new_block(), line, number)
            if entry and (block or entry.same_as) then
                entry.section = section
                list[#list + 1] = entry
            end
            for _, other in ipairs(several_names(line)) do
                list[#list + 1] = entry_of(new_block(), ("%s = %s"):format(other.name,
                    other.value or "nil"), number)
            end
            block = nil
            section = line:match "^%-%- %-%-%-%- (.-) %-%-+$" or section
        end
    end
    return list
end

---What stands at the top of a source, before anything that it could belong to: what the file is
---for, in paragraphs.
---@param source string
---@return string[]
function annotations.header(source)
    local block = new_block()
    for line in source:gmatch "(.-)\n" do
        local text = line:match "^%-%-%-%s?(.*)$"
        if not text or text:match "^@" and not text:match "^@meta" then break end
        if not text:match "^@" then read_prose(block, text) end
    end
    finish_paragraph(block)
    return block.prose
end

---Short names for types: `---@alias NAME TYPE text`.
---@param source string
---@return heed.help.Param[]
function annotations.aliases(source)
    local list = {}
    for line in (source .. "\n"):gmatch "(.-)\n" do
        local text = line:match "^%-%-%-@alias%s+(.*)$"
        if text then list[#list + 1] = read_param(text) end
    end
    return list
end

return annotations
