--- The API pages: the annotations of everything public, as Markdown. `cmake --build build --target api-pages` writes them again.

local core = require "heed.core"
local index = require "heed.help.index"
local text = require "heed.help.text"

local pages = {}

-- Which modules' definitions stand on which page. A name covers what lies below it; the longest that fits wins.
local PAGES = {
    { file = "tensors", title = "Tensors", about = "Everything here is both a function and a method: `heed.softmax(t, 2)` is "
        .. "`t:softmax(2)`. Dimensions, indices and tokens count from 1.", "heed.types" },
    { file = "autograd", title = "Gradients", "heed.autograd" },
    { file = "nn", title = "Layers and models", "heed.nn", "heed.capture" },
    { file = "attention", title = "Attention and masks", "heed.attention", "heed.mask" },
    { file = "training", title = "Losses, optimisers, files", "heed.loss", "heed.optim", "heed.checkpoint", "heed.safetensors",
        "heed.progress", "heed.training", "heed.npy" },
    { file = "data", title = "Data and text", "heed.data", "heed.text" },
    { file = "seeing", title = "Seeing, testing, asking", "heed.viz", "heed.luassert", "heed.info", "heed.help" },
}

local function page_of(module)
    local best, length = nil, -1
    for _, page in ipairs(PAGES) do
        for _, name in ipairs(page) do
            local fits = module == name or module:sub(1, #name + 1) == name .. "."
            if fits and #name > length then best, length = page, #name end
        end
    end
    return best
end

-- ---- what is public ------------------------------------------------------------------------------------------------

---Every public function and class with its annotations (or without: `entry` nil), each once, in the order of its source.
---@return heed.help.Doc[]
function pages.public()
    local list, seen = {}, {}
    local function visit(doc)
        if doc.kind == "function" or doc.kind == "class" then
            local id = doc.entry and doc.entry.module .. ":" .. doc.entry.name or doc.path
            if not seen[id] then list[#list + 1], seen[id] = doc, true end
        end
        if doc.kind == "module" and doc.entry and not seen[doc.path] then list[#list + 1], seen[doc.path] = doc, true end
        for _, member in ipairs(doc.members or {}) do visit(member) end
    end
    visit(index.tree())
    for _, made in ipairs { index.lookup "Tensor" } do list[#list + 1] = made end
    return list
end

local function in_source_order(a, b)
    if not (a.entry and b.entry) then return a.path < b.path end
    if a.entry.module ~= b.entry.module then return a.entry.module < b.entry.module end
    return a.entry.line < b.entry.line
end

-- ---- Markdown ------------------------------------------------------------------------------------------------------

local function add_params(out, params)
    for _, p in ipairs(text.flat(params)) do
        local name = ("%s- `%s`"):format(p.inner and "  " or "", p.name .. (p.optional and "?" or ""))
        local words = p.type ~= "" and (" `%s`"):format(p.type) or ""
        out[#out + 1] = name .. words .. (p.text ~= "" and ": " .. p.text or "")
    end
end

local function add_returns(out, returns)
    for _, r in ipairs(returns) do
        out[#out + 1] = ("- returns `%s`%s"):format(r.type:gsub("heed%.Tensor", "Tensor"), r.text ~= "" and " " .. r.text or "")
    end
end

local function add_body(out, entry)
    for _, paragraph in ipairs(entry.prose) do
        out[#out + 1] = paragraph
        out[#out + 1] = ""
    end
    local before = #out
    add_params(out, entry.params)
    add_returns(out, entry.returns)
    if #out > before then out[#out + 1] = "" end
end

local function add_examples(out, entry)
    for _, example in ipairs(entry.examples) do
        out[#out + 1] = "```lua\n" .. example .. "\n```\n"
    end
end

local function add_methods(out, doc)
    local class = doc.path:match "[^.]+$"
    for _, m in ipairs(doc.methods or {}) do
        if not m.key:find "^_" and m.key ~= "extra" then
            local call = m.key == "init" and doc.path or m.key == "forward" and class:lower() or class:lower() .. ":" .. m.key
            out[#out + 1] = ("#### `%s`\n"):format(text.signature(call, m))
            add_body(out, m)
            add_examples(out, m)
        end
    end
end

local function add_class(out, doc)
    if #doc.entry.fields > 0 then
        out[#out + 1] = "Fields:\n"
        add_params(out, doc.entry.fields)
        out[#out + 1] = ""
    end
    add_examples(out, doc.entry)
    if doc.path ~= "heed.Tensor" then add_methods(out, doc) end
end

-- `shown`: the classes whose methods stand on this page already.
local function add_doc(out, doc, shown)
    local entry = doc.entry
    out[#out + 1] = ("### `%s`\n"):format(doc.kind == "class" and doc.path or text.signature(doc.path, entry))
    if doc.kind == "class" then
        for _, paragraph in ipairs(entry.prose) do out[#out + 1] = paragraph .. "\n" end
        add_class(out, doc)
    else
        add_body(out, entry)
        add_examples(out, entry)
        if doc.made and not shown[doc.made.path] then
            shown[doc.made.path] = true
            add_methods(out, doc.made)
        end
    end
end

local function heading_of(doc)
    return doc.entry.section or doc.entry.module:gsub("^heed%.types%.", ""):gsub("^heed%.", "")
end

local function page_text(page, docs)
    table.sort(docs, in_source_order)
    local out, heading, shown = { "# " .. page.title .. "\n" }, nil, {}
    if page.about then out[#out + 1] = page.about .. "\n" end
    for _, doc in ipairs(docs) do
        if heading_of(doc) ~= heading then
            heading = heading_of(doc)
            out[#out + 1] = ("## %s\n"):format(heading)
        end
        add_doc(out, doc, shown)
    end
    return (table.concat(out, "\n"):gsub("\n\n\n+", "\n\n"):gsub("%s+$", "\n"))
end

---Writes all pages into a folder.
---@param folder string
---@return true|nil
---@return string? message
function pages.write(folder)
    for name, contents in pairs(pages.all()) do
        local ok, message = core.replace_file(folder .. "/" .. name, contents)
        if not ok then return nil, message end
    end
    return true
end

---All pages: file name (without folder) to text.
---@return table<string, string>
function pages.all()
    local docs, result = {}, {}
    for _, doc in ipairs(pages.public()) do
        local page = doc.entry and page_of(doc.entry.module)
        if page then
            docs[page] = docs[page] or {}
            table.insert(docs[page], doc)
        end
    end
    for _, page in ipairs(PAGES) do
        if docs[page] then result[page.file .. ".md"] = page_text(page, docs[page]) end
    end
    return result
end

return pages
