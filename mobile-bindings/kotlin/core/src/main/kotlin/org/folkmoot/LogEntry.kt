package org.folkmoot

import org.folkmoot.bindings.LogEntry as NativeEntry

/** An entry of the transparency log: what was done with the user's data. It never leaves the device. */
data class LogEntry(
    /** Milliseconds since 1970. */
    val at: Long,
    /** What was done: `enrolled`, `asked`, `fetched`, `trained`, `evaluated`, `sent`, `gave_up` and so on. */
    val action: String,
    val taskId: String?,
    val roundNumber: Long?,
    /** Bytes that left the device. An update is noted before it goes, with all that is to go. */
    val bytesSent: Long,
    val bytesReceived: Long,
    /** More for humans. */
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
