#!/usr/bin/env bash
# Installs packages, builds, and runs all tests. Words after the options go to ctest: scripts/test.sh -R unit/
#   --sanitize    the same under ASan and UBSan, in build-asan/
set -euo pipefail
cd "$(dirname "$0")/.."

directory=build
sanitize=()
if [[ ${1:-} == --sanitize ]]; then
  directory=build-asan
  sanitize=(--sanitize)
  shift
fi

scripts/install_packages.sh
scripts/build.sh "${sanitize[@]}"

# Two tests at a time share the cores: threads that wait must sleep, or each would spin on the other's core.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
# The OpenMP runtime and oneDNN keep thread-local memory to the end of the process; that is no leak of ours.
export LSAN_OPTIONS="suppressions=$PWD/tests/support/lsan.supp:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
exec ctest --test-dir "$directory" --output-on-failure --no-tests=error -j 2 "$@"
