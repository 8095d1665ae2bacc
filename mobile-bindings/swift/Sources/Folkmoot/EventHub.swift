import Foundation
import FolkmootNative

/// Tells each who listens of every event.
final class EventHub: FolkmootNative.EventListener, @unchecked Sendable {
    /// Events that wait for somebody who does not take them; then the oldest go.
    static let waitingMax = 1_024

    private let lock = NSLock()
    private var continuations: [UUID: AsyncStream<ClientEvent>.Continuation] = [:]
    private var isFinished = false

    /// A stream of the events from now on, until the client is closed or forgotten.
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
        // Outside of the lock, which `onTermination` takes.
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
