local shell = require "spec.support.shell"

local host = [[
#include <heed.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>

int main(void) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    luaL_requiref(L, "heed", luaopen_heed, 0);
    heed_view view;
    heed_push_tensor(L, "f32", 1, (int64_t[]){2}, (float[]){1, 2}, &view);
    printf("%g\n", ((float *)view.data)[1]);
    lua_close(L);
}
]]

describe("cmake --install", function()
    local sanitized = os.getenv "HEED_SANITIZED"
    local prefix

    lazy_setup(function()
        prefix = shell.lines "mktemp -d"[1]
        shell.lines(("cmake --install %s --prefix %s"):format(shell.quote(shell.build), prefix))
    end)
    lazy_teardown(function() os.execute("rm -rf " .. prefix) end)

    it("puts modules where lua5.4 looks under the prefix", function()
        local sanitizer = sanitized and "LD_PRELOAD=" .. shell.quote(os.getenv "LD_PRELOAD") or ""
        local output, status = shell.run(([[cd / && env %s LUA_PATH='%s/share/lua/5.4/?.lua;%s/share/lua/5.4/?/init.lua' \
            LUA_CPATH='%s/lib/lua/5.4/?.so' lua5.4 -e '
                local heed = require "heed"
                require "heed.nn"
                print(package.searchpath("heed.core", package.cpath), heed.ones(3):sum():item())' 2>&1]])
            :format(sanitizer, prefix, prefix, prefix))
        assert.are.equal(prefix .. "/lib/lua/5.4/heed/core.so\t3.0\n", output)
        assert.are.equal(0, status)
    end)

    it("puts the command into bin", function()
        local output = shell.run(prefix .. "/bin/heed -e 'print(heed.ones(3):sum():item())' 2>&1")
        assert.are.equal("3.0\n", output)
    end)

    it("lets a C program embed heed through pkg-config", function()
        if sanitized then
            pending "not with sanitizers"
            return
        end
        local source <close> = assert(io.open(prefix .. "/host.c", "w"))
        source:write(host)
        source:flush()
        local output, status = shell.run(([[cd %s && PKG_CONFIG_PATH=lib/pkgconfig && export PKG_CONFIG_PATH &&
            cc host.c $(pkg-config --cflags --libs heed) -o host 2>&1 &&
            LD_LIBRARY_PATH=lib ./host 2>&1 &&
            cc host.c $(pkg-config --cflags heed lua5.4) lib/libheed.a \
                $(pkg-config --static --libs heed | sed 's/-lheed//') -o static 2>&1 && ./static 2>&1]])
            :format(prefix))
        assert.are.equal("2\n2\n", output)
        assert.are.equal(0, status)
    end)
end)
