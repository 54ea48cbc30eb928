#!/usr/bin/env bash
# ci/software-devices.sh: Vulkan drivers that need no GPU, in ~/.cache/parity-ladder (XDG_CACHE_HOME is honoured):
#   lavapipe/bin/vkrun PROGRAM ...     runs a program on Mesa's lavapipe with cooperative matrices
#   swiftshader/vk_swiftshader_icd.json   for VK_DRIVER_FILES
# They come from Debian's archive, signature-checked, without touching the system's apt. The lavapipe is newer than
# the C library of a stable system, so it brings its own and its own loader; vkrun starts programs through them.
#   DEBIAN_MIRROR   the archive to use (default: the one of the system's apt, else deb.debian.org)
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ "$(dpkg --print-architecture)" = amd64 ] || { say "software devices: only amd64 is handled; none is fetched"; exit 0; }
triplet=x86_64-linux-gnu
stamp=$(sha256sum < "${BASH_SOURCE[0]}" | cut -c1-16)
up_to_date() { [ "$(cat "$cache/$1/.stamp" 2> /dev/null)" = "$stamp" ]; }
if up_to_date lavapipe && up_to_date swiftshader; then
  say "software devices: up to date in $cache"
  exit 0
fi

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f $keyring ] || keyring=/usr/share/keyrings/debian-archive-keyring.pgp
[ -f $keyring ] || { install debian-archive-keyring; keyring=/usr/share/keyrings/debian-archive-keyring.gpg; }

mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2> /dev/null |
  grep -E '/debian/?$' | head -n 1 || true)}
