import Foundation
import FolkmootNative

/// Why something failed. The names do not change; the texts are for humans.
public enum FolkmootError: Error, Equatable {
    /// An option makes no sense or passes a limit.
    case badOption(String)
    /// Examples do not have the shape or the values that they must have.
    case badExample(String)
    /// There is nothing to train on.
    case noExamples
    /// The client is not enrolled, and has no token.
    case notEnrolled(String)
    /// The coordinator refuses this client; the code says why, if it gave a reason that this version knows.
    case refused(ErrorCode?, String)
    /// No coordinator answers there.
    case unreachable(String)
    /// A file, the database of examples or the Keychain cannot be used.
    case storageFailed(String)
    /// No assignment has brought a model yet.
    case noModel
    /// The client runs already.
    case alreadyRunning
    /// The client was forgotten or closed.
    case forgotten
    /// The package has a mistake.
    case internalError(String)
}

extension FolkmootError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .badOption(let detail), .badExample(let detail), .notEnrolled(let detail), .refused(_, let detail),
            .unreachable(let detail), .storageFailed(let detail):
            return detail
        case .noExamples:
            return "there are no examples: add some, or give a trainer that has its own"
        case .noModel:
            return "there is no model yet: it comes with the first assignment"
        case .alreadyRunning:
            return "this client runs already: stop it first"
        case .forgotten:
            return "this client was forgotten or closed: open a new one"
        case .internalError(let detail):
            return "this is a mistake in the client, please report it: \(detail)"
        }
    }
}

extension FolkmootError {
    init(_ error: FolkmootNative.FolkmootError) {
        switch error {
        case .BadOption(let detail): self = .badOption(detail)
        case .BadExample(let detail): self = .badExample(detail)
        case .NoExamples: self = .noExamples
        case .NotEnrolled(let detail): self = .notEnrolled(detail)
        case .Refused(let code, let detail): self = .refused(code, detail)
        case .Unreachable(let detail): self = .unreachable(detail)
        case .StorageFailed(let detail): self = .storageFailed(detail)
        case .NoModel: self = .noModel
        case .AlreadyRunning: self = .alreadyRunning
        case .Forgotten: self = .forgotten
        case .Internal(let detail): self = .internalError(detail)
        }
    }
}

/// The error of this package for whatever the library throws.
func translated(_ error: Error) -> FolkmootError {
    switch error {
    case let error as FolkmootError: return error
    case let error as FolkmootNative.FolkmootError: return FolkmootError(error)
    default: return .internalError(String(describing: error))
    }
}

/// Throws errors of this package instead of the library's.
func translating<T>(_ body: () throws -> T) throws -> T {
    do {
        return try body()
    } catch {
        throw translated(error)
    }
}

/// As `translating`, for what waits.
func translatingAsync<T>(_ body: () async throws -> T) async throws -> T {
    do {
        return try await body()
    } catch {
        throw translated(error)
    }
}
