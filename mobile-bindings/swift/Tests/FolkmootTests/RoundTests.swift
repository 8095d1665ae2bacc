#if os(macOS) || os(Linux)
import XCTest

@testable import Folkmoot

/// Whole rounds against a real coordinator.
final class RoundTests: XCTestCase {
    func testAClientEnrolsTrainsAndPredicts() async throws {
        let coordinator = try Coordinator()
        let task = try coordinator.task("digits", rounds: 5)
        let client = try FolkmootClient(coordinator.options(token: coordinator.token("digits")))
        let digits = try Digits.read(400)
        try client.examples.add(digits.pixels, shape: [64], labels: .classes(digits.labels))
        let heard = self.rounds(of: client.events)
        await assertThrows(.noModel) { _ = try await client.predict(digits.pixels, rows: 400) }
        let accepted = try await client.run(rounds: 5)
        XCTAssertEqual(accepted, 5)
        let prediction = try await client.predict(digits.pixels, rows: 400)
        XCTAssertEqual(prediction.shape, [10])
        let guesses = (0..<400).map { row in largest(prediction[row]) }
        let right = zip(guesses, digits.labels).filter { $0 == $1 }.count
        XCTAssertGreaterThan(right, 300)
        XCTAssertFalse(try client.transparencyLog().isEmpty)
        try await client.close()
        let numbers = await heard.value
        XCTAssertEqual(numbers, [1, 2, 3, 4, 5])
        XCTAssertEqual(try coordinator.accepted(task, rounds: 5), [1, 1, 1, 1, 1])
    }

    func testThreeClientsMaskTheirUpdates() async throws {
        let coordinator = try Coordinator()
        let task = try coordinator.task("masked", rounds: 2, clients: 3, settings: Coordinator.masks)
        let clients = try (0..<3).map { number in
            let options = try coordinator.options(token: coordinator.token("masked"), state: "state-\(number)")
            let client = try FolkmootClient(options)
            try addDigits(to: client)
            return client
        }
        try await withThrowingTaskGroup(of: Int.self) { runs in
            for client in clients {
                runs.addTask { try await client.run(rounds: 2) }
            }
            for try await accepted in runs {
                XCTAssertEqual(accepted, 2)
            }
        }
        XCTAssertEqual(try coordinator.accepted(task, rounds: 2), [3, 3])
        for client in clients {
            let sent = try client.transparencyLog().filter { $0.action == "sent" }
            // In each round: keys, shares and an opening.
            let masking = sent.filter { $0.detail?.hasPrefix("secure aggregation") == true }
            XCTAssertEqual(masking.count, 6)
            try await client.close()
        }
    }

    func testAModelThatIsRolledOutIsUsedUntilItIsHeld() async throws {
        let coordinator = try Coordinator()
        let task = try coordinator.task("rolled", rounds: 1)
        let client = try FolkmootClient(coordinator.options(token: coordinator.token("rolled")))
        let nothing = try await client.updateModel()
        XCTAssertNil(nothing)
        try coordinator.call(["rollout", "create", task])
        for isNew in [true, false] {
            let update = try await client.updateModel()
            XCTAssertEqual(update?.rollout, 1)
            XCTAssertEqual(update?.taskId, task)
            XCTAssertEqual(update?.version, 0)
            XCTAssertEqual(update?.isNew, isNew)
        }
        let pixels = try Digits.read(1).pixels
        let prediction = try await client.predict(pixels)
        XCTAssertEqual(prediction.taskId, task)
        XCTAssertEqual(prediction.version, 0)
        try coordinator.call(["rollout", "hold", "rolled", "1"])
        let held = try await client.updateModel()
        XCTAssertNil(held)
        await assertThrows(.noModel) { _ = try await client.predict(pixels) }
        try await client.close()
    }

    func testANoDeclines() async throws {
        let coordinator = try Coordinator()
        _ = try coordinator.task("asked", rounds: 1)
        let answers = Answers()
        let options = try coordinator.options(token: coordinator.token("asked"))
        let client = try FolkmootClient(options, askBefore: { answers.answer($0) })
        try addDigits(to: client)
        let events = client.events
        let accepted = try await client.run(rounds: 1)
        XCTAssertEqual(accepted, 1)
        try await client.close()
        var reasons: [String] = []
        for await event in events {
            if case .aborted(_, let reason, _) = event {
                reasons.append(reason)
            }
        }
        XCTAssertEqual(reasons, ["declined"])
        XCTAssert(answers.plans.allSatisfy { $0.contains("softmax_cross_entropy") })
        XCTAssertEqual(answers.plans.count, 2)
    }

