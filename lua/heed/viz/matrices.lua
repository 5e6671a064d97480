--- The picture of matrices: a row and a column of cells for each label, the darker the more; a
--- panel for each matrix. heed.viz.attention and heed.viz.heatmap are such.

local captions = require "heed.viz.captions"
local check = require "heed.check"
local errors = require "heed.errors"
local panels = require "heed.viz.panels"
local Picture = require "heed.viz.picture"
local scale = require "heed.viz.scale"
local terminal = require "heed.viz.terminal"
local width = require "heed.viz.width"

local WHERE = "heed.viz.attention"
local LONGEST_LABEL = panels.LONGEST_LABEL

---What heed.viz.attention gives: it prints, and goes out as SVG, HTML and PNG.
---@class heed.viz.Attention: heed.viz.Picture
---@field private panels table[]
---@field private title string?
---@field private caption string?
---@field private sides string? what rows and columns are to each other
---@field private kind string what the picture is called where it has no title
---@field private width integer
---@field private scale heed.viz.Scale
---@field private numbers boolean? whether cells say their numbers
---@field private colour boolean? whether the terminal has colours
---@field private small boolean?
---@field private y string[]
---@field private x string[]
local Attention = Picture.class(WHERE)

local matrices = { WHERE = WHERE }

-- ---- what is drawn ------------------------------------------------------------------------------

-- A list of { rows = [L][S] numbers, title }; one panel alone has no title of its own.
local function panels_of(weights)
    if not check.is_live(weights) or weights.dtype == "bool" then
        errors.raise("heed.viz.attention: weights: expected a tensor of numbers, got %s",
            check.describe(weights))
    end
    local dims = weights:dim()
    if dims == 2 then return { { rows = weights:totable() } } end
    if dims ~= 3 and dims ~= 4 then
        errors.raise("%s: weights: expected [L, S], [H, L, S] or [B, H, L, S], got %s", WHERE,
            tostring(weights.shape))
    end
    local batches = dims == 4 and weights:totable() or { weights:totable() }
    local list = {}
    for b, heads in ipairs(batches) do
        for h, rows in ipairs(heads) do
            local title = ("head %d"):format(h)
            list[#list + 1] = { rows = rows, title = #batches > 1 and ("%d, %s"):format(b, title)
                or title }
        end
    end
    if #list == 1 then list[1].title = nil end
    return list
end

