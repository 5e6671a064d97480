rockspec_format = "3.0"
package = "heed"
version = "0.1.0-1"
source = {
  url = "git+file://.",
}
description = {
  summary = "A toolkit for Transformers: tensors, gradients and attention in C, models in Lua",
  license = "MIT",
}
supported_platforms = { "linux" }
dependencies = { "lua ~> 5.4" }
external_dependencies = {
  BLIS = { library = "blis" },
  CJSON = { library = "cjson" },
}
build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "RelWithDebInfo",
    CMAKE_INSTALL_PREFIX = "$(PREFIX)",
    HEED_LUA_DIR = "$(LUADIR)",
    HEED_LUA_CDIR = "$(LIBDIR)",
    HEED_INSTALL_HOST = "OFF",
    BUILD_TESTING = "OFF",
  },
}
