import FolkmootNative

/// What examples are to be recognised as.
public enum Labels: Equatable, Sendable {
    /// Class numbers from 0: one for an example, or one for each position of a sequence.
    case classes([Int], perExample: Int = 1)
    /// Target values.
    case targets([Float], perExample: Int = 1)
}

/// The examples of this device, which never leave it. They are in memory: an app that starts again adds them again, or
/// keeps them in an `ExampleStore`.
public final class Examples: @unchecked Sendable {
    /// Classes are exact in float32 up to here.
    static let classMax = 16_777_216

    private let native: FolkmootNative.ExampleSet

    init(_ native: FolkmootNative.ExampleSet) {
        self.native = native
    }

    /// Adds examples for the next run: all of them, or none. The values are copied once.
    ///
    /// `shape` is that of one example's features; features and labels are row-major. Throws
    /// `FolkmootError.badExample` if shapes do not fit each other or those of the examples before, or if a value is not
    /// finite.
    public func add(_ features: [Float], shape: [Int], labels: Labels) throws {
        try features.withUnsafeBufferPointer { try add($0, shape: shape, labels: labels) }
    }

    /// As the other, from memory that the caller owns, such as a camera's buffer.
    public func add(_ features: UnsafeBufferPointer<Float>, shape: [Int], labels: Labels) throws {
        guard shape.allSatisfy({ $0 > 0 }) else {
            throw FolkmootError.badExample("the shape is \(shape): sizes of 1 or more are expected")
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

    /// Takes all of them out. A run under way goes on with those that it began with.
    public func clear() {
        native.clear()
    }

    /// How many there are.
    public var count: Int {
        Int(native.count())
    }
}

/// What labels are, without their values.
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

    /// How many labels an example has.
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
            throw FolkmootError.badExample("\(perExample) labels for an example: 1 or more are expected")
        }
        return checked
    }
}

extension Labels {
    /// The values as they cross.
    func floats() throws -> [Float] {
        switch self {
        case .targets(let values, _):
            return values
        case .classes(let values, _):
            let isClass = { (value: Int) in value >= 0 && value <= Examples.classMax }
            guard let wrong = values.first(where: { !isClass($0) }) else {
                return values.map { Float($0) }
            }
            throw FolkmootError.badExample("\(wrong) is no class: 0 to \(Examples.classMax) are expected")
        }
    }
}
