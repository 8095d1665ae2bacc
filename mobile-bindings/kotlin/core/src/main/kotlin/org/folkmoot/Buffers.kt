package org.folkmoot

import com.sun.jna.Pointer
import java.nio.ByteOrder
import java.nio.FloatBuffer
import org.folkmoot.bindings.FloatBuffer as NativeBuffer

/** The maximum number of values in one view of memory. The length of a view in bytes is an Int. */
internal const val VALUES_MAX = Int.MAX_VALUE / Float.SIZE_BYTES

/** Returns a native buffer with a copy of these numbers. */
internal fun filled(values: FloatBuffer): NativeBuffer {
    val buffer = zeros(values.remaining())
    // Read through a duplicate, so that the caller's position does not change.
    view(buffer).put(values.duplicate())
    return buffer
}

/** Returns a native buffer of [count] zeros. */
internal fun zeros(count: Int): NativeBuffer {
    if (count > VALUES_MAX) {
        throw FolkmootException.BadExample("$count values are too many for one call; add at most $VALUES_MAX at a time")
    }
    return translating { NativeBuffer.zeros(count.toULong()) }
}

/** Returns a view of the buffer's memory. It is valid only as long as the buffer is referenced. */
internal fun view(buffer: NativeBuffer): FloatBuffer {
    val count = buffer.count().toLong()
    check(count <= VALUES_MAX) { "$count values do not fit into one view of memory, which holds at most $VALUES_MAX" }
    if (count == 0L) return FloatBuffer.allocate(0)
    val bytes = Pointer(buffer.address().toLong()).getByteBuffer(0, count * Float.SIZE_BYTES)
    return bytes.order(ByteOrder.nativeOrder()).asFloatBuffer()
}

/** Returns a copy of the buffer's values and frees the native memory. */
internal fun taken(buffer: NativeBuffer): FloatArray = buffer.use { owned ->
    val values = FloatArray(owned.count().toInt())
    view(owned).get(values)
    values
}
