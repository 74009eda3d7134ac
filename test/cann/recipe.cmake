# Installs the tree, builds examples/cann the documented way in a project of its own that is told nothing but
# ASCEND_HOME_PATH, and runs every program with checks on. Variables: BUILD TREE INSTALLED SOURCE WORK CXX CXX_FLAGS OBJDUMP
# (TREE: the tree in BUILD; INSTALLED: where it goes, relative to the prefix)
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/needed.cmake)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${status}\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --component mla_prolog_ascend --prefix ${WORK}/prefix)
set(tree ${WORK}/prefix/${INSTALLED})
file(GLOB_RECURSE built RELATIVE ${TREE} ${TREE}/*)
file(GLOB_RECURSE installed RELATIVE ${tree} ${tree}/*)
if(NOT installed STREQUAL built OR NOT "set_env.sh" IN_LIST installed)
  message(FATAL_ERROR "the installed tree has other files than the built one:\n${installed}\n${built}")
endif()

if(OBJDUMP)
  check_needed(${tree}/lib64 ${OBJDUMP} "${CXX_FLAGS}")
endif()

set(ENV{ASCEND_HOME_PATH} ${tree})
unset(ENV{LD_LIBRARY_PATH})
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_SKIP_RPATH=TRUE
    "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build)

set(ENV{MLA_PROLOG_CHECK_EXIT} 9)
function(run_with lib64 soc program)
  set(ENV{LD_LIBRARY_PATH} ${lib64})
  set(ENV{MLA_PROLOG_SOC} ${soc})
  run(${program})
  message("${program} on ${soc}: no findings")
endfunction()

file(GLOB programs ${WORK}/build/bin/*)
foreach(program IN LISTS programs)
  if(NOT program MATCHES "mxfp8$")
    run_with(${tree}/lib64 Ascend910B ${program})
  endif()
  if(program MATCHES "v3_(mxfp8|every_quantisation)$")
    run_with(${tree}/lib64 Ascend950 ${program})
  endif()
endforeach()

# Zeros everywhere, as CANN's own examples have them: all tokens write slot 0, all scales are 0.
set(ENV{EXAMPLE_ZEROS} 1)
foreach(name IN ITEMS v1_partial_quant v2_full_quant v3_partial_quant_block_table v3_every_quantisation)
  run_with(${tree}/lib64 Ascend910B ${WORK}/build/bin/${name})
endforeach()
run_with(${tree}/lib64 Ascend950 ${WORK}/build/bin/v3_every_quantisation)
unset(ENV{EXAMPLE_ZEROS})

# The libraries alone, somewhere else; and the tree where it was built.
file(COPY ${tree}/lib64/ DESTINATION ${WORK}/libraries)
file(RENAME ${tree} ${WORK}/moved)
run_with(${WORK}/libraries Ascend910B ${WORK}/build/bin/v3_every_quantisation)
run_with(${TREE}/lib64 Ascend910B ${WORK}/build/bin/v3_every_quantisation)

# set_env.sh leads to the tree it lies in, and lets OpenMP threads wait without work unless told otherwise.
find_program(bash bash)
if(bash)
  unset(ENV{ASCEND_HOME_PATH})
  foreach(place IN ITEMS ${WORK}/moved ${TREE})
    set(show "source '${place}/set_env.sh' && echo \"$OMP_WAIT_POLICY $ASCEND_HOME_PATH $LD_LIBRARY_PATH\"")
    execute_process(COMMAND ${bash} -c "OMP_WAIT_POLICY=active; ${show}; unset OMP_WAIT_POLICY; ${show}"
                    OUTPUT_VARIABLE out OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT out MATCHES "^active ${place} ${place}/lib64[^\n]*\npassive ${place} ${place}/lib64")
      message(FATAL_ERROR "set_env.sh: ${out}")
    endif()
  endforeach()
endif()
