#!/bin/sh
# Builds the parts of the Android library: the native library for each ABI, and the Kotlin sources that call it.
#
#     ./build-native.sh                     # all four
#     ./build-native.sh arm64-v8a           # one
#     ./build-native.sh --slim [ABI...]     # without GPU support: smaller, and trains on the CPU only
#
# It needs Rust with `rustup`, the NDK (ANDROID_NDK_HOME names its folder) and cargo-ndk:
#
#     cargo install cargo-ndk --version 4.1.2 --locked
set -eu

fail() {
    echo "build-native.sh: $1" >&2
    exit 1
}

cd "$(dirname "$0")/../.."
package=mobile-bindings/kotlin/android
# Android 10, as in build.gradle.kts.
platform=29

for program in cargo rustup cargo-ndk; do
    command -v "$program" >/dev/null || fail "$program is missing; see the top of this script"
done
[ -d "${ANDROID_NDK_HOME:-}" ] || fail "ANDROID_NDK_HOME is not a folder; set it to the NDK's"

slim=
if [ "${1:-}" = --slim ]; then
    slim=--no-default-features
    shift
fi
[ $# -gt 0 ] || set -- arm64-v8a armeabi-v7a x86_64 x86
targets=
for abi in "$@"; do
    case $abi in
        arm64-v8a) triple=aarch64-linux-android ;;
        armeabi-v7a) triple=armv7-linux-androideabi ;;
        x86_64) triple=x86_64-linux-android ;;
        x86) triple=i686-linux-android ;;
        -*) fail "unknown option $abi; the only option is --slim, before the ABIs" ;;
        *) fail "unknown ABI $abi; use arm64-v8a, armeabi-v7a, x86_64 or x86" ;;
    esac
    rustup target add "$triple"
    targets="$targets -t $abi"
done

# $targets and $slim must be split into words: each word is an argument.
# shellcheck disable=SC2086
cargo ndk $targets --platform "$platform" -o "$package/src/main/jniLibs" \
    build --package folkmoot-mobile --profile mobile $slim
for abi in "$@"; do
    library="$package/src/main/jniLibs/$abi/libfolkmoot_mobile.so"
    echo "build-native.sh: $library: $(wc -c <"$library") bytes"
done

# The generator reads a library for this machine. The generated sources are the same for all machines.
cargo build --locked --package folkmoot-bindgen --package folkmoot-mobile --lib --bins
target=${CARGO_TARGET_DIR:-target}
# shellcheck disable=SC2012 # the names are ours
library=$(ls "$target"/debug/libfolkmoot_mobile.so "$target"/debug/libfolkmoot_mobile.dylib 2>/dev/null | head -n 1)
[ -n "$library" ] || fail "$target/debug has no libfolkmoot_mobile"
"$target"/debug/uniffi-bindgen generate "$library" --language kotlin --no-format --out-dir "$package/build/bindings"
