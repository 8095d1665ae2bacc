package org.folkmoot

import org.folkmoot.bindings.ClientEvent

/** What a client tells. Ids are texts; moments are milliseconds since 1970. */
sealed interface Event {
    /** The client was enrolled, in the population to which the token belongs. */
    data class Enrolled(val clientId: String, val population: String) : Event

    /** There is nothing to do until then. */
    data class Waiting(val until: Long) : Event

    /** The client was drawn for a round, and starts from the model version [baseVersion]. */
    data class Assigned(
        val assignmentId: String,
        val taskId: String,
        val roundNumber: Long,
        val baseVersion: Long,
    ) : Event

    /** Training runs on [device]: `cpu`, or an adapter's name. [energyClass] is `low`, `high` or `processor`. */
    data class Device(val assignmentId: String, val device: String, val energyClass: String) : Event

    /** The engine's training goes on; [loss] is the mean of the last batch. A trainer of your own tells nothing. */
    data class Training(val assignmentId: String, val step: Long, val stepsTotal: Long, val loss: Double) : Event

    /** The model is measured: sums over the first [exampleCount] of [examplesTotal] examples. */
    data class Evaluating(
        val assignmentId: String,
        val exampleCount: Long,
        val lossSum: Double,
        val correctCount: Long,
        val examplesTotal: Long,
    ) : Event

    /** The update is on its way: bytes handed to the connection, and of the whole update. */
    data class Uploading(val assignmentId: String, val sent: Long, val total: Long) : Event

    /** The update was accepted and counts in this round. */
    data class Round(
        val assignmentId: String,
        val roundNumber: Long,
        val trainingMilliseconds: Long,
        val downloadBytes: Long,
        val uploadBytes: Long,
    ) : Event

    /** The client gave the assignment up; [reason] is `stopped`, `training_failed`, `declined` and so on. */
    data class Aborted(val assignmentId: String, val reason: String, val detail: String) : Event

    /** The coordinator no longer wants the update: the round closed, say. */
    data class Dropped(val assignmentId: String, val detail: String) : Event

    /**
     * Nothing is trained now; [reason] is `charging`, `unmetered`, `idle`, `battery`, `thermal`, `plan`,
     * `training_time`, `battery_time`, or the app's own words. An assignment under way is given up if it lasts.
     */
    data class Paused(val reason: String) : Event

    /** What was paused goes on. */
    data object Resumed : Event

    /** A request failed and is sent again at [until], after [failures] in a row. */
    data class BackingOff(val until: Long, val failures: Int, val detail: String) : Event
}

internal fun translated(event: ClientEvent): Event = when (event) {
    is ClientEvent.Enrolled -> Event.Enrolled(event.clientId, event.population)
    is ClientEvent.Waiting -> Event.Waiting(event.until.toLong())
    is ClientEvent.Assigned -> Event.Assigned(
        event.assignmentId,
        event.taskId,
        event.roundNumber.toLong(),
        event.baseVersion.toLong(),
    )
    is ClientEvent.Device -> Event.Device(event.assignmentId, event.device, event.energyClass)
    is ClientEvent.Training ->
        Event.Training(event.assignmentId, event.step.toLong(), event.stepsTotal.toLong(), event.loss)
    is ClientEvent.Evaluating -> Event.Evaluating(
        event.assignmentId,
        event.exampleCount.toLong(),
        event.lossSum,
        event.correctCount.toLong(),
        event.examplesTotal.toLong(),
    )
    is ClientEvent.Uploading -> Event.Uploading(event.assignmentId, event.sent.toLong(), event.total.toLong())
    is ClientEvent.Round -> Event.Round(
        event.assignmentId,
        event.roundNumber.toLong(),
        event.trainingMilliseconds.toLong(),
        event.downloadBytes.toLong(),
        event.uploadBytes.toLong(),
    )
    is ClientEvent.Aborted -> Event.Aborted(event.assignmentId, event.reason, event.detail)
    is ClientEvent.Dropped -> Event.Dropped(event.assignmentId, event.detail)
    is ClientEvent.Paused -> Event.Paused(event.reason)
    is ClientEvent.Resumed -> Event.Resumed
    is ClientEvent.BackingOff -> Event.BackingOff(event.until.toLong(), event.failures.toInt(), event.detail)
}
