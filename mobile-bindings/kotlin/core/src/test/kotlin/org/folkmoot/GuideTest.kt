package org.folkmoot

import java.io.File
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir

@Timeout(120)
class GuideTest {
    @TempDir
    lateinit var folder: File

    @Test
    fun `the guide's first program`() {
        val source = File(repository, "mobile-bindings/kotlin/core/src/test/kotlin/guide/FirstRound.kt").readText()
        val guide = File(repository, "docs/guides/android.md").readText()
        assertTrue(guide.contains("```kotlin\n$source```"), "the guide's program is another than FirstRound.kt")
        Coordinator(folder).use { coordinator ->
            coordinator.task("digits", rounds = 10, change = ::steadily)
            val output = run(coordinator, coordinator.token("digits")).lines()
            assertEquals((1..10).map { "round $it" }, output.take(10))
            assertTrue(output[10].startsWith("right: ") && output[10].substring(7).toDouble() > 0.9, output[10])
        }
    }

    private fun run(coordinator: Coordinator, token: String): String {
        val arguments = listOf(coordinator.url, token, coordinator.certificate.path, "$digits/digits.csv")
        val errors = File(folder, "errors.log")
        val command = javaCommand("FirstRoundKt") + arguments
        val process = ProcessBuilder(command).directory(folder).redirectError(errors).start()
        val output = process.inputReader().readText()
        assertEquals(0, process.waitFor(), errors.readText())
        return output
    }
}
