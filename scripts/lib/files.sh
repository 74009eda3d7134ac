# shellcheck shell=bash
# project_files PATTERN...: the project's own sources of these names, below the source root.
project_files() {
  local folder pattern names=()
  for pattern in "$@"; do names+=(-o -name "$pattern"); done
  for folder in include kernels runtime cann tools bench test examples; do
    [ ! -d "$folder" ] || find "$folder" -type f \( "${names[@]:1}" \)
  done | sort
}
