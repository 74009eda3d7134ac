# Clang, under its plain name or a version's.
find_program(CMAKE_C_COMPILER NAMES clang clang-18 clang-17 clang-16 clang-15 clang-14 REQUIRED)
find_program(CMAKE_CXX_COMPILER NAMES clang++ clang++-18 clang++-17 clang++-16 clang++-15 clang++-14 REQUIRED)
