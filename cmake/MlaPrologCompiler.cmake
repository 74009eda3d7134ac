# Language level, visibility, arithmetic rules and warnings of everything compiled here. Directory options only: none of
# it reaches a consumer's targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

# Results must not depend on where the compiler fuses a multiply with an add.
add_compile_options(-ffp-contract=off -fno-math-errno)

if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-Wall -Wextra -Wshadow "$<$<COMPILE_LANGUAGE:CXX>:-Wconversion;-Wsign-conversion;-Wnon-virtual-dtor>")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # Reports string concatenation of its own library (GCC bug 105651).
    add_compile_options(-Wno-restrict)
  endif()
endif()
if(NOT MLA_PROLOG_WITH_OPENMP)
  # Without OpenMP its pragmas mean one thread.
  add_compile_options(-Wno-unknown-pragmas)
endif()
if(MLA_PROLOG_WERROR)
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()
