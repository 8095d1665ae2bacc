import Folkmoot
import Foundation

/// The app's only client, and its state for the screen.
@MainActor
final class Participation: ObservableObject {
    static let shared = Participation()
    /// The consent text that the user agrees to.
    static let words = "Improve the model with my digits"

    @Published private(set) var message = "Draw a digit, then tap its number."
    @Published private(set) var progress = 0.0
    @Published private(set) var loss: Double?
    @Published private(set) var acceptedRounds = 0
    @Published private(set) var exampleCount = 0
    /// Whether the user has agreed; kept across restarts of the app.
    @Published private(set) var takesPart = UserDefaults.standard.bool(forKey: "takesPart")

    /// Reports battery, connection and temperature to the client once it is open.
    let watcher: DeviceWatcher
    private let link = ClientLink()
    private var opening: Task<FolkmootClient, Error>?
    private var store: ExampleStore?

    private init() {
        let link = self.link
        watcher = DeviceWatcher { conditions in link.set(conditions) }
    }

    func tell(_ error: Error) {
        message = error.localizedDescription
    }

    /// Starts or stops taking part, as the user decides.
    func setTakesPart(_ wanted: Bool) {
        takesPart = wanted
        UserDefaults.standard.set(wanted, forKey: "takesPart")
        Task {
            do {
                let client = try await opened()
                if wanted {
                    client.consentGiven(Self.words)
                    await run(client)
                } else {
                    client.consentWithdrawn()
                    try await client.stop()
                    message = "You are not taking part."
                }
            } catch {
                tell(error)
            }
        }
    }

    /// Resumes taking part, if the user has agreed, when the app comes to the foreground.
    func begin() async {
        do {
            exampleCount = try await openedStore().count()
            if takesPart {
                let client = try await opened()
                await run(client)
            }
        } catch {
            tell(error)
        }
    }

    private func run(_ client: FolkmootClient) async {
        do {
            try await client.run()
            message = "Training has ended."
        } catch FolkmootError.alreadyRunning {
            // The running client continues.
            return
        } catch {
            tell(error)
        }
    }

    /// Stores a drawing with its digit. A client that is already running uses it after its next start.
    func add(_ features: [Float], digit: Int) async {
        do {
            let store = try openedStore()
            try await store.add(features, label: digit)
            exampleCount = try await store.count()
            let client = try await opened()
            try await store.load(into: client.examples)
            if takesPart {
                // A run cannot start without examples; this may be the first.
                Task { await run(client) }
            }
        } catch {
            tell(error)
        }
    }

    /// The newest model's guess; nil if there is no model yet.
    func guess(_ features: [Float]) async -> Int? {
        guard let client = try? await opened(), let outputs = try? await client.predict(features).outputs else {
            return nil
        }
        return outputs.indices.max { outputs[$0] < outputs[$1] }
    }

    /// Deletes all of the user's data, and the client's key.
    func forget() async {
        do {
            try await opened().forget()
            try await openedStore().clear()
            opening = nil
            exampleCount = 0
            acceptedRounds = 0
            takesPart = false
            UserDefaults.standard.set(false, forKey: "takesPart")
            message = "Everything was deleted."
        } catch {
            tell(error)
        }
    }

    /// Opens the client for a background window, only if the user has agreed.
    func openedForBackground() async throws -> FolkmootClient {
        guard takesPart else {
            throw FolkmootError.badOption("the user does not take part")
        }
        return try await opened()
    }

    /// Opens the client once, with the examples from disk.
    private func opened() async throws -> FolkmootClient {
        if let opening = opening {
            return try await opening.value
        }
        let begun = Task { try await self.open() }
        opening = begun
        do {
            return try await begun.value
        } catch {
            // The next attempt may have other settings and succeed.
            opening = nil
            throw error
        }
    }

    private func open() async throws -> FolkmootClient {
        let options = try Settings.stored().options()
        let store = try openedStore()
        let client = try FolkmootClient(options, secrets: KeychainSecrets())
        try await store.load(into: client.examples)
        link.client = client
        watcher.start()
        Task {
            for await event in client.events {
                self.heard(event)
            }
        }
        return client
    }

    private func openedStore() throws -> ExampleStore {
        if let store = store {
            return store
        }
        let folder = try ClientOptions.standardFolder(named: "examples")
        let opened = try ExampleStore(in: folder, form: ExampleStore.Form(featureShape: [Drawing.featureCount]))
        store = opened
        return opened
    }

    private func heard(_ event: ClientEvent) {
        switch event {
        case .enrolled(_, let population): message = "Enrolled in \(population)."
        case .waiting: message = "Waiting for the next check-in."
        case .assigned(_, _, let roundNumber, _): message = "Drawn for round \(roundNumber)."
        case .training(_, let step, let stepsTotal, let loss):
            progress = Double(step) / Double(max(stepsTotal, 1))
            self.loss = loss
            message = "Training."
        case .uploading(_, let sent, let total): message = "Sending \(sent) of \(total) bytes."
        case .round(_, let roundNumber, _, _, _):
            acceptedRounds += 1
            message = "Round \(roundNumber) includes this update."
        case .paused(let reason): message = "Paused: \(reason)."
        case .resumed: message = "Resumed."
        case .aborted(_, let reason, _): message = "Gave up the assignment: \(reason)."
        case .backingOff(_, _, let detail): message = detail
        default: break
        }
    }
}

/// Forwards conditions to the client, which is opened after the watcher is created.
final class ClientLink: @unchecked Sendable {
    private let lock = NSLock()
    private weak var linked: FolkmootClient?

    var client: FolkmootClient? {
        get {
            lock.lock()
            defer { lock.unlock() }
            return linked
        }
        set {
            lock.lock()
            defer { lock.unlock() }
            linked = newValue
        }
    }

    func set(_ conditions: DeviceConditions) {
        client?.setConditions(conditions)
    }
}
