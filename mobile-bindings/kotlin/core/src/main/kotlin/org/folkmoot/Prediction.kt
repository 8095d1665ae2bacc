package org.folkmoot

import org.folkmoot.bindings.ModelUpdate as NativeUpdate

/** The outputs of a model on this device. [shape] is the shape of one row. */
class Prediction internal constructor(
    val outputs: FloatArray,
    val shape: List<Int>,
    val taskId: String,
    val version: Long,
) {
    /** Returns the outputs of one row. */
    fun row(index: Int): FloatArray {
        val size = shape.fold(1) { product, dimension -> product * dimension }
        return outputs.copyOfRange(index * size, (index + 1) * size)
    }
}

/** A model that the operator has rolled out to this device, and that predictions use. */
data class ModelUpdate(
    /** The number of the rollout, from 1. */
    val rollout: Long,
    /** The task that trained the model. */
    val taskId: String,
    /** The number of the model version. */
    val version: Long,
    /** True if this update brought the model, false if it was there already. */
    val isNew: Boolean,
)

internal fun translated(update: NativeUpdate) =
    ModelUpdate(update.rollout.toLong(), update.taskId, update.version.toLong(), update.isNew)
