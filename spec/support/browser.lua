--- Pages in a real browser without a window, where there is one (Debian's package chromium).
local shell = require "spec.support.shell"

local browser = {}

local path

--- @return string? path of a browser that starts
function browser.path()
    if path == nil then
        local found = shell.run("command -v chromium || command -v chromium-browser || command "
            .. "-v google-chrome")
        path = found:match "^[^\n]+" or false
        path = path and select(2, shell.run("env -u LD_PRELOAD " .. path
            .. " --version >/dev/null 2>&1")) == 0 and path
    end
    return path or nil
end

local BEGIN = [[
<script>
var problems = [];
window.onerror = function (message) { problems.push(message); };
</script>
]]

local END = [[
<pre id="report" hidden></pre>
<script>
function report() { document.getElementById("report").textContent += Array.from(arguments).join(" ") + "\n"; }
onload = function () {
    try {
        %s
    } catch (e) { problems.push(e.stack); }
    problems.forEach(function (message) { report("PROBLEM", message); });
    report("END");
};
</script>
</body>]]

local ENTITIES = { amp = "&", lt = "<", gt = ">", nbsp = "\u{A0}" }

--- Opens a page, runs a script in it when all is loaded, and gives what the script reported. A
--- script that fails is an error.
--- @param html string
--- @param script string JavaScript that calls report(...) once a line
--- @param options { dark?: boolean, width?: integer, height?: integer }?
--- @return string[] lines
function browser.run(html, script, options)
    options = options or {}
    local folder = shell.lines("mktemp -d")[1]
    local file = assert(io.open(folder .. "/page.html", "w"))
    local page = html:gsub("<head>", function() return "<head>\n" .. BEGIN end, 1)
    file:write((page:gsub("</body>",
        function() return (END:gsub("%%s", function() return script end)) end)))
    file:close()
    -- The sandbox of a browser does not work for root, in containers shared memory is small, and a
    -- sanitizer is not for it.
    local command = ("env -u LD_PRELOAD timeout 120 %s --headless --no-sandbox --disable-gpu "
        .. "--disable-dev-shm-usage "
        .. "--user-data-dir=%s/profile%s --window-size=%d,%d --dump-dom file://%s/page.html "
            .. "2>%s/errors"):format(browser.path(), folder,
        options.dark and " --blink-settings=preferredColorScheme=0" or "", options.width or 1000,
            options.height or 800, folder, folder)
    local output = shell.run(command)
    local text = output:match '<pre id="report" hidden="">(.-)</pre>'
    local errors = shell.read(folder .. "/errors")
    os.execute("rm -rf " .. folder)
    assert(text, "the browser gave no report: " .. errors)
    local lines = {}
    for line in text:gsub("&(%a+);", ENTITIES):gmatch "[^\n]+" do
        assert(not line:find "^PROBLEM", line)
        lines[#lines + 1] = line
    end
    assert(table.remove(lines) == "END", "the script did not come to its end")
    return lines
end

return browser
