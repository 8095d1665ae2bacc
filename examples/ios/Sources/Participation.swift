import Folkmoot
import Foundation

/// The one client of this app, and what the screen shows of it.
@MainActor
final class Participation: ObservableObject {
    static let shared = Participation()
    /// What the user agrees to.
    static let words = "Improve the model with my digits"

    @Published private(set) var message = "Draw a digit and say what it is."
    @Published private(set) var progress = 0.0
    @Published private(set) var loss: Double?
    @Published private(set) var acceptedRounds = 0
    @Published private(set) var exampleCount = 0
    /// What the user agreed to; it stays when the app ends.
    @Published private(set) var takesPart = UserDefaults.standard.bool(forKey: "takesPart")

    /// Tells the client of battery, link and heat once it is open.
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

    /// Begins or ends taking part, as the user decides.
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
                    message = "You do not take part."
                }
            } catch {
                tell(error)
            }
        }
    }

    /// Goes on with what the user agreed to before, whenever the app comes to the front.
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
            message = "The run is over."
        } catch FolkmootError.alreadyRunning {
            // It goes on with what it does.
            return
        } catch {
            tell(error)
        }
    }

    /// Keeps a drawing with its digit. A run under way takes it with its next start.
    func add(_ features: [Float], digit: Int) async {
        do {
            let store = try openedStore()
            try await store.add(features, label: digit)
            exampleCount = try await store.count()
            let client = try await opened()
            try await store.load(into: client.examples)
            if takesPart {
                // The first example is what a run may have waited for.
                Task { await run(client) }
            }
        } catch {
            tell(error)
        }
    }

    /// The digit that the newest model sees; nil before there is one.
    func guess(_ features: [Float]) async -> Int? {
        guard let client = try? await opened(), let outputs = try? await client.predict(features).outputs else {
            return nil
        }
        return outputs.indices.max { outputs[$0] < outputs[$1] }
    }

    /// Deletes everything that the app has of the user, and the client's secret.
    func forget() async {
        do {
            try await opened().forget()
            try await openedStore().clear()
            opening = nil
            exampleCount = 0
            acceptedRounds = 0
            takesPart = false
            UserDefaults.standard.set(false, forKey: "takesPart")
            message = "Everything is deleted."
        } catch {
            tell(error)
        }
    }

    /// For a window in the background: only with the user's word.
    func openedForBackground() async throws -> FolkmootClient {
        guard takesPart else {
            throw FolkmootError.badOption("the user does not take part")
        }
        return try await opened()
    }

    /// The client, opened once, with the examples on disk.
    private func opened() async throws -> FolkmootClient {
        if let opening = opening {
            return try await opening.value
        }
        let begun = Task { try await self.open() }
        opening = begun
        do {
            return try await begun.value
        } catch {
            // With other settings it may succeed.
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
        case .waiting: message = "Waits for the next check-in."
        case .assigned(_, _, let roundNumber, _): message = "Drawn for round \(roundNumber)."
        case .training(_, let step, let stepsTotal, let loss):
            progress = Double(step) / Double(max(stepsTotal, 1))
            self.loss = loss
            message = "Trains."
        case .uploading(_, let sent, let total): message = "Sends \(sent) of \(total) bytes."
        case .round(_, let roundNumber, _, _, _):
            acceptedRounds += 1
            message = "Round \(roundNumber) has this update."
        case .paused(let reason): message = "Rests: \(reason)."
        case .resumed: message = "Goes on."
        case .aborted(_, let reason, _): message = "Gave the assignment up: \(reason)."
        case .backingOff(_, _, let detail): message = detail
        default: break
        }
    }
}

/// The client that conditions are told to, which is opened after the watcher is made.
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
