package org.folkmoot

import org.folkmoot.bindings.LogLevel as NativeLevel
import org.folkmoot.bindings.LogSink as NativeSink
import org.folkmoot.bindings.setLogSink

/** How much a line of the log matters. */
enum class LogLevel { ERROR, WARN, INFO, DEBUG }

/** Where the log goes. It never holds examples. It must not block. */
fun interface LogSink {
    /** Takes a line; [part] names the part of the client that wrote it. */
    fun log(level: LogLevel, part: String, line: String)
}

/** The log of all clients of this process. */
object FolkmootLog {
    /** Sends the log there, from this level on. Only the first call does; it says whether it was that. */
    fun begin(level: LogLevel, sink: LogSink): Boolean {
        val isFirst = setLogSink(Sink(sink), NativeLevel.valueOf(level.name))
        if (isFirst) own = sink
        return isFirst
    }

    @Volatile
    internal var own: LogSink? = null
}

/** This package's own lines, which go where the native library's go. */
internal object Log {
    fun error(line: String, error: Throwable) {
        FolkmootLog.own?.log(LogLevel.ERROR, "kotlin", "$line: ${error.stackTraceToString()}")
    }
}

private class Sink(private val sink: LogSink) : NativeSink {
    override fun log(level: NativeLevel, target: String, line: String) {
        sink.log(LogLevel.valueOf(level.name), target.substringBefore("::").removePrefix("folkmoot_"), line)
    }
}
