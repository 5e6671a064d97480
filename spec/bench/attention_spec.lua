-- The pure parts of spec/bench/attention: names, useful work, tables. Nothing is timed.
local shell = require "spec.support.shell"
local command = require "spec.support.command"

local function from_bench(name)
    local path = package.path
    package.path = "spec/bench/attention/?.lua;spec/bench/?.lua;" .. path
    local loaded = require(name)
    package.path = path
    return loaded
end

local cases = from_bench "cases"
local render = from_bench "render"

-- Pairs as the mask that heed is given has them.
local function counted(case)
    local heed = require "heed"
    local mask = case.window and heed.mask.window(cases.WINDOW - 1)
        or case.causal and heed.mask.causal() or heed.mask.prefix(case.S)
    if case.padded then
        local lengths = {}
        for b = 1, case.B do lengths[b] = cases.length(case, b) end
        mask = mask & heed.mask.padding(lengths)
    end
    local seen = mask:dense(case.L, case.S)
    return seen:to("i64"):sum():item() * case.H * (seen:dim() == 2 and case.B
        or case.B // seen:size(1))
end

describe("a case of spec/bench/attention", function()
    it("is all in its name", function()
        local case = assert(cases.parse "backward B2 H12/4 D64 L100 S300 causal padded")
        assert.same({
            name = "backward B2 H12/4 D64 L100 S300 causal padded",
            B = 2, H = 12, Hk = 4, D = 64, L = 100, S = 300, backward = true, causal = true,
                window = false, padded = true,
        }, case)
        case = assert(cases.parse "forward B1 H8 D32 L16")
        assert.same({ 8, 16, false, false }, { case.Hk, case.S, case.causal, case.backward })
    end)

    it("is refused when it says too little or too much", function()
        for name, message in pairs {
            ["forward B1 H8 L16"] = "are needed", ["B1 H8 D32 L16"] = "forward or backward",
            ["forward B1 H8 D32 L16 casual"] = "what is casual",
                ["forward B1 H8/3 D32 L16"] = "no multiple",
        } do
            local case, got = cases.parse(name)
            assert.is_nil(case)
            assert.is_truthy(got:find(message, 1, true), got)
        end
    end)

    it("counts the pairs that may meet", function()
        for _, shape in ipairs {
            "B2 H3 D8 L5", "B2 H3 D8 L5 causal", "B2 H3 D8 L5 S9 causal", "B3 H1 D8 L40 padded",
                "B3 H1 D8 L40 causal padded",
            "B1 H2 D8 L600 window", "B1 H2 D8 L30 S500 window", "B3 H1 D8 L300 window padded",
        } do
            local case = assert(cases.parse("forward " .. shape))
            assert.equal(counted(case), cases.pairs(case), shape)
        end
    end)

    it("is 4 D operations a pair forward and 14 D forward and backward", function()
        assert.equal(4 * 64 * 12 * 128 * 129 // 2,
            cases.work(cases.parse "forward B1 H12 D64 L128 causal"))
        assert.equal(14 * 64 * 12 * 128 ^ 2, cases.work(cases.parse "backward B1 H12 D64 L128"))
    end)

    it("moves queries, keys of the groups, values and the output", function()
        assert.equal(4 * 2 * 64 * (12 + 4 * 100),
            cases.bytes(cases.parse "forward B1 H12/4 D64 L1 S100"))
    end)
end)

describe("the cases of spec/bench/attention", function()
    it("can be read, once each, and none takes long", function()
        local seen = {}
        for _, entry in ipairs(cases.list) do
            local case, key = assert(cases.parse(entry.name)), entry.name .. entry.threads
            assert.is_nil(seen[key], key)
            seen[key] = true
            assert.is_true(case.L <= case.S or not case.causal,
                entry.name .. ": queries that see nothing")
            assert.is_true(cases.work(case) / entry.threads < 0.7e11, entry.name)
        end
    end)

    it("are read alike by the rivals", function()
        local python = os.getenv "HEED_BENCH_PYTHON"
        if not python then return pending "HEED_BENCH_PYTHON names no Python" end
        local script = os.tmpname()
        local file = assert(io.open(script, "w"))
        file:write [[
import sys
sys.path.insert(0, "spec/bench/attention")
import rival
for name in sys.argv[1:]:
    case = rival.parse(name)
    seen = rival.visible(case)
    pairs = case.B * case.L * case.S if seen is None else int(seen.sum()) * (case.B // seen.shape[0]) * (case.L // seen.shape[2])
    print(case.B, case.H, case.Hk, case.D, case.L, case.S, case.backward, pairs * case.H)
]]
        file:close()
        local words, expected = { shell.quote(python), script }, {}
        for i = 1, #cases.list, 7 do
            local case = cases.parse(cases.list[i].name)
            words[#words + 1] = shell.quote(case.name)
            expected[#expected + 1] = table.concat({ case.B, case.H, case.Hk, case.D, case.L,
                case.S, case.backward and "True" or "False",
                cases.pairs(case) }, " ")
        end
        local output = shell.run(table.concat(words, " "))
        os.remove(script)
        assert.equal(table.concat(expected, "\n") .. "\n", output)
    end)
end)

local RESULTS = {
    "run\t2026-01-01\tcpu\t2\tattention", "limit\tfma\t1\t100.0", "limit\tread\t1\t20.0",
        "about\theed\tkernels",
    "way\tforward B1 H12 D64 L128\t1\tpytorch\t5.0e-07 heads",
        "heed\tforward B1 H12 D64 L128\t1\t0.8\t0.9",
    "pytorch\tforward B1 H12 D64 L128\t1\t1.2\t1.8", "heed\tforward B1 H12 D64 L128\t1\t1.0\t1.1",
    "way\tforward B1 H12 D64 L1 S4096\t1\tonnxruntime\t2.0e-03 gqa",
        "heed\tforward B1 H12 D64 L1 S4096\t1\t2.0\t2.0",
    "onnxruntime\tforward B1 H12 D64 L1 S4096\t1\t1.5\t1.5",
        "pytorch\tforward B1 H12 D64 L1 S4096\t1\tfailed\tfailed it ended",
    "limit\tfma\t1\t99.0", "limit\tread\t1\t21.0",
}

describe("the table of spec/bench/attention", function()
    it("has best and median, ratios, and shares of the nearer limit", function()
        local text = render(RESULTS)
        for _, row in ipairs {
            "| forward B1 H12 D64 L128 | 1 | 0.800 (1.00) | 1.20 (1.80) |  | 1.50 (1.80) |  | "
                .. "63% | 42% |  |",
            "| forward B1 H12 D64 L1 S4096 | 1 | 2.00 (2.00) |  | 1.50 (1.50) differs by 2.0e-03 "
                .. "|  | **0.75 (0.75)** | 60% m |  | 80% m |",
        } do
            assert.is_truthy(text:find(row, 1, true), text)
        end
    end)

    it("begins with the rows where heed is behind", function()
        local text = render(RESULTS)
        assert.is_truthy(text:find("heed is behind in 1 of 2 rows.\n\n| attention "
            .. "[^\n]+\n[^\n]+\n| forward B1 H12 D64 L1 S4096 "), text)
    end)

    it("says how the rivals did it, and when they failed", function()
        local text = render(RESULTS)
        assert.is_truthy(text:find("- forward B1 H12 D64 L128, 1: PyTorch: heads\n", 1, true), text)
        assert.is_truthy(text:find("PyTorch: failed it ended; ONNX Runtime: gqa\n", 1, true), text)
    end)
end)

describe("heed's side of spec/bench/attention", function()
    it("makes cases, times them and says what it cannot do", function()
        local directory = os.tmpname()
        os.remove(directory)
        assert(os.execute("mkdir " .. directory))
        local output, errors, status = command.run("spec/bench/attention/heed.lua " .. directory,
            "case 1 backward B1 H2/1 D8 L3 S5 causal\ntime 1 0 cpu\ncase 1 forward L3\nquit\n")
        assert.equal(0, status, errors)
        assert.is_truthy(output:find("^about [^\n]+\nready\ntime [%d.]+ [%d.]+\nfailed [^\n]*are "
            .. "needed\n$"), output)
        local heed = require "heed"
        assert.same({ 1, 5, 1, 8 }, assert(heed.npy.load(directory .. "/dk.npy")).shape)
        os.execute("rm -r " .. directory)
    end)
end)
