--- What a person says of a picture: a title above it and a caption below, and what the picture
--- itself has to say of what it could not draw.

local check = require "heed.check"
local svg = require "heed.viz.svg"
local width = require "heed.viz.width"

local captions = { MARGIN = 16 }

local MARGIN, LINE = captions.MARGIN, 16
local LETTER = 0.55 -- of a font's size, about, where letters differ in width

-- A text without control characters.
local function clean(text) return (table.concat((width.characters(text)))) end

---@param where string
---@param options table
---@return string? title
---@return string? caption
function captions.of(where, options)
    return options.title ~= nil and check.type(where, "title", options.title, "string") or nil,
        options.caption ~= nil and check.type(where, "caption", options.caption, "string") or nil
end

-- The words in lines of so many columns; a longer word has a line of its own.
local function wrapped(text, columns)
    local lines, line, used = {}, {}, 0
    for word in clean(text):gmatch "%S+" do
        local taken = width.of(word)
        if used > 0 and used + 1 + taken > columns then
            lines[#lines + 1] = table.concat(line, " ")
            line, used = {}, 0
        end
        line[#line + 1], used = word, used + (used > 0 and 1 or 0) + taken
    end
    if used > 0 then lines[#lines + 1] = table.concat(line, " ") end
    return lines
end

-- What stands below the picture, in lines.
local function below(picture, columns)
    local lines = picture.caption and wrapped(picture.caption, columns) or {}
    if picture.note then lines[#lines + 1] = picture.note end
    return lines
end

-- ---- in the terminal ----------------------------------------------------------------------------

---The picture's lines between its title and its caption.
---@param picture table
---@param lines string[]
---@param gap? boolean an empty line below the title
---@return string
function captions.text(picture, lines, gap)
    local all = {}
    if picture.title then all[1] = clean(picture.title) end
    if picture.title and gap then all[2] = "" end
    table.move(lines, 1, #lines, #all + 1, all)
    local last = below(picture, picture.width)
    table.move(last, 1, #last, #all + 1, all)
    return table.concat(all, "\n")
end

-- ---- as SVG -------------------------------------------------------------------------------------

---Puts the title into a drawing's body.
---@param picture table
---@param titled boolean whether it stands inside
---@param body table[]
---@return number top where the picture begins
function captions.above(picture, titled, body)
    if not (titled and picture.title) then return MARGIN end
    body[#body + 1] = svg.text(MARGIN, MARGIN + svg.TITLE_SIZE, picture.title,
        "heed-title heed-ink")
    return MARGIN + svg.TITLE_SIZE + 14
end

---Puts the caption below a drawing, which is made as wide as its title needs.
---@param picture table
---@param titled boolean
---@param body table[]
---@param right number how wide it is so far
---@param bottom number and how high
---@return { width: number, height: number }
function captions.around(picture, titled, body, right, bottom)
    local title = titled and picture.title and width.of(picture.title) * svg.TITLE_SIZE * 0.62 or 0
    right = math.max(right, 2 * MARGIN + title)
    local lines = below(picture, math.max(24, (right - 2 * MARGIN) // (svg.FONT_SIZE * LETTER)))
    for i, line in ipairs(lines) do
        body[#body + 1] = svg.text(MARGIN, bottom + 6 + i * LINE, line, "heed-faint")
        right = math.max(right, 2 * MARGIN + width.of(line) * svg.FONT_SIZE * LETTER)
    end
    return { width = right, height = bottom + (#lines > 0 and #lines * LINE + 8 or 0) }
end

return captions
