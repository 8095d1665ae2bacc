#if canImport(os)
import FolkmootNative
import os

/// The client's log in the system's, where Console and `log stream` show it.
public enum FolkmootLog {
    /// Sends the log of all clients of this app there, from this level on. Only the first call does; it says whether it
    /// was that. Lines hold no examples; outside of a debugger the system hides their text.
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
