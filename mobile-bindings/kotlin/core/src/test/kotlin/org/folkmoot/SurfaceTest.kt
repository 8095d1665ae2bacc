package org.folkmoot

import java.io.File
import org.folkmoot.bindings.ClientEvent
import org.folkmoot.bindings.errorCodes
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.folkmoot.bindings.FolkmootException as NativeException

/**
 * Checks that this package has everything that the library has. The compiler checks that every variant is translated.
 */
class SurfaceTest {
    private fun names(kind: Class<*>) =
        kind.classes.filter { kind.isAssignableFrom(it) }.map { it.simpleName }.toSet()

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
}
