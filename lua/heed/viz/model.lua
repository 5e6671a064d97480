--- The attention of a whole model as one picture: under each module's path its heads as small
--- multiples.

local captions = require "heed.viz.captions"
local check = require "heed.check"
local errors = require "heed.errors"
local matrices = require "heed.viz.matrices"
local panels = require "heed.viz.panels"
local Picture = require "heed.viz.picture"
local scale = require "heed.viz.scale"
local svg = require "heed.viz.svg"
local terminal = require "heed.viz.terminal"
local width = require "heed.viz.width"

local WHERE = matrices.WHERE
-- In the terminal: lines of panels, and names of modules that have no room in them.
local MOST_LINES, MOST_NAMES = 60, 20

---@class heed.viz.ModelAttention: heed.viz.Attention
---@field private parts { heading: string, picture: heed.viz.Attention, shape: string }[]
local Model = Picture.class(WHERE)

-- ---- what is drawn ------------------------------------------------------------------------------

-- Which side's words a module's queries and keys are, by the names that our stacks give their
-- parts.
local function sides_of(path)
    local of_decoder = ("." .. path):find(".decoder.", 1, true) ~= nil
    if path:find "multihead_attn$" then return "tgt", "src" end
    if of_decoder then return "tgt", "tgt" end
    return "src", "src"
end

-- Labels by path are for paths that there are.
local function check_paths(name, labels, weights)
    if type(labels) ~= "table" then return end
    for path in pairs(labels) do
        if type(path) == "string" and not weights[path] then
            errors.raise("heed.viz.attention: %s: nothing was captured of a module %s", name, path)
        end
    end
end

-- A list of labels as it was given, whole; nil if there is none for this path.
local function given(options, name, path, side)
    local labels = options[name]
    if type(labels) == "table" and #labels == 0 then labels = labels[path] end
    if labels == nil then
        name, labels = side, options[side]
    end
    if labels == nil then return nil end
    if type(labels) == "string" then return name, (width.characters(labels)) end
    return name, check.type(WHERE, name, labels, "table")
end

