--- The API pages: the annotations of everything public, as Markdown. `cmake --build build --target
--- api-pages` writes them again.

local core = require "heed.core"
local index = require "heed.help.index"
local text = require "heed.help.text"

local pages = {}

-- Which modules' definitions stand on which page, in the order in which one reads them. A name
-- covers what lies below it; the longest that fits wins.
local PAGES = {
    { file = "tensors", title = "Tensors", "heed.types", "heed.composed" },
    { file = "autograd", title = "Gradients as functions", "heed.autograd" },
    { file = "nn", title = "Layers and models", "heed.nn.module", "heed.nn.linear",
        "heed.nn.embedding", "heed.nn.positions",
        "heed.nn.rotary", "heed.nn.norm", "heed.nn.activation", "heed.nn.dropout",
            "heed.nn.recurrent", "heed.nn.attention", "heed.nn.feed_forward",
        "heed.nn.encoder_layer", "heed.nn.decoder_layer", "heed.nn.encoder", "heed.nn.decoder",
            "heed.nn.transformer",
        "heed.nn.sequential", "heed.nn.module_list", "heed.nn.module_dict", "heed.nn",
            "heed.nn.initial", "heed.capture" },
    { file = "attention", title = "Attention and masks", "heed.attention", "heed.mask" },
    { file = "generation", title = "Generation", "heed.generate" },
    { file = "training", title = "Losses, optimisers, metrics, progress", "heed.loss",
        "heed.optim.sgd", "heed.optim.adam", "heed.optim.rmsprop", "heed.optim.lion",
        "heed.optim.optimizer", "heed.optim.gradients", "heed.optim", "heed.optim.schedule",
        "heed.metrics", "heed.progress", "heed.interrupts" },
    { file = "files", title = "Files", "heed.checkpoint", "heed.safetensors", "heed.npy",
        "heed.npz", "heed.gguf", "heed.image", "heed.json" },
    { file = "audio", title = "Sound", "heed.audio", "heed.audio.mel", "heed.audio.stft",
        "heed.audio.speech" },
    { file = "data", title = "Data and text", "heed.data", "heed.text" },
    { file = "models", title = "Other people's models", "heed.models" },
    { file = "seeing", title = "Seeing, testing, asking", "heed.viz", "heed.types.luassert",
        "heed.help", "heed.info" },
}

