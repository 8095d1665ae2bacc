import Foundation

/// Examples on disk, so that they are there when the app starts again: with limits, and an end.
///
/// They lie in a SQLite file out of backups. What is deleted is overwritten. Examples of another form than the one that
/// the store is opened with are deleted: a new model has no use for them.
public actor ExampleStore {
    /// What an example looks like.
    public struct Form: Equatable, Sendable {
        /// The shape of its features.
        public var featureShape: [Int]
        /// Its labels.
        public var labels: LabelForm

        /// Examples of this shape, with one class number each unless `labels` says otherwise.
        public init(featureShape: [Int], labels: LabelForm = .classes()) {
            self.featureShape = featureShape
            self.labels = labels
        }
    }

    /// How much is kept, and how long.
    public struct Limits: Equatable, Sendable {
        /// Examples at most; the oldest go first.
        public var examplesMax: Int
        /// Bytes of features and labels at most; the oldest go first.
        public var bytesMax: Int
        /// Seconds after which an example goes; nil is never.
        public var expiresAfter: TimeInterval?

        /// 10,000 examples, 64 MiB, and 30 days unless said otherwise.
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

    /// What SQLite takes in one value, with room to spare.
    private static let featuresMax = 100_000_000
    private static let expirySecondsMax: TimeInterval = 10 * 366 * 24 * 60 * 60

    private let database: Database
    private let form: Form
    private let featureCount: Int
    private let rowsMax: Int
    private let expiresAfter: TimeInterval?
    private let now: @Sendable () -> Date

    /// Opens the store in a folder of its own, or makes it.
    public init(
        in folder: URL,
        form: Form,
        limits: Limits = Limits(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        let featureCount = try Self.featureCount(of: form)
        let rowsMax = try Self.rowsMax(limits, valuesPerExample: featureCount + form.labels.perExample)
        if let seconds = limits.expiresAfter, !(seconds > 0 && seconds <= Self.expirySecondsMax) {
            throw FolkmootError.badOption("expiresAfter is \(seconds): more than 0 seconds and up to ten years")
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

    /// Adds an example. It throws `FolkmootError.badExample` if it does not have the store's form, or holds a value
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

    /// How many there are.
    public func count() throws -> Int {
        try prune()
        return try database.number("SELECT COUNT(*) FROM examples")
    }

    /// Deletes all of them. Those that a client has already are in its memory: `Examples.clear` takes them out.
    public func clear() throws {
        try database.run("DELETE FROM examples")
    }

    /// Gives a client these examples instead of those that it has, and returns how many.
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

    /// Features and labels of all examples, the oldest first.
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
                "\(features.count) features: \(featureCount) are expected, for the shape is \(form.featureShape)")
        }
        let values = try labels.floats()
        guard LabelForm(of: labels) == form.labels, values.count == form.labels.perExample else {
            throw FolkmootError.badExample("these are not the labels of one example with \(form.labels)")
        }
        guard features.allSatisfy({ $0.isFinite }), values.allSatisfy({ $0.isFinite }) else {
            throw FolkmootError.badExample("features and labels have to be finite")
        }
        return values
    }

    /// Deletes what is too old or too much.
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
                    "the shape is \(form.featureShape): sizes of 1 or more, and \(featuresMax) values at most")
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
            throw FolkmootError.badOption("the limits leave no room for one example of \(valuesPerExample) values")
        }
        return rows
    }
}

extension LabelForm {
    /// Labels of this form with these values.
    fileprivate func filled(_ values: [Float]) -> Labels {
        switch self {
        case .classes(let perExample): return .classes(values.map { Int($0) }, perExample: perExample)
        case .targets(let perExample): return .targets(values, perExample: perExample)
        }
    }
}