local function counted(name, labels, count, path)
    if name and #labels ~= count then
        errors.raise("heed.viz.attention: %s: expected %d labels for %s, got %d", name, count, path,
            #labels)
    end
    return labels
end

-- Labels of the queries that were captured: of some rows only theirs.
local function query_labels(name, labels, rows, count, path)
    if not rows then return counted(name, labels, count, path) end
    local chosen = {}
    for i, row in ipairs(rows) do
        local label = name and labels[row < 0 and #labels + 1 + row or row] or nil
        if name and label == nil then
            errors.raise("heed.viz.attention: %s: expected a label for row %d of %s, got %d labels",
                name, row, path, #labels)
        end
        chosen[i] = label or row
    end
    return chosen
end

-- Of a batch one sequence, [H, L, S]; and what to say of that.
local function one_sequence(weights, batch)
    batch = check.integer(WHERE, "batch", batch or 1, 1)
    if weights:dim() < 4 then return weights, "" end
    local count = weights:size(1)
    if batch > count then
        errors.raise("heed.viz.attention: batch: expected at most %d, got %d", count, batch)
    end
    return weights[batch], count > 1 and (", sequence %d of %d"):format(batch, count) or ""
end

local function head_titles(heads, count)
    local titles = {}
    for h = 1, count do titles[h] = ("head %d"):format(heads and heads[h] or h) end
    return titles
end

local function part_of(path, weights, seen, options)
    local matrix, note = one_sequence(weights, options.batch)
    local query_side, key_side = sides_of(path)
    local y_name, y = given(options, "y", path, query_side)
    local x_name, x = given(options, "x", path, key_side)
    local picture = matrices.new(matrix, {
        y = query_labels(y_name, y, seen.rows, matrix:size(-2), path),
        x = counted(x_name, x, matrix:size(-1), path),
        panels = head_titles(seen.heads, matrix:size(1)), width = options.width, max = options.max,
        small = true,
    })
    return { heading = (path == "" and "attention" or path) .. note, picture = picture,
        shape = tostring(matrix.shape) }
end

---The picture of what a capture holds.
---@param weights heed.Capture
---@param seen { paths: string[], heads?: integer[], rows?: integer[] } what it is of
---@param options table known to be the options of heed.viz.attention
---@return heed.viz.ModelAttention
local function model(weights, seen, options)
    check_paths("x", options.x, weights)
    check_paths("y", options.y, weights)
    local parts = {}
    for _, path in ipairs(seen.paths) do
        if weights[path] then parts[#parts + 1] = part_of(path, weights[path], seen, options) end
    end
    if #parts == 0 then
        errors.raise("heed.viz.attention: weights: expected a capture of a model that has run, "
            .. "got an empty one")
    end
    local title, caption = captions.of(WHERE, options)
    return setmetatable({
        parts = parts,
        title = title, caption = caption,
        width = check.integer(WHERE, "width", options.width or terminal.COLUMNS),
        max = options.max or 1,
    }, Model)
end

-- ---- in the terminal ----------------------------------------------------------------------------

-- A module's lines; nil when they are too many or too wide.
local function block(self, part, room)
    local lines = { part.heading, "" }
    if #part.picture.y > room or 2 * #part.picture.x > self.width then return nil end
    for line in (tostring(part.picture) .. "\n"):gmatch "(.-)\n" do
        if width.of(line) > self.width then return nil end
        lines[#lines + 1] = line
    end
    lines[#lines + 1] = ""
    return #lines <= room and lines or nil
end

-- The names of the modules from here on, and where to see them.
local function named(parts, from, lines)
    local last = math.min(#parts, from + MOST_NAMES - 1)
    for p = from, last do
        lines[#lines + 1] = ("%s  %s"):format(parts[p].heading, parts[p].shape)
    end
    if last < #parts then lines[#lines + 1] = ("... and %d more"):format(#parts - last) end
    lines[#lines + 1] = "(:html(path) and :svg(path) show all)"
end

function Model:__tostring()
    local lines, room = {}, MOST_LINES - (self.title and 2 or 0)
    for p, part in ipairs(self.parts) do
        local more = block(self, part, room - #lines)
        if not more then
            named(self.parts, p, lines)
            break
        end
        table.move(more, 1, #more, #lines + 1, lines)
    end
    if lines[#lines] == "" then lines[#lines] = nil end
    return captions.text(self, lines, true)
end

-- ---- as SVG and HTML ----------------------------------------------------------------------------

local MARGIN, LEGEND_HEIGHT, HEADING_SIZE, SECTION_GAP = 16, 34, 14, 12

local function title_of(self) return self.title or "Attention of a model" end

local function sections(self, live)
    local body, right = panels.legend(scale.weights(self.max), MARGIN, 12, false,
        not self.caption and panels.SIDES or nil)
    local size = captions.around(self, false, body, right + MARGIN, LEGEND_HEIGHT - 6)
    local list = { { drawing = { width = size.width, height = size.height + 6, title = "Legend",
        body = body } } }
    for _, part in ipairs(self.parts) do
        local drawing = part.picture:draw(false, live)
        drawing.title = part.heading
        list[#list + 1] = { heading = part.heading, drawing = drawing }
    end
    return list
end

function Model:sections() return title_of(self), sections(self, true) end

-- The sections of the page below one another.
function Model:draw(titled)
    local title = title_of(self)
    local body, y, widest = {}, MARGIN, 0
    if titled and self.title then
        body[1] = svg.text(MARGIN, y + svg.TITLE_SIZE, title, "heed-title heed-ink")
        widest, y = 2 * MARGIN + width.of(title) * svg.TITLE_SIZE * 0.62, y + svg.TITLE_SIZE + 6
    end
    for _, section in ipairs(sections(self)) do
        if section.heading then
            y = y + SECTION_GAP + HEADING_SIZE
            body[#body + 1] = svg.text(MARGIN, y, section.heading, "heed-title heed-ink")
            widest = math.max(widest, 2 * MARGIN + width.of(section.heading) * HEADING_SIZE * 0.62)
        end
        local place = { "transform", ("translate(0 %s)"):format(svg.number(y)) }
        body[#body + 1] = svg.element("g", place, section.drawing.body)
        widest, y = math.max(widest, section.drawing.width), y + section.drawing.height
    end
    return { width = widest, height = y, title = title, body = body }
end

return model
