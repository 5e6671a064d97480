# cmake --install: the module where lua5.4 looks under the prefix, the command, and what a C host needs.
include(GNUInstallDirs)
set(HEED_LUA_DIR share/lua/5.4 CACHE STRING "Where Lua modules go, under the prefix or absolute")
set(HEED_LUA_CDIR lib/lua/5.4 CACHE STRING "Where Lua's C modules go, under the prefix or absolute")
option(HEED_INSTALL_HOST "Install libheed, heed.h and heed.pc too" ON)

install(TARGETS heed_core LIBRARY DESTINATION ${HEED_LUA_CDIR}/heed)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/lua/heed DESTINATION ${HEED_LUA_DIR} FILES_MATCHING PATTERN "*.lua")
install(TARGETS heed RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

if(HEED_INSTALL_HOST)
  # The prefix as seen from heed.pc, so that cmake --install --prefix and moving the tree keep it right.
  file(RELATIVE_PATH PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  if(PNG_FOUND)
    set(HEED_PC_PNG ", libpng")
  endif()
  if(JPEG_FOUND)
    set(HEED_PC_JPEG ", libjpeg")
  endif()
  if(ZLIB_FOUND)
    set(HEED_PC_ZLIB ", zlib")
  endif()
  configure_file(${CMAKE_SOURCE_DIR}/csrc/cmake/heed.pc.in ${CMAKE_BINARY_DIR}/heed.pc @ONLY)
  install(TARGETS heed_shared heed_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${CMAKE_SOURCE_DIR}/csrc/heed.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES ${CMAKE_BINARY_DIR}/heed.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
