import Foundation

/// Examples on disk, which survive a restart of the app, with limits and an expiry.
///
/// They are in a SQLite file that is excluded from backups. Deleted examples are overwritten. If you open the store
/// with another form, examples of the old form are deleted, because a new model cannot use them.
public actor ExampleStore {
    /// The form of an example.
    public struct Form: Equatable, Sendable {
        /// The shape of the features.
        public var featureShape: [Int]
        /// The form of the labels.
        public var labels: LabelForm

        /// Creates a form with this shape, and one class number per example unless `labels` says otherwise.
        public init(featureShape: [Int], labels: LabelForm = .classes()) {
            self.featureShape = featureShape
            self.labels = labels
        }
    }

    /// Limits on the number, size and age of examples.
    public struct Limits: Equatable, Sendable {
        /// The maximum number of examples. The oldest are deleted first.
        public var examplesMax: Int
        /// The maximum number of bytes of features and labels. The oldest examples are deleted first.
        public var bytesMax: Int
        /// Seconds after which an example is deleted; nil means never.
        public var expiresAfter: TimeInterval?

        /// Creates limits. Default: 10,000 examples, 64 MiB and 30 days.
        public init(
            examplesMax: Int = 10_000,
            bytesMax: Int = 64 << 20,
            expiresAfter: TimeInterval? = 30 * 24 * 60 * 60
        ) {
            self.examplesMax = examplesMax
            self.bytesMax = bytesMax
            self.expiresAfter = expiresAfter
        }
    }

    /// The maximum number of features per example, below SQLite's limit for one value.
    private static let featuresMax = 100_000_000
    private static let expirySecondsMax: TimeInterval = 10 * 366 * 24 * 60 * 60

    private let database: Database
    private let form: Form
    private let featureCount: Int
    private let rowsMax: Int
    private let expiresAfter: TimeInterval?
    private let now: @Sendable () -> Date

    /// Opens the store in a folder of its own, or creates it.
    public init(
        in folder: URL,
        form: Form,
        limits: Limits = Limits(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        let featureCount = try Self.featureCount(of: form)
        let rowsMax = try Self.rowsMax(limits, valuesPerExample: featureCount + form.labels.perExample)
        if let seconds = limits.expiresAfter, !(seconds > 0 && seconds <= Self.expirySecondsMax) {
            throw FolkmootError.badOption("expiresAfter is \(seconds); it must be more than 0 seconds and at most ten years")
        }
        try PrivateFolder.make(folder)
        let database = try Database.open(folder.appendingPathComponent("examples.sqlite"))
        try ExampleSchema.prepare(database, form: form, featureCount: featureCount)
        self.database = database
        self.form = form
        self.featureCount = featureCount
        self.rowsMax = rowsMax
        self.now = now
        expiresAfter = limits.expiresAfter
    }

    /// Adds an example with its class.
    public func add(_ features: [Float], label: Int) throws {
        try add(features, labels: .classes([label]))
    }

    /// Adds an example. Throws `FolkmootError.badExample` if it does not have the store's form, or contains a value
    /// that is not finite.
    public func add(_ features: [Float], labels: Labels) throws {
        let values = try checked(features, labels)
        try database.transaction {
            try database.run(
                "INSERT INTO examples (added_at, features, labels) VALUES (?, ?, ?)",
                [.integer(milliseconds(now())), .bytes(Self.bytes(features)), .bytes(Self.bytes(values))])
            try prune()
        }
    }

    /// Returns the number of examples.
    public func count() throws -> Int {
        try prune()
        return try database.number("SELECT COUNT(*) FROM examples")
    }

    /// Deletes all examples. Those that a client has already loaded stay in its memory; `Examples.clear` removes them.
    public func clear() throws {
        try database.run("DELETE FROM examples")
    }

    /// Replaces a client's examples with these, and returns their number.
    @discardableResult
    public func load(into examples: Examples) throws -> Int {
        let (features, labels) = try all()
        examples.clear()
        let count = features.count / featureCount
        if count > 0 {
            try examples.add(features, shape: form.featureShape, labels: form.labels.filled(labels))
        }
        return count
    }

    /// Returns the features and labels of all examples, the oldest first.
    func all() throws -> (features: [Float], labels: [Float]) {
        try prune()
        var features: [Float] = []
        var labels: [Float] = []
        try database.run("SELECT features, labels FROM examples ORDER BY id") { row in
            row.append(0, to: &features)
            row.append(1, to: &labels)
        }
        return (features, labels)
    }

    private func checked(_ features: [Float], _ labels: Labels) throws -> [Float] {
        guard features.count == featureCount else {
            throw FolkmootError.badExample(
                "there are \(features.count) features; an example of shape \(form.featureShape) needs \(featureCount)")
        }
        let values = try labels.floats()
        guard LabelForm(of: labels) == form.labels, values.count == form.labels.perExample else {
            throw FolkmootError.badExample(
                "the labels do not match the store: give the labels of one example, as \(form.labels)")
        }
        guard features.allSatisfy({ $0.isFinite }), values.allSatisfy({ $0.isFinite }) else {
            throw FolkmootError.badExample("a feature or label is NaN or infinite; give only finite values")
        }
        return values
    }

    /// Deletes examples that are too old or exceed a limit.
    private func prune() throws {
        if let seconds = expiresAfter {
            let until = milliseconds(now().addingTimeInterval(-seconds))
            try database.run("DELETE FROM examples WHERE added_at <= ?", [.integer(until)])
        }
        try database.run(
            "DELETE FROM examples WHERE id <= (SELECT id FROM examples ORDER BY id DESC LIMIT 1 OFFSET ?)",
            [.integer(Int64(rowsMax))])
    }

    private func milliseconds(_ date: Date) -> Int64 {
        Int64(date.timeIntervalSince1970 * 1_000)
    }

    private static func bytes(_ values: [Float]) -> Data {
        values.withUnsafeBufferPointer { Data(buffer: $0) }
    }

    private static func featureCount(of form: Form) throws -> Int {
        var count = 1
        for size in form.featureShape {
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: size)
            guard size > 0, !isTooLarge, product <= featuresMax else {
                throw FolkmootError.badOption(
                    "the shape is \(form.featureShape); sizes must be 1 or more, with at most \(featuresMax) values")
            }
            count = product
        }
        _ = try form.labels.checkedPerExample()
        return count
    }

    private static func rowsMax(_ limits: Limits, valuesPerExample: Int) throws -> Int {
        let valuesMax = limits.bytesMax / MemoryLayout<Float>.stride
        let rows = min(limits.examplesMax, valuesMax / valuesPerExample)
        guard rows > 0 else {
            throw FolkmootError.badOption(
                "one example of \(valuesPerExample) values exceeds the limits; raise examplesMax or bytesMax")
        }
        return rows
    }
}

extension LabelForm {
    /// Returns labels of this form with these values.
    fileprivate func filled(_ values: [Float]) -> Labels {
        switch self {
        case .classes(let perExample): return .classes(values.map { Int($0) }, perExample: perExample)
        case .targets(let perExample): return .targets(values, perExample: perExample)
        }
    }
}
