plugins {
    id("com.android.application")
    id("org.jetbrains.kotlin.android")
    id("org.jetbrains.kotlin.plugin.compose")
}

fun setting(name: String): String = "\"${providers.gradleProperty("folkmoot.$name").getOrElse("")}\""

android {
    namespace = "org.folkmoot.digits"
    compileSdk = 36

    defaultConfig {
        applicationId = "org.folkmoot.digits"
        minSdk = 29
        targetSdk = 36
        versionCode = 1
        versionName = "0.1.0"
        buildConfigField("String", "COORDINATOR", setting("coordinator"))
        buildConfigField("String", "TOKEN", setting("token"))
    }
    buildTypes {
        release {
            isMinifyEnabled = true
            isShrinkResources = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"))
        }
    }
    buildFeatures {
        compose = true
        buildConfig = true
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
}

kotlin.jvmToolchain(17)

dependencies {
    implementation("org.folkmoot:folkmoot-android:0.1.0")
    implementation(platform("androidx.compose:compose-bom:2025.10.01"))
    implementation("androidx.compose.material3:material3")
    implementation("androidx.activity:activity-compose:1.11.0")
    implementation("androidx.lifecycle:lifecycle-viewmodel-compose:2.9.4")
}
