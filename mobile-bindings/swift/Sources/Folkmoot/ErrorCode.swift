import FolkmootNative

/// The library's properties of each code.
private let infos = Dictionary(uniqueKeysWithValues: FolkmootNative.errorCodes().map { ($0.code, $0) })

extension ErrorCode {
    /// All codes, in the order of the reference.
    public static var all: [ErrorCode] {
        FolkmootNative.errorCodes().map { $0.code }
    }

    /// The code's stable text, as in the protocol.
    public var text: String {
        info.text
    }

    /// The HTTP status of responses with this code.
    public var httpStatus: Int {
        Int(info.httpStatus)
    }

    /// The action that a client should take after an error with this code.
    public var disposition: Disposition {
        info.disposition
    }

    private var info: FolkmootNative.ErrorCodeInfo {
        guard let info = infos[self] else {
            preconditionFailure("the library's table has every code")
        }
        return info
    }
}
