package org.folkmoot

import java.nio.FloatBuffer
import org.folkmoot.bindings.CallbackException
import org.folkmoot.bindings.TrainerWorkInterface
import org.folkmoot.bindings.Evaluated as NativeEvaluated
import org.folkmoot.bindings.FloatBuffer as NativeBuffer
import org.folkmoot.bindings.Trained as NativeTrained
import org.folkmoot.bindings.Trainer as NativeTrainerInterface
import org.folkmoot.bindings.TrainerWork as NativeWork

/**
 * Your own training loop, used instead of the engine. The client still does the clipping, noise, compression and
 * upload.
 */
interface Trainer {
    /** The number of examples available for training, which the client sends with its check-in. */
    val exampleCount: Long

    /**
     * Trains from the weights of [work]. Called on its own thread; it may block. If it throws, the client gives up the
     * assignment.
     */
    fun train(work: Work): Trained

    /**
     * Measures the weights of [work] without training. Return null to let the engine evaluate the client's examples.
     */
    fun evaluate(work: Work): Evaluated? = null
}

/** The result of a training. [exampleCount] is also the update's weight in the mean, up to the plan's limit. */
class Trained(
    val weights: Map<String, FloatArray>,
    val exampleCount: Long,
    val lossSum: Double,
    val correctCount: Long = 0,
    val stepCount: Long = 0,
)

/** The result of an evaluation. */
data class Evaluated(val exampleCount: Long, val lossSum: Double, val correctCount: Long = 0)

/** The inputs of a training loop. */
class Work internal constructor(private val native: TrainerWorkInterface) {
    private val tensors = native.tensors()
    private val buffer: NativeBuffer = native.weights()

    val assignmentId: String get() = native.assignmentId()
    val taskId: String get() = native.taskId()
    val roundNumber: Long get() = native.roundNumber().toLong()
    val baseVersion: Long get() = native.baseVersion().toLong()

    /** The plan as JSON. Follow its `training` settings as far as you can. */
    val plan: String get() = native.plan()

    /**
     * Whether the assignment was cancelled. Check it between steps. If so, the result is discarded. Blocks while
     * training is paused.
     */
    val isStopped: Boolean get() = native.isStopped()

    /**
     * Whether the coordinator wants a partial update. Check it between steps. If so, end early and return the weights
     * so far, if you can.
     */
    val isAsked: Boolean get() = native.isAsked()

    /** The shapes of the weights, by their names in the ONNX file, in the file's order. */
    val shapes: Map<String, List<Long>> = tensors.associate { it.name to it.shape.map(ULong::toLong) }

    /** Returns a copy of the weights to start from, by name. */
    fun weights(): Map<String, FloatArray> {
        val all = view(buffer)
        return shapes.mapValues { (_, shape) -> FloatArray(elements(shape)).also(all::get) }
    }

    /**
     * Copies the weights into a new buffer. The library takes its values, so nothing else may access its memory
     * afterwards.
     */
    internal fun joined(weights: Map<String, FloatArray>): NativeBuffer {
        require(weights.keys == shapes.keys) {
            "the trainer returned the weights ${weights.keys.sorted()}, but the model has ${shapes.keys.sorted()}"
        }
        val joined = zeros(buffer.count().toInt())
        val all: FloatBuffer = view(joined)
        for ((name, shape) in shapes) {
            val values = weights.getValue(name)
            require(values.size == elements(shape)) {
                "the trainer returned ${values.size} values of `$name`; it has ${elements(shape)}"
            }
            all.put(values)
        }
        return joined
    }

    private fun elements(shape: List<Long>) = shape.fold(1L) { product, size -> product * size }.toInt()
}

/** Adapts a trainer to the native library's interface. */
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

    /**
     * Logs a trainer's exception, which may contain private data, and tells the client only that the trainer failed.
     */
    private inline fun <T> telling(method: String, block: () -> T): T = try {
        block()
    } catch (error: Throwable) {
        log.error("$method of the trainer failed; the client gives up the assignment", error)
        throw CallbackException.Failed("${error.javaClass.simpleName} in $method")
    }
}

private fun count(value: Long, name: String): ULong {
    require(value >= 0) { "$name is $value; it must be 0 or more" }
    return value.toULong()
}
