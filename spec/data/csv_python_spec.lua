--- The records of CSV texts are those that Python's csv module reads, strictly
--- (spec/fixtures/record_csv.py); HEED_CSV_CASES names another recording.

local core = require "heed.core"
local data = require "heed.data"
local files = require "spec.data.files"
local json = require "heed.json"
local reader = require "heed.data.reader"
local record = require "heed.data.csv_record"

-- json.null where a text is not of the form.
local function rows_of(text)
    local source = assert(reader.open(files.write(text), 1 << 20))
    local rows, read = json.array {}, core.csv_texts(",", source.max_line)
    local fields, message = record(source, read)
    while fields do
        rows[#rows + 1] = fields
        fields, message = record(source, read)
    end
    source:close()
    files.remove()
    return message and json.null or rows
end

describe("the records of a CSV text", function()
    it("are those that Python reads", function()
        local cases, refused = 0, 0
        for case in assert(data.jsonl(os.getenv "HEED_CSV_CASES" or "spec/fixtures/csv.jsonl")) do
            local rows = rows_of(case.text)
            assert.equal(json.encode(case.rows), json.encode(rows), ("%q"):format(case.text))
            cases, refused = cases + 1, refused + (rows == json.null and 1 or 0)
        end
        assert.is_true(cases >= 400 and refused > 40 and refused < cases - 40)
    end)
end)
