--- Dates as people write them, with their ISO 8601 form: an endless parallel corpus.
local dates = {}

local MONTHS = { "January", "February", "March", "April", "May", "June", "July", "August",
    "September", "October",
    "November", "December" }
local DAYS = { "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday" }

local FIRST_YEAR, LAST_YEAR = 1900, 2099

local function month_length(year, month)
    if month == 2 then
        local leap = year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
        return leap and 29 or 28
    end
    return (month == 4 or month == 6 or month == 9 or month == 11) and 30 or 31
end

--- Every day of the years 1900 to 2099, in order: { year, month, day, weekday } (Sunday is 1).
function dates.all()
    local list, weekday = {}, 2 -- 1 January 1900 was a Monday
    for year = FIRST_YEAR, LAST_YEAR do
        for month = 1, 12 do
            for day = 1, month_length(year, month) do
                list[#list + 1] = { year = year, month = month, day = day, weekday = weekday }
                weekday = weekday % 7 + 1
            end
        end
    end
    return list
end

local function ordinal(day)
    local last, teen = day % 10, day // 10 == 1
    local suffix = teen and "th" or last == 1 and "st" or last == 2 and "nd" or last == 3 and "rd"
        or "th"
    return day .. suffix
end

local function names(d)
    local month, weekday = MONTHS[d.month], DAYS[d.weekday]
    return month, month:sub(1, 3), weekday, weekday:sub(1, 3)
end

--- One way to write a date each; the comment shows 3 March 1987.
dates.forms = {
    function(d)
        return ("%d %s %d"):format(d.day, MONTHS[d.month], d.year)
    end,            -- 3 March 1987
    function(d)
        return ("%s %d, %d"):format(MONTHS[d.month], d.day, d.year)
    end,           -- March 3, 1987
    function(d)
        return ("the %s of %s, %d"):format(ordinal(d.day), MONTHS[d.month], d.year)
    end, -- the 3rd of March, 1987
    function(d)
        local m, _, w = names(d) return ("%s, %s %d, %d"):format(w, m, d.day, d.year)
    end, -- Tuesday, March 3, 1987
    function(d)
        local _, m = names(d) return ("%d %s %d"):format(d.day, m, d.year)
    end,    -- 3 Mar 1987
    function(d)
        local _, m = names(d) return ("%s %s %d"):format(m, ordinal(d.day), d.year)
    end, -- Mar 3rd 1987
    function(d)
        return ("%02d/%02d/%d"):format(d.day, d.month, d.year)
    end,                -- 03/03/1987 (day first)
    function(d)
        return ("%d.%d.%d"):format(d.day, d.month, d.year)
    end,                    -- 3.3.1987
    function(d)
        return ("%d/%02d/%02d"):format(d.year, d.month, d.day)
    end,                -- 1987/03/03
    function(d)
        local _, m, _, w = names(d) return ("%s %d %s %d"):format(w, d.day, m, d.year)
    end, -- Tue 3 Mar 1987
    function(d)
        return ("%s the %s, %d"):format(MONTHS[d.month], ordinal(d.day), d.year)
    end, -- March the 3rd, 1987
    function(d)
        local _, m = names(d) return ("%d-%s-%d"):format(d.day, m:upper(), d.year)
    end, -- 3-MAR-1987
    function(d)
        local m, _, w = names(d) return ("%s %d %s %d"):format(w, d.day, m, d.year):lower()
    end, -- tuesday 3 march 1987
    function(d)
        return ("%d %s %d"):format(d.year, MONTHS[d.month], d.day)
    end,            -- 1987 March 3
}

--- "1987-03-03"
function dates.iso(d) return ("%04d-%02d-%02d"):format(d.year, d.month, d.day) end

--- Pairs for training and testing whose days are disjoint: the test set is drawn once, training
--- pairs without end.
--- @param heed table the toolkit (for its random numbers)
--- @param seed integer
--- @param test_size integer days kept for the test
--- @return fun(count: integer): table[] draw training pairs { source, target }
--- @return table[] the test pairs
function dates.split(heed, seed, test_size)
    local generator = heed.generator(seed)
    local days = dates.all()
    local order = heed.randperm(#days, { generator = generator }):totable()

    local function pair(day, form)
        return { dates.forms[form](day), dates.iso(day) }
    end

    local function draw(count, first, last)
        local which = heed.randint(first, last, count, { generator = generator }):totable()
        local forms = heed.randint(1, #dates.forms, count, { generator = generator }):totable()
        local list = {}
        for i = 1, count do list[i] = pair(days[order[which[i]]], forms[i]) end
        return list
    end

    local test, forms = {}, heed.randint(1, #dates.forms, test_size,
        { generator = generator }):totable()
    for i = 1, test_size do test[i] = pair(days[order[i]], forms[i]) end
    return function(count) return draw(count, test_size + 1, #days) end, test
end

return dates
