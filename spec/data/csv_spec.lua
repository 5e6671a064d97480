--- data.csv: quotes of every kind, headers, types, what is missing, errors that name the line,
--- going on, columns and batches. spec/data/csv_python_spec.lua holds it against Python's reader.

local data = require "heed.data"
local files = require "spec.data.files"
local heed = require "heed"
local locale = require "spec.support.locale"

local function open(content, options) return assert(data.csv(files.write(content), options)) end

-- All rows, as lists of texts.
local function texts(text, options)
    options = options or {}
    options.header, options.types = false, "string"
    local list = {}
    for row in open(text, options) do list[#list + 1] = row end
    return list
end

local function refused(text, options)
    local rows, message = data.csv(files.write(text), options)
    if rows then
        local ok
        ok, message = pcall(files.pass, rows)
        assert.is_false(ok)
        local columns, again = rows:columns()
        assert.is_nil(columns)
        assert.is_truthy(message:find(again, 1, true))
    end
    return message
end

describe("data.csv reads fields", function()
    teardown(files.remove)

    it("plain, quoted, empty, and with what quotes are for", function()
        for _, case in ipairs {
            { "a,b\n", { { "a", "b" } } }, { "a,b", { { "a", "b" } } },
                { "a\n\nb\n", { { "a" }, { "b" } } },
            { "a,b\r\nc,d\r\n", { { "a", "b" }, { "c", "d" } } }, { "\r\na\r\n\r\n", { { "a" } } },
            { ",,\n", { { "", "", "" } } }, { '""\n', { { "" } } }, { '"",""\n', { { "", "" } } },
            { '"a","b"\r\n', { { "a", "b" } } }, { '"a"', { { "a" } } },
            { '"a,b",c\n', { { "a,b", "c" } } }, { '"say ""x""",c\n', { { 'say "x"', "c" } } },
            { '""""\n', { { '"' } } }, { '"""",""""""\n', { { '"', '""' } } },
            { '"a\nb",c\nd,e\n', { { "a\nb", "c" }, { "d", "e" } } },
            { '"a\r\nb\n\n",c\n', { { "a\r\nb\n\n", "c" } } }, { '"\n"\n', { { "\n" } } },
            { 'a"b,c""d\n', { { 'a"b', 'c""d' } } }, { ' "a",b\n', { { ' "a"', "b" } } },
            { " a , b \n", { { " a ", " b " } } }, { "\xEF\xBB\xBFa\n", { { "a" } } },
            { '\xEF\xBB\xBF"a,b"\n', { { "a,b" } } }, { "a\rb,c\n", { { "a\rb", "c" } } },
            { "a\0b,é\n", { { "a\0b", "é" } } }, { "", {} }, { "\n\n", {} },
        } do
            if case[1]:find "[^\n]" then
                assert.same(case[2], texts(case[1]), ("%q"):format(case[1]))
            end
        end
    end)

    it("between other delimiters", function()
        assert.same({ { "a,b", "c" } }, texts("a,b;c\n", { delimiter = ";" }))
        assert.same({ { "a\tb", "c" } }, texts('"a\tb"\tc\n', { delimiter = "\t" }))
        assert.same({ { "a.b", "c" } }, texts('a.b|c\n', { delimiter = "|" }))
        assert.same({ { "a", "b" } }, texts('a.b\n', { delimiter = "." }))
        for _, wrong in ipairs { "", ",,", '"', "\n" } do
            assert.error_matches(function() data.csv(files.write "a\n", { delimiter = wrong }) end,
                "delimiter: expected one character")
        end
    end)

    it("with blanks around fields, which are text, or are passed over", function()
        local text = '0, "a, b"\n 1 ,\t"c" \n2,d e \n'
        assert.same({ { "0", "a, b" }, { "1", "c" }, { "2", "d e" } }, texts(text, { trim = true }))
        assert.same({ { "", "" }, { "x", " y " } }, texts(' , \r\n x," y "\r\n', { trim = true }))
        assert.same({ { " a", ' "b"' } }, texts(' a, "b"\n'))
        assert.same({ { "a", "", "b" } }, texts("a \t\t b\n", { trim = true, delimiter = "\t" }))
        assert.same({ { "a", "", "b" } }, texts('a  \t"b"\n', { trim = true, delimiter = " " }))
        local columns = assert(open("a, b\n1, 2.5\n", { trim = true }):columns())
        assert.equal(2.5, columns.b[1])
        assert.error_matches(function() open("x", { trim = 1 }) end,
            "trim: expected a boolean, got 1")
    end)

    it("and says how blanks before and behind quotes are passed over", function()
        assert.matches(":2: expected 2 fields, got 3; a quote behind a blank is text, as in RFC "
            .. "4180: trim = true passes over blanks$", refused 'a,b\n0, "a, b"\n')
        assert.matches(':2: field 1: expected a delimiter after the quote, got " "; trim = true',
            refused 'a,b\n"0" ,1\n')
        assert.matches("expected 2 fields, got 3$", refused "a,b\n0, a, b\n")
        assert.matches("expected 2 fields, got 3$", refused('a,b\n0, "a", b\n', { trim = true }))
        assert.error_matches(function() data.csv("x", { sep = ";" }) end, "did you mean delimiter")
    end)

    it("of any length up to max_line, whatever the blocks of the file", function()
        for _, length in ipairs { 65534, 65535, 65536, 65537, 200000 } do
            local field = ("x\n"):rep(length // 2)
            assert.same({ { field, "y" } }, texts('"' .. field .. '",y\n'))
        end
        assert.matches(":1: a field of more than 100 bytes %(max_line%): is a quote missing?",
            refused('a,"b\n' .. ("c\n"):rep(100), { header = false, max_line = 100 }))
    end)

    it("of records that end anywhere in a block of the file", function()
        for _, before in ipairs { 65530, 65531, 65532, 65533, 65534, 65535, 65536 } do
            for _, ending in ipairs { "\n", "\r\n" } do
                local first = ("x"):rep(before - 2 - #ending)
                assert.same({ { first, "" }, { 'a"\r\nb', "c" }, { "", "d" } }, texts(first .. ","
                    .. ending .. '"a""\r\nb",c' .. ending .. ending .. ",d"))
                assert.same({ { first, "" }, { "", "d" } }, texts(first .. "," .. ending .. ",d",
                    { max_line = #first + 1 }))
            end
        end
    end)

    it("and names the line of what is none", function()
        assert.matches(':2: field 2: expected a delimiter after the quote, got "c"',
            refused('a,b\n1,"b"c\n'))
        assert.matches(":4: a quoted field without an end", refused('a\n"x\ny"\n"z\n\n'))
        assert.matches(":3: expected 2 fields, got 3", refused("a,b\n1,2\n1,2,3\n"))
        assert.matches(":5: expected 2 fields, got 1", refused('a,b\n1,"\n2"\n\n1\n'))
        local late = { "a,b" }
        for i = 1, 1500 do late[#late + 1] = i .. ",2" end
        late[#late + 1] = "x"
        assert.matches(":1502: expected 2 fields, got 1", refused(files.text(late)))
    end)
end)

describe("data.csv names and types columns:", function()
    teardown(files.remove)

    it("by the header, by a list, or by numbers", function()
        assert.same({ { a = 1, b = "x" } }, files.pass(open "a,b\n1,x\n"))
        assert.same({ { p = 1, q = "x" } }, files.pass(open("1,x\n", { header = { "p", "q" } })))
        assert.same({ { 1, "x" } }, files.pass(open("1,x\n", { header = false })))
        local rows = open("a note\n\n,b\n1,2\n", { skip = 2 })
        assert.same({ "column_1", "b" }, rows.names)
        assert.same({ { column_1 = 1, b = 2 } }, files.pass(rows))
        assert.matches(':1: two columns are called "a"; skip = 1', refused "a,a\n1,2\n")
        assert.same({ { a = 1, b = 2 } }, files.pass(open("a,a\n1,2\n",
            { skip = 1, header = { "a", "b" } })))
        assert.matches("expected a header, the file is empty", refused "")
        assert.matches("expected a header, the file is empty", refused "\n")
        assert.same({}, files.pass(open "a,b\n"))
    end)

    it("guessed", function()
        local rows = open("i,n,s,m,c,none,e\n1,1,a,3,007,,1e3\n-2,2.5,1,,12,NA,-.5\n"
            .. "+3,inf,,NA,1,,5.\n")
        assert.same({ i = "integer", n = "number", s = "string", m = "number", c = "string",
            none = "string", e = "number" }, rows.types)
        local list = files.pass(rows)
        assert.same({ 1, 1.0, "a", 3.0, "007", "", 1000.0 }, { list[1].i, list[1].n, list[1].s,
            list[1].m, list[1].c, list[1].none, list[1].e })
        assert.equal("float", math.type(list[1].m))
        assert.equal("integer", math.type(list[3].i))
        assert.is_true(list[2].m ~= list[2].m and list[3].m ~= list[3].m)
        assert.equal(math.huge, list[3].n)
        assert.equal("NA", list[2].none)
        for _, field in ipairs { "0x10", "1,5", "1e", "--1", "1 2", "9223372036854775808x", "e5",
            "." } do
            assert.equal("string", open(('a\n"%s"\n'):format(field)).types.a, field)
        end
        assert.same({ { 1, -3, 5 } }, files.pass(open("1e-3e5\n", { header = false,
            delimiter = "e" })))
        local long = "2." .. ("3"):rep(30)
        assert.same({ { tonumber(long), 0.7 } }, files.pass(open(long .. "e.7\n",
            { header = false, delimiter = "e" })))
        assert.equal("integer", open("a\n 5 \n").types.a)
        assert.equal("number", open("a\n9223372036854775808\n").types.a)
    end)

    it("as they are given", function()
        local rows = open("a,b\n1,2\n3,4\n", { types = { a = "string", b = "number" } })
        assert.same({ { a = "1", b = 2.0 }, { a = "3", b = 4.0 } }, files.pass(rows))
        assert.same({ { "1", "2" } },
            files.pass(open("1,2\n", { header = false, types = "string" })))
        assert.same({ { 1, "2" } }, files.pass(open("1,2\n",
            { header = false, types = { [2] = "string" } })))
        assert.error_matches(function() open("a\n1\n", { types = { b = "number" } }) end,
            'types: there is no column "b"')
        assert.error_matches(function() open("a\n1\n", { types = { a = "float" } }) end,
            'types.a: expected "integer", "number" or "string", got "float"')
        assert.error_matches(function() open("a\n1\n", { types = "int" }) end, "types: expected")
    end)

    it("and names the line of a field that is of another", function()
        assert.matches(':3: column a: expected an integer, got "x"$',
            refused("a\n1\nx\n", { types = "integer" }))
        assert.matches(':3: column a: expected an integer, got ""; a column of type number takes '
            .. 'it as NaN',
            refused("a,b\n1,1\n,1\n", { types = "integer" }))
        local late = { "a" }
        for i = 1, 1200 do late[#late + 1] = i end
        late[#late + 1] = "2.5"
        assert.matches(':1202: column a: expected an integer, got "2.5"; by the first rows it is '
            .. 'one: '
            .. 'give types, { %["a"%] = "string" } or "number"', refused(files.text(late)))
    end)

    it("with what else is missing", function()
        local rows = open("a,b\n1,?\n?,x\n", { missing = { "?" } })
        assert.same({ a = "number", b = "string" }, rows.types)
        local list = files.pass(rows)
        assert.equal("?", list[1].b)
        assert.is_true(list[2].a ~= list[2].a)
        rows = open("a,b\n-999,1\n5, -999 \n", { missing = { "-999" } })
        assert.same({ a = "number", b = "number" }, rows.types)
        list = files.pass(rows)
        assert.is_true(list[1].a ~= list[1].a and list[2].b ~= list[2].b)
        assert.same({ 5, 1 }, { list[2].a, list[1].b })
        assert.is_true(rows:columns().a:isnan():equal(heed.tensor { true, false }))
        assert.error_matches(function() open("a\n", { missing = "?" }) end,
            "missing: expected a table")
        assert.error_matches(function() open("a\n", { missing = { 1 } }) end,
            "missing%[1%]: expected")
    end)
end)

describe("data.csv as a stream", function()
    teardown(files.remove)
    local lines = { "n,text" }
    for i = 1, 300 do lines[#lines + 1] = ('%d,"line %d\nand ""more"""'):format(i, i) end
    local text = files.text(lines)

    it("gives all rows in each pass, shuffled or not, and goes on where it was", function()
        for _, shuffle in ipairs { 0, 20 } do
            local rows = open(text, { shuffle = shuffle, seed = 5 })
            local path = rows.sources[1].path
            local seen, sum = 0, 0
            for row in rows do
                assert.equal(("line %d\nand \"more\""):format(row.n), row.text)
                seen, sum = seen + 1, sum + row.n
            end
            assert.equal(300, seen)
            assert.equal(45150, sum)
            for _, given in ipairs { 0, 1, 150, 299, 300 } do
                local first = assert(data.csv(path, { shuffle = shuffle, seed = 5 }))
                local other = assert(data.csv(path, { shuffle = shuffle }))
                files.take(first, given)
                files.take(other, 3)
                other:load_state_dict(first:state_dict())
                assert.same(files.take(first, 350), files.take(other, 350))
            end
            for _ in rows do break end -- luacheck: ignore 512
            assert.equal(300, #files.pass(rows))
        end
    end)

    it("holds the buffer, and no more", function()
        local long = files.write("a,b\n" .. ("1234567," .. ("x"):rep(90) .. "\n"):rep(20000))
        local before, most = files.held(), 0
        local rows, count = assert(data.csv(long)), 0
        for _ in rows do
            count = count + 1
            if count % 4000 == 0 then most = math.max(most, files.held() - before) end
        end
        assert.equal(20000, count)
        assert.is_true(most < 4 * 65536, most .. " bytes held")
    end)

    it("has as many columns as the file has", function()
        for _, count in ipairs { 63, 64, 65, 300 } do
            local names, first, second = {}, {}, {}
            for i = 1, count do names[i], first[i], second[i] = "c" .. i, i, i + 0.5 end
            local content = table.concat(names, ",") .. "\n" .. table.concat(first, ",") .. "\n"
                .. table.concat(second, ",") .. "\n"
            local list = files.pass(open(content))
            assert.equal(2, #list)
            for i = 1, count do assert.equal(i + 0.5, list[2]["c" .. i]) end
            local both = open(content):tensor()
            assert.same({ first, second }, both:totable())
            assert.matches(("column c%d: expected a number, got \"x\"\"y\"$"):format(count),
                (refused(content .. ("1,"):rep(count - 1) .. '"x""y"', { types = "number" })
                    :gsub('\\"', '""')))
        end
    end)

    it("reads numbers in a locale whose point is a comma", function()
        local output = locale.with_comma [[
            local path = os.tmpname()
            local file <close> = assert(io.open(path, "w"))
            file:write "a,b\n1.5,0.1000000000000000055511151231257827\n2,1e-30\n"
            file:flush()
            local columns = require "heed".data.csv(path):columns { dtype = "f64" }
            print(columns.a[1] * 2 == 3, columns.b[1] * 10 == 1, columns.b[2] * 10^30 == 1)
            os.remove(path)]]
        if not output then return pending "this machine cannot make the locale" end
        assert.equal("true\ttrue\ttrue\n", output)
    end)

    it("makes columns and a tensor of all rows, wherever it stands", function()
        local rows = open "a,b,c\n1,2.5,x\n2,,y\n3,-1,z\n"
        rows()
        local columns = assert(rows:columns())
        assert.same({ 1, 2, 3 }, columns.a:totable())
        assert.equal("i64", columns.a.dtype)
        assert.equal("f32", columns.b.dtype)
        assert.same({ "x", "y", "z" }, columns.c)
        assert.is_true(columns.b:isnan():equal(heed.tensor { false, true, false }))
        assert.equal("f64", rows:columns({ dtype = "f64" }).b.dtype)
        assert.same({ { -1, 3 } }, rows:tensor({ "b", "a" })[{ { 3, 3 }, {} }]:totable())
        assert.equal("[3, 2]", tostring(rows:tensor().shape))
        assert.equal("f64", rows:tensor(nil, { dtype = "f64" }).dtype)
        assert.same({ a = 2, c = "y" }, (function()
            local row = rows() row.b = nil return row
        end)())
        assert.error_matches(function() rows:tensor { "c" } end, 'got "c", a column of text')
        assert.error_matches(function() rows:tensor { "d" } end, 'got "d", which is no column')
        assert.error_matches(function() open("s\nx\n"):tensor() end, "no column of numbers")
        local none = open "a,b\n"
        assert.same({}, none:columns().a)
        local exact = open("a\n9007199254740993\n"):columns().a
        assert.equal(9007199254740993, exact[1])
        local many = {}
        for i = 1, 10000 do many[i] = i end
        local column = open("a\n" .. files.text(many)):columns().a
        assert.equal(50005000, column:sum():item())
    end)

    it("is examples of batches, and its columns are", function()
        local rows = open "label,text\nspam,Win now\nham,See you\nham,Hi\n"
        local classes = { ham = 1, spam = 2 }
        local sizes = 0
        for batch in data.batches(rows, { size = 2, encode = function(row)
            return { label = classes[row.label], text = { row.text:byte(1, -1) } }
        end }) do
            assert.equal(batch.size, batch.label:size(1))
            assert.equal(batch.size, batch.text:size(1))
            sizes = sizes + batch.size
        end
        assert.equal(3, sizes)
        local numbers = open "x,y,class\n1,2,1\n3,4,2\n5,,1\n"
        for batch in data.batches(numbers, { size = 3 }) do
            assert.same({ 1, 2, 1 }, batch.class:totable())
            assert.equal("f32", batch.y.dtype)
        end
        local columns = numbers:columns()
        for batch in data.batches({ x = numbers:tensor { "x", "y" }, y = columns.class },
            { size = 3 }) do
            assert.equal("[3, 2]", tostring(batch.x.shape))
        end
    end)

    it("says nil and why where there is no such file", function()
        local rows, message = data.csv "nowhere.csv"
        assert.is_nil(rows)
        assert.equal("nowhere.csv: No such file or directory", message)
        assert.is_nil((data.csv "/"))
        assert.error_matches(function() data.csv("x", { sep = ";" }) end,
            'there is no option "sep"')
        assert.error_matches(function() data.csv(files.write "a", { skip = -1 }) end,
            "skip: expected an integer of at least 0")
    end)

    it("reads a pipe once, told what its columns are", function()
        local path = os.tmpname()
        os.remove(path)
        assert(os.execute("mkfifo " .. path))
        local function feed(content)
            os.execute(("printf '%s' > %s &"):format(content, path))
        end
        feed "a,b\\n1,x\\n2,y\\n"
        local rows = assert(data.csv(path, { types = { a = "integer", b = "string" } }))
        assert.same({ { a = 1, b = "x" }, { a = 2, b = "y" } }, files.take(rows, 2))
        rows:close()
        feed "a,b\\n1,x\\n"
        local none, message = data.csv(path)
        assert.is_nil(none)
        assert.matches("a pipe is read once, not to guess by: give types", message)
        os.remove(path)
    end)
end)
