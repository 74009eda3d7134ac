# Compiles SOURCE with what pkg-config says about the package in PREFIX, and runs it.
cmake_minimum_required(VERSION 3.25)

set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(
  COMMAND ${PKG_CONFIG} --cflags --libs mla_prolog
  OUTPUT_VARIABLE flags
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "pkg-config: ${flags}")
separate_arguments(flags UNIX_COMMAND "${flags}")
# Shared libraries outside the system's folders are found where they were linked from.
set(run_paths ${flags})
list(FILTER run_paths INCLUDE REGEX "^-L")
list(TRANSFORM run_paths REPLACE "^-L" "-Wl,-rpath,")
separate_arguments(cxx_flags UNIX_COMMAND "${CXX_FLAGS}")
execute_process(COMMAND ${CXX} -std=c++20 ${cxx_flags} ${SOURCE} -o ${OUTPUT} ${flags} ${run_paths} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OUTPUT} COMMAND_ERROR_IS_FATAL ANY)
