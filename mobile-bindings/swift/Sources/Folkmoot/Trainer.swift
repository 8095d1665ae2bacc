import FolkmootNative

/// The app's own training loop, used instead of the engine. The client still does the clipping, noise, compression and
/// upload.
public protocol Trainer: AnyObject, Sendable {
    /// The number of examples available for training, which the client sends with its check-in.
    var exampleCount: Int { get }

    /// Trains from the weights of `work`. Called on its own thread; it may block. If it throws an error, the client
    /// gives up the assignment. The error's text stays in this app's log.
    func train(_ work: TrainerWork) throws -> Trained

    /// Measures the weights of `work` without training. Return nil to let the engine evaluate the client's examples.
    func evaluate(_ work: TrainerWork) throws -> Evaluated?
}

extension Trainer {
    /// Lets the engine evaluate.
    public func evaluate(_ work: TrainerWork) throws -> Evaluated? {
        nil
    }
}

/// The result of a training.
public struct Trained {
    /// The new weights: the weights of the work, changed in place.
    public var weights: Weights
    /// The number of examples used. It is also the update's weight in the mean, up to the plan's limit.
    public var exampleCount: Int
    /// The sum of the examples' losses.
    public var lossSum: Double
    /// The number of correct predictions; 0 if there are no classes.
    public var correctCount: Int
    /// The number of steps.
    public var stepCount: Int

    /// Creates the result of a training.
    public init(weights: Weights, exampleCount: Int, lossSum: Double, correctCount: Int = 0, stepCount: Int = 0) {
        self.weights = weights
        self.exampleCount = exampleCount
        self.lossSum = lossSum
        self.correctCount = correctCount
        self.stepCount = stepCount
    }
}

/// The result of an evaluation.
public struct Evaluated: Equatable, Sendable {
    /// The number of examples.
    public var exampleCount: Int
    /// The sum of the losses of these examples.
    public var lossSum: Double
    /// The number of correct predictions; 0 if there are no classes.
    public var correctCount: Int

    /// Creates the result of an evaluation.
    public init(exampleCount: Int, lossSum: Double, correctCount: Int = 0) {
        self.exampleCount = exampleCount
        self.lossSum = lossSum
        self.correctCount = correctCount
    }
}

/// The inputs of the app's own training loop.
public final class TrainerWork: @unchecked Sendable {
    private let native: FolkmootNative.TrainerWork

    /// A copy of the weights to start from. The loop trains in place.
    public let weights: Weights

    init(_ native: FolkmootNative.TrainerWork) throws {
        self.native = native
        weights = try Weights(tensors: native.tensors(), buffer: native.weights())
    }

    /// The assignment.
    public var assignmentId: String {
        native.assignmentId()
    }

    /// The task.
    public var taskId: String {
        native.taskId()
    }

    /// The round's number in its task.
    public var roundNumber: Int {
        Int(native.roundNumber())
    }

    /// The model version that training starts from.
    public var baseVersion: Int {
        Int(native.baseVersion())
    }

    /// The plan as JSON. Follow its `training` settings as far as you can.
    public var plan: String {
        native.plan()
    }

    /// Whether the assignment was cancelled. Check it between steps. If so, the result is discarded. Blocks while
    /// training is paused.
    public var isStopped: Bool {
        native.isStopped()
    }

    /// Whether the coordinator wants a partial update. Check it between steps. If so, end early and return the weights
    /// so far, if you can.
    public var isAsked: Bool {
        native.isAsked()
    }
}

/// Adapts the app's loop to the library's interface.
final class TrainerAdapter: FolkmootNative.Trainer, @unchecked Sendable {
    private let trainer: Trainer

    init(_ trainer: Trainer) {
        self.trainer = trainer
    }

    func exampleCount() throws -> UInt64 {
        try Self.unsigned(trainer.exampleCount, "exampleCount")
    }

    func train(work: FolkmootNative.TrainerWork) throws -> FolkmootNative.Trained {
        let trained = try trainer.train(TrainerWork(work))
        return FolkmootNative.Trained(
            weights: trained.weights.buffer,
            exampleCount: try Self.unsigned(trained.exampleCount, "exampleCount"),
            lossSum: trained.lossSum,
            correctCount: try Self.unsigned(trained.correctCount, "correctCount"),
            stepCount: try Self.unsigned(trained.stepCount, "stepCount")
        )
    }

    func evaluate(work: FolkmootNative.TrainerWork) throws -> FolkmootNative.Evaluated? {
        guard let evaluated = try trainer.evaluate(TrainerWork(work)) else {
            return nil
        }
        return FolkmootNative.Evaluated(
            exampleCount: try Self.unsigned(evaluated.exampleCount, "exampleCount"),
            lossSum: evaluated.lossSum,
            correctCount: try Self.unsigned(evaluated.correctCount, "correctCount")
        )
    }

    private static func unsigned(_ count: Int, _ name: String) throws -> UInt64 {
        guard let unsigned = UInt64(exactly: count) else {
            throw FolkmootError.badExample("\(name) is \(count); it must be 0 or more")
        }
        return unsigned
    }
}
