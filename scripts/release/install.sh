#!/bin/sh
# Installs hookback and hookback-server for this account, without root:
#
#   curl -fsSL https://github.com/hookback/hookback/releases/latest/download/install.sh | sh
#
# HOOKBACK_VERSION       version to install, such as 1.2.3; default: the newest release
# HOOKBACK_BIN           directory of the binaries; default: ~/.local/bin
# HOOKBACK_DOWNLOAD_URL  directory with checksums.txt and the archives, for a mirror
#
# It installs nothing without a matching SHA-256 from checksums.txt. If cosign is installed, it
# also verifies that the release workflow of the repository signed checksums.txt.
set -eu

repository=https://github.com/hookback/hookback

fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

system() {
  case $(uname -s) in
    Linux) echo linux ;;
    Darwin) echo darwin ;;
    *) fail "no archive for $(uname -s); on Windows use Scoop or the zip file from $repository/releases" ;;
  esac
}

processor() {
  case $(uname -m) in
    x86_64 | amd64) echo amd64 ;;
    aarch64 | arm64) echo arm64 ;;
    *) fail "no archive for the processor $(uname -m); build it from source: $repository" ;;
  esac
}

download() { # file name
  case $base in
    https://*) scheme=https ;;
    http://127.0.0.1:* | http://localhost:*) scheme=http ;;
    *) fail "HOOKBACK_DOWNLOAD_URL must start with https://: $base" ;;
  esac
  if has curl; then
    curl -fsSL --proto "=$scheme" --retry 2 -o "$tmp/$1" "$base/$1" || fail "cannot download $base/$1"
  elif has wget; then
    wget_file "$base/$1" "$tmp/$1"
  else
    fail "install curl or wget first"
  fi
}

# wget has no option that keeps redirects on https, so each of them is checked here. The wget of
# BusyBox can't be kept from following them, and does not know the option.
wget_file() { # address, file
  address=$1
  for _ in 1 2 3 4 5; do
    LC_ALL=C wget -q -S --max-redirect=0 -O "$2" "$address" 2>"$tmp/headers" && return
    address=$(grep -i '^ *location: ' "$tmp/headers" | head -n 1 | cut -d : -f 2- | tr -d ' \r') || :
    case $address in
      $scheme://*) ;;
      '') break ;;
      *) fail "$1 redirects to an address without $scheme: $address" ;;
    esac
  done
  fail "cannot download $1; with the wget of BusyBox, install curl first"
}

sha256() { # file
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    fail "install sha256sum or shasum first: the download can't be verified"
  fi
}

verify_signature() {
  has cosign || return 0
  download checksums.txt.sigstore.json
  cosign verify-blob --bundle "$tmp/checksums.txt.sigstore.json" \
    --certificate-oidc-issuer https://token.actions.githubusercontent.com \
    --certificate-identity-regexp "^$repository/\\.github/workflows/release\\.yml@refs/tags/v" \
    "$tmp/checksums.txt" >/dev/null 2>&1 || fail "the signature of checksums.txt is wrong: nothing was installed"
}

main() {
  os=$(system)
  arch=$(processor)
  bin=${HOOKBACK_BIN:-${HOME:?HOME is not set}/.local/bin}
  base=$repository/releases/latest/download
  [ -z "${HOOKBACK_VERSION:-}" ] || base=$repository/releases/download/v${HOOKBACK_VERSION#v}
  base=${HOOKBACK_DOWNLOAD_URL:-$base}
  base=${base%/}

  tmp=$(mktemp -d)
  trap 'rm -rf "$tmp"' EXIT
  trap 'exit 1' HUP INT TERM

  download checksums.txt
  verify_signature
  # A line is: SHA-256, two spaces, hookback_VERSION_OS_ARCH.tar.gz
  line=$(grep -E "^[0-9a-f]{64}  hookback_[0-9A-Za-z.+~-]+_${os}_$arch\\.tar\\.gz\$" "$tmp/checksums.txt") ||
    fail "checksums.txt has no archive for $os $arch"
  [ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "checksums.txt has more than one archive for $os $arch"
  archive=${line##* }
  download "$archive"
  actual=$(sha256 "$tmp/$archive")
  [ "$actual" = "${line%% *}" ] || fail "$archive has the SHA-256 $actual instead of ${line%% *}: nothing was installed"

  mkdir "$tmp/files"
  tar -xzf "$tmp/$archive" -C "$tmp/files" hookback hookback-server || fail "cannot unpack $archive"
  mkdir -p "$bin"
  for program in hookback-server hookback; do # a running program keeps its old file
    cp "$tmp/files/$program" "$bin/.$program.new"
    chmod 755 "$bin/.$program.new"
    mv -f "$bin/.$program.new" "$bin/$program"
  done

  printf 'Installed %s in %s\n' "$("$bin/hookback" version | cut -d ' ' -f 1,2)" "$bin"
  case :$PATH: in
    *":$bin:"*) ;;
    *) printf 'Add it to your PATH: export PATH="%s:%s"\n' "$bin" "\$PATH" ;;
  esac
  echo "Run: hookback up"
}

main "$@"
