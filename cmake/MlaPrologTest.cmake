# Catch2 tests, with either major version.

# Shared specifications and golden cases; the committed subset in test/data serves where they are absent.
set(MLA_PROLOG_SHARED ${PROJECT_SOURCE_DIR}/../shared CACHE PATH "Golden cases and case tables")

find_package(Catch2 QUIET CONFIG)
mla_prolog_find_headers(Catch2 Catch2::Catch2 catch2/catch.hpp)

# main() and the helpers of test/catch.hpp, compiled once.
add_library(mla_prolog_test_main STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/test/main.cpp)
target_include_directories(mla_prolog_test_main PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(mla_prolog_test_main PUBLIC Catch2::Catch2)
# Catch2's own code: slow to optimise, quick enough without.
target_compile_options(mla_prolog_test_main PRIVATE -O0)
target_compile_definitions(
  mla_prolog_test_main PRIVATE MLA_PROLOG_SHARED_DIR="${MLA_PROLOG_SHARED}"
                               MLA_PROLOG_TEST_DATA_DIR="${PROJECT_SOURCE_DIR}/test/data")

# What OpenMP orders, the thread sanitizer learns from Archer alone. LLVM's OpenMP runtime opens it by its bare name and
# silently goes on without; then all that a team does seems to race with what its leader does next. Because the
# sanitizer intercepts dlopen, the program's run path is searched, and the linker puts the runtime's folder there only
# for a program that itself links OpenMP. One that has it through a library needs it as well.
if(CMAKE_CXX_FLAGS MATCHES "fsanitize=thread" AND OpenMP_omp_LIBRARY)
  cmake_path(GET OpenMP_omp_LIBRARY PARENT_PATH openmp_folder)
  find_library(MLA_PROLOG_ARCHER archer HINTS ${openmp_folder} REQUIRED)
  mark_as_advanced(MLA_PROLOG_ARCHER)
  cmake_path(GET MLA_PROLOG_ARCHER PARENT_PATH archer_folder)
  list(APPEND CMAKE_BUILD_RPATH ${archer_folder})
endif()

# mla_prolog_add_test(<name> SOURCES <file>... [LIBS <target>...] [ARGS <argument>...] [LABELS <label>...]
#                     [ENVIRONMENT <VAR=value>...])
#
# A Catch2 executable with the library's internal headers, run by ctest as <name>. Call it again with the same <name> and
# SUFFIX <text> (no SOURCES) to run it a second time, as <name>.<text>, with other arguments or environment.
function(mla_prolog_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SUFFIX" "SOURCES;LIBS;ARGS;LABELS;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "mla_prolog_add_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target test_${name})
  if(arg_SOURCES)
    add_executable(${target} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/bin)
    target_link_libraries(${target} PRIVATE mla_prolog_test_main mla_prolog_internal ${arg_LIBS})
  endif()
  set(test ${name})
  if(arg_SUFFIX)
    string(APPEND test .${arg_SUFFIX})
  endif()
  add_test(NAME ${test} COMMAND ${target} ${arg_ARGS})
  set_tests_properties(${test} PROPERTIES LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}" SKIP_RETURN_CODE 4)
endfunction()

# The instruction sets of this architecture; a test of one that the CPU or build lacks skips itself.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(MLA_PROLOG_TEST_ISAS scalar sse4.2 avx2 avx512 avx512-vnni)
else()
  set(MLA_PROLOG_TEST_ISAS scalar neon neon-dotprod)
endif()

# mla_prolog_configure_cli_test(<target>): a test that starts mla-prolog, with test/cli/cli.cpp among its sources.
function(mla_prolog_configure_cli_test target)
  target_compile_definitions(
    ${target} PRIVATE MLA_PROLOG_CLI_PROGRAM="$<TARGET_FILE:mla-prolog>"
                      MLA_PROLOG_CLI_LAUNCHER="${CMAKE_CROSSCOMPILING_EMULATOR}")
  add_dependencies(${target} mla-prolog)
endfunction()
