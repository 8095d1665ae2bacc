/// Why a client rests: each part of an app has a reason of its own, and only when none is left does training go on.
struct PauseReasons: Equatable {
    private var reasons: [String] = []

    /// The reason that is told: the one that came first.
    var first: String? {
        reasons.first
    }

    mutating func insert(_ reason: String) {
        if !reasons.contains(reason) {
            reasons.append(reason)
        }
    }

    mutating func remove(_ reason: String) {
        reasons.removeAll { $0 == reason }
    }
}
