import FolkmootNative

/// What the library says of each code.
private let infos = Dictionary(uniqueKeysWithValues: FolkmootNative.errorCodes().map { ($0.code, $0) })

extension ErrorCode {
    /// All codes, in the order of the reference.
    public static var all: [ErrorCode] {
        FolkmootNative.errorCodes().map { $0.code }
    }

    /// The text that stands for it in the protocol, which does not change.
    public var text: String {
        info.text
    }

    /// The HTTP status that carries it.
    public var httpStatus: Int {
        Int(info.httpStatus)
    }

    /// What a client is to do about it.
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
