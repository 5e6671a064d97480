# ctest: C tests of the rooms below Lua (spec/c), then busted over spec/.
find_program(BUSTED busted)
# Semicolons that separate paths are escaped from those that separate variables.
string(JOIN "\\;" lua_path "${CMAKE_SOURCE_DIR}/lua/?.lua" "${CMAKE_SOURCE_DIR}/lua/?/init.lua"
       "${CMAKE_SOURCE_DIR}/?.lua" "\\;")
set(test_environment "LUA_PATH=${lua_path}" "LUA_CPATH=${CMAKE_BINARY_DIR}/lua/?.so\\;\\;"
                     "HEED_BUILD=${CMAKE_BINARY_DIR}")
if(HEED_SANITIZE)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE asan
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  # Leaks are looked for by the C tests; lua5.4 itself is not built for it. Specs that repeat themselves for long
  # may do less when HEED_SANITIZED is set.
  set(sanitizer_environment "HEED_SANITIZED=1" "LD_PRELOAD=${asan}" "ASAN_OPTIONS=detect_leaks=0:halt_on_error=1"
                            "UBSAN_OPTIONS=print_stacktrace=1")
endif()

set(test_timeout 1200)
if(CMAKE_CROSSCOMPILING)
  set(test_timeout 10800) # emulated
endif()

file(GLOB c_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/spec/c/*_test.c)
foreach(source ${c_tests})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source} ${heed_compute_objects})
  target_link_libraries(${name} PRIVATE heed_flags ${heed_compute_libraries})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME c/${name} COMMAND ${name})
  set_tests_properties(c/${name} PROPERTIES TIMEOUT ${test_timeout})
endforeach()
# It answers for the kernel, whose pages may be larger than those of this machine.
target_link_options(pages_test PRIVATE -Wl,--wrap=sysconf,--wrap=madvise)

# It reads with libpng what was written.
target_compile_definitions(png_test PRIVATE $<$<BOOL:${PNG_FOUND}>:HEED_HAVE_PNG>)
target_include_directories(png_test PRIVATE ${PNG_INCLUDE_DIRS})

# A host's view of libheed.
add_executable(embed_test ${CMAKE_SOURCE_DIR}/spec/c/embed/embed_test.c)
target_link_libraries(embed_test PRIVATE heed_flags heed_static)
target_include_directories(embed_test PRIVATE ${LUA_INCLUDE_DIRS})
set_target_properties(embed_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME c/embed_test COMMAND embed_test)

# What the specs of the prompt type on.
add_executable(terminal ${CMAKE_SOURCE_DIR}/spec/support/terminal.c)
target_link_libraries(terminal PRIVATE heed_flags)
set_target_properties(terminal PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

if(BUSTED)
  file(GLOB spec_rooms RELATIVE ${CMAKE_SOURCE_DIR}/spec CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/spec/*)
  foreach(room ${spec_rooms})
    file(GLOB_RECURSE specs ${CMAKE_SOURCE_DIR}/spec/${room}/*_spec.lua)
    if(specs OR room MATCHES "_spec.lua$")
      add_test(NAME spec/${room} COMMAND ${BUSTED} spec/${room} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
      set_tests_properties(spec/${room} PROPERTIES ENVIRONMENT "${test_environment};${sanitizer_environment}"
                                                   TIMEOUT ${test_timeout})
    endif()
  endforeach()
  # The same numbers from the kernels of every instruction set (one that the processor lacks falls back to its best).
  foreach(isa plain avx2 avx512)
    add_test(NAME isa/${isa}
             COMMAND ${BUSTED} spec/ops/torch_spec.lua spec/ops/torch_compute_spec.lua spec/ops/quantized_spec.lua spec/nn/transformer_torch_spec.lua spec/nn/cache_spec.lua spec/attention/attention_spec.lua spec/fuzz spec/models
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(isa/${isa} PROPERTIES ENVIRONMENT "${test_environment};${sanitizer_environment};HEED_ISA=${isa}"
                                               TIMEOUT ${test_timeout})
  endforeach()
else()
  message(WARNING "busted was not found: only the C tests will run")
endif()
