package org.folkmoot

import java.nio.FloatBuffer
import org.folkmoot.bindings.ExampleSet
import org.folkmoot.bindings.LabelKind

/** What the examples are to be recognised as. */
sealed interface Labels {
    /** How many values there are. */
    val size: Int

    /** How many belong to one example: 1, or one for each position of a sequence or each output. */
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

/** The examples of this device, which never leave it. In memory: an app that starts again adds them again. */
class Examples internal constructor(private val native: ExampleSet) {
    /** How many there are. */
    val count: Long get() = native.count().toLong()

    /**
     * Adds examples for the next run: all of them, or none.
     *
     * [features] are row-major, one example after the other, and [shape] is that of one example. They cross with one
     * copy; a direct buffer in the machine's own byte order is the fastest.
     *
     * @throws FolkmootException.BadExample if shapes do not fit, or a value is not finite.
     */
    fun add(features: FloatBuffer, shape: List<Int>, labels: Labels) {
        val perExample = featureCount(shape)
        val examples = features.remaining() / perExample
        if (features.remaining() % perExample != 0L || labels.perExample < 1 ||
            examples * labels.perExample != labels.size.toLong()
        ) {
            throw FolkmootException.BadExample(
                "${features.remaining()} feature values and ${labels.size} labels: one example has " +
                    "$perExample values and ${labels.perExample} labels",
            )
        }
        val dimensions = shape.map(Int::toULong)
        filled(features).use { x ->
            filled(FloatBuffer.wrap(values(labels))).use { y ->
                translating { native.add(x, dimensions, y, kind(labels), labels.perExample.toUInt()) }
            }
        }
    }

    /** As the other, from an array. */
    fun add(features: FloatArray, shape: List<Int>, labels: Labels) =
        add(FloatBuffer.wrap(features), shape, labels)

    /** Takes all of them out. A run under way goes on with those that it began with. */
    fun clear() = native.clear()
}

/** How many values one example of this shape has. */
internal fun featureCount(shape: List<Int>): Long {
    val count = shape.fold(1L) { product, size ->
        if (size < 1 || product > VALUES_MAX) throw FolkmootException.BadExample("$shape is no shape of an example")
        product * size
    }
    if (count > VALUES_MAX) throw FolkmootException.BadExample("an example of shape $shape is too large")
    return count
}

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
            throw FolkmootException.BadExample("label $index is $value: a class of 0 to $CLASS_MAX is expected")
        }
        value.toFloat()
    }
}
