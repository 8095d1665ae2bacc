/// The reasons for a pause. Each part of an app has its own, and training continues only when none is left.
struct PauseReasons: Equatable {
    private var reasons: [String] = []

    /// The reason that is reported: the oldest one.
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
