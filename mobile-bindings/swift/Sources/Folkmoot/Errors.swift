import Foundation
import FolkmootNative

/// Why a call failed. The names are stable; the texts are for people to read.
public enum FolkmootError: Error, Equatable {
    /// An option is invalid or exceeds its limit.
    case badOption(String)
    /// The examples have the wrong shape or invalid values.
    case badExample(String)
    /// There are no examples to train on.
    case noExamples
    /// The client is not enrolled and has no token.
    case notEnrolled(String)
    /// The coordinator refused this client. The code is nil if this version does not know it.
    case refused(ErrorCode?, String)
    /// The coordinator cannot be reached, or its response is unusable.
    case unreachable(String)
    /// A file, the database of examples or the Keychain cannot be used.
    case storageFailed(String)
    /// There is no model on this device yet.
    case noModel
    /// The model that the operator has rolled out cannot be used on this device. Predictions keep the model before.
    case modelUnusable(String)
    /// The client is already running.
    case alreadyRunning
    /// The client was forgotten or closed.
    case forgotten
    /// A bug in the package.
    case internalError(String)
}

extension FolkmootError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .badOption(let detail), .badExample(let detail), .notEnrolled(let detail), .refused(_, let detail),
            .unreachable(let detail), .storageFailed(let detail), .modelUnusable(let detail):
            return detail
        case .noExamples:
            return "there are no examples; add some, or set a trainer that has its own"
        case .noModel:
            return "there is no model yet; update the model, or wait for the first assignment"
        case .alreadyRunning:
            return "this client is already running; stop it first"
        case .forgotten:
            return "this client was forgotten or closed; open a new one"
        case .internalError(let detail):
            return "this is a bug in the client, please report it: \(detail)"
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
        case .ModelUnusable(let detail): self = .modelUnusable(detail)
        case .AlreadyRunning: self = .alreadyRunning
        case .Forgotten: self = .forgotten
        case .Internal(let detail): self = .internalError(detail)
        }
    }
}

/// Returns this package's error for an error of the library.
func translated(_ error: Error) -> FolkmootError {
    switch error {
    case let error as FolkmootError: return error
    case let error as FolkmootNative.FolkmootError: return FolkmootError(error)
    default: return .internalError(String(describing: error))
    }
}

/// Replaces errors of the library with this package's.
func translating<T>(_ body: () throws -> T) throws -> T {
    do {
        return try body()
    } catch {
        throw translated(error)
    }
}

/// Like `translating`, for async code.
func translatingAsync<T>(_ body: () async throws -> T) async throws -> T {
    do {
        return try await body()
    } catch {
        throw translated(error)
    }
}
