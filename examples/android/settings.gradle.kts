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

// Builds the library from this repository with the app.
includeBuild("../../mobile-bindings/kotlin/android")
