#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that are missing, and nothing when all are there.
#   deps.sh run    what `telefuser dev` uses: ffmpeg (artifacts), libvpx (live video) and libopus (live sound)
#   deps.sh test   that, and what the tests start: redis-server, Node and npm, a C compiler for the race detector, clang for kernels,
#                  chromium for the console
set -euo pipefail

missing=()
need_command() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need_libvpx() {
  ldconfig -p 2>/dev/null | grep -q 'libvpx\.so\.' && return
  # The library's version is in the package's name: take the one that this release has.
  local pkg
  pkg=$(apt-cache search --names-only '^libvpx[0-9]+$' 2>/dev/null | awk '{print $1}' | sort -V | tail -n 1)
  missing+=("${pkg:-libvpx7}")
}

need_libopus() { ldconfig -p 2>/dev/null | grep -q 'libopus\.so\.0' || missing+=(libopus0); }

case "${1:-run}" in
  run) need_command ffmpeg ffmpeg; need_libvpx; need_libopus ;;
  test)
    need_command ffmpeg ffmpeg; need_command ffprobe ffmpeg; need_libvpx; need_libopus
    need_command redis-server redis-server
    need_command node nodejs; need_command npm npm
    need_command gcc gcc; need_command python3 python3
    python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
    need_command clang-19 clang-19; need_command chromium chromium ;;
  *) echo "usage: deps.sh run|test" >&2; exit 2 ;;
esac
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "please install: ${missing[*]}" >&2
  exit 1
fi
sudo=""; [ "$(id -u)" -eq 0 ] || sudo="sudo"
echo "installing: ${missing[*]}"
$sudo apt-get update -qq
# One by one, so that a package which a release lacks does not stop the others. Without clang-19 (kernels to PTX) and chromium (the console),
# tests are skipped and say so.
for pkg in $(printf '%s\n' "${missing[@]}" | sort -u); do
  if ! $sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$pkg" >/dev/null; then
    echo "could not install $pkg" >&2
    case "$pkg" in clang-19 | chromium) ;; *) exit 1 ;; esac
  fi
done
