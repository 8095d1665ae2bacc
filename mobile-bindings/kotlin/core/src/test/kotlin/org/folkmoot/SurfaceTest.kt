package org.folkmoot

import java.io.File
import org.folkmoot.android.FolkmootHost
import org.folkmoot.bindings.ClientEvent
import org.folkmoot.bindings.errorCodes
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Assertions.fail
import org.junit.jupiter.api.Test
import org.folkmoot.bindings.FolkmootException as NativeException

/**
 * Checks that this package has everything that the library has. The compiler checks that every variant is translated.
 */
class SurfaceTest {
    private fun names(kind: Class<*>) = kind.classes.filter { kind.isAssignableFrom(it) }.map { it.simpleName }.toSet()

    @Test
    fun `errors and events are those of the library`() {
        assertEquals(names(NativeException::class.java), names(FolkmootException::class.java))
        assertEquals(names(ClientEvent::class.java), names(Event::class.java))
    }

    @Test
    fun `every error code is there with its text, status and disposition, and is handled`() {
        assertEquals(ErrorCode.entries, errorCodes().map { it.code })
        for (code in ErrorCode.entries) {
            assertEquals(code.name.lowercase(), code.text)
            assertTrue(code.httpStatus in 400..599, "$code")
            val outcome = WorkPolicy.outcome(FolkmootException.Refused(code, code.text))
            val isFinal = code.disposition == Disposition.GIVE_UP
            assertEquals(if (isFinal) WorkOutcome.FAILURE else WorkOutcome.RETRY, outcome, "$code")
        }
    }

    @Test
    fun `error codes are those of the reference`() {
        val reference = File(repository, "mobile-bindings/api.txt").readLines()
        val listed = reference.dropWhile { it != "ErrorCode" }.drop(1).takeWhile { it.startsWith("    ") }
        assertEquals(listed.map(String::trim), ErrorCode.entries.map { it.name })
    }

    @Test
    fun `the public API is the one that was reviewed`() {
        fun folder(kind: Class<*>) = File(kind.protectionDomain.codeSource.location.toURI())
        val android =
            publicApi("org.folkmoot.android", folder(FolkmootHost::class.java)) { !it.startsWith("AndroidTest") }
        val now = publicApi("org.folkmoot", folder(FolkmootClient::class.java)) + android
        val file = File(repository, "mobile-bindings/kotlin/api.txt")
        if (System.getenv("BLESS") == "1") file.writeText(now.joinToString("\n", postfix = "\n"))
        val reviewed = file.readLines()
        val changes = (reviewed - now.toSet()).map { "- $it" } + (now - reviewed.toSet()).map { "+ $it" }
        if (changes.isNotEmpty()) {
            fail<Unit>(
                "mobile-bindings/kotlin/api.txt is not the package's API. If you want these changes, run " +
                    "`BLESS=1 cargo xtask test --only kotlin`:\n${changes.joinToString("\n")}",
            )
        }
    }
}