    func testARunThatIsCancelledOrStoppedEnds() async throws {
        let coordinator = try Coordinator()
        for stopsItself in [true, false] {
            let token = try coordinator.token("nobody")
            let client = try FolkmootClient(coordinator.options(token: token, state: "state-\(stopsItself)"))
            try addDigits(to: client)
            var events = client.events.makeAsyncIterator()
            let run = Task { try await client.run() }
            guard case .enrolled = await events.next() else {
                return XCTFail("a run begins with an enrolment")
            }
            XCTAssert(client.isRunning)
            if stopsItself {
                run.cancel()
            } else {
                try await client.stop()
            }
            let accepted = try await run.value
            XCTAssertEqual(accepted, 0)
            try await client.close()
        }
    }

    func testATrainerOfTheAppsOwn() async throws {
        let coordinator = try Coordinator()
        let task = try coordinator.task("own", rounds: 2)
        let trainer = Nudge()
        let options = try coordinator.options(token: coordinator.token("own"))
        let client = try FolkmootClient(options, trainer: trainer)
        let accepted = try await client.run(rounds: 2)
        XCTAssertEqual(accepted, 2)
        try await client.close()
        XCTAssertEqual(try coordinator.accepted(task, rounds: 2), [1, 1])
        XCTAssertEqual(trainer.roundNumbers, [1, 2])
        XCTAssertThrowsError(try trainer.kept?.values(of: "nothing"))
        XCTAssertThrowsError(try trainer.kept?.withAllValues { $0.count }, "they were returned")
    }

    func testRefusalsSayWhatToDo() async throws {
        let coordinator = try Coordinator()
        let wrong = try FolkmootClient(coordinator.options(token: "no-such-token", state: "wrong"))
        await assertThrows(.noExamples) { _ = try await wrong.run() }
        try addDigits(to: wrong)
        do {
            try await wrong.run()
            XCTFail("there is no such token")
        } catch FolkmootError.refused(let code, _) {
            XCTAssertEqual(code, .enrolmentTokenInvalid)
        }
        XCTAssertThrowsError(try FolkmootClient(coordinator.options(token: nil, state: "wrong"))) { error in
            guard case FolkmootError.storageFailed = error else {
                return XCTFail("another client has this folder: \(error)")
            }
        }
        try await wrong.forget()
        await assertThrows(.forgotten) { _ = try await wrong.run() }
    }

    func testTheSecretLiesWhereTheAppSays() async throws {
        let coordinator = try Coordinator()
        _ = try coordinator.task("secret", rounds: 1)
        let secrets = MemorySecrets()
        let options = try coordinator.options(token: coordinator.token("secret"))
        let client = try FolkmootClient(options, secrets: secrets)
        XCTAssertEqual(secrets.secret?.count, 32)
        try addDigits(to: client)
        try await client.run(rounds: 1)
        try await client.forget()
        XCTAssertNil(secrets.secret)
    }

    private func addDigits(to client: FolkmootClient) throws {
        let digits = try Digits.read(64)
        try client.examples.add(digits.pixels, shape: [64], labels: .classes(digits.labels))
    }

    /// The reported round numbers until the client is closed.
    private func rounds(of events: AsyncStream<ClientEvent>) -> Task<[UInt64], Never> {
        Task {
            var numbers: [UInt64] = []
            for await event in events {
                if case .round(_, let roundNumber, _, _, _) = event {
                    numbers.append(roundNumber)
                }
            }
            return numbers
        }
    }

    private func largest(_ outputs: ArraySlice<Float>) -> Int {
        outputs.indices.max { outputs[$0] < outputs[$1] }.map { $0 - outputs.startIndex } ?? -1
    }

    private func assertThrows(_ expected: FolkmootError, _ body: () async throws -> Void) async {
        do {
            try await body()
            XCTFail("\(expected) is expected")
        } catch {
            XCTAssertEqual(error as? FolkmootError, expected)
        }
    }
}

/// Declines once and then accepts.
private final class Answers: @unchecked Sendable {
    private let lock = NSLock()
    private var offers: [AssignmentOffer] = []

    var plans: [String] {
        lock.lock()
        defer { lock.unlock() }
        return offers.map { $0.plan }
    }

    func answer(_ offer: AssignmentOffer) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        offers.append(offer)
        return offers.count > 1
    }
}

/// Moves every weight a little.
private final class Nudge: Trainer, @unchecked Sendable {
    let exampleCount = 8
    private(set) var roundNumbers: [Int] = []
    private(set) var kept: Weights?

    func train(_ work: TrainerWork) throws -> Trained {
        roundNumbers.append(work.roundNumber)
        kept = work.weights
        for tensor in work.weights.tensors {
            let values = try work.weights.values(of: tensor.name)
            try work.weights.set(values.map { $0 + 0.001 }, for: tensor.name)
        }
        return Trained(weights: work.weights, exampleCount: exampleCount, lossSum: 8, stepCount: 1)
    }
}

/// Stores a secret in memory.
private final class MemorySecrets: SecretStorage, @unchecked Sendable {
    private(set) var secret: Data?

    func load() throws -> Data? {
        secret
    }

    func save(secret: Data) throws {
        self.secret = secret
    }

    func delete() throws {
        secret = nil
    }
}
#endif
