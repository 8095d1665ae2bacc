#!/usr/bin/env bash
# Builds the library for iOS, its simulator and macOS into an XCFramework, and writes the Swift that calls it.
# Needs a Mac with Xcode, and Rust by rustup. `--slim` leaves out GPU support: smaller, and trains on the CPU only.
set -euo pipefail

readonly PROFILE=mobile
readonly LIBRARY=libfolkmoot_mobile
readonly MODULE=folkmoot_mobileFFI
readonly TARGETS=(aarch64-apple-ios aarch64-apple-ios-sim aarch64-apple-darwin x86_64-apple-darwin)
# The same as in Package.swift.
export IPHONEOS_DEPLOYMENT_TARGET=15.0 MACOSX_DEPLOYMENT_TARGET=12.0

fail() {
    echo "build-xcframework.sh: $1" >&2
    exit 1
}

features=()
case "${1:-}" in
    "") ;;
    --slim) features=(--no-default-features) ;;
    *) fail "unknown option $1; the only option is --slim" ;;
esac
[[ "$(uname -s)" == Darwin ]] || fail "this script needs a Mac, because only macOS has Apple's compilers"
for program in cargo rustup xcodebuild lipo; do
    command -v "$program" >/dev/null || fail "$program is missing; install it and run this script again"
done

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$here/build"
cd "$here/../.."
rustup target add "${TARGETS[@]}"

# A setting of cargo may move the target folder.
target_directory="$(cargo metadata --no-deps --format-version 1 | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')"
for target in "${TARGETS[@]}"; do
    # Only the static library: a dynamic one would have to be signed for each system.
    cargo rustc --package folkmoot-mobile --lib --crate-type staticlib \
        --profile "$PROFILE" --target "$target" ${features[@]+"${features[@]}"}
    echo "build-xcframework.sh: $target: $(wc -c <"$target_directory/$target/$PROFILE/$LIBRARY.a") bytes"
done
# The generator reads a library with its symbols. Every build has the same functions and types.
cargo build --locked --package folkmoot-mobile --package folkmoot-bindgen

rm -rf "$build"
mkdir -p "$build/native" "$build/headers/$MODULE" "$build/macos"
"$target_directory/debug/uniffi-bindgen" generate "$target_directory/debug/$LIBRARY.dylib" \
    --language swift --no-format --out-dir "$build/generated"
mv "$build/generated/folkmoot_mobile.swift" "$build/native/"
mv "$build/generated/$MODULE.h" "$build/headers/$MODULE/"
# Clang looks for a module in a folder of its name; at the top, two XCFrameworks of one app would collide.
mv "$build/generated/$MODULE.modulemap" "$build/headers/$MODULE/module.modulemap"
rmdir "$build/generated"

built() {
    echo "$target_directory/$1/$PROFILE/$LIBRARY.a"
}
lipo -create "$(built aarch64-apple-darwin)" "$(built x86_64-apple-darwin)" -output "$build/macos/$LIBRARY.a"
xcodebuild -create-xcframework \
    -library "$(built aarch64-apple-ios)" -headers "$build/headers" \
    -library "$(built aarch64-apple-ios-sim)" -headers "$build/headers" \
    -library "$build/macos/$LIBRARY.a" -headers "$build/headers" \
    -output "$build/$MODULE.xcframework"
rm -rf "$build/headers" "$build/macos"
echo "build-xcframework.sh: $build/$MODULE.xcframework"
