# Toolchain: Arm (aarch64) from another machine. CMAKE_SYSROOT is a Debian tree for arm64 with heed's libraries;
# .ci/arm makes one, and docs/building.md says how.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

set(HEED_ARM_TREE /srv/arm64 CACHE PATH "The Debian tree for arm64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEED_ARM_TREE)
set(CMAKE_SYSROOT ${HEED_ARM_TREE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

# pkg-config answers from the tree alone.
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
