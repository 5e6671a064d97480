local command = require "spec.support.command"
local shell = require "spec.support.shell"

describe("heed script", function()
    it("gives the script its arguments", function()
        local output, errors, status, path = command.script("print(#arg, arg[0], arg[1], ...)",
            "'a b' -e")
        assert.are.equal("", errors)
        assert.are.equal("2\t" .. path .. "\ta b\ta b\t-e\n", output)
        assert.are.equal(0, status)
    end)

    it("prints for help what help(...) says at the prompt", function()
        local function same(arguments, input)
            local output, errors, status = command.run(arguments)
            assert.are.equal(command.run("", input), output)
            assert.are.equal("", errors)
            assert.are.equal(0, status)
        end
        same("help", "help()")
        same("help nn.Linear", "help 'nn.Linear'")
        same("help heed.softmax", "help(heed.softmax)")
        same("help label smoothing", "help 'label smoothing'")
        same("help 'label smoothing'", "help 'label smoothing'")
        same("help string.rep", "help(string.rep)")
        local output, errors, status = command.run "help entropy of quokkas"
        assert.are.equal("", output)
        assert.are.equal('heed has nothing called "entropy of quokkas"\n', errors)
        assert.are.equal(1, status)
        assert.is_truthy(command.run("-h"):find("help [WORDS]", 1, true))
    end)

    it("runs a file that is called help", function()
        local folder = os.tmpname()
        assert(os.remove(folder) and os.execute("mkdir " .. folder))
        local file = assert(io.open(folder .. "/help", "w"))
        file:write("print('mine', ...)"):close()
        local output = shell.run(('heed=$(realpath %s); cd %s && "$heed" help me'):format(
            shell.quote(command.path), folder))
        os.execute("rm -r " .. folder)
        assert.are.equal("mine\tme\n", output)
        local _, errors = command.run "-- help"
        assert.is_truthy(errors:find "cannot open help")
    end)

    it("lets scripts say require, as under lua5.4", function()
        local output = command.script('print(rawget(_G, "heed"), '
            .. 'require("heed").ones(2):sum():item())')
        assert.are.equal("nil\t2.0\n", output)
    end)

    it("carries its Lua modules inside", function()
        local output, errors = command.script [[
            for _, name in ipairs { "heed.nn", "heed.optim", "heed.mask", "heed.text.bpe" } do
                assert(type(require(name)) == "table", name)
            end
            print "all" ]]
        assert.are.equal("", errors)
        assert.are.equal("all\n", output)
    end)

    it("loads other C modules, which find its Lua", function()
        local output, errors = command.script('local lfs = require "lfs" '
            .. 'print(lfs.attributes("/", "mode"))')
        assert.are.equal("", errors)
        assert.are.equal("directory\n", output)
    end)

    it("ends with a traceback and status 1 after an error", function()
        local output, errors, status,
            path = command.script "local function f() local x = nil + 1 end\nprint(1) f()"
        assert.are.equal("1\n", output)
        assert.is_truthy(errors:find("^heed: " .. path
            .. ":1: attempt to perform arithmetic on a nil value"))
        assert.is_truthy(errors:find("stack traceback:.*" .. path .. ":2: in main chunk"))
        assert.are.equal(1, status)
    end)

    it("says what may have been meant", function()
        for script, hint in pairs {
            ['local heed = require "heed"\nheed.atention(1)'] = "did you mean heed.attention?",
            ["local nn = require 'heed.nn'\nlocal function f() return nn.Linaer(2, 2) "
                .. "end\nprint(f())"] = "did you mean nn.Linear?",
            ['local counter = 1\nprint(countr + 1)'] = "did you mean counter?",
        } do
            local _, errors = command.script(script)
            assert.is_truthy(errors:find("\nhint: " .. hint .. "\nstack traceback:", 1, true),
                errors)
        end
        local _, mistaken, _, path =
            command.script("local heed = require 'heed'\nlocal t = heed.npy.load 'none'\nprint(t "
            .. "+ 1)")
        assert.is_truthy(mistaken:find("\n  " .. path .. ":3: print(t + 1)\n"
            .. (" "):rep(#path + 12)
            .. "^\nhint: heed.npy.load gave nil and a message;", 1, true), mistaken)
        local _, unread, status, other = command.script "local x = {}\nprint(x[1, 2])"
        assert.are.equal(1, status)
        assert.is_truthy(unread:find("^heed: " .. other .. ":2: '%]' expected near ','\n  " .. other
            .. ":2: print%(x%[1, 2%]%)\n +%^\nhint: indices stand in a list"), unread)
        local _, errors = command.script "error 'no'"
        assert.is_nil(errors:find("hint", 1, true))
        _, errors = command.script "local function f() return 1 + f() end f()"
        assert.is_truthy(errors:find("stack overflow", 1, true))
    end)

    it("shows errors that are tables by their __tostring", function()
        local _, errors, status = command.script(
            'error(setmetatable({}, { __tostring = function() return "told" end }))')
        assert.is_truthy(errors:find "^heed: told\n")
        assert.are.equal(1, status)
        _, errors = command.script "error {}"
        assert.is_truthy(errors:find "^heed: %(error object is a table value%)")
    end)

    it("leaves os.exit its status", function()
        local _, _, status = command.script "os.exit(7, true)"
        assert.are.equal(7, status)
    end)

    it("names a file that is not there, and where a script does not parse", function()
        local _, errors, status = command.run "no/such.lua"
        assert.is_truthy(errors:find "no/such.lua: No such file")
        assert.are.equal(1, status)
        local path
        _, errors, status, path = command.script "x = = 1"
        assert.is_truthy(errors:find("^heed: " .. path .. ":1: unexpected symbol near '='"))
        assert.are.equal(1, status)
    end)
end)

describe("heed's options", function()
    it("-e runs code in which heed is a global", function()
        local output, errors, status =
            command.run [[-e 'x = heed.ones(2, 2)' -e'print(x:sum():item())']]
        assert.are.equal("", errors)
        assert.are.equal("4.0\n", output)
        assert.are.equal(0, status)
    end)

    it("-e fails with status 1", function()
        local output, errors, status = command.run [[-e 'error "no"' -e 'print "never"']]
        assert.are.equal("", output)
        assert.is_truthy(errors:find "^heed: %(command line%):1: no\nstack traceback:")
        assert.are.equal(1, status)
    end)

    it("leaves out a traceback of frames without names", function()
        local nameless = "local f = coroutine.wrap(error) require = nil "
            .. "setmetatable(_G, { __index = function() return f end })"
        local output, errors, status = command.run(("-e '%s' -l boom"):format(nameless))
        assert.are.equal("", output)
        assert.are.equal("heed: boom\n", errors)
        assert.are.equal(1, status)
    end)

    it("-e may stand before a script", function()
        local output = command.script("print(x, arg[-1], ...)", "b")
        assert.is_truthy(output:find "^nil\t.-/heed\tb\n$")
        output = command.run("-e 'x = 3' - b", "print(x, ...)")
        assert.are.equal("3\tb\n", output)
    end)

    it("- runs standard input as a script", function()
        local output, errors, status = command.run("- a b",
            "local x = 1\nprint(x, rawget(_G, 'heed'), ...)")
        assert.are.equal("", errors)
        assert.are.equal("1\tnil\ta\tb\n", output)
        assert.are.equal(0, status)
    end)

    it("-l requires a module", function()
        local output = command.run "-l heed.mask -e 'print(type(_G[\"heed.mask\"]))'"
        assert.are.equal("table\n", output)
    end)

    it("--version prints heed.info()", function()
        local output, errors, status = command.run "--version"
        assert.are.equal("", errors)
        assert.is_truthy(output:find "%d+%.%d+%.%d+")
        assert.are.equal(command.run "-e 'print(heed.info())'", output)
        assert.are.equal(0, status)
    end)

    it("--help prints the usage, and so does what is no option, on standard error", function()
        local output, errors, status = command.run "--help"
        assert.is_truthy(output:find "^usage: heed")
        assert.are.equal("", errors)
        assert.are.equal(0, status)
        for _, bad in ipairs { "--nonsense", "-e", "-l" } do
            output, errors, status = command.run(bad)
            assert.are.equal("", output)
            assert.is_truthy(errors:find("'" .. bad .. "'", 1, true))
            assert.are.equal(1, status)
        end
    end)
end)
