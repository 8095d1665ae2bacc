import Foundation
import FolkmootNative

/// Returns whether to accept an assignment. Called on one of the client's threads; return quickly.
public typealias Consent = @Sendable (AssignmentOffer) -> Bool

/// One client of one coordinator. It trains on examples that never leave this device.
///
/// You can call it from any thread. If the app is killed, opening a client with the same `stateDirectory` continues
/// where it stopped.
public final class FolkmootClient: @unchecked Sendable {
    /// The examples to train on.
    public let examples: Examples

    private let native: FolkmootNative.Folkmoot
    private let hub: EventHub
    private let runs = RunCount()
    private let pauseLock = NSLock()
    private var pauses = PauseReasons()

    /// Opens a client: locks its folder, and generates its secret if there is none. Sends nothing until it runs or
    /// updates its model.
    ///
    /// `trainer` trains instead of the engine. `secrets` stores the client's secret, such as `KeychainSecrets`; by
    /// default, the secret is in the folder. `askBefore` is called for each assignment, which is declined if it returns
    /// false. The coordinator does not learn the reason.
    public init(
        _ options: ClientOptions,
        trainer: Trainer? = nil,
        secrets: SecretStorage? = nil,
        askBefore: Consent? = nil
    ) throws {
        let hub = EventHub()
        try PrivateFolder.make(options.stateDirectory)
        let nativeOptions = try options.native()
        let native = try translating {
            try FolkmootNative.Folkmoot.connect(
                options: nativeOptions,
                listener: hub,
                consent: askBefore.map { ConsentAdapter($0) },
                trainer: trainer.map { TrainerAdapter($0) },
                secrets: secrets
            )
        }
        self.native = native
        self.hub = hub
        examples = Examples(native.examples())
    }

    /// A new stream of the client's events from now on. It ends when the client is closed or forgotten.
    public var events: AsyncStream<ClientEvent> {
        hub.stream()
    }

    /// Whether the client is taking part in rounds.
    public var isRunning: Bool {
        native.status().isRunning
    }

    /// Takes part in rounds until it is stopped or `rounds` updates were accepted. Returns the number of accepted
    /// updates.
    ///
    /// The client enrols first if necessary. Cancelling the task has the same effect as `stop`; the updates accepted so
    /// far are returned. To pause without giving up the assignment, call `pause`.
    @discardableResult
    public func run(rounds: Int? = nil) async throws -> Int {
        let wanted = try rounds.map { try Self.checked($0, "rounds") }
        try Task.checkCancellation()
        runs.begin()
        defer { runs.end() }
        let summary = try await withTaskCancellationHandler {
            try await translatingAsync { try await self.native.start(rounds: wanted) }
        } onCancel: {
            Task { try? await self.stop() }
        }
        return Int(summary.acceptedRounds)
    }

    /// Stops taking part in rounds and gives up the current assignment. The client notifies the coordinator if it can
    /// reach it in time.
    public func stop() async throws {
        var isOver = false
        // A run that was just requested may not have started yet, so there is nothing to stop.
        while !isOver {
            try await translatingAsync { try await self.native.stop() }
            isOver = runs.isNone
            if !isOver {
                try await Task.sleep(nanoseconds: Self.stopAgainNanoseconds)
            }
        }
    }

    /// Fetches the model that the operator has rolled out to this device, and tries it. From then on, `predict` uses
    /// it, also without a connection and after a restart.
    ///
    /// Returns nil if no model is rolled out to this device; `predict` then uses the model of the last assignment. Call
    /// it when the app starts and, for example, once a day, also during a run. The client enrols first if necessary,
    /// and needs no examples: a device can use models without ever training. Throws `modelUnusable` if the model does
    /// not work here; predictions then keep the model before.
    public func updateModel() async throws -> ModelUpdate? {
        try await translatingAsync { try await self.native.updateModel() }.map { ModelUpdate($0) }
    }

    /// Returns a model's outputs for `rows` rows of features, in row-major order: those of the model that `updateModel`
    /// has brought, or else of the one that the last assignment started from.
    public func predict(_ features: [Float], rows: Int = 1) async throws -> Prediction {
        let count = try Self.checked(rows, "rows")
        let native = self.native
        return try await withCheckedThrowingContinuation { continuation in
            // The computation would block a thread of Swift's concurrency pool.
            DispatchQueue.global(qos: .userInitiated).async {
                continuation.resume(
                    with: Result<Prediction, Error> {
                        let buffer = try FolkmootNative.FloatBuffer.copying(features)
                        let prediction = try translating { try native.predict(features: buffer, rows: count) }
                        return Prediction(prediction)
                    })
            }
        }
    }

    /// Sets the device's current conditions. If training is no longer allowed, it pauses within 250 ms, and later
    /// continues at the same step. A `DeviceWatcher` calls this.
    public func setConditions(_ conditions: DeviceConditions) {
        native.setConditions(conditions: conditions)
    }

    /// Pauses training for a reason of the app's own, until `resume` is called with the same reason. If the pause
    /// exceeds the policy's `giveUpAfterSeconds` (default: 30), the client gives up the assignment.
    public func pause(for reason: String) {
        changePauses { $0.insert(reason) }
    }

    /// Withdraws a reason to pause. Training continues when no reason is left.
    public func resume(from reason: String) {
        changePauses { $0.remove(reason) }
    }

    /// Returns what was requested, fetched, trained and sent, with times and sizes, the oldest entry first. The log
    /// never leaves the device.
    public func transparencyLog() throws -> [LogEntry] {
        try translating { try native.transparencyLog() }
    }

    /// Records in the transparency log that the user consented, and the text that the user consented to.
    public func consentGiven(_ words: String) {
        native.consentGiven(words: words)
    }

    /// Records in the transparency log that the user withdrew consent. This does not stop the client.
    public func consentWithdrawn() {
        native.consentWithdrawn()
    }

    /// Stops the client and releases the folder for another client. It cannot be used afterwards.
    public func close() async throws {
        try await translatingAsync { try await self.native.close() }
        hub.finish()
    }

    /// Stops the client and deletes its secret, session, models and examples. It cannot be used afterwards.
    public func forget() async throws {
        try await translatingAsync { try await self.native.forget() }
        hub.finish()
    }

    private static let stopAgainNanoseconds: UInt64 = 50_000_000

    private func changePauses(_ change: (inout PauseReasons) -> Void) {
        pauseLock.lock()
        defer { pauseLock.unlock() }
        change(&pauses)
        native.setPaused(reason: pauses.first)
    }

    private static func checked(_ number: Int, _ name: String) throws -> UInt64 {
        guard number > 0 else {
            throw FolkmootError.badOption("\(name) is \(number); it must be 1 or more")
        }
        return UInt64(number)
    }
}

/// The number of current runs, including those that the library has not started yet.
private final class RunCount: @unchecked Sendable {
    private let lock = NSLock()
    private var count = 0

    var isNone: Bool {
        lock.lock()
        defer { lock.unlock() }
        return count == 0
    }

    func begin() {
        add(1)
    }

    func end() {
        add(-1)
    }

    private func add(_ change: Int) {
        lock.lock()
        defer { lock.unlock() }
        count += change
    }
}

/// Adapts the app's consent function to the library's interface.
private final class ConsentAdapter: FolkmootNative.ConsentCallback, @unchecked Sendable {
    private let consent: Consent

    init(_ consent: @escaping Consent) {
        self.consent = consent
    }

    func ask(offer: AssignmentOffer) throws -> Bool {
        consent(offer)
    }
}
