# fuzz-safetensors, fuzz-npy, fuzz-npz, fuzz-gguf, fuzz-marian, fuzz-json, fuzz-csv, fuzz-png, fuzz-jpeg, fuzz-audio, fuzz-charsmap: campaigns of their own, not part of the tests. spec/fuzz says how they are used.
file(GLOB fuzz_sources ${CMAKE_SOURCE_DIR}/csrc/base/*.c ${CMAKE_SOURCE_DIR}/csrc/tensor/*.c ${CMAKE_SOURCE_DIR}/csrc/io/*.c
     ${CMAKE_SOURCE_DIR}/csrc/kernels/blocks.c ${CMAKE_SOURCE_DIR}/csrc/text/charsmap.c
     ${CMAKE_SOURCE_DIR}/csrc/text/text.c ${CMAKE_SOURCE_DIR}/csrc/text/array.c)
set(fuzz_sanitizers address,undefined)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  set(fuzz_sanitizers fuzzer,address,undefined)
endif()
foreach(format safetensors npy npz gguf marian json csv png jpeg audio charsmap)
  set(fuzz fuzz-${format})
  add_executable(${fuzz} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/spec/fuzz/${format}_fuzz.c ${fuzz_sources})
  target_link_libraries(${fuzz} PRIVATE heed_flags ${heed_compute_libraries})
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    target_compile_definitions(${fuzz} PRIVATE HD_LIBFUZZER)
  endif()
  target_compile_options(${fuzz} PRIVATE -g -O1 -fsanitize=${fuzz_sanitizers})
  target_link_options(${fuzz} PRIVATE -fsanitize=${fuzz_sanitizers})
endforeach()

# fuzz-attention: the fuzz spec of attention, ten thousand configurations.
# mutants: deliberate faults in attention, one by one, and what notices each (spec/mutants/attention.lua).
if(BUSTED)
  set(fuzz_environment "HEED_FUZZ_SEED=time" "HEED_FUZZ_COUNT=10000")
  add_custom_target(fuzz-attention
                    COMMAND ${CMAKE_COMMAND} -E env ${test_environment} ${fuzz_environment} ${BUSTED}
                            spec/fuzz/attention_fuzz_spec.lua
                    DEPENDS heed_core WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} USES_TERMINAL VERBATIM)
  add_custom_target(mutants COMMAND heed spec/mutants/run.lua --output ${CMAKE_BINARY_DIR}/mutants --cmake ${CMAKE_COMMAND}
                                    --busted ${BUSTED} --generator ${CMAKE_GENERATOR}
                    DEPENDS heed WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} USES_TERMINAL VERBATIM)
endif()
