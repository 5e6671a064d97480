# `api-pages` writes docs/api again from the annotations; a spec fails when the pages are not what they say.
add_custom_target(api-pages
  COMMAND $<TARGET_FILE:heed> -e "local pages = require 'heed.help.pages' assert(pages.write '${CMAKE_SOURCE_DIR}/docs/api')"
  VERBATIM)
