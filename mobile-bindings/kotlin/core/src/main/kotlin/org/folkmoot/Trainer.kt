package org.folkmoot

import java.nio.FloatBuffer
import org.folkmoot.bindings.CallbackException
import org.folkmoot.bindings.TrainerWorkInterface
import org.folkmoot.bindings.Evaluated as NativeEvaluated
import org.folkmoot.bindings.FloatBuffer as NativeBuffer
import org.folkmoot.bindings.Trained as NativeTrained
import org.folkmoot.bindings.Trainer as NativeTrainerInterface
import org.folkmoot.bindings.TrainerWork as NativeWork

/** A training loop of your own, instead of the engine's. Clipping, noise, codec and upload stay in the client. */
interface Trainer {
    /** How many examples there are to train on, which a check-in states. */
    val exampleCount: Long

    /** Trains from the weights of [work], on a thread of its own; it may block. What it throws gives the work up. */
    fun train(work: Work): Trained

    /** Measures the weights of [work]; null leaves that to the engine and the client's examples. */
    fun evaluate(work: Work): Evaluated? = null
}

/** What was trained: [exampleCount] is also what the update weighs in the mean, up to the plan's limit. */
class Trained(
    val weights: Map<String, FloatArray>,
    val exampleCount: Long,
    val lossSum: Double,
    val correctCount: Long = 0,
    val stepCount: Long = 0,
)

/** What was measured. */
data class Evaluated(val exampleCount: Long, val lossSum: Double, val correctCount: Long = 0)

/** What a training loop is given. */
class Work internal constructor(private val native: TrainerWorkInterface) {
    private val tensors = native.tensors()
    private val buffer: NativeBuffer = native.weights()

    val assignmentId: String get() = native.assignmentId()
    val taskId: String get() = native.taskId()
    val roundNumber: Long get() = native.roundNumber().toLong()
    val baseVersion: Long get() = native.baseVersion().toLong()

    /** The plan as JSON: the loop is to keep to its `training` as far as it can. */
    val plan: String get() = native.plan()

    /** Whether the work is not wanted any more, to be asked between steps. What is returned then is thrown away. */
    val isStopped: Boolean get() = native.isStopped()

    /** Whether the round waits for this update, to be asked between steps: a loop that can returns what it has so far. */
    val isAsked: Boolean get() = native.isAsked()

    /** The dimensions of the weights by their names in the ONNX file, in its order. */
    val shapes: Map<String, List<Long>> = tensors.associate { it.name to it.shape.map(ULong::toLong) }

    /** A copy of the weights to begin with, by name. */
    fun weights(): Map<String, FloatArray> {
        val all = view(buffer)
        return shapes.mapValues { (_, shape) -> FloatArray(elements(shape)).also(all::get) }
    }

    /** The weights in a buffer that the library takes: nobody may look at its memory after that, so it is a new one. */
    internal fun joined(weights: Map<String, FloatArray>): NativeBuffer {
        require(weights.keys == shapes.keys) {
            "the trainer returned the weights ${weights.keys.sorted()}: ${shapes.keys.sorted()} are expected"
        }
        val joined = zeros(buffer.count().toInt())
        val all: FloatBuffer = view(joined)
        for ((name, shape) in shapes) {
            val values = weights.getValue(name)
            require(values.size == elements(shape)) {
                "the trainer returned ${values.size} values of `$name`: ${elements(shape)} are expected"
            }
            all.put(values)
        }
        return joined
    }

    private fun elements(shape: List<Long>) = shape.fold(1L) { product, size -> product * size }.toInt()
}

/** A trainer as the native library calls it. */
internal class NativeTrainer(private val trainer: Trainer, private val log: Log) : NativeTrainerInterface {
    override fun exampleCount(): ULong = telling("exampleCount") { count(trainer.exampleCount, "exampleCount") }

    override fun train(work: NativeWork): NativeTrained = telling("train") { trained(Work(work)) }

    override fun evaluate(work: NativeWork): NativeEvaluated? = telling("evaluate") {
        trainer.evaluate(Work(work))?.let {
            val examples = count(it.exampleCount, "exampleCount")
            NativeEvaluated(examples, it.lossSum, count(it.correctCount, "correctCount"))
        }
    }

    private fun trained(work: Work): NativeTrained {
        val trained = trainer.train(work)
        return NativeTrained(
            weights = work.joined(trained.weights),
            exampleCount = count(trained.exampleCount, "exampleCount"),
            lossSum = trained.lossSum,
            correctCount = count(trained.correctCount, "correctCount"),
            stepCount = count(trained.stepCount, "stepCount"),
        )
    }

    /** Logs what a trainer throws, which only this device may know, and tells the client that it failed. */
    private inline fun <T> telling(method: String, block: () -> T): T =
        try {
            block()
        } catch (error: Throwable) {
            log.error("the trainer's $method failed, and the assignment is given up", error)
            throw CallbackException.Failed("${error.javaClass.simpleName} in $method")
        }
}

private fun count(value: Long, name: String): ULong {
    require(value >= 0) { "$name is $value: 0 or more is expected" }
    return value.toULong()
}
