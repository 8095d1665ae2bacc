#if os(iOS)
import BackgroundTasks
import Foundation

/// Training while the app is not in front, in the minutes that the system gives when the device is idle.
///
/// The identifier has to stand in the app's Info.plist under `BGTaskSchedulerPermittedIdentifiers`, and `processing`
/// under `UIBackgroundModes`. Call `register` before the app has finished launching, `schedule` when it leaves the
/// front, and `enterForeground` when it comes back.
public final class BackgroundTraining: @unchecked Sendable {
    private let identifier: String
    private let requiresCharging: Bool
    private let interval: TimeInterval
    private let windows: TrainingWindows

    /// Training with the client that `open` returns: the one that the app has open, or a new one with its examples. It
    /// is asked again only when that client was closed or forgotten.
    ///
    /// A window ends after so many accepted `rounds`, or when the system takes the time back. The next one is at least
    /// `interval` seconds later. `policy` says whether the system is to wait for the charger. `watcher` is told that
    /// the device is idle while the system lets the app train, for policies that require it. The client's own policy
    /// says how long an assignment outlasts the time between two windows: `giveUpAfterSeconds`.
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

    /// Tells the system what to call. It has to be called once, before the app has finished launching.
    public func register() throws {
        let isRegistered = BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) { task in
            guard let time = task as? BGProcessingTask else {
                return task.setTaskCompleted(success: false)
            }
            // The next window is asked for first: this one may end without a word.
            try? self.schedule()
            self.windows.begin(ProcessingTime(time))
        }
        guard isRegistered else {
            throw FolkmootError.badOption(
                "`\(identifier)` is not in BGTaskSchedulerPermittedIdentifiers of Info.plist, or registered already")
        }
    }

    /// Asks the system for a window, instead of one that was asked for before. When it comes is the system's decision.
    public func schedule() throws {
        let request = BGProcessingTaskRequest(identifier: identifier)
        request.requiresNetworkConnectivity = true
        request.requiresExternalPower = requiresCharging
        request.earliestBeginDate = Date(timeIntervalSinceNow: interval)
        do {
            try BGTaskScheduler.shared.submit(request)
        } catch {
            throw FolkmootError.badOption(
                "the system gives no time in the background: \(error.localizedDescription); the simulator never does, "
                    + "users may switch Background App Refresh off, and Info.plist has to allow it")
        }
    }

    /// Takes the request for a window back.
    public func cancel() {
        BGTaskScheduler.shared.cancel(taskRequestWithIdentifier: identifier)
    }

    /// Lets a run that rested since its window go on, for an app that is in front again.
    public func enterForeground() {
        windows.enterForeground()
    }
}

/// The system's task.
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
