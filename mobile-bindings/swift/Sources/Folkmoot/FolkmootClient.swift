import Foundation
import FolkmootNative

/// Answers whether an assignment is taken. It is asked on a thread of the client's, and is to answer at once.
public typealias Consent = @Sendable (AssignmentOffer) -> Bool

/// One client of one coordinator: it trains on examples that never leave this device.
///
/// Everything may be called from any thread. An app that was killed goes on where it was when it opens a client with
/// the same `stateFolder` again.
public final class FolkmootClient: @unchecked Sendable {
    /// The examples to train on.
    public let examples: Examples

    private let native: FolkmootNative.Folkmoot
    private let hub: EventHub
    private let runs = RunCount()
    private let pauseLock = NSLock()
    private var pauses = PauseReasons()

    /// Opens a client: locks its folder, and draws its secret if there is none. Nothing is sent before it runs.
    ///
    /// `trainer` trains instead of the engine. `secrets` keeps the client's secret, such as `KeychainSecrets`; without
    /// it the secret lies in the folder. `askBefore` is asked about each assignment, and what it answers false for is
    /// declined; the coordinator does not learn why.
    public init(
        _ options: ClientOptions,
        trainer: Trainer? = nil,
        secrets: SecretStorage? = nil,
        askBefore: Consent? = nil
    ) throws {
        let hub = EventHub()
        try PrivateFolder.make(options.stateFolder)
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

    /// What the client does from now on: a stream for each who asks, which ends when the client is closed or forgotten.
    public var events: AsyncStream<ClientEvent> {
        hub.stream()
    }

    /// Whether it takes part in rounds now.
    public var isRunning: Bool {
        native.status().isRunning
    }

    /// Takes part in rounds until it is stopped, or until so many updates were accepted, and returns how many were.
    ///
    /// It enrols first if it has to. Cancelling the task stops it as `stop` does: what was accepted until then is
    /// returned. To rest without giving an assignment up, call `pause`.
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

    /// Stops taking part. An assignment under way is given up, of which the coordinator hears if it answers in time.
    public func stop() async throws {
        var isOver = false
        // A run that has only just been asked for has nothing yet that could be stopped.
        while !isOver {
            try await translatingAsync { try await self.native.stop() }
            isOver = runs.isNone
            if !isOver {
                try await Task.sleep(nanoseconds: Self.stopAgainNanoseconds)
            }
        }
    }

    /// The newest model's outputs for so many rows of features, row-major. That model is the one with which the last
    /// assignment began.
    public func predict(_ features: [Float], rows: Int = 1) async throws -> Prediction {
        let count = try Self.checked(rows, "rows")
        let native = self.native
        return try await withCheckedThrowingContinuation { continuation in
            // It computes, which a thread of Swift's concurrency is not to be kept with.
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

    /// Says what holds of the device now. A training that is not to go on rests within 250 ms, and goes on at the same
    /// step when it may again. A `DeviceWatcher` calls this.
    public func setConditions(_ conditions: DeviceConditions) {
        native.setConditions(conditions: conditions)
    }

    /// Lets training rest for a reason of the app's, until `resume` is called with the same one. An assignment under
    /// way is given up if that lasts longer than the policy's `giveUpAfterSeconds`, half a minute unless it says so.
    public func pause(for reason: String) {
        changePauses { $0.insert(reason) }
    }

    /// Takes a reason to rest back. Training goes on when there is none left.
    public func resume(from reason: String) {
        changePauses { $0.remove(reason) }
    }

    /// What was asked, fetched, trained and sent, when, and how many bytes; the oldest first. It never leaves here.
    public func transparencyLog() throws -> [LogEntry] {
        try translating { try native.transparencyLog() }
    }

    /// Notes in the transparency log that the user agreed, and to which words.
    public func consentGiven(_ words: String) {
        native.consentGiven(words: words)
    }

    /// Notes in the transparency log that the user does not agree any more. It stops nothing.
    public func consentWithdrawn() {
        native.consentWithdrawn()
    }

    /// Stops, and lets the folder go, for another client. This one cannot be used any more.
    public func close() async throws {
        try await translatingAsync { try await self.native.close() }
        hub.finish()
    }

    /// Stops, and deletes secret, session, models and examples. The client cannot be used any more.
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
            throw FolkmootError.badOption("\(name) is \(number): 1 or more is expected")
        }
        return UInt64(number)
    }
}

/// How many runs are under way, also those that the library has not begun yet.
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

/// The app's answer, as the library asks for it.
private final class ConsentAdapter: FolkmootNative.ConsentCallback, @unchecked Sendable {
    private let consent: Consent

    init(_ consent: @escaping Consent) {
        self.consent = consent
    }

    func ask(offer: AssignmentOffer) throws -> Bool {
        consent(offer)
    }
}
