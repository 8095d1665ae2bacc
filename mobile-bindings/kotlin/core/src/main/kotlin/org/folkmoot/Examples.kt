package org.folkmoot

import java.nio.FloatBuffer
import org.folkmoot.bindings.ExampleSet
import org.folkmoot.bindings.LabelKind

/** The labels of examples: what the model should predict. */
sealed interface Labels {
    /** The number of values. */
    val size: Int

    /** The number of labels per example: 1, or one for each position of a sequence or each output. */
    val perExample: Int

    /** Class numbers from 0 to 2^24. */
    class Classes(val values: IntArray, override val perExample: Int = 1) : Labels {
        override val size get() = values.size
    }

    /** Target values. */
    class Targets(val values: FloatArray, override val perExample: Int = 1) : Labels {
        override val size get() = values.size
    }
}

/** The examples of this device, which never leave it. They are only in memory: add them again after a restart. */
class Examples internal constructor(private val native: ExampleSet) {
    /** The number of examples. */
    val count: Long get() = native.count().toLong()

    /**
     * Adds examples for the next run: all of them, or none if there is an error.
     *
     * [features] are in row-major order, one example after the other, and [shape] is the shape of one example. They are
     * copied once; a direct buffer in native byte order is the fastest.
     *
     * @throws FolkmootException.BadExample if the shapes do not match, or a value is not finite.
     */
    fun add(features: FloatBuffer, shape: List<Int>, labels: Labels) {
        val perExample = featureCount(shape)
        val examples = features.remaining() / perExample
        if (features.remaining() % perExample != 0L || labels.perExample < 1 ||
            examples * labels.perExample != labels.size.toLong()
        ) {
            throw FolkmootException.BadExample(
                "the number of examples differs: there are ${features.remaining()} feature values, $perExample per " +
                    "example, and ${labels.size} labels, ${labels.perExample} per example",
            )
        }
        val dimensions = shape.map(Int::toULong)
        filled(features).use { x ->
            filled(FloatBuffer.wrap(values(labels))).use { y ->
                translating { native.add(x, dimensions, y, kind(labels), labels.perExample.toUInt()) }
            }
        }
    }

    /** Adds examples from an array; see the other overload. */
    fun add(features: FloatArray, shape: List<Int>, labels: Labels) = add(FloatBuffer.wrap(features), shape, labels)

    /** Removes all examples. A current run continues with the examples that it started with. */
    fun clear() = native.clear()
}

/** Returns the number of values in one example of this shape. */
internal fun featureCount(shape: List<Int>): Long {
    val count = shape.fold(1L) { product, size ->
        if (size < 1 || product > VALUES_MAX) throw badShape(shape)
        product * size
    }
    if (count > VALUES_MAX) throw badShape(shape)
    return count
}

private fun badShape(shape: List<Int>) =
    FolkmootException.BadExample("the shape is $shape; each size must be 1 or more, with at most $VALUES_MAX values")

private fun kind(labels: Labels) = when (labels) {
    is Labels.Classes -> LabelKind.CLASSES
    is Labels.Targets -> LabelKind.TARGETS
}

private const val CLASS_MAX = 1 shl 24

internal fun values(labels: Labels): FloatArray = when (labels) {
    is Labels.Targets -> labels.values
    is Labels.Classes -> FloatArray(labels.size) { index ->
        val value = labels.values[index]
        if (value !in 0..CLASS_MAX) {
            throw FolkmootException.BadExample("label $index is $value; a class must be 0 to $CLASS_MAX")
        }
        value.toFloat()
    }
}
