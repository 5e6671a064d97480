--- A page of drawings: one HTML file that needs no other, light or dark as the reader's screen is.

local pointer = require "heed.viz.pointer"
local svg = require "heed.viz.svg"

local STYLE = table.concat {
    ":root{color-scheme:light dark}body{margin:0;padding:24px;background:#fff;color:#1c2128;",
    "font:15px/1.45 ui-sans-serif,system-ui,'DejaVu Sans','Noto Sans',sans-serif}",
    "h1{font-size:20px;margin:0 0 16px}h2{font-size:16px;margin:28px 0 8px}",
    "figure{margin:0 -16px;overflow-x:auto}",
    "@media(prefers-color-scheme:dark){body{background:#14171b;color:#e5e8ec}}",
}

---@param title string
---@param sections { heading?: string, drawing: table }[] drawings of heed.viz.svg, in order
---@return string html
local function page(title, sections)
    local parts = {
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        ("<title>%s</title>\n<style>%s%s%s</style>\n</head>\n<body>\n"):format(svg.escape(title),
            STYLE, svg.STYLE, pointer.STYLE),
        ("<h1>%s</h1>\n"):format(svg.escape(title)),
    }
    local live = false
    for _, section in ipairs(sections) do
        live = live or section.drawing.words ~= nil
        if section.heading then
            parts[#parts + 1] = ("<h2>%s</h2>\n"):format(svg.escape(section.heading))
        end
        parts[#parts + 1] = ("<figure>\n%s</figure>\n"):format(svg.render(section.drawing))
    end
    if live then parts[#parts + 1] = ("<script>\n%s</script>\n"):format(pointer.SCRIPT) end
    parts[#parts + 1] = "</body>\n</html>\n"
    return table.concat(parts)
end

return page
