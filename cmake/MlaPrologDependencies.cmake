# Finds what the library and its tools need.
#
#   MLA_PROLOG_LINK_LIBRARIES    linked into the library; a static library's consumers need them too
#   MLA_PROLOG_ONEDNN_LIBRARIES  the same, where oneDNN's matmuls are part of it
#   MLA_PROLOG_HEADER_LIBRARIES  needed to compile the library only

set(MLA_PROLOG_LINK_LIBRARIES)
set(MLA_PROLOG_ONEDNN_LIBRARIES)
set(MLA_PROLOG_HEADER_LIBRARIES)

# A header-only package: its CMake package, or where that is not found (cross builds, old distributions) the header.
function(mla_prolog_find_headers package target header)
  if(TARGET ${target})
    return()
  endif()
  find_package(${package} QUIET CONFIG GLOBAL)
  if(NOT TARGET ${target})
    find_path(${package}_INCLUDE_DIR ${header})
    mark_as_advanced(${package}_INCLUDE_DIR)
    if(NOT ${package}_INCLUDE_DIR)
      message(FATAL_ERROR "${package} not found: neither its CMake package nor ${header}")
    endif()
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} INTERFACE ${${package}_INCLUDE_DIR})
  endif()
endfunction()

if(MLA_PROLOG_WITH_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  list(APPEND MLA_PROLOG_LINK_LIBRARIES OpenMP::OpenMP_CXX)
endif()

mla_prolog_find_headers(xsimd xsimd xsimd/xsimd.hpp)
list(APPEND MLA_PROLOG_HEADER_LIBRARIES xsimd)

# Distributions link oneDNN with GCC's OpenMP runtime. With another compiler's runtime in the same process there would be
# two thread teams, so AUTO takes oneDNN with GCC only.
if(MLA_PROLOG_WITH_ONEDNN STREQUAL "AUTO")
  if(MLA_PROLOG_WITH_OPENMP AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    find_package(oneDNN ${MLA_PROLOG_ONEDNN_MINIMUM} QUIET)
  endif()
  if(oneDNN_FOUND)
    set(MLA_PROLOG_WITH_ONEDNN ON)
  else()
    set(MLA_PROLOG_WITH_ONEDNN OFF)
  endif()
elseif(MLA_PROLOG_WITH_ONEDNN)
  find_package(oneDNN ${MLA_PROLOG_ONEDNN_MINIMUM} REQUIRED)
endif()
if(MLA_PROLOG_WITH_ONEDNN)
  set(MLA_PROLOG_ONEDNN_LIBRARIES oneDNN::oneDNN)
endif()

if(MLA_PROLOG_BUILD_TOOLS OR MLA_PROLOG_BUILD_TESTS OR MLA_PROLOG_BUILD_BENCH)
  mla_prolog_find_headers(nlohmann_json nlohmann_json::nlohmann_json nlohmann/json.hpp)
  mla_prolog_find_headers(CLI11 CLI11::CLI11 CLI/CLI.hpp)
endif()