mirror=${mirror:-http://deb.debian.org/debian}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An apt of its own: `private_apt NAME SUITE... -- ARGUMENTS` with its own lists and no installed packages.
prepare_apt() {
  local name=$1 suite
  shift
  apt_state=$work/$name
  mkdir -p "$apt_state"/lists/partial "$apt_state"/cache/archives/partial "$apt_state"/debs "$apt_state"/root
  : > "$apt_state/status"
  : > "$apt_state/sources.list"
  for suite in "$@"; do echo "deb [signed-by=$keyring] $mirror $suite main" >> "$apt_state/sources.list"; done
  private_apt -o APT::Update::Error-Mode=any update > "$apt_state/log" 2>&1 || { cat "$apt_state/log" >&2; die "apt-get update of $mirror failed"; }
}
private_apt() {
  apt-get -q -y -o "Dir::Etc::sourcelist=$apt_state/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o "Dir::State=$apt_state" \
    -o "Dir::State::lists=$apt_state/lists" -o "Dir::State::status=$apt_state/status" -o "Dir::Cache=$apt_state/cache" \
    -o "Dir::Cache::archives=$apt_state/cache/archives" -o Acquire::Languages=none -o Acquire::Retries=3 \
    -o APT::Sandbox::User="$(id -un)" -o APT::Architecture=amd64 -o APT::Architectures=amd64 "$@"
}
# unpack PACKAGE...: downloads and unpacks into $apt_state/root.
unpack() {
  (cd "$apt_state/debs" && private_apt download "$@" > "$apt_state/log" 2>&1) || { cat "$apt_state/log" >&2; die "download failed"; }
  local deb
  for deb in "$apt_state"/debs/*.deb; do dpkg-deb -x "$deb" "$apt_state/root"; done
}
# put_in_place NAME FOLDER: a prefix appears whole or not at all.
put_in_place() {
  echo "$stamp" > "$2/.stamp"
  mkdir -p "$cache"
  rm -rf "$cache/$1.new" "$cache/$1.old"
  cp -a "$2" "$cache/$1.new"
  [ ! -e "$cache/$1" ] || mv "$cache/$1" "$cache/$1.old"
  mv "$cache/$1.new" "$cache/$1"
  rm -rf "$cache/$1.old"
}

if ! up_to_date swiftshader; then
  say "fetching SwiftShader (from Debian's chromium-common) into $cache/swiftshader"
  # The oldest release's build runs on every newer one.
  prepare_apt swiftshader bookworm
  unpack chromium-common
  prefix=$work/swiftshader-prefix
  mkdir -p "$prefix"
  find "$apt_state/root" -name libvk_swiftshader.so -exec cp {} "$prefix/" \;
  [ -f "$prefix/libvk_swiftshader.so" ] || die "chromium-common holds no libvk_swiftshader.so any more"
  cat > "$prefix/vk_swiftshader_icd.json" << JSON
{"file_format_version": "1.0.0", "ICD": {"library_path": "./libvk_swiftshader.so", "api_version": "1.3.0"}}
JSON
  put_in_place swiftshader "$prefix"
fi

if ! up_to_date lavapipe; then
  say "fetching lavapipe with cooperative matrices (Mesa of trixie-backports) into $cache/lavapipe"
  prepare_apt lavapipe trixie trixie-backports
  wanted=(mesa-vulkan-drivers/trixie-backports libvulkan1 vulkan-validationlayers)
  # What apt would install on an empty system, the C library included.
  mapfile -t closure < <(private_apt -s --no-install-recommends install "${wanted[@]}" |
    awk '$1 == "Inst" && $2 != "mesa-vulkan-drivers" {print $2}')
  unpack "${closure[@]}" mesa-vulkan-drivers/trixie-backports
  libraries=$apt_state/root/usr/lib/$triplet
  loader=$libraries/ld-linux-x86-64.so.2
  prefix=$work/lavapipe-prefix
  mkdir -p "$prefix"/bin "$prefix"/lib "$prefix"/icd "$prefix"/layers
  cp -L "$loader" "$prefix/lib/"
  for name in libvulkan_lvp.so libVkLayer_khronos_validation.so libvulkan.so.1; do
    cp -L "$libraries/$name" "$prefix/lib/"
    "$loader" --inhibit-cache --library-path "$libraries" --list "$libraries/$name"
  done | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u | while read -r file; do
    case $file in
      "$work"/*) cp -L "$file" "$prefix/lib/" ;;
      *) die "$file would come from the system" ;;
    esac
  done
  # One C library for the whole process: its other parts too.
  for name in libpthread.so.0 libdl.so.2 librt.so.1 libm.so.6 libmvec.so.1 libutil.so.1 libanl.so.1 libresolv.so.2 \
    libstdc++.so.6 libgcc_s.so.1; do
    cp -L "$libraries/$name" "$prefix/lib/"
  done
  cat > "$prefix/icd/lvp_icd.json" << JSON
{"file_format_version": "1.0.1", "ICD": {"library_path": "../lib/libvulkan_lvp.so", "api_version": "1.4.0"}}
JSON
  sed 's#"library_path": *"[^"]*"#"library_path": "../lib/libVkLayer_khronos_validation.so"#' \
    "$apt_state/root/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json" \
    > "$prefix/layers/VkLayer_khronos_validation.json"
  cat > "$prefix/bin/vkrun" << 'SCRIPT'
#!/bin/sh
# vkrun PROGRAM [ARGUMENTS...]: runs a program on the lavapipe beside this script, through its own loader.
[ $# -gt 0 ] || { echo "usage: vkrun PROGRAM [ARGUMENTS...]" >&2; exit 2; }
prefix=$(dirname "$(dirname "$(readlink -f "$0")")")
program=$1
shift
case $program in
  */*) ;;
  *) program=$(command -v "$program") || { echo "vkrun: there is no program $program" >&2; exit 2; } ;;
esac
export VK_DRIVER_FILES="$prefix/icd/lvp_icd.json" VK_ICD_FILENAMES="$prefix/icd/lvp_icd.json" VK_LAYER_PATH="$prefix/layers"
exec "$prefix/lib/ld-linux-x86-64.so.2" --library-path "$prefix/lib" --argv0 "$program" "$program" "$@"
SCRIPT
  chmod 755 "$prefix/bin/vkrun"
  put_in_place lavapipe "$prefix"
fi
say "software devices: ready in $cache"
