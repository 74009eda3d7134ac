# Reads the object files of the library:
#  * those outside the instruction sets' units use nothing above the ABI's floor;
#  * units of instruction sets have no dynamic initialisers, which would run on any CPU;
#  * what they define weakly bears the unit's own name, so that no other object's copy can be replaced by it.
#
# cmake -D OBJECTS=<file;...> -D UNITS=<name=source;...> -D OBJDUMP=... -D NM=... -D PROCESSOR=... -D SCRATCH=<file>
#       -P check_objects.cmake

string(ASCII 9 tab)
if(PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  # Registers and mnemonics that SSE2 does not have: VEX and EVEX, BMI, and SSE3 to SSE4.2.
  string(
    CONCAT above_floor
    "%[yz]mm|%k[0-7]|:[ ${tab}]+("
    "v[a-z]|andn[ lq]|bextr|bls[imr]|mulx|pdep|pext[ lq]|rorx|sarx|shlx|shrx|lzcnt|popcnt|movbe|crc32|"
    "addsubp|haddp|hsubp|lddqu|movddup|movshdup|movsldup|pabs|palignr|phadd|phsub|pmaddub|pmulhrsw|pshufb|psign|"
    "blend|dpp|extractps|insertps|mpsadbw|packusdw|pblend|pcmpeqq|pcmpgtq|pcmp[ei]str|pextr[bdq]|phminpos|"
    "pinsr[bdq]|pmaxs[bd]|pmaxu[dw]|pmins[bd]|pminu[dw]|pmov[sz]x|pmuldq|pmulld|ptest|round[ps])")
else()
  set(above_floor ":[ ${tab}]+([su]dot|[su]mmla|bfdot|bfmmla|bfcvt|fmlal)|${tab}z[0-9]+[.]")
endif()

set(problems "")
set(unit_hits 0)
set(units_found 0)

foreach(object IN LISTS OBJECTS)
  set(unit "")
  foreach(pair IN LISTS UNITS)
    string(REGEX MATCH "^([^=]+)=(.*)$" matched "${pair}")
    set(source "${CMAKE_MATCH_2}")
    set(name "${CMAKE_MATCH_1}")
    if(object MATCHES "/${source}[.](o|obj)$")
      set(unit ${name})
    endif()
  endforeach()

  execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${object} OUTPUT_FILE ${SCRATCH} COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${SCRATCH} lines LIMIT_COUNT 3 REGEX "${above_floor}")
  if(unit STREQUAL "")
    if(lines)
      list(JOIN lines "\n    " lines)
      string(APPEND problems "  above the ABI floor: ${object}\n    ${lines}\n")
    endif()
    continue()
  endif()

  math(EXPR units_found "${units_found} + 1")
  if(lines)
    math(EXPR unit_hits "${unit_hits} + 1")
  endif()
  execute_process(COMMAND ${OBJDUMP} -h ${object} OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)
  if(sections MATCHES "[.](init_array|ctors)")
    string(APPEND problems "  dynamic initialiser: ${object}\n")
  endif()
  execute_process(
    COMMAND ${NM} --defined-only --format=posix ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^ \n]+ [WwVvu] [^\n]*" weak "${symbols}")
  foreach(symbol IN LISTS weak)
    # A pointer to the exception personality, the same in every object that has one, is data and harmless.
    if(NOT symbol MATCHES "mla_prolog_xsimd_${unit}|^DW[.]ref[.]")
      string(APPEND problems "  weak symbol without the unit's name: ${object}: ${symbol}\n")
    endif()
  endforeach()
endforeach()
file(REMOVE ${SCRATCH})

list(LENGTH UNITS unit_count)
if(NOT units_found EQUAL unit_count)
  string(APPEND problems "  ${unit_count} units are listed and ${units_found} objects belong to one\n")
endif()
if(PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND unit_hits LESS 3)
  string(APPEND problems "  the search finds nothing where SSE4.2, AVX2 and AVX-512 are certain to be\n")
endif()
if(problems)
  message(FATAL_ERROR "\n${problems}")
endif()
