# GCC, under its plain name or the oldest supported version's.
find_program(CMAKE_C_COMPILER NAMES gcc gcc-12 REQUIRED)
find_program(CMAKE_CXX_COMPILER NAMES g++ g++-12 REQUIRED)
