# shellcheck shell=bash
# What the commands in this folder share: progress, packages, building. Sourced with the source root as the working
# directory.

readonly required_cmake=3.25
readonly required_gcc=12

jobs=$(nproc 2>/dev/null || echo 1)
step_number=0
step_count=1

# step TEXT: announces the next of $step_count steps.
step() {
  step_number=$((step_number + 1))
  printf '\n=== [%d/%d] %s\n' "$step_number" "$step_count" "$*"
}

die() {
  printf 'ERROR: %s\n' "$*" >&2
  exit 1
}

# version_at_least HAVE WANT
version_at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

have_cmake() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p') && [ -n "$version" ] &&
    version_at_least "$version" "$required_cmake"
}

have_gcc() {
  local version
  version=$(g++ -dumpfullversion 2>/dev/null) && [ -n "$version" ] && version_at_least "$version" "$required_gcc"
}

have_qemu() { command -v qemu-aarch64 || command -v qemu-aarch64-static; }

have_clang() { command -v clang++ clang++-14 >/dev/null 2>&1; }

# have_header FILE: GCC finds it without options.
have_header() { printf '#include <%s>\n' "$1" | g++ -std=c++20 -x c++ -E - >/dev/null 2>&1; }

have_catch2() { have_header catch2/catch.hpp || have_header catch2/catch_all.hpp; }

# The tools and libraries the commands use: what it is, the Debian package, and how to see that it is there.
check_build_tools() {
  check "CMake $required_cmake or newer" cmake have_cmake
  check "GCC $required_gcc or newer (g++)" g++ have_gcc
  check "Ninja" ninja-build command -v ninja
}

check_libraries() {
  check "xsimd" libxsimd-dev have_header xsimd/xsimd.hpp
  check "nlohmann-json 3" nlohmann-json3-dev have_header nlohmann/json.hpp
  check "CLI11" libcli11-dev have_header CLI/CLI.hpp
  check "Catch2" catch2 have_catch2
  check "Google Benchmark" libbenchmark-dev have_header benchmark/benchmark.h
  check "oneDNN" libdnnl-dev have_header oneapi/dnnl/dnnl.hpp
}

check_test_tools() {
  check "make (CANN's documented recipe has CMake use it)" make command -v make
  check "pkg-config" pkg-config command -v pkg-config
  check "Python 3" python3 command -v python3
  check "Python's venv with pip" python3-venv have_venv
  check "Clang" "$clang_package" have_clang
  check "Clang's sanitizers" "$sanitizer_package" have_clang_sanitizers
  check "LLVM's OpenMP runtime" "$openmp_package" have_clang_openmp
  check "a cross compiler for 64-bit Arm" g++-aarch64-linux-gnu command -v aarch64-linux-gnu-g++
  check "qemu-user" qemu-user have_qemu
  check "clang-format 14" clang-format-14 command -v clang-format-14
  check "clang-tidy 14" clang-tidy-14 command -v clang-tidy-14
}

# clang_links OPTION SOURCE: Clang makes a program of it.
clang_links() {
  local clang
  clang=$(command -v clang++ || command -v clang++-14) &&
    printf '%s\n' "$2" | "$clang" "$1" -x c++ - -o /dev/null >/dev/null 2>&1
}

have_venv() { python3 -c 'import ensurepip, venv'; }

have_clang_sanitizers() { clang_links -fsanitize=thread 'int main() { return 0; }'; }

have_clang_openmp() {
  clang_links -fopenmp '#include <omp.h>
int main() { return omp_get_max_threads() < 1; }'
}

# check WHAT PACKAGE COMMAND...: notes what is missing.
check() {
  local what=$1 package=$2
  shift 2
  if ! "$@" >/dev/null 2>&1; then
    missing+=("$what")
    packages+=("$package")
  fi
}

# install_missing CHECK...: runs the checks; where something is missing, installs it on Debian and its relatives and says
# what to install elsewhere. Needs no network when everything is there.
install_missing() {
  local as_root=() checks=("$@") run
  clang_package=clang openmp_package=libomp-dev sanitizer_package=libclang-rt-dev
  if [ -e /etc/os-release ] && (. /etc/os-release && [ "$ID:${VERSION_ID-}" = debian:12 ]); then
    clang_package=clang-14 openmp_package=libomp-14-dev sanitizer_package=libclang-rt-14-dev
  fi
  find_missing "${checks[@]}"
  if [ ${#missing[@]} -eq 0 ]; then
    echo "everything is there"
    return
  fi
  if ! command -v apt-get >/dev/null 2>&1; then
    printf 'ERROR: this system has no apt-get; install by hand and run again:\n' >&2
    printf '  %s\n' "${missing[@]}" >&2
    exit 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || die "neither root nor sudo; as root: apt-get install ${packages[*]}"
    as_root=(sudo)
  fi
  run=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3)
  echo "installing ${packages[*]}"
  # A third-party source that does not answer is no reason to stop: the installation shows whether it was needed.
  "${as_root[@]}" "${run[@]}" update </dev/null || echo "package lists are incomplete, going on" >&2
  "${as_root[@]}" "${run[@]}" install -y --no-install-recommends "${packages[@]}" </dev/null ||
    die "could not install ${packages[*]}"
  hash -r
  find_missing "${checks[@]}"
  [ ${#missing[@]} -eq 0 ] || die "still missing after installing ${packages[*]}: ${missing[*]}"
}

find_missing() {
  missing=() packages=()
  local run
  for run in "$@"; do "$run"; done
}

if command -v ccache >/dev/null 2>&1; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

# build PRESET [TARGET...]: configures and compiles below build/PRESET.
build() {
  local preset=$1
  shift
  [ $# -eq 0 ] || set -- --target "$@"
  cmake --preset "$preset" && cmake --build "build/$preset" --parallel "$jobs" "$@"
}
