package org.folkmoot

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

@Timeout(30)
class WorkPolicyTest {
    private val good = DeviceConditions(true, true, true, 80, Thermal.NOMINAL)
    private val strict = DevicePolicy(requiresCharging = true, requiresUnmetered = true, requiresIdle = true)

    @Test
    fun `each requirement pauses by its name`() {
        assertNull(strict.reasonToPause(good))
        assertEquals("charging", strict.reasonToPause(good.copy(isCharging = false)))
        assertEquals("unmetered", strict.reasonToPause(good.copy(isUnmetered = null)))
        assertEquals("idle", strict.reasonToPause(good.copy(isIdle = false)))
        assertEquals("thermal", strict.reasonToPause(good.copy(thermal = Thermal.SERIOUS)))
        val plain = DevicePolicy()
        assertEquals("battery", plain.reasonToPause(DeviceConditions(isCharging = false, batteryPercent = 19)))
        assertNull(plain.reasonToPause(DeviceConditions(isCharging = true, batteryPercent = 1)))
        assertNull(plain.reasonToPause(DeviceConditions()))
        assertNull(plain.reasonToPause(good.copy(thermal = Thermal.FAIR)))
    }

    @Test
    fun `it runs to its end while the device allows it`() = runBlocking {
        var ran = false
        assertEquals(WorkOutcome.SUCCESS, WorkPolicy(strict).perform(MutableStateFlow(good)) { ran = true })
        assertTrue(ran)
    }

    @Test
    fun `it does not begin where it may not`() = runBlocking {
        var ran = false
        val away = MutableStateFlow(good.copy(isCharging = false))
        assertEquals(WorkOutcome.RETRY, WorkPolicy(strict).perform(away) { ran = true })
        assertFalse(ran)
    }

    @Test
    fun `it ends when the charger is taken away`() = runBlocking {
        val conditions = MutableStateFlow(good)
        val began = CompletableDeferred<Unit>()
        val outcome = async {
            WorkPolicy(strict).perform(conditions) {
                began.complete(Unit)
                awaitCancellation()
            }
        }
        began.await()
        conditions.value = good.copy(isCharging = false)
        assertEquals(WorkOutcome.RETRY, outcome.await())
    }

    @Test
    fun `its time is limited`() = runBlocking {
        val outcome = WorkPolicy(timeMax = 20.milliseconds).perform(MutableStateFlow(good)) { awaitCancellation() }
        assertEquals(WorkOutcome.RETRY, outcome)
        assertThrows(FolkmootException.BadOption::class.java) { WorkPolicy(timeMax = Duration.ZERO) }
        assertThrows(FolkmootException.BadOption::class.java) { DevicePolicy(batteryPercentMin = 101) }
        Unit
    }

    @Test
    fun `a scheduler that cancels is obeyed`() = runBlocking {
        val began = CompletableDeferred<Unit>()
        val work = launch {
            WorkPolicy().perform(MutableStateFlow(good)) {
                began.complete(Unit)
                awaitCancellation()
            }
        }
        began.await()
        work.cancelAndJoin()
        assertTrue(work.isCancelled)
    }

    @Test
    fun `errors say whether another try makes sense`() = runBlocking {
        suspend fun outcome(error: FolkmootException) = WorkPolicy().perform(MutableStateFlow(good)) { throw error }
        assertEquals(WorkOutcome.RETRY, outcome(FolkmootException.Unreachable("no answer")))
        assertEquals(WorkOutcome.SUCCESS, outcome(FolkmootException.NoExamples()))
        assertEquals(WorkOutcome.FAILURE, outcome(FolkmootException.Refused(ErrorCode.CLIENT_REVOKED, "revoked")))
        assertEquals(WorkOutcome.FAILURE, outcome(FolkmootException.Refused(null, "a code of the future")))
        assertEquals(WorkOutcome.RETRY, outcome(FolkmootException.Refused(ErrorCode.OVERLOADED, "later")))
    }
}
