import FolkmootNative

/// The labels of examples: what the model should predict.
public enum Labels: Equatable, Sendable {
    /// Class numbers from 0: one per example, or one for each position of a sequence.
    case classes([Int], perExample: Int = 1)
    /// Target values.
    case targets([Float], perExample: Int = 1)
}

/// The examples of this device, which never leave it. They are only in memory: add them again after a restart, or keep
/// them in an `ExampleStore`.
public final class Examples: @unchecked Sendable {
    /// The maximum class number. Float32 represents all integers up to this value exactly.
    static let classMax = 16_777_216

    private let native: FolkmootNative.ExampleSet

    init(_ native: FolkmootNative.ExampleSet) {
        self.native = native
    }

    /// Adds examples for the next run: all of them, or none if there is an error. The values are copied once.
    ///
    /// `shape` is the shape of one example's features. Features and labels are in row-major order. Throws
    /// `FolkmootError.badExample` if the shapes do not match each other or the examples added before, or if a value is
    /// not finite.
    public func add(_ features: [Float], shape: [Int], labels: Labels) throws {
        try features.withUnsafeBufferPointer { try add($0, shape: shape, labels: labels) }
    }

    /// Adds examples from memory that the caller owns, such as a camera's buffer.
    public func add(_ features: UnsafeBufferPointer<Float>, shape: [Int], labels: Labels) throws {
        guard shape.allSatisfy({ $0 > 0 }) else {
            throw FolkmootError.badExample("the shape is \(shape); each size must be 1 or more")
        }
        let form = LabelForm(of: labels)
        let labelsPerExample = try form.checkedPerExample()
        let values = try labels.floats()
        let nativeFeatures = try FolkmootNative.FloatBuffer.copying(features)
        let nativeLabels = try FolkmootNative.FloatBuffer.copying(values)
        try translating {
            try native.add(
                features: nativeFeatures,
                shape: shape.map { UInt64($0) },
                labels: nativeLabels,
                kind: form.kind,
                labelsPerExample: labelsPerExample
            )
        }
    }

    /// Removes all examples. A current run continues with the examples that it started with.
    public func clear() {
        native.clear()
    }

    /// The number of examples.
    public var count: Int {
        Int(native.count())
    }
}

/// The form of labels, without their values.
public enum LabelForm: Equatable, Sendable {
    /// Class numbers from 0.
    case classes(perExample: Int = 1)
    /// Target values.
    case targets(perExample: Int = 1)

    init(of labels: Labels) {
        switch labels {
        case .classes(_, let perExample): self = .classes(perExample: perExample)
        case .targets(_, let perExample): self = .targets(perExample: perExample)
        }
    }

    /// The number of labels per example.
    public var perExample: Int {
        switch self {
        case .classes(let perExample), .targets(let perExample): return perExample
        }
    }

    var kind: FolkmootNative.LabelKind {
        switch self {
        case .classes: return .classes
        case .targets: return .targets
        }
    }

    func checkedPerExample() throws -> UInt32 {
        guard perExample > 0, let checked = UInt32(exactly: perExample) else {
            throw FolkmootError.badExample("an example has \(perExample) labels; it must have 1 or more")
        }
        return checked
    }
}

extension Labels {
    /// Returns the values as float32, as passed to the library.
    func floats() throws -> [Float] {
        switch self {
        case .targets(let values, _):
            return values
        case .classes(let values, _):
            let isClass = { (value: Int) in value >= 0 && value <= Examples.classMax }
            guard let wrong = values.first(where: { !isClass($0) }) else {
                return values.map { Float($0) }
            }
            throw FolkmootError.badExample("\(wrong) is not a class; it must be 0 to \(Examples.classMax)")
        }
    }
}
