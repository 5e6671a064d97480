# `api-pages` writes docs/api, and the stub of layers, again from the annotations; a spec fails when they are not what these say.
add_custom_target(api-pages
  COMMAND $<TARGET_FILE:heed> -e "assert(require 'heed.help.pages'.write '${CMAKE_SOURCE_DIR}/docs/api')"
  COMMAND $<TARGET_FILE:heed> -e "assert(require 'heed.help.pages'.write_layers '${CMAKE_SOURCE_DIR}/lua/heed/types/layers.lua')"
  VERBATIM)
