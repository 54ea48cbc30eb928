#!/usr/bin/env bash
# ci/vulkan-sdk.sh [DEST]
# Makes a small Vulkan SDK prefix from the packages of a newer Debian: shader compilers, SPIR-V tools, Vulkan and
# VulkanMemoryAllocator headers. For machines whose own packages are too old (Debian 12). The system's apt sources,
# lists and package database stay as they are. Idempotent: a prefix that is up to date is left alone.
#
#   DEST/bin      glslangValidator glslc spirv-val spirv-opt spirv-dis spirv-as
#   DEST/include  vulkan/ vk_video/ vk_mem_alloc.h
#   DEST/libexec  the real programs with their own C library
#
# DEST is ${XDG_CACHE_HOME:-~/.cache}/parity-ladder/vulkan-sdk unless given; the build looks there by itself, and
# in VULKAN_SDK first.
# Environment: SDK_SUITE         Debian suite to take packages from (trixie)
#              DEBIAN_MIRROR     where from (the mirror of the system's apt on Debian, else deb.debian.org)
#              DEBIAN_KEYRING    (/usr/share/keyrings/debian-archive-keyring.gpg)
#              SDK_FORCE=1       build again
set -euo pipefail

dest=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/parity-ladder/vulkan-sdk}
suite=${SDK_SUITE:-trixie}
keyring=${DEBIAN_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
programs=(glslangValidator glslc spirv-val spirv-opt spirv-dis spirv-as)
tool_packages=(glslang-tools glslc libshaderc1 spirv-tools)
header_packages=(libvulkan-dev libvulkan-memory-allocator-dev)
runtime_packages=(libc6 libgcc-s1 libstdc++6)

say() { echo "vulkan-sdk: $*"; }
die() { echo "vulkan-sdk: $*" >&2; exit 1; }

[ "$(dpkg --print-architecture 2> /dev/null)" = amd64 ] ||
  die "only amd64 Debian or Ubuntu is handled; install the LunarG Vulkan SDK and set VULKAN_SDK"
[ -r "$keyring" ] || die "no $keyring; apt-get install debian-archive-keyring, or set DEBIAN_KEYRING"
triplet=x86_64-linux-gnu

# What the prefix depends on: the suite and this script.
stamp="$suite $(sha256sum < "${BASH_SOURCE[0]}" | cut -c1-16)"
if [ -z "${SDK_FORCE:-}" ] && [ "$(cat "$dest/.stamp" 2> /dev/null)" = "$stamp" ]; then
  say "$dest is up to date"
  exit 0
fi

# The Debian mirror that apt uses here, if any.
find_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2> /dev/null |
    grep -m1 -E '^https?://.*/debian/?$' || echo https://deb.debian.org/debian
}
mirror=${DEBIAN_MIRROR:-$(find_mirror)}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,packages,root}
: > "$work/status"
echo "deb [arch=amd64 signed-by=$keyring] $mirror $suite main" > "$work/sources.list"

# An apt of its own: nothing of the system's configuration of sources is read or written.
private_apt() {
  apt-get -q -y \
    -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
    -o Dir::State="$work" -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status" \
    -o Dir::Cache="$work/cache" -o Dir::Cache::archives="$work/cache/archives" \
    -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
    -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)" \
    -o APT::Architecture=amd64 -o APT::Architectures=amd64 "$@" > "$work/apt.log" 2>&1 ||
    { cat "$work/apt.log" >&2; die "apt-get $* failed"; }
}

say "packages of $suite from $mirror"
private_apt update -o APT::Update::Error-Mode=any
(cd "$work/packages" && private_apt download "${tool_packages[@]}" "${header_packages[@]}" "${runtime_packages[@]}")
for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$work/root"; done

from=$work/root/usr
loader=$from/lib/$triplet/ld-linux-x86-64.so.2
new=$work/new
mkdir -p "$new"/{bin,include,libexec/bin,libexec/lib,share/doc}
for part in vulkan vk_video vk_mem_alloc.h; do
  found=$(find "$from/include" -maxdepth 2 -name "$part" -print -quit)
  [ -n "$found" ] || die "$suite's packages have no $part"
  cp -a "$found" "$new/include/"
done

# Programs, the libraries they need (out of the unpacked packages only), and wrappers that start them with these.
cp -L "$loader" "$new/libexec/lib/"
for program in "${programs[@]}"; do
  cp -L "$from/bin/$program" "$new/libexec/bin/"
  "$loader" --library-path "$from/lib/$triplet" --list "$from/bin/$program" |
    awk '$1 !~ /\// && $3 ~ /^\// {print $1, $3}' | while read -r name path; do
      case $path in
        "$work"/*) cp -L "$path" "$new/libexec/lib/$name" ;;
        /*) die "$program needs $name, which no package here has" ;;
      esac
    done
  cat > "$new/bin/$program" << WRAPPER
#!/bin/sh
base=\$(dirname "\$(readlink -f "\$0")")/../libexec
exec "\$base/lib/ld-linux-x86-64.so.2" --inhibit-cache --library-path "\$base/lib" --argv0 "$program" \\
  "\$base/bin/$program" "\$@"
WRAPPER
  chmod 755 "$new/bin/$program"
  "$new/bin/$program" --version > /dev/null 2>&1 || die "$program does not start"
done

for package in "${tool_packages[@]}" "${header_packages[@]}" "${runtime_packages[@]}"; do
  cp -L "$from/share/doc/$package/copyright" "$new/share/doc/$package.copyright" 2> /dev/null || true
done
(cd "$work/packages" && for p in *.deb; do dpkg-deb -W --showformat='${Package} ${Version}\n' "$p"; done) \
  > "$new/VERSIONS"
echo "$stamp" > "$new/.stamp"

# The prefix appears whole or not at all.
mkdir -p "$(dirname "$dest")"
rm -rf "$dest.new" "$dest.old"
cp -a "$new" "$dest.new"
chmod 755 "$dest.new"
[ ! -e "$dest" ] || mv "$dest" "$dest.old"
mv "$dest.new" "$dest"
rm -rf "$dest.old"
say "made $dest ($(du -sm "$dest" | cut -f1) MB): $(grep -E '^(glslang-tools|libvulkan-dev) ' "$dest/VERSIONS" | tr '\n' ' ')"
