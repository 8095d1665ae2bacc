package org.folkmoot

import org.folkmoot.bindings.ClientEvent

/** An event of a client. Ids are strings; times are milliseconds since 1970. */
sealed interface Event {
    /** The client was enrolled in the token's population. */
    data class Enrolled(val clientId: String, val population: String) : Event

    /** The client waits until its next check-in, at [until]. */
    data class Waiting(val until: Long) : Event

    /** The client was selected for a round. Training starts from the model version [baseVersion]. */
    data class Assigned(
        val assignmentId: String,
        val taskId: String,
        val roundNumber: Long,
        val baseVersion: Long,
    ) : Event

    /** Training runs on [device]: `cpu`, or an adapter's name. [energyClass] is `low`, `high` or `processor`. */
    data class Device(val assignmentId: String, val device: String, val energyClass: String) : Event

    /**
     * The engine's training made progress. [loss] is the mean over the last batch. Your own trainer sends no such
     * events.
     */
    data class Training(val assignmentId: String, val step: Long, val stepsTotal: Long, val loss: Double) : Event

    /** The model is being evaluated: sums over the first [exampleCount] of [examplesTotal] examples. */
    data class Evaluating(
        val assignmentId: String,
        val exampleCount: Long,
        val lossSum: Double,
        val correctCount: Long,
        val examplesTotal: Long,
    ) : Event

    /** The update is being sent: [sent] bytes of [total] were passed to the connection so far. */
    data class Uploading(val assignmentId: String, val sent: Long, val total: Long) : Event

    /** The coordinator accepted the update for this round. */
    data class Round(
        val assignmentId: String,
        val roundNumber: Long,
        val trainingMilliseconds: Long,
        val downloadBytes: Long,
        val uploadBytes: Long,
    ) : Event

    /** The client gave up the assignment. [reason] is `stopped`, `training_failed`, `declined` and so on. */
    data class Aborted(val assignmentId: String, val reason: String, val detail: String) : Event

    /** The coordinator no longer wants the update, for example because the round has closed. */
    data class Dropped(val assignmentId: String, val detail: String) : Event

    /**
     * Training is paused. [reason] is `charging`, `unmetered`, `idle`, `battery`, `thermal`, `plan`, `training_time`,
     * `battery_time`, or the app's own text. If the pause is too long, the client gives up the assignment.
     */
    data class Paused(val reason: String) : Event

    /** The pause is over. */
    data object Resumed : Event

    /** A request failed and will be sent again at [until]. [failures] counts failures in a row. */
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
