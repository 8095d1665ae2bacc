package org.folkmoot.android

import org.folkmoot.DevicePolicy
import org.folkmoot.Event
import org.folkmoot.FolkmootClient
import org.folkmoot.FolkmootException
import org.folkmoot.WorkOutcome
import org.folkmoot.WorkPolicy

/** Implement this in the app's `Application`, so that a worker can open the client while the app is not running. */
interface FolkmootHost {
    /** The conditions and the time limit for this device's work. */
    val policy: WorkPolicy get() = WorkPolicy(DevicePolicy(requiresCharging = true, requiresUnmetered = true))

    /** The maximum number of accepted updates per run of the worker. */
    val roundsPerWork: Long get() = 1

    /** Opens the client, with its examples. Return null if there is nothing to do. */
    suspend fun connect(): FolkmootClient?

    /** Called for each event while a worker runs, for example to show or update a notification. */
    fun onEvent(event: Event) {}

    /** Called when a run of the worker has ended. [error] is the reason if it failed. */
    fun onWorkEnded(outcome: WorkOutcome, error: FolkmootException?) {}
}
