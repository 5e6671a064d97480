--- The filters by name. Each is given the machine, the value before the bar and the arguments.

local filters = {}

for _, some in ipairs {
    require "heed.text.template.filters.choosing",
    require "heed.text.template.filters.lists",
    require "heed.text.template.filters.numbers",
    (require "heed.text.template.filters.texts"),
} do
    for name, filter in pairs(some) do filters[name] = filter end
end

return filters
