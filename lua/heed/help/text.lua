--- Documentation as text for a terminal: the signature, what it means, arguments, results, an
--- example.

local text = {}

local PLAIN = setmetatable({}, { __index = function() return function(s) return s end end })
local COLORED = {
    bold = function(s) return "\27[1m" .. s .. "\27[0m" end,
    dim = function(s) return "\27[2m" .. s .. "\27[0m" end,
    code = function(s) return "\27[36m" .. s .. "\27[0m" end,
}

-- ---- lines --------------------------------------------------------------------------------------

local function width_of(s) return utf8.len(s) or #s end

-- Words of a paragraph in lines of at most `width`, each after `indent`.
local function wrap(paragraph, width, indent, first)
    local lines, line = {}, first or indent
    local empty = true
    for word in paragraph:gmatch "%S+" do
        if not empty and width_of(line) + 1 + width_of(word) > width then
            lines[#lines + 1], line, empty = line, indent, true
        end
        line = empty and line .. word or line .. " " .. word
        empty = false
    end
    lines[#lines + 1] = line
    return table.concat(lines, "\n")
end

---A type without the names of modules: heed.Tensor as Tensor.
---@param name string
---@return string
function text.short_type(name)
    return (name:gsub("heed%.(%u)", "%1"):gsub("heed%.dtype", "dtype"))
end

local short_type = text.short_type

-- A list of `name  type  text`, the texts wrapped in a column of their own.
local function columns(rows, out, width)
    local widest = 0
    for _, r in ipairs(rows) do widest = math.max(widest, width_of(r[1])) end
    widest = math.min(widest, 26)
    for _, r in ipairs(rows) do
        local head = "  " .. r[1] .. (" "):rep(widest - width_of(r[1])) .. "  "
        if width_of(r[1]) > widest then
            out[#out + 1] = "  " .. r[1]
            head = (" "):rep(widest + 4)
        end
        out[#out + 1] = (wrap(r[2], width, (" "):rep(widest + 4), head):gsub("%s+$", ""))
    end
end

-- The fields of a table type, `{ a?: T, b: U }`, in order; nil for any other type.
local function fields_of(type_text)
    local inside = type_text:match "^{%s*(.-)%s*}$"
    if not inside or inside:find "^%[" then return nil end
    local fields, depth, start = {}, 0, 1
    for at = 1, #inside + 1 do
        local c = at > #inside and "," or inside:sub(at, at)
        if c:find "[{(<]" then depth = depth + 1 elseif c:find "[})>]" then depth = depth - 1 end
        if c == "," and depth == 0 then
            local name, optional, kind = inside:sub(start,
                at - 1):match "^%s*([%w_]+)(%??):%s*(.*)$"
            if not name then return nil end
            fields[#fields + 1] = { name = name, optional = optional == "?", type = kind,
                text = "" }
            fields[name], start = fields[#fields], at + 1
        end
    end
    return fields
end

-- The names that a clause begins with and what it says of them: `x, y: labels`, `seed (default 1):
-- of the shuffle`.
local function read_clause(clause)
    local names, default, words = clause:match "^([%w_, ]+)(%b()):%s+(.*)$"
    if not names then names, words = clause:match "^([%w_, ]+):%s+(.*)$" end
    if not names then names, words = clause:match "^([%w_]+)%s+(.*)$" end
    return names and names:gsub("%s+$", ""), default and words .. " " .. default or words
end

-- The fields that are named, or nil where one of them is none.
local function fields_named(names, fields)
    local list = {}
    for name in (names or ""):gmatch "[^,]+" do
        local field = fields[name:match "^%s*(.-)%s*$"]
        if not field then return nil end
        list[#list + 1] = field
    end
    return list[1] and list
end

-- `mask: who may be seen; scale: default 1` belongs to the fields that it names; what names none
-- comes back.
local function give_clauses(text_, fields)
    local rest, last = {}, nil
    for clause in (text_ .. "; "):gmatch "(.-);%s+" do
        local names, words = read_clause(clause)
        local named = fields_named(names, fields)
        if named then
            last = named
            for _, field in ipairs(named) do field.text = words end
        elseif last then
            for _, field in ipairs(last) do field.text = field.text .. "; " .. clause end
        elseif clause ~= "" then
            rest[#rest + 1] = clause
        end
    end
    if #fields == 1 and fields[1].text == "" then -- whose else?
        fields[1].text, rest = table.concat(rest, "; "), {}
    end
    return table.concat(rest, "; ")
end

-- `A|B|{ c?: T }`: what stands besides a table (nil: nothing), and the fields of the table (nil:
-- there is none).
local function split_union(type_text)
    local kept, fields, depth, start = {}, nil, 0, 1
    for at = 1, #type_text + 1 do
        local c = at > #type_text and "|" or type_text:sub(at, at)
        if c:find "[{(<]" then depth = depth + 1 elseif c:find "[})>]" then depth = depth - 1 end
        if c == "|" and depth == 0 then
            local alternative = type_text:sub(start, at - 1):match "^%s*(.-)%s*$"
            local found = fields_of(alternative)
            fields = fields or found
            if not found then kept[#kept + 1] = alternative end
            start = at + 1
        end
    end
    return #kept > 0 and table.concat(kept, "|") or nil, fields
end

-- An option that an earlier argument may take too, or that may be an argument of its own, is said
-- once. (A required argument of its name is something else: the weight of a layer, the weight of
-- each class.)
local function add_fields(list, fields, params, i)
    for _, field in ipairs(fields) do
        local elsewhere = false
        for j, p in ipairs(params) do
            local _, others = split_union(p.type)
            local same = p.name == field.name and (p.optional or j == i)
            elsewhere = elsewhere or same or j > i and others and others[field.name] ~= nil
        end
        if not elsewhere then
            field.inner, field.type = true, short_type(field.type)
            list[#list + 1] = field
        end
    end
end

---Parameters, with the fields of a table of options as parameters of their own (`inner`) after it.
---@param params heed.help.Param[]
---@return heed.help.Param[]
function text.flat(params)
    local list = {}
    for i, p in ipairs(params) do
        local kind, fields = split_union(p.type)
        local words = fields and give_clauses(p.text, fields) or p.text
        list[#list + 1] = { name = p.name, optional = p.optional,
            type = short_type(kind or "table"), text = words }
        if fields then add_fields(list, fields, params, i) end
    end
    return list
end

---The names in the tables of options among parameters, each once, sorted.
---@param params heed.help.Param[]
---@return string[]
function text.option_names(params)
    local seen, names = {}, {}
    for _, p in ipairs(params) do
        local _, fields = split_union(p.type)
        for _, field in ipairs(fields or {}) do
            if not seen[field.name] then names[#names + 1] = field.name end
            seen[field.name] = true
        end
    end
    table.sort(names)
    return names
end

local function described(p)
    return short_type(p.type) .. (p.text ~= "" and "  " .. p.text or "")
end

local function param_rows(params)
    local rows = {}
    for i, p in ipairs(text.flat(params)) do
        rows[i] = { (p.inner and "  " or "") .. p.name .. (p.optional and "?" or ""), described(p) }
    end
    return rows
end

-- Up to the first stop that a new sentence follows: not that of "et al.", nor the colon of "BERT: ".
local function first_sentence(prose)
    local all = prose[1] or ""
    for stop in all:gmatch "()[.:] " do
        local head, rest = all:sub(1, stop), all:sub(stop + 2)
        if (rest:find "^%u" or rest:find "^heed%.") and not head:find "al%.$"
            and not head:find "^%S+:$" then
            return head
        end
    end
    return all
end

-- ---- a definition -------------------------------------------------------------------------------

---`heed.softmax(t, dim?)`: optional arguments marked.
---@param path string
---@param entry heed.help.Entry
---@return string
function text.signature(path, entry)
    local arguments, optional = entry.arguments or {}, {}
    for i, p in ipairs(entry.params) do
        optional[p.name] = p.optional
        if not entry.arguments then arguments[i] = p.name end -- it is made by another function
    end
    if not entry.arguments and #arguments == 0 then return path end
    local names = {}
    for i, name in ipairs(arguments) do
        -- only to refuse what comes there
        local hidden = name == "..." and #entry.params > 0 and optional["..."] == nil
        if not hidden then names[i] = name .. (optional[name] and "?" or "") end
    end
    return ("%s(%s)"):format(path, table.concat(names, ", "))
end

local function add_prose(entry, out, width)
    for _, paragraph in ipairs(entry.prose) do
        out[#out + 1] = ""
        out[#out + 1] = wrap(paragraph, width, "  ")
    end
end

---What the form in place does, if the entry is one.
---@param entry heed.help.Entry
---@return string|nil
function text.in_place(entry)
    if not entry.in_place then return nil end
    return ("In place: writes into %s, whose shape and dtype stay, and returns it. As %s:"):format(
        entry.params[1].name,
        entry.key:sub(1, -2))
end

local function add_definition(entry, out, width)
    if #entry.params > 0 then
        out[#out + 1] = ""
        columns(param_rows(entry.params), out, width)
    end
    for i, r in ipairs(entry.returns) do
        if i == 1 then out[#out + 1] = "" end
        out[#out + 1] = wrap(short_type(r.type) .. (r.text ~= "" and "  " .. r.text or ""), width,
            "       ", "  ->  ")
    end
end

-- As at the prompt; what it prints below it where the line is too long for both.
local function add_examples(entry, out, width, style)
    for _, example in ipairs(entry.examples) do
        out[#out + 1] = ""
        for line in (example .. "\n"):gmatch "(.-)\n" do
            local code, result = line:match "^(.-)%s+(%-%-> .*)$"
            if code and width_of(line) + 4 > width then
                out[#out + 1] = "  " .. style.code("> " .. code)
                out[#out + 1] = wrap(result, width, "      ", "   ")
            else
                out[#out + 1] = "  " .. style.code("> " .. line)
            end
        end
    end
end

local function method(entries, name)
    for _, entry in ipairs(entries or {}) do
        if entry.name:match(":" .. name .. "$") then return entry end
    end
end

-- The methods of tensors are functions of heed too, and many: their names alone.
local function add_method_names(doc, out, width)
    local names = {}
    for _, entry in ipairs(doc.methods) do names[#names + 1] = entry.key end
    table.sort(names)
    out[#out + 1] = wrap(table.concat(names, " "), width, "  ")
    out[#out + 1] = "\n  t:f(...) is heed.f(t, ...): help(heed.softmax) says more"
end

local function add_methods(doc, out, width, style)
    local rows = {}
    for _, entry in ipairs(doc.methods or {}) do
        if entry.key ~= "init" and entry.key ~= "forward" and not entry.key:find "^_" then
            local result = entry.returns[1]
            local words = entry.prose[1] and first_sentence(entry.prose) or result and "-> "
                .. described(result) or ""
            rows[#rows + 1] = { text.signature(":" .. entry.key, entry), words }
        end
    end
    if #rows == 0 then return end
    out[#out + 1] = "\n" .. style.bold "methods"
    if #rows > 60 then add_method_names(doc, out, width) else columns(rows, out, width) end
end

local function add_class(doc, out, width, style)
    local class, init, forward = doc.path:match "[^.]+$", method(doc.methods, "init"),
        method(doc.methods, "forward")
    add_prose(doc.entry, out, width)
    if init then
        out[#out + 1] = "\n" .. style.bold(text.signature(doc.path, init))
        add_prose(init, out, width)
        add_definition(init, out, width)
    end
    if forward then
        out[#out + 1] = "\n" .. style.bold(text.signature(class:lower(), forward))
        add_prose(forward, out, width)
        add_definition(forward, out, width)
    end
    if #doc.entry.fields > 0 then
        out[#out + 1] = "\n" .. style.bold "fields"
        columns(param_rows(doc.entry.fields), out, width)
    end
    add_methods(doc, out, width, style)
    if doc.entry.parent and doc.entry.parent:find "%." then
        out[#out + 1] = "\n  " .. style.dim("and what every " .. doc.entry.parent .. " has")
    end
    add_examples(doc.entry, out, width, style)
end

local function member_rows(doc, wanted)
    local rows = {}
    for _, member in ipairs(doc.members or {}) do
        local words = member.prose and first_sentence(member.prose) or member.entry
            and first_sentence(member.entry.prose) or ""
        if (member.kind == "module") == wanted then
            rows[#rows + 1] = { member.path:match "[^.]+$", words }
        end
    end
    return rows
end

-- Tables of functions, then functions: many of these by their names alone.
local function add_members(doc, out, width, style)
    local tables, functions = member_rows(doc, true), member_rows(doc, false)
    for _, rows in ipairs { tables, functions } do
        if #rows > 0 then out[#out + 1] = "" end
        if #rows > 60 then
            local names = {}
            for i, r in ipairs(rows) do names[i] = r[1] end
            out[#out + 1] = wrap(table.concat(names, " "), width, "  ")
        else
            columns(rows, out, width)
        end
    end
    out[#out + 1] = "\n  " .. style.dim("help(%s.NAME) says more"):format(doc.path)
end

---Names, and what each is in a sentence.
---@param title string
---@param docs heed.help.Doc[]
---@param options { width?: integer, color?: boolean }
---@return string
function text.list(title, docs, options)
    local width, style = math.max(40, math.min(options.width or 80, 110)), options.color and COLORED
        or PLAIN
    local rows, out = {}, { style.bold(title), "" }
    for i, doc in ipairs(docs) do
        local prose = doc.entry and doc.entry.prose or doc.prose
        rows[i] = { doc.path, prose and first_sentence(prose) or "" }
    end
    columns(rows, out, width)
    return table.concat(out, "\n")
end

---The whole of it.
---@param doc heed.help.Doc
---@param options { width?: integer, color?: boolean }
---@return string
function text.render(doc, options)
    local width, style = math.max(40, math.min(options.width or 80, 110)), options.color and COLORED
        or PLAIN
    local entry, out = doc.entry, {}
    out[1] = style.bold(entry and doc.kind == "function" and text.signature(doc.path, entry)
        or doc.path)
    for _, paragraph in ipairs(doc.prose or {}) do
        out[#out + 1] = "\n" .. wrap(paragraph, width, "  ")
    end
    if doc.kind == "class" and entry then
        add_class(doc, out, width, style)
    elseif entry then
        if entry.in_place then out[#out + 1] = "\n" .. wrap(text.in_place(entry), width, "  ") end
        add_prose(entry, out, width)
        add_definition(entry, out, width)
        if doc.made then add_methods(doc.made, out, width, style) end
        add_examples(entry, out, width, style)
    end
    if doc.kind == "module" then add_members(doc, out, width, style) end
    return (table.concat(out, "\n"))
end

return text
