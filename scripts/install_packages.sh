#!/usr/bin/env bash
# Installs the Debian 12 packages that are missing; does nothing, and asks for no network, when all are there.
#   scripts/install_packages.sh              what building, testing and training need
#   scripts/install_packages.sh --pytorch    also PyTorch, for scripts/compare_*.sh
#   scripts/install_packages.sh --text       also the texts of scripts/prepare_text.sh
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config
  libdnnl-dev libxsmm-dev libyaml-cpp-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev zlib1g-dev
  libsentencepiece-dev libjpeg62-turbo-dev libpng-dev libwebp-dev
  catch2 python3 python3-numpy
  dataset-fashion-mnist
)
case "${1:-}" in
  "") ;;
  # Without OpenBLAS, PyTorch's matrix products are thirty times slower, and no comparison counts.
  --pytorch) packages+=(python3-torch python3-torchvision libopenblas0-openmp) ;;
  --text) packages+=(bible-kjv trans-de-en) ;;
  *) echo "install_packages: unknown option $1 (there are --pytorch and --text)" >&2; exit 2 ;;
esac

fail() { echo "install_packages: $1" >&2; exit 1; }

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install_packages: not a Debian system, nothing installed; needed are the equivalents of: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  # One query a package: dpkg-query stops answering for the others at the first unknown name.
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "install_packages: all ${#packages[@]} packages are there"
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || fail "neither root nor sudo; run as root: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

echo "install_packages: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
    apt-get -qq -o Acquire::Retries=2 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 "$@" >"$log" 2>&1 </dev/null
}
reason() { grep -m1 '^E:' "$log" || tail -n1 "$log"; }

# An old list of packages is enough as long as what it names can still be fetched.
stale=""
apt update || stale=" (before that, its list could not be renewed: $(reason))"
apt install -y --no-install-recommends "${missing[@]}" || fail "apt-get could not install ${missing[*]}: $(reason)$stale"
echo "install_packages: done"
