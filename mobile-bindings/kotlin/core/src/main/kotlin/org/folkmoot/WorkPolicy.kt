package org.folkmoot

import kotlin.time.Duration
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout

/** The outcome of a run of background work. */
enum class WorkOutcome {
    /** The work is done until the next scheduled run. */
    SUCCESS,

    /** The scheduler should try again later. */
    RETRY,

    /** Trying again will not help: a person or an update of the app must change something first. */
    FAILURE,
}

/** The conditions and the time limit of a client's work in the background. They do not depend on the scheduler. */
class WorkPolicy(
    val device: DevicePolicy = DevicePolicy(),
    /** The maximum duration of a run. Schedulers end work after some minutes, so the next run continues from there. */
    val timeMax: Duration = 9.minutes,
) {
    init {
        if (!timeMax.isPositive()) throw FolkmootException.BadOption("timeMax is $timeMax; it must be positive")
    }

    /** Runs while [conditions] allow it, and returns what the scheduler should do. Rethrows a cancellation. */
    suspend fun perform(conditions: Flow<DeviceConditions>, run: suspend () -> Unit): WorkOutcome = try {
        withTimeout(timeMax) { whileAllowed(conditions, run) }
    } catch (_: TimeoutCancellationException) {
        WorkOutcome.RETRY
    } catch (error: FolkmootException) {
        outcome(error)
    }

    private suspend fun whileAllowed(conditions: Flow<DeviceConditions>, run: suspend () -> Unit): WorkOutcome {
        if (device.reasonToPause(conditions.first()) != null) return WorkOutcome.RETRY
        return coroutineScope {
            var ended = WorkOutcome.RETRY
            val running = launch {
                run()
                ended = WorkOutcome.SUCCESS
            }
            val watching = launch {
                conditions.first { device.reasonToPause(it) != null }
                running.cancel()
            }
            running.join()
            watching.cancel()
            ended
        }
    }

    companion object {
        /** Returns what a scheduler should do about an error. */
        fun outcome(error: FolkmootException): WorkOutcome = when (error) {
            is FolkmootException.Unreachable, is FolkmootException.AlreadyRunning -> WorkOutcome.RETRY
            is FolkmootException.StorageFailed -> WorkOutcome.RETRY
            is FolkmootException.Refused -> when (error.code?.disposition) {
                Disposition.RETRY, Disposition.CHECK_IN -> WorkOutcome.RETRY
                Disposition.GIVE_UP, null -> WorkOutcome.FAILURE
            }
            // There may be examples by the next run.
            is FolkmootException.NoExamples -> WorkOutcome.SUCCESS
            is FolkmootException.BadOption,
            is FolkmootException.BadExample,
            is FolkmootException.NotEnrolled,
            is FolkmootException.NoModel,
            is FolkmootException.ModelUnusable,
            is FolkmootException.Forgotten,
            is FolkmootException.Internal,
            -> WorkOutcome.FAILURE
        }
    }
}
