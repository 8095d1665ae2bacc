package org.folkmoot

import kotlin.time.Duration
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout

/** How a piece of background work ended. */
enum class WorkOutcome {
    /** It is done until the next time. */
    SUCCESS,

    /** It is to be tried again, later. */
    RETRY,

    /** Trying again changes nothing: a human or an update of the app must. */
    FAILURE,
}

/** When and how long a client works in the background. It knows nothing of any system's scheduler. */
class WorkPolicy(
    val device: DevicePolicy = DevicePolicy(),
    /** Schedulers end work after some minutes; a run that is ended before is gone on with by the next. */
    val timeMax: Duration = 9.minutes,
) {
    init {
        if (!timeMax.isPositive()) throw FolkmootException.BadOption("timeMax is $timeMax: a positive time is expected")
    }

    /** Runs while [conditions] allow it, and says what the scheduler is to do. A cancellation passes through. */
    suspend fun perform(conditions: Flow<DeviceConditions>, run: suspend () -> Unit): WorkOutcome =
        try {
            withTimeout(timeMax) { whileAllowed(conditions, run) }
        } catch (_: TimeoutCancellationException) {
            WorkOutcome.RETRY
        } catch (error: FolkmootException) {
            outcome(error)
        }

    private suspend fun whileAllowed(conditions: Flow<DeviceConditions>, run: suspend () -> Unit): WorkOutcome {
        if (device.hindrance(conditions.first()) != null) return WorkOutcome.RETRY
        return coroutineScope {
            var ended = WorkOutcome.RETRY
            val running = launch {
                run()
                ended = WorkOutcome.SUCCESS
            }
            val watching = launch {
                conditions.first { device.hindrance(it) != null }
                running.cancel()
            }
            running.join()
            watching.cancel()
            ended
        }
    }

    companion object {
        /** What a scheduler is to do about an error. */
        fun outcome(error: FolkmootException): WorkOutcome = when (error) {
            is FolkmootException.Unreachable, is FolkmootException.AlreadyRunning -> WorkOutcome.RETRY
            is FolkmootException.StorageFailed -> WorkOutcome.RETRY
            is FolkmootException.Refused -> when (error.code?.disposition) {
                Disposition.RETRY, Disposition.CHECK_IN -> WorkOutcome.RETRY
                Disposition.GIVE_UP, null -> WorkOutcome.FAILURE
            }
            // Examples may have come until the next time.
            is FolkmootException.NoExamples -> WorkOutcome.SUCCESS
            is FolkmootException.BadOption,
            is FolkmootException.BadExample,
            is FolkmootException.NotEnrolled,
            is FolkmootException.NoModel,
            is FolkmootException.Forgotten,
            is FolkmootException.Internal,
            -> WorkOutcome.FAILURE
        }
    }
}
