# What heed builds on; docs/architecture.md says why each was chosen.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
foreach(name lua5.4 lua-5.4 lua54 lua)
  pkg_check_modules(LUA QUIET ${name}>=5.4)
  if(LUA_FOUND AND LUA_VERSION VERSION_LESS 5.5)
    set(LUA_PACKAGE ${name})
    break()
  endif()
endforeach()
if(NOT LUA_PACKAGE)
  message(FATAL_ERROR "Lua 5.4 was not found (Debian: liblua5.4-dev)")
endif()
pkg_check_modules(CJSON REQUIRED libcjson)
pkg_check_modules(EDIT libedit) # optional: without it the prompt has no history and editing

find_path(BLIS_INCLUDE_DIR blis.h PATH_SUFFIXES blis ${CMAKE_LIBRARY_ARCHITECTURE} REQUIRED)
find_library(BLIS_LIBRARY blis REQUIRED)
# blis.h of the OpenMP build includes omp.h, which clang alone does not bring, and uses nothing of it: an empty one
# does.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES ${BLIS_INCLUDE_DIR})
check_c_source_compiles("#include <blis.h>\nint main(void) { return 0; }" BLIS_COMPILES)
unset(CMAKE_REQUIRED_INCLUDES)
if(NOT BLIS_COMPILES)
  file(WRITE ${CMAKE_BINARY_DIR}/blis/omp.h "")
  set(BLIS_COMPILE_OPTIONS -idirafter ${CMAKE_BINARY_DIR}/blis)
endif()
