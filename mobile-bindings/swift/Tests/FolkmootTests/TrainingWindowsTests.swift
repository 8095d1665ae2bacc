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
        while !client.reasons.isEmpty {
            await Task.yield()
        }
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
private final class TestClient: TrainingClient, @unchecked Sendable {
    private let lock = NSLock()
    private var paused: Set<String> = []
    private var runs = 0
    private var result: Result<Int, Error>?

    var reasons: Set<String> {
        lock.lock()
        defer { lock.unlock() }
        return paused
    }

    var runCount: Int {
        lock.lock()
        defer { lock.unlock() }
        return runs
    }

    func finish(with result: Result<Int, Error>) {
        lock.lock()
        defer { lock.unlock() }
        self.result = result
    }

    /// Returns when a run has started.
    func begun() async {
        while runCount == 0 {
            await Task.yield()
        }
    }

    func run(rounds: Int?) async throws -> Int {
        countRun()
        while true {
            if let result = self.ended() {
                return try result.get()
            }
            await Task.yield()
        }
    }

    func pause(for reason: String) {
        lock.lock()
        defer { lock.unlock() }
        paused.insert(reason)
    }

    func resume(from reason: String) {
        lock.lock()
        defer { lock.unlock() }
        paused.remove(reason)
    }

    private func countRun() {
        lock.lock()
        defer { lock.unlock() }
        runs += 1
    }

    private func ended() -> Result<Int, Error>? {
        lock.lock()
        defer { lock.unlock() }
        return result
    }
}
