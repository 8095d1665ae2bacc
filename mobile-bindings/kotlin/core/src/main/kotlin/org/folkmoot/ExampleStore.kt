package org.folkmoot

import java.nio.FloatBuffer
import kotlin.time.Duration

/** The form of all examples in a store. */
data class ExampleForm(
    /** The shape of one example's features. */
    val shape: List<Int>,
    /** Whether labels are class numbers. Otherwise they are target values. */
    val areClasses: Boolean = true,
    val labelsPerExample: Int = 1,
)

/** Limits on the size of a store. The oldest examples are deleted first. */
data class StoreLimits(
    val countMax: Long = 10_000,
    val bytesMax: Long = 256L * 1024 * 1024,
    /** The age at which an example is deleted. Null means never. */
    val ageMax: Duration? = null,
)

/** The result of loading a store. Damaged examples were deleted; the others were loaded. */
data class Loaded(val count: Long, val damagedCount: Long)

/**
 * Examples on disk, which survive a restart of the app, with limits and an expiry. They never leave this device.
 *
 * [clock] returns milliseconds since 1970. Use a store from one thread at a time.
 */
class ExampleStore(
    private val database: Database,
    private val form: ExampleForm,
    private val limits: StoreLimits = StoreLimits(),
    private val clock: () -> Long = System::currentTimeMillis,
) : AutoCloseable {
    private val featureCount = featureCount(form.shape).toInt()
    private val bytesPerExample = (featureCount.toLong() + form.labelsPerExample) * Float.SIZE_BYTES

    init {
        check(form, limits, bytesPerExample)
        prepare(database, form)
        prune()
    }

    /** The number of examples. */
    val count: Long get() = number("SELECT count(*) FROM examples")

    /** Adds an example. Deletes the oldest ones if a limit is exceeded. */
    fun add(features: FloatArray, label: Int) = add(features, Labels.Classes(intArrayOf(label)))

    /**
     * Adds an example with labels of any kind. Deletes the oldest ones if a limit is exceeded.
     *
     * @throws FolkmootException.BadExample if it does not have the store's form, or a value is not finite.
     */
    fun add(features: FloatArray, labels: Labels) {
        val numbers = checked(features, labels)
        val (x, y) = encoded(features) to encoded(numbers)
        database.transaction {
            database.execute("INSERT INTO examples (at, x, y, crc) VALUES (?, ?, ?, ?)", clock(), x, y, crc(x, y))
            prune()
        }
    }

    /**
     * Deletes examples that are too old or exceed a limit, and returns their number. Every other call does this by
     * itself.
     */
    fun prune(): Long {
        val expired = limits.ageMax?.let { age ->
            database.execute("DELETE FROM examples WHERE at < ?", clock() - age.inWholeMilliseconds)
        } ?: 0
        val kept = minOf(limits.countMax, limits.bytesMax / bytesPerExample)
        val excess = database.execute(
            "DELETE FROM examples WHERE id <= (SELECT id FROM examples ORDER BY id DESC LIMIT 1 OFFSET ?)",
            kept,
        )
        return (expired + excess).toLong()
    }

    /** Adds all stored examples to a client's examples. Works in parts, so that they are in memory only once. */
    fun loadInto(examples: Examples): Loaded {
        prune()
        val batch = Batch(form, featureCount, examples)
        val damaged = mutableListOf<Long>()
        database.query("SELECT id, x, y, crc FROM examples ORDER BY id") { row ->
            val (x, y) = row.bytes(1) to row.bytes(2)
            if (isWhole(x, y, row.long(3))) batch.add(decoded(x), decoded(y)) else damaged += row.long(0)
        }
        batch.flush()
        damaged.forEach { database.execute("DELETE FROM examples WHERE id = ?", it) }
        return Loaded(batch.count, damaged.size.toLong())
    }

    /** Deletes all examples. */
    fun clear() {
        database.execute("DELETE FROM examples")
    }

    override fun close() = database.close()

    private fun isWhole(x: ByteArray, y: ByteArray, crc: Long) =
        x.size == featureCount * Float.SIZE_BYTES && y.size == form.labelsPerExample * Float.SIZE_BYTES &&
            crc == crc(x, y)

    private fun checked(features: FloatArray, labels: Labels): FloatArray {
        fun refuse(reason: String): Nothing = throw FolkmootException.BadExample(reason)
        if (features.size != featureCount) refuse("${features.size} feature values do not fit the shape ${form.shape}")
        if (labels is Labels.Classes != form.areClasses) {
            refuse("this store's labels must be ${if (form.areClasses) "classes" else "targets"}")
        }
        if (labels.size != form.labelsPerExample) {
            refuse("there are ${labels.size} labels; this store's examples have ${form.labelsPerExample}")
        }
        val numbers = values(labels)
        if (!features.all(Float::isFinite) || !numbers.all(Float::isFinite)) {
            refuse("a value is NaN or infinite; give only finite values")
        }
        return numbers
    }

    private fun number(sql: String): Long {
        var number = 0L
        database.query(sql) { number = it.long(0) }
        return number
    }
}

/** Examples on their way from a store to a client, a few megabytes at a time. */
private class Batch(private val form: ExampleForm, featureCount: Int, private val examples: Examples) {
    private val capacity = (VALUES_PER_BATCH / maxOf(featureCount, form.labelsPerExample)).coerceAtLeast(1)
    private val x = FloatBuffer.allocate(capacity * featureCount)
    private val y = FloatBuffer.allocate(capacity * form.labelsPerExample)
    var count = 0L
        private set

    fun add(features: FloatArray, labels: FloatArray) {
        x.put(features)
        y.put(labels)
        count++
        if (!x.hasRemaining()) flush()
    }

    fun flush() {
        if (x.position() == 0) return
        x.flip()
        val values = y.array().copyOf(y.position())
        val perExample = form.labelsPerExample
        val labels = if (form.areClasses) {
            Labels.Classes(IntArray(values.size) { values[it].toInt() }, perExample)
        } else {
            Labels.Targets(values, perExample)
        }
        examples.add(x, form.shape, labels)
        x.clear()
        y.clear()
    }
}

private const val VALUES_PER_BATCH = 1 shl 20

private fun check(form: ExampleForm, limits: StoreLimits, bytesPerExample: Long) {
    fun refuse(reason: String): Nothing = throw FolkmootException.BadOption(reason)
    if (form.labelsPerExample < 1) refuse("labelsPerExample is ${form.labelsPerExample}; it must be 1 or more")
    if (limits.countMax < 1) refuse("countMax is ${limits.countMax}; it must be 1 or more")
    if (limits.bytesMax < bytesPerExample) {
        refuse("bytesMax is ${limits.bytesMax}; it must be at least $bytesPerExample, the bytes of one example")
    }
    if (limits.ageMax?.isPositive() == false) refuse("ageMax is ${limits.ageMax}; it must be positive")
}
