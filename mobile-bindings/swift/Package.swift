// swift-tools-version:5.9

import PackageDescription

/// The folder of a library to use instead of an XCFramework, for tests on the machine that builds it.
/// `cargo xtask test --only swift` creates `build` and sets this variable.
let library = Context.environment["FOLKMOOT_LIBRARY_FOLDER"]

var targets: [Target] = [
    .target(
        name: "Folkmoot",
        dependencies: ["FolkmootNative"],
        linkerSettings: [.linkedLibrary("sqlite3")]
    ),
    .testTarget(name: "FolkmootTests", dependencies: ["Folkmoot"]),
]

if let library = library {
    targets += [
        .systemLibrary(name: "folkmoot_mobileFFI", path: "build/folkmoot_mobileFFI"),
        .target(
            name: "FolkmootNative",
            dependencies: ["folkmoot_mobileFFI"],
            path: "build/native",
            linkerSettings: [.unsafeFlags(["-L\(library)", "-lfolkmoot_mobile", "-Xlinker", "-rpath", "-Xlinker", library])]
        ),
    ]
} else {
    targets += [
        // `build-xcframework.sh` writes both to `build`: the library, and the Swift that calls it.
        .binaryTarget(name: "folkmoot_mobileFFI", path: "build/folkmoot_mobileFFI.xcframework"),
        .target(
            name: "FolkmootNative",
            dependencies: ["folkmoot_mobileFFI"],
            path: "build/native",
            // A static library does not list the libraries that it needs: the system's certificate functions, and Metal
            // unless it is built with `--slim`.
            linkerSettings: [
                .linkedFramework("CoreFoundation"),
                .linkedFramework("Metal"),
                .linkedFramework("QuartzCore"),
                .linkedFramework("Security"),
            ]
        ),
    ]
}

#if os(Linux)
// Apple's SDKs already contain this module.
targets.append(.systemLibrary(name: "SQLite3"))
targets[0].dependencies.append("SQLite3")
#endif

let package = Package(
    name: "Folkmoot",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [.library(name: "Folkmoot", targets: ["Folkmoot"])],
    targets: targets
)
