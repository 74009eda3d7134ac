# Translation units compiled for one instruction set each, inside mla_prolog_core; everything else stays at the ABI floor.
#
#   mla_prolog_add_isa(<name> [FLAGS <flag>...] SOURCES <file>...)
#
# The first call for a name gives its flags; later calls, from any folder, add sources to the same set. One of them defines
# `isa_unit_<name>` (kernels/dispatch/isa_unit.hpp). mla_prolog_write_isa_list() hands the names to the registry. The global
# property MLA_PROLOG_ISA_UNITS lists <name>=<source relative to the project>.

include_guard(GLOBAL)

function(mla_prolog_add_isa name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FLAGS;SOURCES")
  get_property(names GLOBAL PROPERTY MLA_PROLOG_ISA_NAMES)
  if(NOT name IN_LIST names)
    set_property(GLOBAL APPEND PROPERTY MLA_PROLOG_ISA_NAMES ${name})
    set_property(GLOBAL PROPERTY MLA_PROLOG_ISA_FLAGS_${name} "${arg_FLAGS}")
  elseif(arg_FLAGS)
    message(FATAL_ERROR "The flags of instruction set ${name} are given twice")
  endif()
  get_property(flags GLOBAL PROPERTY MLA_PROLOG_ISA_FLAGS_${name})

  # Always optimised: what a compiler does not inline at -O0 becomes a weak function with this set's instructions, which
  # the linker may then choose for a unit of a lesser set.
  list(APPEND flags $<$<CONFIG:Debug,>:-O2>)
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    target_sources(mla_prolog_core PRIVATE ${source})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
    set_property(GLOBAL APPEND PROPERTY MLA_PROLOG_ISA_UNITS ${name}=${relative})
    set_source_files_properties(${source} TARGET_DIRECTORY mla_prolog_core PROPERTIES
      COMPILE_OPTIONS "${flags}"
      COMPILE_DEFINITIONS MLA_PROLOG_ISA_NAME=${name}
      SKIP_UNITY_BUILD_INCLUSION ON
      SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
endfunction()

function(mla_prolog_write_isa_list file)
  get_property(names GLOBAL PROPERTY MLA_PROLOG_ISA_NAMES)
  set(MLA_PROLOG_ISA_DECLARATIONS "")
  set(MLA_PROLOG_ISA_POINTERS "")
  foreach(name IN LISTS names)
    string(APPEND MLA_PROLOG_ISA_DECLARATIONS "extern const IsaUnit isa_unit_${name};\n")
    string(APPEND MLA_PROLOG_ISA_POINTERS "&isa_unit_${name}, ")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/built_isa_units.hpp.in ${file} @ONLY)
endfunction()