---Labels as texts, as many as there must be; their numbers where there are none.
---@param where string
---@param name string of the option
---@param labels string[]|string|nil
---@param count integer
---@return string[]
function matrices.labels(where, name, labels, count)
    local texts = {}
    if labels == nil then
        for i = 1, count do texts[i] = tostring(i) end
        return texts
    end
    if type(labels) == "string" then labels = width.characters(labels) end
    check.type(where, name, labels, "table")
    if #labels ~= count then
        errors.raise("%s: %s: expected %d labels, got %d", where, name, count, #labels)
    end
    for i, label in ipairs(labels) do texts[i] = tostring(label) end
    return texts
end

---Gives panels the titles of the option, if there are any.
---@param where string
---@param list table[]
---@param titles string[]|nil
function matrices.name_panels(where, list, titles)
    if titles == nil then return end
    for i, title in ipairs(matrices.labels(where, "panels", titles, #list)) do
        list[i].title = title
    end
end

---The picture of options that are known to be ones.
---@param weights heed.Tensor [L, S], [H, L, S] or [B, H, L, S]
---@param options { x?: string[]|string, y?: string[]|string, title?: string, caption?: string, panels?: string[], width?: integer,
---max?: number, small?: boolean } small: one of many pictures on a page, so several panels a row
---and no legend
---@return heed.viz.Attention
function matrices.new(weights, options)
    local list = panels_of(weights)
    matrices.name_panels(WHERE, list, options.panels)
    local title, caption = captions.of(WHERE, options)
    return setmetatable({
        panels = list,
        x = matrices.labels(WHERE, "x", options.x, weights:size(-1)),
        y = matrices.labels(WHERE, "y", options.y, weights:size(-2)),
        title = title, caption = caption, sides = not caption and panels.SIDES or nil,
        kind = "Attention weights",
        width = check.integer(WHERE, "width", options.width or terminal.COLUMNS),
        scale = scale.weights(check.number(WHERE, "max", options.max or 1, 1e-30)),
        small = options.small,
    }, Attention)
end

-- ---- in the terminal ----------------------------------------------------------------------------

-- Below 1/8 is blank, then a shade for each quarter. Where there are no colours, numbers below 0
-- have shades of their own.
local SHADES = { [0] = "  ", "░░", "▒▒", "▓▓", "██" }
local NEGATIVE = { [0] = "  ", "··", "──", "══", "≡≡" }
local WIDEST_CELL = 12
local FEWEST_DIGITS = 2 -- of numbers, where there is little space
local BLUE, RED, PLAIN = "\27[34m", "\27[31m", "\27[0m"

-- A number as this picture says it, shortened where it has a form.
local function text_of(self, value)
    local form = self.form
    if not form then return self.scale:text(value, self.digits) end
    return self.scale:short(value, form.digits, form.bare)
end

-- A cell's text in so many columns.
local function cell(self, value, columns)
    local strength, negative = self.scale:level(value)
    local step = strength and math.floor(strength * 4 + 0.5)
    local shade = not strength and "??" or (negative and not self.colour and NEGATIVE
        or SHADES)[step]
    if not self.numbers then return shade, step, negative end
    local text = width.fit(text_of(self, value), columns - 1, true)
    return text .. (strength and shade:sub(1, #shade // 2) or " "), step, negative
end

-- A row of cells, runs of one colour in one.
local function cells(self, row, columns)
    local parts, colour_before = {}, nil
    for j, value in ipairs(row) do
        local text, step, negative = cell(self, value, columns)
        local colour = self.colour and self.scale.diverging and step and step > 0
            and (negative and RED or BLUE) or nil
        if colour ~= colour_before then
            text = (colour_before and PLAIN or "") .. (colour or "") .. text
        end
        parts[j], colour_before = text, colour
    end
    return table.concat(parts) .. (colour_before and PLAIN or "")
end

local function widest_of(labels)
    local widest = 0
    for _, label in ipairs(labels) do widest = math.max(widest, width.of(label)) end
    return widest
end

-- Columns that the widest number needs, a blank before it and its shade behind it.
local function number_columns(self)
    local most = 2
    for _, panel in ipairs(self.panels) do
        for _, row in ipairs(panel.rows) do
            for _, value in ipairs(row) do most = math.max(most, #text_of(self, value) + 2) end
        end
    end
    return most
end

-- Columns of a cell: two, or as many as its number needs; a few more where the labels then fit
-- above.
local function cell_columns(self, indent)
    if not self.numbers then return 2 end
    local most = number_columns(self)
    local label = widest_of(self.x) + 2
    return label <= WIDEST_CELL and indent + 1 + label * #self.x <= self.width
        and math.max(most, label) or most
end

-- The labels of the columns, read from top to bottom, or, where they fit, from left to right.
local function header(labels, indent, columns)
    if columns > 2 and widest_of(labels) < columns then
        local texts = {}
        for i, label in ipairs(labels) do texts[i] = width.fit(label, columns - 1, true) .. " " end
        return { (" "):rep(indent) .. table.concat(texts) }
    end
    local marks, height = {}, 0
    for i, label in ipairs(labels) do
        local characters, taken = width.characters(label)
        if #characters > LONGEST_LABEL then
            characters[LONGEST_LABEL] = "…"
            taken[LONGEST_LABEL] = 1
        end
        marks[i] = { characters = characters, taken = taken,
            height = math.min(#characters, LONGEST_LABEL) }
        height = math.max(height, marks[i].height)
    end
    local lines = {}
    for row = 1, height do
        local parts = {}
        for i, mark in ipairs(marks) do
            local at = row - (height - mark.height)
            local text = at < 1 and "  " or mark.characters[at] .. (" "):rep(2 - mark.taken[at])
            parts[i] = (" "):rep(columns - 2) .. text
        end
        lines[row] = (" "):rep(indent) .. table.concat(parts)
    end
    return lines
end

-- The lines of one panel.
local function block(self, panel, indent, columns)
    local lines = panel.title and { panel.title } or {}
    local above = header(self.x, indent + 1, columns)
    table.move(above, 1, #above, #lines + 1, lines)
    for i, row in ipairs(panel.rows) do
        local text = width.fit(self.y[i], indent, true) .. " " .. cells(self, row, columns)
        lines[#lines + 1] = self.colour and { text, indent + 1 + #row * columns } or text
    end
    return lines
end

-- What the shades of numbers below and above 0 are.
local function legend(self)
    local below, above = {}, {}
    for step = 4, 1, -1 do below[#below + 1] = (self.colour and SHADES or NEGATIVE)[step] end
    for step = 1, 4 do above[step] = SHADES[step] end
    local left, right = table.concat(below), table.concat(above)
    if self.colour then left, right = RED .. left .. PLAIN, BLUE .. right .. PLAIN end
    return ("%s %s 0 %s %s"):format(scale.bound(self.scale.low), left, right,
        scale.bound(self.scale.high))
end

-- How numbers may be said, the longest first: as they are, then shorter.
local function forms_of(digits)
    local forms = { false }
    for fewer = (digits or 4) - 1, FEWEST_DIGITS, -1 do forms[#forms + 1] = { digits = fewer } end
    forms[#forms + 1] = { digits = math.min(digits or FEWEST_DIGITS, FEWEST_DIGITS), bare = true }
    return forms
end

---The picture with its numbers so short that all columns fit into its width; if they do not, without
---numbers, and it says so.
---@param self heed.viz.Heatmap
---@return heed.viz.Heatmap
function matrices.fitted(self)
    if not self.numbers then return self end
    local beside, needed = math.min(widest_of(self.y), LONGEST_LABEL) + 1, nil
    for _, form in ipairs(forms_of(self.digits)) do
        local picture = setmetatable({ form = form }, { __index = self })
        needed = beside + number_columns(picture) * #self.x
        if needed <= self.width then return picture end
    end
    local note = ("numbers are left out: they need width = %d"):format(needed)
    return setmetatable({ numbers = false, note = note }, { __index = self })
end

---How many columns of a matrix fit into the picture's width.
---@param self heed.viz.Attention
---@return integer
function matrices.most_columns(self)
    local indent = math.min(widest_of(self.y), LONGEST_LABEL)
    return math.max(1, (self.width - indent - 1) // cell_columns(self, indent))
end

---What a picture of matrices prints.
---@param self heed.viz.Attention
---@return string
function matrices.text(self)
    local indent, blocks = math.min(widest_of(self.y), LONGEST_LABEL), {}
    local columns = cell_columns(self, indent)
    for p, panel in ipairs(self.panels) do blocks[p] = block(self, panel, indent, columns) end
    local lines = terminal.beside(blocks, self.width)
    if self.scale.diverging then
        lines[#lines + 1] = ""
        lines[#lines + 1] = legend(self)
    end
    return captions.text(self, lines, true)
end

Attention.__tostring = matrices.text

-- ---- as SVG, HTML and PNG -----------------------------------------------------------------------

-- The picture as a drawing of heed.viz.svg.
function Attention:draw(titled, live) return panels.draw(self, titled, live) end

return matrices
