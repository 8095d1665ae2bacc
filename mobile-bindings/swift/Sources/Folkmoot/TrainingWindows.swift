import Foundation

/// The functions of a client that a background window needs.
protocol TrainingClient: AnyObject, Sendable {
    func run(rounds: Int?) async throws -> Int
    func pause(for reason: String)
    func resume(from reason: String)
}

extension FolkmootClient: TrainingClient {}

/// Background time from the system, as in `BGProcessingTask`.
protocol BackgroundTime: AnyObject {
    func onExpiration(_ handler: @escaping @Sendable () -> Void)
    func complete(success: Bool)
}

/// Trains while the system grants background time, and pauses when it takes the time back.
///
/// If a run does not finish in its window, it is not stopped, because that would give up its assignment at once. It
/// pauses, is suspended with the app, and continues in the next window, unless the policy's `giveUpAfterSeconds` have
/// passed. If the system terminates the app in between, the next window continues from the last checkpoint on disk.
final class TrainingWindows: @unchecked Sendable {
    /// The reason for the pause between two windows.
    static let pauseReason = "background"

    private let rounds: Int?
    private let open: @Sendable () async throws -> TrainingClient
    private let setIdle: @Sendable (Bool?) -> Void
    private let lock = NSLock()
    private var client: TrainingClient?
    private var run: Task<Int, Error>?

    init(
        rounds: Int?,
        setIdle: @escaping @Sendable (Bool?) -> Void = { _ in },
        open: @escaping @Sendable () async throws -> TrainingClient
    ) {
        self.rounds = rounds
        self.setIdle = setIdle
        self.open = open
    }

    /// Uses a window. The returned task ends with the window's run.
    @discardableResult
    func begin(_ time: BackgroundTime) -> Task<Void, Never> {
        let window = Window(time)
        time.onExpiration { [weak self] in
            // Mark the window as expired first, so that code that is just opening the client sees it.
            window.expire()
            self?.rest()
            window.end(success: false)
        }
        return Task { await self.use(window) }
    }

    /// Withdraws the reason to pause, because the app is in the foreground again.
    func enterForeground() {
        opened()?.resume(from: Self.pauseReason)
    }

    private func use(_ window: Window) async {
        do {
            let client = try await openedOnce()
            guard !window.isExpired else {
                return rest()
            }
            // Take the run before it is resumed: a run that ends at once is then still this window's run.
            let run = runOnce(client)
            window.unlessExpired {
                client.resume(from: Self.pauseReason)
                setIdle(true)
            }
            _ = try await run.value
            window.end(success: true)
        } catch FolkmootError.alreadyRunning {
            // The app's own run uses the window until the system takes it back.
            return
        } catch {
            if case FolkmootError.forgotten = error {
                keep(nil)
            }
            window.end(success: false)
        }
        setIdle(nil)
    }

    private func rest() {
        opened()?.pause(for: Self.pauseReason)
        setIdle(nil)
    }

    private func openedOnce() async throws -> TrainingClient {
        if let client = opened() {
            return client
        }
        let client = try await open()
        keep(client)
        return client
    }

    /// Returns the current run, or starts a new one.
    private func runOnce(_ client: TrainingClient) -> Task<Int, Error> {
        lock.lock()
        defer { lock.unlock() }
        if let run = run {
            return run
        }
        let begun = Task<Int, Error> { [weak self, rounds] in
            defer { self?.runEnded() }
            return try await client.run(rounds: rounds)
        }
        run = begun
        return begun
    }

    private func runEnded() {
        lock.lock()
        defer { lock.unlock() }
        run = nil
    }

    private func opened() -> TrainingClient? {
        lock.lock()
        defer { lock.unlock() }
        return client
    }

    private func keep(_ client: TrainingClient?) {
        lock.lock()
        defer { lock.unlock() }
        self.client = client
    }
}

/// One window. It completes only once: when the run ends or when the system takes the time back.
private final class Window: @unchecked Sendable {
    private let time: BackgroundTime
    private let lock = NSLock()
    private var hasExpired = false
    private var hasEnded = false

    init(_ time: BackgroundTime) {
        self.time = time
    }

    var isExpired: Bool {
        lock.lock()
        defer { lock.unlock() }
        return hasExpired
    }

    func expire() {
        lock.lock()
        defer { lock.unlock() }
        hasExpired = true
    }

    /// Calls `action` if the window has not expired. The window cannot expire during the call, so `action` ends before
    /// the expiration handler starts.
    func unlessExpired(_ action: () -> Void) {
        lock.lock()
        defer { lock.unlock() }
        if !hasExpired {
            action()
        }
    }

    func end(success: Bool) {
        lock.lock()
        let isFirst = !hasEnded
        hasEnded = true
        lock.unlock()
        if isFirst {
            time.complete(success: success)
        }
    }
}
