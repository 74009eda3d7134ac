# 64-bit Arm with Debian's cross compiler (g++-aarch64-linux-gnu), programs run through qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(sysroot /usr/aarch64-linux-gnu)
find_program(MLA_PROLOG_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(MLA_PROLOG_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${MLA_PROLOG_QEMU_AARCH64} -L ${sysroot})
endif()

# Header-only libraries of the build machine serve the target too, but its /usr/include as a whole does not.
set(headers ${CMAKE_BINARY_DIR}/header-only)
if(NOT CMAKE_BINARY_DIR MATCHES "CMakeScratch|CMakeTmp")
  file(MAKE_DIRECTORY ${headers}/include)
  foreach(library xsimd nlohmann CLI catch2)
    if(EXISTS /usr/include/${library} AND NOT EXISTS ${headers}/include/${library})
      file(CREATE_LINK /usr/include/${library} ${headers}/include/${library} SYMBOLIC)
    endif()
  endforeach()
endif()

set(CMAKE_FIND_ROOT_PATH ${sysroot} ${headers})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
