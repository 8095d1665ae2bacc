import FolkmootNative

/// The outputs of a model on this device.
public struct Prediction: Equatable, Sendable {
    /// The outputs, in row-major order.
    public let outputs: [Float]
    /// The shape of one row of outputs.
    public let shape: [Int]
    /// The task that trains the model.
    public let taskId: String
    /// The number of the model version.
    public let version: Int

    init(_ native: FolkmootNative.Prediction) {
        outputs = native.outputs.floats()
        shape = native.shape.map { Int($0) }
        taskId = native.taskId
        version = Int(native.version)
    }

    /// The outputs of one row; empty if there is no such row.
    public subscript(row: Int) -> ArraySlice<Float> {
        let width = shape.reduce(1, *)
        guard row >= 0, width > 0, row < outputs.count / width else {
            return []
        }
        return outputs[row * width..<(row + 1) * width]
    }
}

/// A model that the operator has rolled out to this device, and that predictions use.
public struct ModelUpdate: Equatable, Sendable {
    /// The number of the rollout, from 1.
    public let rollout: Int
    /// The task that trained the model.
    public let taskId: String
    /// The number of the model version.
    public let version: Int
    /// True if this update brought the model, false if it was there already.
    public let isNew: Bool

    init(_ native: FolkmootNative.ModelUpdate) {
        rollout = Int(native.rollout)
        taskId = native.taskId
        version = Int(native.version)
        isNew = native.isNew
    }
}
