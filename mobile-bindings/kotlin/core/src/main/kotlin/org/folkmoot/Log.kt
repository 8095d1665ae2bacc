package org.folkmoot

import org.folkmoot.bindings.setLogSink
import org.folkmoot.bindings.LogLevel as NativeLevel
import org.folkmoot.bindings.LogSink as NativeSink

/** The severity of a log line. */
enum class LogLevel { ERROR, WARN, INFO, DEBUG }

/** Receives the client's log. It never contains examples. It must not block. */
fun interface LogSink {
    /** Receives a line. [part] names the part of the client that wrote it. */
    fun log(level: LogLevel, part: String, line: String)
}

/** The log of all clients of this process. */
object FolkmootLog {
    /**
     * Sends the log to [sink], from this level on. Only the first call has an effect. Returns whether this was the
     * first call.
     */
    fun begin(level: LogLevel, sink: LogSink): Boolean {
        val isFirst = setLogSink(Sink(sink), NativeLevel.valueOf(level.name))
        if (isFirst) own = sink
        return isFirst
    }

    @Volatile
    internal var own: LogSink? = null
}

/** Log lines of this package. They go to the same sink as the native library's. */
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
