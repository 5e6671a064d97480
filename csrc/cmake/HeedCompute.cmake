# The compute rooms (base, tensor, kernels, autograd, ops, layers, io): no lua.h anywhere, so a C host can use them alone.
add_library(heed_flags INTERFACE)
target_include_directories(heed_flags INTERFACE ${CMAKE_SOURCE_DIR}/csrc)
target_compile_options(heed_flags INTERFACE -Wall -Wextra -ffp-contract=fast -fno-math-errno -fno-trapping-math)
if(HEED_SANITIZE)
  target_compile_options(heed_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                              -fno-omit-frame-pointer)
  target_link_options(heed_flags INTERFACE -fsanitize=address,undefined)
endif()

set(compute_sources)
foreach(room base tensor kernels autograd ops layers io text)
  file(GLOB_RECURSE room_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/csrc/${room}/*.c)
  list(FILTER room_sources EXCLUDE REGEX "/kernels/isa/") # once per instruction set, below
  list(APPEND compute_sources ${room_sources})
endforeach()
add_library(heed_compute OBJECT ${compute_sources})
target_link_libraries(heed_compute PUBLIC heed_flags)
target_include_directories(heed_compute PRIVATE ${CJSON_INCLUDE_DIRS} ${PCRE2_INCLUDE_DIRS} ${UTF8PROC_INCLUDE_DIRS})
if(PNG_FOUND)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/csrc/io/png.c ${CMAKE_SOURCE_DIR}/csrc/io/png_load.c PROPERTIES
                              COMPILE_DEFINITIONS HEED_HAVE_PNG INCLUDE_DIRECTORIES "${PNG_INCLUDE_DIRS}")
endif()
if(JPEG_FOUND)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/csrc/io/jpeg.c ${CMAKE_SOURCE_DIR}/csrc/io/jpeg_load.c PROPERTIES
                              COMPILE_DEFINITIONS HEED_HAVE_JPEG INCLUDE_DIRECTORIES "${JPEG_INCLUDE_DIRS}")
endif()
if(KISSFFT_FOUND)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/csrc/kernels/fft.c PROPERTIES COMPILE_DEFINITIONS HEED_HAVE_KISSFFT
                              INCLUDE_DIRECTORIES "${KISSFFT_INCLUDE_DIRS}")
endif()
if(SNDFILE_FOUND)
  foreach(source audio_load audio_save sound_file)
    set_source_files_properties(${CMAKE_SOURCE_DIR}/csrc/io/${source}.c PROPERTIES COMPILE_DEFINITIONS HEED_HAVE_SNDFILE
                                INCLUDE_DIRECTORIES "${SNDFILE_INCLUDE_DIRS}")
  endforeach()
endif()
if(SOXR_FOUND)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/csrc/io/resample.c PROPERTIES COMPILE_DEFINITIONS HEED_HAVE_SOXR
                              INCLUDE_DIRECTORIES "${SOXR_INCLUDE_DIRS}")
endif()
if(ZLIB_FOUND)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/csrc/io/zip_stream.c PROPERTIES COMPILE_DEFINITIONS HEED_HAVE_ZLIB
                              INCLUDE_DIRECTORIES "${ZLIB_INCLUDE_DIRS}")
endif()
# Numbers are rounded after every operation, as the reference's are.
set_source_files_properties(${CMAKE_SOURCE_DIR}/csrc/kernels/blocks.c PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")
set_source_files_properties(${CMAKE_SOURCE_DIR}/csrc/kernels/gemm.c PROPERTIES
                            INCLUDE_DIRECTORIES "${BLIS_INCLUDE_DIR}" COMPILE_OPTIONS "${BLIS_COMPILE_OPTIONS}")

# csrc/kernels/isa/*.c once per instruction set.
file(GLOB isa_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/csrc/kernels/isa/*.c)
set(isa_objects)
function(heed_isa suffix)
  add_library(heed_isa_${suffix} OBJECT ${isa_sources})
  target_link_libraries(heed_isa_${suffix} PRIVATE heed_flags)
  target_compile_definitions(heed_isa_${suffix} PRIVATE HD_ISA_SUFFIX=${suffix})
  target_compile_options(heed_isa_${suffix} PRIVATE ${ARGN})
  set(isa_objects ${isa_objects} $<TARGET_OBJECTS:heed_isa_${suffix}> PARENT_SCOPE)
endfunction()

heed_isa(plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  heed_isa(avx2 -mavx2 -mfma -mf16c -mbmi2)
  heed_isa(avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mbmi2 -mprefer-vector-width=512)
  target_compile_definitions(heed_compute PRIVATE HD_HAVE_AVX2 HD_HAVE_AVX512)
endif()

set(heed_compute_objects $<TARGET_OBJECTS:heed_compute> ${isa_objects})
set(heed_compute_libraries ${BLIS_LIBRARY} ${CJSON_LINK_LIBRARIES} ${PCRE2_LINK_LIBRARIES}
    ${UTF8PROC_LINK_LIBRARIES} ${PNG_LINK_LIBRARIES} ${JPEG_LINK_LIBRARIES}
    ${KISSFFT_LINK_LIBRARIES} ${SNDFILE_LINK_LIBRARIES} ${SOXR_LINK_LIBRARIES}
    ${ZLIB_LINK_LIBRARIES} Threads::Threads m)
