package org.folkmoot

import java.io.File
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class GuideTest {
    /** `cargo xtask test --only kotlin` also runs the program, in an app with the packages of a release. */
    @Test
    fun `the guide's first program is FirstRound`() {
        val source = File(repository, "mobile-bindings/kotlin/core/src/test/kotlin/guide/FirstRound.kt").readText()
        val guide = File(repository, "docs/guides/android.md").readText()
        assertTrue(guide.contains("```kotlin\n$source```"), "the guide's program is another than FirstRound.kt")
    }
}