-- The page of a module, and its place there.
local function page_of(module)
    local best, place, length = nil, 0, -1
    for _, page in ipairs(PAGES) do
        for i, name in ipairs(page) do
            local fits = module == name or module:sub(1, #name + 1) == name .. "."
            if fits and #name > length then best, place, length = page, i, #name end
        end
    end
    return best, place
end

-- ---- what is public -----------------------------------------------------------------------------

---Every public function and class with its annotations (or without: `entry` nil), each once, by its
---shortest name.
---@return heed.help.Doc[]
function pages.public()
    local list, seen = {}, {}
    local function add(doc)
        local entry = doc.entry
        local id = entry and ("%s:%s"):format(entry.module, entry.name) or doc.path
        local before = seen[id]
        if not before then
            list[#list + 1], seen[id] = doc, #list + 1
        elseif #doc.path < #list[before].path then
            list[before] = doc
        end
    end
    local function add_made(doc)
        for _, made in ipairs(index.made_by(doc)) do
            local known = seen[made.entry.module .. ":" .. made.entry.name]
            add(made)
            if not known then add_made(made) end
        end
    end
    local function visit(doc)
        if doc.kind ~= "module" or doc.entry then add(doc) end
        add_made(doc)
        for _, member in ipairs(doc.members or {}) do visit(member) end
    end
    visit(index.tree())
    for _, doc in ipairs(index.exports("heed.help", "heed.")) do add(doc) end
    for _, doc in ipairs(index.exports("heed.types.luassert", "")) do add(doc) end
    for _, doc in ipairs(index.core_classes()) do add(doc) end
    return list
end

-- A class that functions make instances of: it is described after these.
local function is_made(doc) return doc.kind == "class" and doc.value == nil end

local function in_reading_order(a, b)
    local x, y = a.entry, b.entry
    if x.module ~= y.module then
        local _, place_x = page_of(x.module)
        local _, place_y = page_of(y.module)
        if place_x ~= place_y then return place_x < place_y end
        local stub_x, stub_y = index.stub_number(x.module), index.stub_number(y.module)
        if stub_x ~= stub_y then return stub_x < stub_y end
        return x.module < y.module
    end
    if is_made(a) ~= is_made(b) then return is_made(b) end
    return x.line < y.line
end

-- ---- Markdown -----------------------------------------------------------------------------------

local function add_params(out, params)
    for _, p in ipairs(text.flat(params)) do
        local name = ("%s- `%s`"):format(p.inner and "  " or "",
            p.name .. (p.optional and "?" or ""))
        local words = p.type ~= "" and (" `%s`"):format(p.type) or ""
        out[#out + 1] = name .. words .. (p.text ~= "" and ": " .. p.text or "")
    end
end

local function add_returns(out, returns)
    for _, r in ipairs(returns) do
        out[#out + 1] = ("- returns `%s`%s"):format(text.short_type(r.type),
            r.text ~= "" and ": " .. r.text or "")
    end
end

local function add_paragraphs(out, paragraphs)
    for _, paragraph in ipairs(paragraphs) do
        out[#out + 1] = paragraph
        out[#out + 1] = ""
    end
end

local function add_examples(out, entry)
    for _, example in ipairs(entry.examples) do
        out[#out + 1] = "```lua\n" .. example .. "\n```\n"
    end
end

-- What a function does, takes and gives, and how it looks.
local function add_body(out, entry)
    add_paragraphs(out, entry.prose)
    local before = #out
    add_params(out, entry.params)
    add_returns(out, entry.returns)
    if #out > before then out[#out + 1] = "" end
    add_examples(out, entry)
end

local function method(doc, key)
    for _, m in ipairs(doc.methods or {}) do
        if m.key == key then return m end
    end
end

-- `linear(x)`, `optimizer:step()`
local function call_of(doc, m)
    local class = doc.path:match "[^.]+$":lower()
    return text.signature(m.key == "forward" and class or class .. ":" .. m.key, m)
end

local function add_methods(out, doc)
    for _, m in ipairs(doc.methods or {}) do
        if m.key ~= "init" and m.key ~= "forward" then
            out[#out + 1] = ("#### `%s`\n"):format(call_of(doc, m))
            add_body(out, m)
        end
    end
end

-- Of tensors the methods stand in the sections of the page; what is a method only, here.
local function own_methods(doc)
    if doc.path ~= "heed.Tensor" then return doc end
    local list = {}
    for _, m in ipairs(doc.methods) do
        if m.name:find "^Tensor:" then list[#list + 1] = m end
    end
    return { path = doc.path, methods = list }
end

local function add_class(out, doc)
    local init, forward = method(doc, "init"), method(doc, "forward")
    add_paragraphs(out, doc.entry.prose)
    if init then add_body(out, init) end
    if forward then
        out[#out + 1] = ("Called as `%s`:\n"):format(call_of(doc, forward))
        add_body(out, forward)
    end
    if #doc.entry.fields > 0 then
        out[#out + 1] = "Fields:\n"
        add_params(out, doc.entry.fields)
        out[#out + 1] = ""
    end
    add_examples(out, doc.entry)
    add_methods(out, own_methods(doc))
end

-- Of a class, how one makes an instance.
local function title_of(doc)
    local init = doc.kind == "class" and method(doc, "init")
    if init then return text.signature(doc.path, init) end
    return doc.kind == "class" and doc.path or text.signature(doc.path, doc.entry)
end

local function add_doc(out, doc, in_place)
    out[#out + 1] = ("### `%s`\n"):format(title_of(doc))
    if in_place then out[#out + 1] = ("In place: `t:%s(...)`.\n"):format(in_place) end
    if doc.kind == "class" then add_class(out, doc) else add_body(out, doc.entry) end
end

-- ---- pages --------------------------------------------------------------------------------------

local function is_public_table(path)
    local value = require "heed"
    for key in path:gsub("^heed", ""):gmatch "[%w_]+" do
        value = type(value) == "table" and value[key]
    end
    return type(value) == "table"
end

-- What a definition stands under: of functions of the core the subject, which is the title of the
-- stub; of others the table that has it. And what is said of that.
local function section_of(doc)
    local module = doc.entry.module
    local header = index.header(module)
    if module:find "^heed%.types%." or module == "heed.composed" then
        return header[1]:gsub("%.$", ""), { table.unpack(header, 2) }
    end
    local parent, deep = doc.path, doc.path:find "%..*%." ~= nil
    if is_public_table(module) and (doc.kind == "class" or not deep) or doc.kind == "class"
        and not deep then
        parent = module
    elseif doc.kind ~= "module" and deep then
        parent = parent:match "^(.*)%.[^.]+$"
    end
    return parent, index.header(parent)
end

-- Names of types that are not written out where they occur.
local function add_aliases(out)
    out[#out + 1] = "Names of types:\n"
    for _, alias in ipairs(index.aliases()) do
        if alias.text ~= "" then
            out[#out + 1] = ("- `%s`, `%s`: %s"):format(text.short_type(alias.name),
                text.short_type(alias.type), alias.text)
        end
    end
    out[#out + 1] = ""
end

local function page_text(page, docs)
    local out, section, in_place = { "# " .. page.title .. "\n" }, nil, {}
    for _, doc in ipairs(docs) do
        if doc.entry.in_place then in_place[doc.path:sub(1, -2)] = doc.entry.key end
    end
    for _, doc in ipairs(docs) do
        local name, intro = section_of(doc)
        if name ~= section and not doc.entry.in_place then
            section = name
            out[#out + 1] = ("## %s\n"):format(name)
            add_paragraphs(out, intro)
            if doc.path == "heed.Tensor" then add_aliases(out) end
        end
        if not doc.entry.in_place then add_doc(out, doc, in_place[doc.path]) end
    end
    return (table.concat(out, "\n"):gsub("\n\n\n+", "\n\n"):gsub("%s+$", "\n"))
end

-- The address of a heading inside its page, as GitHub makes it.
local function anchor_of(title)
    return (title:lower():gsub("[^%w_%- ]", ""):gsub(" ", "-"))
end

local function contents(result)
    local out = { "# The API\n", "Made from the annotations in the sources, which "
        .. "`help(heed.softmax)` shows at the prompt too.\n" }
    for _, page in ipairs(result) do
        local section
        out[#out + 1] = ("## [%s](%s.md)\n"):format(page.title, page.file)
        for _, doc in ipairs(page.docs) do
            local name = section_of(doc)
            if not doc.entry.in_place then
                local link = ("[%s](%s.md#%s)"):format(doc.path:gsub("^heed%.", ""), page.file,
                    anchor_of(title_of(doc)))
                if name ~= section then
                    section = name
                    out[#out + 1] = ("- %s: %s"):format(name, link)
                else
                    out[#out] = out[#out] .. ", " .. link
                end
            end
        end
        out[#out + 1] = ""
    end
    return (table.concat(out, "\n"):gsub("%s+$", "\n"))
end

-- The pages with what stands on each, in order.
local function collect()
    local docs, list = {}, {}
    for _, doc in ipairs(pages.public()) do
        local page = doc.entry and page_of(doc.entry.module)
        if page then
            docs[page] = docs[page] or {}
            table.insert(docs[page], doc)
        end
    end
    for _, page in ipairs(PAGES) do
        if docs[page] then
            table.sort(docs[page], in_reading_order)
            list[#list + 1] = { title = page.title, file = page.file, docs = docs[page] }
        end
    end
    return list
end

---All pages: file name (without folder) to text.
---@return table<string, string>
function pages.all()
    local list, result = collect(), {}
    for _, page in ipairs(list) do result[page.file .. ".md"] = page_text(page, page.docs) end
    result["README.md"] = contents(list)
    return result
end

-- ---- layers as functions ------------------------------------------------------------------------

local STUB_HEADER = [[
---@meta _
--- What calling a class of layers gives, and what calling a layer. Written from the annotations of init and forward, with the pages.

---@class heed.nn
]]

-- `nn.Linear(3, 2)` is a heed.nn.Linear.
local function field_line(doc, name)
    local parameters, init = {}, method(doc, "init")
    for i, p in ipairs(init and init.params or {}) do
        parameters[i] = ("%s%s: %s"):format(p.name, p.optional and "?" or "", p.written)
    end
    return ("---@field %s fun(%s): %s\n"):format(name, table.concat(parameters, ", "), doc.path)
end

-- And called it gives a tensor.
local function call_lines(doc)
    local forward = method(doc, "forward")
    local first, result = forward and forward.params[1], forward and forward.returns[1]
    if not (first and result) then return nil end
    return ("\n---@class %s\n---@operator call(%s): %s\n"):format(doc.path, first.written,
        result.type)
end

---The stub that tells language servers what layers are as functions.
---@return string
function pages.layers()
    local fields, calls = {}, {}
    for _, doc in ipairs(pages.public()) do
        local name = doc.kind == "class" and doc.path:match "^heed%.nn%.(%w+)$"
        if name and name ~= "Module" then
            fields[#fields + 1] = field_line(doc, name)
            calls[#calls + 1] = call_lines(doc)
        end
    end
    table.sort(fields)
    table.sort(calls)
    return STUB_HEADER .. table.concat(fields) .. table.concat(calls)
end

---Writes all pages into a folder.
---@param folder string
---@return true|nil
---@return string? message
function pages.write(folder)
    for name, page in pairs(pages.all()) do
        local ok, message = core.replace_file(folder .. "/" .. name, page)
        if not ok then return nil, message end
    end
    return true
end

---Writes the stub of pages.layers.
---@param path string
---@return true|nil
---@return string? message
function pages.write_layers(path) return core.replace_file(path, pages.layers()) end

return pages
