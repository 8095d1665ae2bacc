// swift-tools-version:5.9

import PackageDescription

let package = Package(
    name: "Folkmoot",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [.library(name: "Folkmoot", targets: ["Folkmoot"])],
    targets: [
        // Both lie in `build` after `build-xcframework.sh`: the library, and the Swift that calls it.
        .binaryTarget(name: "folkmoot_mobileFFI", path: "build/folkmoot_mobileFFI.xcframework"),
        .target(
            name: "FolkmootNative",
            dependencies: ["folkmoot_mobileFFI"],
            path: "build/native",
            // A static library does not say what it needs: certificates, and Metal if it was built with `--gpu`.
            linkerSettings: [
                .linkedFramework("CoreFoundation"),
                .linkedFramework("Metal"),
                .linkedFramework("QuartzCore"),
                .linkedFramework("Security"),
            ]
        ),
        .target(
            name: "Folkmoot",
            dependencies: ["FolkmootNative"],
            linkerSettings: [.linkedLibrary("sqlite3")]
        ),
        .testTarget(name: "FolkmootTests", dependencies: ["Folkmoot"]),
    ]
)
