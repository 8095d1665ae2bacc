package org.folkmoot

import com.sun.jna.Pointer
import java.nio.ByteOrder
import java.nio.FloatBuffer
import org.folkmoot.bindings.FloatBuffer as NativeBuffer

/** What one view of memory can hold: its length is an Int of bytes. */
internal const val VALUES_MAX = Int.MAX_VALUE / Float.SIZE_BYTES

/** A buffer of the native library with these numbers: one copy. */
internal fun filled(values: FloatBuffer): NativeBuffer {
    val buffer = zeros(values.remaining())
    // A duplicate, so that the caller's position stays where it is.
    view(buffer).put(values.duplicate())
    return buffer
}

/** A buffer of so many zeros. */
internal fun zeros(count: Int): NativeBuffer {
    if (count > VALUES_MAX) {
        throw FolkmootException.BadExample("$count values at once: $VALUES_MAX at most, so add them in parts")
    }
    return translating { NativeBuffer.zeros(count.toULong()) }
}

/** The buffer's memory itself: whoever holds the view has to hold the buffer too. */
internal fun view(buffer: NativeBuffer): FloatBuffer {
    val count = buffer.count().toLong()
    check(count <= VALUES_MAX) { "$count values do not fit into one view of memory" }
    if (count == 0L) return FloatBuffer.allocate(0)
    val bytes = Pointer(buffer.address().toLong()).getByteBuffer(0, count * Float.SIZE_BYTES)
    return bytes.order(ByteOrder.nativeOrder()).asFloatBuffer()
}

/** What the buffer holds, copied once; the native memory is given back at once. */
internal fun taken(buffer: NativeBuffer): FloatArray = buffer.use { owned ->
    val values = FloatArray(owned.count().toInt())
    view(owned).get(values)
    values
}
