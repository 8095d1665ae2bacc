#if os(iOS)
import BackgroundTasks
import Foundation

/// Trains while the app is in the background, in the minutes that the system grants when the device is idle.
///
/// Add the identifier to `BGTaskSchedulerPermittedIdentifiers` in the app's Info.plist, and `processing` to
/// `UIBackgroundModes`. Call `register` before the app has finished launching, `schedule` when it enters the
/// background, and `enterForeground` when it comes back.
public final class BackgroundTraining: @unchecked Sendable {
    private let identifier: String
    private let requiresCharging: Bool
    private let interval: TimeInterval
    private let windows: TrainingWindows

    /// Creates background training. `open` returns the client to train: the one that the app already has open, or a new
    /// one to which `open` has added the examples. It is called again only after that client was closed or forgotten.
    ///
    /// A window ends after `rounds` accepted updates, or when the system takes the time back. The next one is at least
    /// `interval` seconds later. `policy` decides whether the system should wait for the charger. While the system lets
    /// the app train, `watcher` reports that the device is idle, for policies that require it. The client's own policy
    /// limits how long an assignment survives between two windows: `giveUpAfterSeconds`.
    public init(
        identifier: String,
        policy: DevicePolicy = .standard,
        rounds: Int? = 1,
        interval: TimeInterval = 60 * 60,
        watcher: DeviceWatcher? = nil,
        open: @escaping @Sendable () async throws -> FolkmootClient
    ) {
        self.identifier = identifier
        self.interval = interval
        requiresCharging = policy.requiresCharging
        let setIdle: @Sendable (Bool?) -> Void = { [weak watcher] isIdle in
            Task { @MainActor [weak watcher] in watcher?.isIdle = isIdle }
        }
        windows = TrainingWindows(rounds: rounds, setIdle: setIdle, open: { try await open() })
    }

    /// Registers the background task with the system. Call it once, before the app has finished launching.
    public func register() throws {
        let isRegistered = BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) { task in
            guard let time = task as? BGProcessingTask else {
                return task.setTaskCompleted(success: false)
            }
            // Request the next window first, because this one may end without notice.
            try? self.schedule()
            self.windows.begin(ProcessingTime(time))
        }
        guard isRegistered else {
            throw FolkmootError.badOption(
                "`\(identifier)` is not in BGTaskSchedulerPermittedIdentifiers of Info.plist, or is already registered")
        }
    }

    /// Requests a window, which replaces an earlier request. The system decides when it starts.
    public func schedule() throws {
        let request = BGProcessingTaskRequest(identifier: identifier)
        request.requiresNetworkConnectivity = true
        request.requiresExternalPower = requiresCharging
        request.earliestBeginDate = Date(timeIntervalSinceNow: interval)
        do {
            try BGTaskScheduler.shared.submit(request)
        } catch {
            throw FolkmootError.badOption(
                "the system grants no background time: \(error.localizedDescription); the simulator never does, "
                    + "users may switch Background App Refresh off, and Info.plist must allow it")
        }
    }

    /// Cancels the request for a window.
    public func cancel() {
        BGTaskScheduler.shared.cancel(taskRequestWithIdentifier: identifier)
    }

    /// Resumes a run that was paused when its window ended. Call it when the app is in the foreground again.
    public func enterForeground() {
        windows.enterForeground()
    }
}

/// Background time from a `BGProcessingTask` of the system.
private final class ProcessingTime: BackgroundTime, @unchecked Sendable {
    private let task: BGProcessingTask

    init(_ task: BGProcessingTask) {
        self.task = task
    }

    func onExpiration(_ handler: @escaping @Sendable () -> Void) {
        task.expirationHandler = handler
    }

    func complete(success: Bool) {
        task.setTaskCompleted(success: success)
    }
}
#endif
