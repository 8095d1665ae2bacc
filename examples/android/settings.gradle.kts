pluginManagement {
    repositories {
        google()
        mavenCentral()
        gradlePluginPortal()
    }
}

dependencyResolutionManagement {
    repositories {
        google()
        mavenCentral()
    }
}

rootProject.name = "folkmoot-digits"
include(":app")

// The library from this repository, built with the app.
includeBuild("../../mobile-bindings/kotlin/android")
