# The Lua room and what users run, from the same objects:
#   lua/heed/core.so  the module for plain lua5.4 (liblua is not linked: lua5.4 has Lua inside)
#   libheed           for hosts, static and shared, the Lua sources embedded
#   heed              the executable, built on libheed
file(GLOB_RECURSE lua_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/csrc/lua/*.c)
list(REMOVE_ITEM lua_sources ${CMAKE_SOURCE_DIR}/csrc/lua/runtime/embed.c)
add_library(heed_lua OBJECT ${lua_sources})
target_link_libraries(heed_lua PUBLIC heed_flags)
target_include_directories(heed_lua PRIVATE ${LUA_INCLUDE_DIRS})
target_compile_definitions(heed_lua PRIVATE HEED_VERSION="${PROJECT_VERSION}")

# Only the names in heed.map leave a shared object, whatever the libraries inside it would show.
set(export_map ${CMAKE_SOURCE_DIR}/csrc/cmake/heed.map)
function(heed_exports target)
  target_link_options(${target} PRIVATE -Wl,--version-script=${export_map} -Wl,--exclude-libs,ALL)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${export_map})
endfunction()

add_library(heed_core MODULE ${heed_compute_objects} $<TARGET_OBJECTS:heed_lua>)
target_link_libraries(heed_core PRIVATE heed_flags ${heed_compute_libraries})
heed_exports(heed_core)
set_target_properties(heed_core PROPERTIES PREFIX "" OUTPUT_NAME core
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lua/heed)

# Every module under lua/ becomes one row of a C table.
file(GLOB_RECURSE embedded_modules CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/lua ${CMAKE_SOURCE_DIR}/lua/*.lua)
list(TRANSFORM embedded_modules PREPEND ${CMAKE_SOURCE_DIR}/lua/ OUTPUT_VARIABLE embedded_files)
set(embedded_c ${CMAKE_BINARY_DIR}/embedded_modules.c)
add_custom_command(
  OUTPUT ${embedded_c}
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR}/lua "-DMODULES=${embedded_modules}" -DOUTPUT=${embedded_c}
          -P ${CMAKE_SOURCE_DIR}/csrc/cmake/EmbedLua.cmake
  DEPENDS ${embedded_files} ${CMAKE_SOURCE_DIR}/csrc/cmake/EmbedLua.cmake
  VERBATIM)

add_library(heed_embedded OBJECT ${CMAKE_SOURCE_DIR}/csrc/lua/runtime/embed.c ${embedded_c})
target_link_libraries(heed_embedded PUBLIC heed_flags)
target_include_directories(heed_embedded PRIVATE ${LUA_INCLUDE_DIRS})

set(all_objects ${heed_compute_objects} $<TARGET_OBJECTS:heed_lua> $<TARGET_OBJECTS:heed_embedded>)
add_library(heed_static STATIC ${all_objects})
target_link_libraries(heed_static PUBLIC ${heed_compute_libraries} ${LUA_LINK_LIBRARIES} INTERFACE heed_flags)
add_library(heed_shared SHARED ${all_objects})
target_link_libraries(heed_shared PRIVATE heed_flags ${heed_compute_libraries} ${LUA_LINK_LIBRARIES})
target_link_options(heed_shared PRIVATE -Wl,--no-undefined)
heed_exports(heed_shared)
set_target_properties(heed_static heed_shared PROPERTIES OUTPUT_NAME heed)
set_target_properties(heed_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)

file(GLOB host_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/csrc/host/*.c)
add_executable(heed ${host_sources})
target_link_libraries(heed PRIVATE heed_flags heed_static ${EDIT_LINK_LIBRARIES})
target_include_directories(heed PRIVATE ${LUA_INCLUDE_DIRS} ${EDIT_INCLUDE_DIRS})
target_compile_definitions(heed PRIVATE $<$<BOOL:${EDIT_FOUND}>:HEED_HAVE_EDIT> HEED_VERSION="${PROJECT_VERSION}")
# C modules that a script loads find Lua's symbols here, where a static liblua would be inside.
set_target_properties(heed PROPERTIES ENABLE_EXPORTS ON)

add_custom_target(run-demo COMMAND heed examples/translate.lua WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                  USES_TERMINAL VERBATIM)
