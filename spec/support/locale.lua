-- A locale whose decimal point is a comma.

local shell = require "spec.support.shell"

local locale = {}

---Runs Lua code in German: what it prints, or nil where this machine cannot make the locale.
---@param code string
---@return string|nil
function locale.with_comma(code)
    local folder = shell.lines "mktemp -d"[1]
    local made = shell.run(("localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null && echo made")
        :format(folder))
    local script = [[
        assert(os.setlocale "de_DE.UTF-8")
        assert(("%.1f"):format(0.5) == "0,5", "no comma")
    ]] .. code
    local output = shell.run(("LOCPATH=%s lua5.4 -e %s 2>&1"):format(folder, shell.quote(script)))
    os.execute("rm -rf " .. folder)
    return made:find "made" and output or nil
end

return locale
