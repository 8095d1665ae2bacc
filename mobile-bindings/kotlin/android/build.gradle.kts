plugins {
    id("com.android.library") version "8.13.0"
    id("org.jetbrains.kotlin.android") version "2.2.21"
    `maven-publish`
}

group = "org.folkmoot"
version = "0.1.0"

// The output of `build-native.sh`: the sources that call the library. The library itself is in `src/main/jniLibs`.
val bindings: File = projectDir.resolve("build/bindings")

android {
    namespace = "org.folkmoot.android"
    compileSdk = 36

    defaultConfig {
        // The first version that reports the thermal state.
        minSdk = 29
        consumerProguardFiles("consumer-rules.pro")
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
    sourceSets.getByName("main").kotlin.srcDirs(
        bindings,
        "../core/src/main/kotlin",
        "src/main/kotlin",
        "src/worker/kotlin",
    )
}

android.publishing.singleVariant("release") {
    withSourcesJar()
    withJavadocJar()
}

kotlin.jvmToolchain(17)

tasks.named("preBuild") {
    doFirst {
        check(bindings.isDirectory) { "$bindings is missing; run build-native.sh to create it and the libraries" }
    }
}

dependencies {
    api("org.jetbrains.kotlinx:kotlinx-coroutines-android:1.10.2")
    implementation("net.java.dev.jna:jna:5.19.1@aar")
    api("androidx.work:work-runtime-ktx:2.10.5")
}

// `gradle publishReleasePublicationToFilesRepository` makes the files of a Maven repository in `build/repository`.
publishing {
    repositories.maven {
        name = "files"
        url = uri(layout.buildDirectory.dir("repository"))
    }
    publications.register<MavenPublication>("release") {
        afterEvaluate { from(components["release"]) }
        pom {
            name = "Folkmoot for Android"
            description = "Federated learning on this device's own data: a client for Android"
            url = "https://github.com/folkmoot/folkmoot"
            licenses {
                license {
                    name = "MIT"
                    url = "https://github.com/folkmoot/folkmoot/blob/main/LICENSE-MIT"
                }
                license {
                    name = "Apache-2.0"
                    url = "https://github.com/folkmoot/folkmoot/blob/main/LICENSE-APACHE"
                }
            }
            developers {
                developer {
                    name = "The Folkmoot developers"
                    organizationUrl = "https://github.com/folkmoot"
                }
            }
            scm {
                connection = "scm:git:https://github.com/folkmoot/folkmoot.git"
                url = "https://github.com/folkmoot/folkmoot"
            }
        }
    }
}
