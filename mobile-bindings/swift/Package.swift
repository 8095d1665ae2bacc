// swift-tools-version:5.9

import PackageDescription

/// Tests on the machine that builds the library use it as it is, without an XCFramework. `cargo xtask test --only swift`
/// makes `build`, and says in which folder the library lies.
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
        // Both lie in `build` after `build-xcframework.sh`: the library, and the Swift that calls it.
        .binaryTarget(name: "folkmoot_mobileFFI", path: "build/folkmoot_mobileFFI.xcframework"),
        .target(
            name: "FolkmootNative",
            dependencies: ["folkmoot_mobileFFI"],
            path: "build/native",
            // A static library does not say what it needs: certificates, and Metal unless it was built with `--slim`.
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
// Apple's systems have this module.
targets.append(.systemLibrary(name: "SQLite3"))
targets[0].dependencies.append("SQLite3")
#endif

let package = Package(
    name: "Folkmoot",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [.library(name: "Folkmoot", targets: ["Folkmoot"])],
    targets: targets
)
