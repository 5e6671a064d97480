# What heed builds on; docs/architecture.md says why each was chosen.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(LUA REQUIRED lua5.4)
pkg_check_modules(CJSON REQUIRED libcjson)
pkg_check_modules(EDIT libedit) # optional: without it the prompt has no history and editing

find_path(BLIS_INCLUDE_DIR blis.h PATH_SUFFIXES blis ${CMAKE_LIBRARY_ARCHITECTURE}
          HINTS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} REQUIRED)
find_library(BLIS_LIBRARY blis REQUIRED)
find_path(PTHREADPOOL_INCLUDE_DIR pthreadpool.h REQUIRED)
find_library(PTHREADPOOL_LIBRARY pthreadpool REQUIRED)
