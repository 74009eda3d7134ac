# Source this file: it points the environment that CANN programs are built and run with at this tree.
if [ -n "${BASH_SOURCE:-}" ]; then
  _mla_prolog_env="${BASH_SOURCE[0]}"
elif [ -n "${ZSH_VERSION:-}" ]; then
  _mla_prolog_env="${(%):-%x}"
else
  # Such a shell does not say which file it reads.
  if [ ! -e ./lib64/libascendcl.so ]; then
    echo "set_env.sh: this shell does not tell where the file lies: source it from its own folder, or with bash" >&2
    return 1
  fi
  _mla_prolog_env="./set_env.sh"
fi
_mla_prolog_env="$(cd "$(dirname "$_mla_prolog_env")" && pwd)"
export ASCEND_HOME_PATH="$_mla_prolog_env"
export ASCEND_TOOLKIT_HOME="$_mla_prolog_env"
export ASCEND_OPP_PATH="$_mla_prolog_env/opp"
export LD_LIBRARY_PATH="$_mla_prolog_env/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# The program's own threads and the emulated device share the CPU: OpenMP threads that wait must not keep it busy.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
unset _mla_prolog_env
