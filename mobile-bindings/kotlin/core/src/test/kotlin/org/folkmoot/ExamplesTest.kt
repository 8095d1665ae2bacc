package org.folkmoot

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.FloatBuffer
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

private const val PARAMETERS = 10_000_000

class ExamplesTest {
    @TempDir
    lateinit var folder: File

    private fun resident(): Long = File("/proc/self/statm").readText().split(" ")[1].toLong() * 4096

    @Test
    fun `ten million values cross with one copy`() {
        val bytes = ByteBuffer.allocateDirect(PARAMETERS * Float.SIZE_BYTES).order(ByteOrder.nativeOrder())
        val given = bytes.asFloatBuffer()
        for (index in 0 until PARAMETERS) given.put(index, index.toFloat())
        val before = resident()
        filled(given).use { buffer ->
            val copies = (resident() - before) / (4.0 * PARAMETERS)
            assertTrue(copies < 1.2, "$copies copies")
            val seen = view(buffer)
            assertEquals(PARAMETERS, seen.remaining())
            assertEquals(9_999_999f, seen.get(PARAMETERS - 1))
            // The view is the library's memory itself.
            seen.put(1, -1f)
            assertEquals(-1f, view(buffer).get(1))
        }
    }

    @Test
    fun `values come back as they went`() {
        val values = floatArrayOf(1.5f, -0.0f, Float.NaN, Float.MAX_VALUE)
        assertArrayEquals(values, taken(filled(FloatBuffer.wrap(values))))
        assertArrayEquals(floatArrayOf(), taken(zeros(0)))
        assertThrows(FolkmootException.BadExample::class.java) { zeros(VALUES_MAX + 1) }
    }

    @Test
    fun `what does not fit is refused whole`() = runBlocking {
        val options = ClientOptions("https://127.0.0.1:1", folder, enrolmentToken = "none")
        FolkmootClient.connect(options).use { client ->
            val examples = client.examples
            fun refused(features: FloatArray, shape: List<Int>, labels: Labels) {
                assertThrows(FolkmootException.BadExample::class.java) { examples.add(features, shape, labels) }
            }
            refused(FloatArray(5), listOf(2), Labels.Classes(intArrayOf(0, 1)))
            refused(FloatArray(4), listOf(2), Labels.Classes(intArrayOf(0)))
            refused(FloatArray(4), listOf(2), Labels.Classes(intArrayOf(0, -1)))
            refused(FloatArray(4), listOf(2), Labels.Classes(intArrayOf(0, 1), perExample = 0))
            refused(FloatArray(4), listOf(0), Labels.Classes(intArrayOf()))
            refused(FloatArray(4), listOf(1 shl 20, 1 shl 20), Labels.Classes(intArrayOf(0)))
            refused(floatArrayOf(Float.NaN, 1f), listOf(2), Labels.Classes(intArrayOf(0)))
            examples.add(FloatArray(4), listOf(2), Labels.Targets(FloatArray(6), perExample = 3))
            refused(FloatArray(2), listOf(2), Labels.Classes(intArrayOf(0)))
            assertEquals(2, examples.count)
            examples.clear()
            assertEquals(0, examples.count)
        }
    }
}
