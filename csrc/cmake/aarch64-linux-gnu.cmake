# Toolchain: Arm (aarch64) from another machine, with the libraries of a Debian tree for arm64. .ci/arm makes the tree.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

if(DEFINED ENV{HEED_ARM_TREE})
  set(CMAKE_SYSROOT $ENV{HEED_ARM_TREE})
else()
  set(CMAKE_SYSROOT /srv/arm64)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

# pkg-config answers from the tree alone.
set(pc_directories ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig ${CMAKE_SYSROOT}/usr/share/pkgconfig)
string(JOIN ":" pc_path ${pc_directories})
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${pc_path})
