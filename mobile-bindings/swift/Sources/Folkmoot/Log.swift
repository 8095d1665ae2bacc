#if canImport(os)
import FolkmootNative
import os

/// Writes the client's log to the system's log, which Console and `log stream` show.
public enum FolkmootLog {
    /// Sends the log of all clients of this app to the system's log, from this level on. Only the first call has an
    /// effect. Returns whether this was the first call. Lines contain no examples. Without a debugger attached, the
    /// system hides their text.
    @discardableResult
    public static func begin(from level: LogLevel = .info, subsystem: String = "org.folkmoot") -> Bool {
        FolkmootNative.setLogSink(sink: SystemLog(subsystem), level: level)
    }
}

/// Writes lines to the system's log.
private final class SystemLog: FolkmootNative.LogSink, @unchecked Sendable {
    private let subsystem: String

    init(_ subsystem: String) {
        self.subsystem = subsystem
    }

    func log(level: LogLevel, target: String, line: String) throws {
        Logger(subsystem: subsystem, category: target).log(level: Self.systemLevel(level), "\(line)")
    }

    private static func systemLevel(_ level: LogLevel) -> OSLogType {
        switch level {
        case .error: return .error
        case .warn: return .default
        case .info: return .info
        case .debug: return .debug
        }
    }
}
#endif
