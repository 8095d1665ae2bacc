import FolkmootNative

/// A training loop of the app's own, instead of the engine's. Clipping, noise, codec and upload stay in the client.
public protocol Trainer: AnyObject, Sendable {
    /// How many examples there are to train on, which a check-in states.
    var exampleCount: Int { get }

    /// Trains from the weights of `work`, on a thread of its own; it may block. What it throws gives the assignment up;
    /// the words stay in this app's log.
    func train(_ work: TrainerWork) throws -> Trained

    /// Measures the weights of `work`; nil leaves that to the engine and the client's examples.
    func evaluate(_ work: TrainerWork) throws -> Evaluated?
}

extension Trainer {
    /// Leaves measuring to the engine.
    public func evaluate(_ work: TrainerWork) throws -> Evaluated? {
        nil
    }
}

/// What was trained.
public struct Trained {
    /// The new weights: those of the work, changed in place.
    public var weights: Weights
    /// The examples used, which are also what the update weighs in the mean, up to the plan's limit.
    public var exampleCount: Int
    /// The sum of the examples' losses.
    public var lossSum: Double
    /// The examples whose class was right; 0 where there are no classes.
    public var correctCount: Int
    /// The steps taken.
    public var stepCount: Int

    /// What was trained.
    public init(weights: Weights, exampleCount: Int, lossSum: Double, correctCount: Int = 0, stepCount: Int = 0) {
        self.weights = weights
        self.exampleCount = exampleCount
        self.lossSum = lossSum
        self.correctCount = correctCount
        self.stepCount = stepCount
    }
}

/// What was measured.
public struct Evaluated: Equatable, Sendable {
    /// The examples.
    public var exampleCount: Int
    /// The sum of their losses.
    public var lossSum: Double
    /// Those whose class was right; 0 where there are no classes.
    public var correctCount: Int

    /// What was measured.
    public init(exampleCount: Int, lossSum: Double, correctCount: Int = 0) {
        self.exampleCount = exampleCount
        self.lossSum = lossSum
        self.correctCount = correctCount
    }
}

/// What a training loop of the app's own is given.
public final class TrainerWork: @unchecked Sendable {
    private let native: FolkmootNative.TrainerWork

    /// The weights to begin with: a copy for the loop, which trains in it.
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

    /// The model version from which it starts.
    public var baseVersion: Int {
        Int(native.baseVersion())
    }

    /// The plan as JSON: the loop is to keep to its `training` as far as it can.
    public var plan: String {
        native.plan()
    }

    /// Whether the work is not wanted any more, to be asked between steps. What is returned then is thrown away.
    public var isStopped: Bool {
        native.isStopped()
    }

    /// Whether the round waits for this update, to be asked between steps: a loop that can returns what it has so far.
    public var isAsked: Bool {
        native.isAsked()
    }
}

/// The app's loop as the library calls it.
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
            throw FolkmootError.badExample("\(name) is \(count): 0 or more is expected")
        }
        return unsigned
    }
}
