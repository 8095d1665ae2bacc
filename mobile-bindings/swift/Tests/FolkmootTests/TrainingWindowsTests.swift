import XCTest

@testable import Folkmoot

final class TrainingWindowsTests: XCTestCase {
    func testAWindowEndsWithItsRun() async {
        let client = TestClient()
        let time = TestTime()
        client.finish(with: .success(1))
        await windows(client).begin(time).value
        XCTAssertEqual(time.completions, [true])
        time.expire()
        XCTAssertEqual(time.completions, [true], "it is told once")
    }

    func testARunThatFailsEndsTheWindow() async {
        let client = TestClient()
        let time = TestTime()
        client.finish(with: .failure(FolkmootError.noExamples))
        await windows(client).begin(time).value
        XCTAssertEqual(time.completions, [false])
    }

    func testARunRestsWhenTimeIsOverAndGoesOnInTheNextWindow() async {
        let client = TestClient()
        let windows = self.windows(client)
        let (first, second) = (TestTime(), TestTime())
        let firstEnd = windows.begin(first)
        await client.begun()
        first.expire()
        XCTAssertEqual(first.completions, [false])
        XCTAssertEqual(client.reasons, [TrainingWindows.pauseReason])
        let secondEnd = windows.begin(second)
        await client.resumed()
        client.finish(with: .success(1))
        await firstEnd.value
        await secondEnd.value
        XCTAssertEqual(second.completions, [true])
        XCTAssertEqual(client.runCount, 1, "it is the same run")
    }

    func testAnAppInFrontGoesOn() async {
        let client = TestClient()
        let windows = self.windows(client)
        let time = TestTime()
        let end = windows.begin(time)
        await client.begun()
        time.expire()
        windows.enterForeground()
        XCTAssertEqual(client.reasons, [])
        client.finish(with: .success(1))
        await end.value
    }

    func testAWindowThatIsOverBeforeTheClientIsOpenDoesNotRun() async {
        let client = TestClient()
        let time = TestTime()
        let windows = TrainingWindows(
            rounds: 1,
            open: {
                time.expire()
                return client
            })
        await windows.begin(time).value
        XCTAssertEqual(time.completions, [false])
        XCTAssertEqual(client.runCount, 0)
    }

    func testARunOfTheAppsOwnKeepsTheWindow() async {
        let client = TestClient()
        let time = TestTime()
        let windows = self.windows(client)
        client.finish(with: .failure(FolkmootError.alreadyRunning))
        await windows.begin(time).value
        XCTAssertEqual(time.completions, [])
        // In an app, the app keeps these references; here nobody else does.
        withExtendedLifetime(windows) { time.expire() }
        XCTAssertEqual(time.completions, [false])
        XCTAssertEqual(client.reasons, [TrainingWindows.pauseReason])
    }

    func testAClosedClientIsOpenedAnew() async {
        let closed = TestClient()
        closed.finish(with: .failure(FolkmootError.forgotten))
        let opened = TestClient()
        opened.finish(with: .success(1))
        let clients = Queue([closed, opened])
        let windows = TrainingWindows(rounds: 1, open: { clients.next() })
        let (first, second) = (TestTime(), TestTime())
        await windows.begin(first).value
        await windows.begin(second).value
        XCTAssertEqual(first.completions + second.completions, [false, true])
    }

    private func windows(_ client: TestClient) -> TrainingWindows {
        TrainingWindows(rounds: 1, open: { client })
    }
}

/// Returns clients one after the other.
private final class Queue: @unchecked Sendable {
    private let lock = NSLock()
    private var clients: [TestClient]

    init(_ clients: [TestClient]) {
        self.clients = clients
    }

    func next() -> TestClient {
        lock.lock()
        defer { lock.unlock() }
        return clients.removeFirst()
    }
}

/// A window that a test ends.
private final class TestTime: BackgroundTime, @unchecked Sendable {
    private let lock = NSLock()
    private var handler: (@Sendable () -> Void)?
    private var completed: [Bool] = []

    var completions: [Bool] {
        lock.lock()
        defer { lock.unlock() }
        return completed
    }

    func onExpiration(_ handler: @escaping @Sendable () -> Void) {
        lock.lock()
        defer { lock.unlock() }
        self.handler = handler
    }

    func complete(success: Bool) {
        lock.lock()
        defer { lock.unlock() }
        completed.append(success)
    }

    func expire() {
        lock.lock()
        let handler = self.handler
        lock.unlock()
        handler?()
    }
}

/// A client whose run a test ends.
private final class TestClient: TrainingClient, Sendable {
    private struct State {
        var paused: Set<String> = []
        var runs = 0
        var result: Result<Int, Error>?
    }

    private let state = Watched(State())

    var reasons: Set<String> {
        state.change { $0.paused }
    }

    var runCount: Int {
        state.change { $0.runs }
    }

    func finish(with result: Result<Int, Error>) {
        state.change { $0.result = result }
    }

    /// Returns when a run has started.
    func begun() async {
        await state.first { $0.runs > 0 ? () : nil }
    }

    /// Returns when there is no reason to pause.
    func resumed() async {
        await state.first { $0.paused.isEmpty ? () : nil }
    }

    func run(rounds: Int?) async throws -> Int {
        state.change { $0.runs += 1 }
        return try await state.first { $0.result }.get()
    }

    func pause(for reason: String) {
        state.change { _ = $0.paused.insert(reason) }
    }

    func resume(from reason: String) {
        state.change { _ = $0.paused.remove(reason) }
    }
}

/// A value that notifies waiting tasks of its changes.
private final class Watched<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ value: Value) {
        self.value = value
    }

    @discardableResult
    func change<Result>(_ change: (inout Value) -> Result) -> Result {
        lock.lock()
        let result = change(&value)
        let woken = waiting
        waiting = []
        lock.unlock()
        woken.forEach { $0.resume() }
        return result
    }

    /// Calls `pick` now and after each change, until it returns a value. Returns that value.
    func first<Picked>(_ pick: (Value) -> Picked?) async -> Picked {
        while true {
            var picked: Picked?
            await withCheckedContinuation { continuation in
                lock.lock()
                picked = pick(value)
                if picked == nil {
                    waiting.append(continuation)
                }
                lock.unlock()
                if picked != nil {
                    continuation.resume()
                }
            }
            if let picked {
                return picked
            }
        }
    }
}
