import XCTest

@testable import Folkmoot

final class ExampleStoreTests: XCTestCase {
    private let folder = Temporary.folder()
    private let clock = TestClock()
    private let form = ExampleStore.Form(featureShape: [2])

    override func tearDown() {
        try? FileManager.default.removeItem(at: folder)
    }

    func testWhatWasAddedIsThereWhenItIsOpenedAgain() async throws {
        let first = try open()
        try await first.add([1, 2], label: 3)
        try await first.add([4, 5], label: 0)
        let again = try await open().all()
        XCTAssertEqual(again.features, [1, 2, 4, 5])
        XCTAssertEqual(again.labels, [3, 0])
    }

    func testExamplesExpire() async throws {
        let store = try open(ExampleStore.Limits(expiresAfter: 60))
        try await store.add([1, 2], label: 3)
        clock.advance(30)
        try await store.add([4, 5], label: 0)
        clock.advance(30)
        let left = try await store.all()
        XCTAssertEqual(left.features, [4, 5])
        clock.advance(30)
        let count = try await store.count()
        XCTAssertEqual(count, 0)
    }

    func testTheOldestGoFirst() async throws {
        for limits in [ExampleStore.Limits(examplesMax: 2), ExampleStore.Limits(bytesMax: 24)] {
            let store = try open(limits)
            try await store.clear()
            for label in 0..<5 {
                try await store.add([0, 0], label: label)
            }
            let left = try await store.all()
            XCTAssertEqual(left.labels, [3, 4])
        }
    }

    func testBadInputIsRefusedWithWords() async throws {
        let store = try open()
        let cases: [([Float], Labels, String)] = [
            ([1], .classes([0]), "1 features; an example of shape [2] needs 2"),
            ([1, .nan], .classes([0]), "finite"),
            ([1, 2], .classes([-1]), "-1 is not a class"),
            ([1, 2], .classes([16_777_217]), "16777217 is not a class"),
            ([1, 2], .classes([1, 2]), "one example"),
            ([1, 2], .targets([1]), "one example"),
        ]
        for (features, labels, words) in cases {
            do {
                try await store.add(features, labels: labels)
                XCTFail(words)
            } catch FolkmootError.badExample(let detail) {
                XCTAssert(detail.contains(words), detail)
            }
        }
        let count = try await store.count()
        XCTAssertEqual(count, 0)
    }

    func testLimitsThatLeaveNoRoomAreRefused() {
        let noRoom = ExampleStore.Limits(bytesMax: 8)
        XCTAssertThrowsError(try open(noRoom))
        XCTAssertThrowsError(try open(ExampleStore.Limits(examplesMax: 0)))
        XCTAssertThrowsError(try open(ExampleStore.Limits(expiresAfter: 0)))
        XCTAssertThrowsError(try ExampleStore(in: folder, form: ExampleStore.Form(featureShape: [0])))
        XCTAssertThrowsError(try ExampleStore(in: folder, form: ExampleStore.Form(featureShape: [.max, 2])))
    }

    func testExamplesOfAnotherFormGo() async throws {
        let store = try open()
        try await store.add([1, 2], label: 3)
        let targets = ExampleStore.Form(featureShape: [2], labels: .targets())
        let other = try ExampleStore(in: folder, form: targets)
        let count = try await other.count()
        XCTAssertEqual(count, 0)
        try await other.add([1, 2], labels: .targets([0.5]))
        let labels = try await other.all().labels
        XCTAssertEqual(labels, [0.5])
    }

    func testAFileThatIsNoDatabaseIsNamed() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("examples.sqlite")
        try Data(repeating: 7, count: 4_096).write(to: file)
        XCTAssertThrowsError(try open()) { error in
            guard case FolkmootError.storageFailed(let detail) = error else {
                return XCTFail("\(error)")
            }
            XCTAssert(detail.contains("examples.sqlite"), detail)
        }
    }

    private func open(_ limits: ExampleStore.Limits = ExampleStore.Limits()) throws -> ExampleStore {
        let clock = self.clock
        return try ExampleStore(in: folder, form: form, limits: limits, now: { clock.now })
    }
}

/// A clock that a test sets.
final class TestClock: @unchecked Sendable {
    private let lock = NSLock()
    private var seconds: TimeInterval = 1_700_000_000

    var now: Date {
        lock.lock()
        defer { lock.unlock() }
        return Date(timeIntervalSince1970: seconds)
    }

    func advance(_ by: TimeInterval) {
        lock.lock()
        defer { lock.unlock() }
        seconds += by
    }
}

/// Folders for one test.
enum Temporary {
    static func folder() -> URL {
        let name = "folkmoot-\(UUID().uuidString)"
        return FileManager.default.temporaryDirectory.appendingPathComponent(name, isDirectory: true)
    }
}
