# Builds examples/cann the documented way, in a project of its own that is told nothing but ASCEND_HOME_PATH, from a
# copy of the tree; then runs every program with checks on. Variables: TREE SOURCE WORK CXX CXX_FLAGS
file(REMOVE_RECURSE ${WORK})
file(COPY ${TREE}/ DESTINATION ${WORK}/tree)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${status}\n${out}")
  endif()
endfunction()

set(ENV{ASCEND_HOME_PATH} ${WORK}/tree)
unset(ENV{LD_LIBRARY_PATH})
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_SKIP_RPATH=TRUE
    "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build)

set(ENV{LD_LIBRARY_PATH} ${WORK}/tree/lib64)
set(ENV{MLA_PROLOG_CHECK_EXIT} 9)
file(GLOB programs ${WORK}/build/bin/*)
foreach(program IN LISTS programs)
  set(ENV{MLA_PROLOG_SOC} Ascend910B)
  if(program MATCHES "mxfp8$")
    set(ENV{MLA_PROLOG_SOC} Ascend950)
  endif()
  run(${program})
  message("${program}: no findings")
endforeach()

# set_env.sh leads to the tree it lies in.
find_program(bash bash)
if(bash)
  unset(ENV{ASCEND_HOME_PATH})
  execute_process(COMMAND ${bash} -c "source '${WORK}/tree/set_env.sh' && echo \"$ASCEND_HOME_PATH $LD_LIBRARY_PATH\""
                  OUTPUT_VARIABLE out OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT out MATCHES "^${WORK}/tree ${WORK}/tree/lib64")
    message(FATAL_ERROR "set_env.sh: ${out}")
  endif()
endif()
