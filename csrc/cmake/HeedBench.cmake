# bench: the table of docs/performance.md, heed and PyTorch in turn. Takes some ten minutes on a machine that does nothing else.
add_executable(bench-limits EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/spec/bench/c/limits.c)
target_compile_options(bench-limits PRIVATE -O3)
target_link_libraries(bench-limits PRIVATE heed_flags Threads::Threads)
set_target_properties(bench-limits PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)

# bench-c: what measures the rooms below Lua, each a program of its own: attention, decoding, products, training steps.
file(GLOB c_benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/spec/bench/c/*_bench.c)
add_custom_target(bench-c)
foreach(source ${c_benches})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${source} ${heed_compute_objects})
  target_link_libraries(${name} PRIVATE heed_flags ${heed_compute_libraries})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  add_dependencies(bench-c ${name})
endforeach()

set(HEED_BENCH_PYTHON "" CACHE FILEPATH "A Python that has torch 2.13, for the target bench (else $HEED_BENCH_PYTHON)")
set(bench_python)
if(HEED_BENCH_PYTHON)
  set(bench_python --python ${HEED_BENCH_PYTHON})
endif()
add_custom_target(bench COMMAND heed spec/bench/table.lua --limits $<TARGET_FILE:bench-limits> ${bench_python}
                                --output ${CMAKE_BINARY_DIR}/bench
                  DEPENDS bench-limits WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} USES_TERMINAL VERBATIM)
# bench-operations: the same of single operations, some five minutes.
add_custom_target(bench-operations COMMAND heed spec/bench/table.lua --set operations --limits $<TARGET_FILE:bench-limits>
                                           ${bench_python} --output ${CMAKE_BINARY_DIR}/bench-operations
                  DEPENDS bench-limits WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} USES_TERMINAL VERBATIM)
# bench-attention: attention alone on all kinds of shapes, beside ONNX Runtime too (the same Python has torch, onnx and onnxruntime), some twelve minutes.
add_custom_target(bench-attention COMMAND heed spec/bench/attention/table.lua --limits $<TARGET_FILE:bench-limits>
                                          ${bench_python} --output ${CMAKE_BINARY_DIR}/bench-attention
                  DEPENDS bench-limits WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} USES_TERMINAL VERBATIM)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bench-operations ${CMAKE_BINARY_DIR}/bench-attention)
