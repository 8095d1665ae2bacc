plugins {
    id("com.android.library") version "8.13.0"
    id("org.jetbrains.kotlin.android") version "2.2.21"
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
