# LIBRARY exports every function that HEADERS mark with MLA_PROLOG_API, and nothing that they do not name.
cmake_minimum_required(VERSION 3.25)

execute_process(
  COMMAND ${NM} -D --defined-only -C ${LIBRARY}
  OUTPUT_VARIABLE symbols
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
# Brackets would join list elements.
string(REGEX REPLACE "\\[abi:[a-z0-9]+\\]" "" symbols "${symbols}")
string(REGEX REPLACE "[][]" "_" symbols "${symbols}")
string(REPLACE "\n" ";" symbols "${symbols}")

file(GLOB headers ${HEADERS}/*.hpp)
list(FILTER headers EXCLUDE REGEX "/export\\.hpp$")
set(text "")
foreach(header IN LISTS headers)
  file(READ ${header} content)
  string(REGEX REPLACE "//[^\n]*" "" content "${content}")
  string(APPEND text "${content}")
endforeach()
string(REGEX REPLACE "[][]" "_" text "${text}")
string(REPLACE ";" " " text "${text}")

set(failures "")
set(exported "")
foreach(symbol IN LISTS symbols)
  # "0000000000004a20 T mla_prolog::TensorDesc::numel() const": strip address, kind, and any return type.
  string(REGEX REPLACE "^[0-9a-f]* *[A-Za-z] (.* )?(mla_prolog::[A-Za-z_0-9:~]+(operator[^A-Za-z_0-9(]*)?)[^ ]*\\(.*$" "\\2" name
                       "${symbol}")
  if(NOT name MATCHES "^mla_prolog::[A-Za-z_0-9:~]+")
    string(APPEND failures "\n  not of namespace mla_prolog: ${symbol}")
    continue()
  endif()
  string(REGEX REPLACE "^.*::~?" "" last "${name}")
  list(APPEND exported ${last})
  if(name MATCHES "^mla_prolog::(detail|kernels|runtime)::" OR NOT text MATCHES "[^A-Za-z_0-9]${last}[^A-Za-z_0-9]")
    string(APPEND failures "\n  in no public header: ${symbol}")
  endif()
endforeach()

string(REGEX MATCHALL "MLA_PROLOG_API [A-Za-z_0-9:<>&* ,]+\\(" declarations "${text}")
foreach(declaration IN LISTS declarations)
  string(REGEX REPLACE "^.*[ &*]([A-Za-z_0-9]+)(<[^(]*>)?\\($" "\\1" name "${declaration}")
  if(NOT name IN_LIST exported)
    string(APPEND failures "\n  declared but not exported: ${name}")
  endif()
endforeach()

list(LENGTH symbols count)
if(failures)
  message(FATAL_ERROR "${count} symbols:${failures}")
endif()
message(STATUS "${count} symbols, all public")
