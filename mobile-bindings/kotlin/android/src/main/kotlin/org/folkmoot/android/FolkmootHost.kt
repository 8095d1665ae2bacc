package org.folkmoot.android

import org.folkmoot.DevicePolicy
import org.folkmoot.Event
import org.folkmoot.FolkmootClient
import org.folkmoot.FolkmootException
import org.folkmoot.WorkOutcome
import org.folkmoot.WorkPolicy

/** What an app's `Application` implements, so that a worker finds its client when nothing else of the app runs. */
interface FolkmootHost {
    /** When this device may work. */
    val policy: WorkPolicy get() = WorkPolicy(DevicePolicy(requiresCharging = true, requiresUnmetered = true))

    /** How many updates one piece of work may send; the rest of the day is the app's and its user's. */
    val roundsPerWork: Long get() = 1

    /** Opens the client, with its examples, or returns null if there is nothing to do. */
    suspend fun connect(): FolkmootClient?

    /** Hears of each event while a worker runs: the place to show or renew a notification. */
    fun onEvent(event: Event) {}

    /** Hears how a piece of work ended; [error] says why it failed, where it did. */
    fun onWorkEnded(outcome: WorkOutcome, error: FolkmootException?) {}
}
