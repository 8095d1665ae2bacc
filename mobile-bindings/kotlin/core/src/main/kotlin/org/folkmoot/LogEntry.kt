package org.folkmoot

import org.folkmoot.bindings.LogEntry as NativeEntry

/** An entry of the transparency log, which says how the user's data was used. It never leaves the device. */
data class LogEntry(
    /** The time of the action, in milliseconds since 1970. */
    val at: Long,
    /** The action: `enrolled`, `asked`, `fetched`, `trained`, `evaluated`, `sent`, `gave_up` and so on. */
    val action: String,
    val taskId: String?,
    val roundNumber: Long?,
    /** Bytes sent. The entry for an update is written before it is sent, with the full size. */
    val bytesSent: Long,
    val bytesReceived: Long,
    /** Details for people to read. */
    val detail: String?,
)

internal fun translated(entry: NativeEntry) = LogEntry(
    at = entry.at.toLong(),
    action = entry.action,
    taskId = entry.taskId,
    roundNumber = entry.roundNumber?.toLong(),
    bytesSent = entry.bytesSent.toLong(),
    bytesReceived = entry.bytesReceived.toLong(),
    detail = entry.detail,
)
