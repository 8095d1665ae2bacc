import Foundation
import FolkmootNative

/// Sends every event to each subscriber.
final class EventHub: FolkmootNative.EventListener, @unchecked Sendable {
    /// The maximum number of events that wait for a slow subscriber. Older events are dropped.
    static let waitingMax = 1_024

    private let lock = NSLock()
    private var continuations: [UUID: AsyncStream<ClientEvent>.Continuation] = [:]
    private var isFinished = false

    /// Returns a stream of the events from now on, until the client is closed or forgotten.
    func stream() -> AsyncStream<ClientEvent> {
        AsyncStream(ClientEvent.self, bufferingPolicy: .bufferingNewest(Self.waitingMax)) { continuation in
            let id = UUID()
            continuation.onTermination = { [weak self] _ in
                self?.remove(id)
            }
            add(continuation, id)
        }
    }

    func onEvent(event: ClientEvent) throws {
        for continuation in all() {
            continuation.yield(event)
        }
    }

    /// Ends all streams.
    func finish() {
        lock.lock()
        isFinished = true
        let ended = Array(continuations.values)
        continuations.removeAll()
        lock.unlock()
        // Outside of the lock, because `onTermination` takes it too.
        for continuation in ended {
            continuation.finish()
        }
    }

    private func add(_ continuation: AsyncStream<ClientEvent>.Continuation, _ id: UUID) {
        lock.lock()
        let isLate = isFinished
        if !isLate {
            continuations[id] = continuation
        }
        lock.unlock()
        if isLate {
            continuation.finish()
        }
    }

    private func remove(_ id: UUID) {
        lock.lock()
        defer { lock.unlock() }
        continuations[id] = nil
    }

    private func all() -> [AsyncStream<ClientEvent>.Continuation] {
        lock.lock()
        defer { lock.unlock() }
        return Array(continuations.values)
    }
}
