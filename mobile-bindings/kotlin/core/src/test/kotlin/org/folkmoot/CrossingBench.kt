package org.folkmoot

import java.io.File
import java.nio.FloatBuffer
import org.folkmoot.bindings.TensorSpec
import org.folkmoot.bindings.TrainerWorkInterface
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import org.folkmoot.bindings.FloatBuffer as NativeBuffer

private const val PARAMETERS = 10_000_000
private const val CALLS = 20_000
private const val ROUNDS = 7

/** Measures the cost of crossing into the native library: `-Dtest=CrossingBench`. It is not one of the tests. */
class CrossingBench {
    @TempDir
    lateinit var folder: File

    private fun medianMicroseconds(calls: Int, call: () -> Unit): Double {
        val times = List(ROUNDS) {
            val begun = System.nanoTime()
            repeat(calls) { call() }
            (System.nanoTime() - begun) / 1000.0 / calls
        }
        return times.sorted()[ROUNDS / 2]
    }

    @Test
    fun measure() {
        val options = ClientOptions("https://127.0.0.1:1", folder, enrolmentToken = "none")
        FolkmootClient.connect(options).use { client ->
            val row = FloatBuffer.wrap(FloatArray(784))
            say("example_count_microseconds", medianMicroseconds(CALLS) { client.examples.count })
            say("status_microseconds", medianMicroseconds(CALLS) { client.isRunning })
            say("buffer_of_784_microseconds", medianMicroseconds(CALLS / 4) { filled(row).close() })
        }
        val weights = mapOf("weights" to FloatArray(PARAMETERS) { 0.5f })
        Work(Given(PARAMETERS)).run {
            say("update_out_milliseconds", medianMicroseconds(1) { weights() } / 1000)
            say("update_in_milliseconds", medianMicroseconds(1) { joined(weights).close() } / 1000)
        }
    }

    private fun say(name: String, value: Double) = println("%s %.2f".format(name, value))
}

/** A trainer's inputs, without a coordinator. */
private class Given(private val count: Int) : TrainerWorkInterface {
    override fun assignmentId() = "none"

    override fun taskId() = "none"

    override fun roundNumber() = 1uL

    override fun baseVersion() = 0uL

    override fun plan() = "{}"

    override fun isStopped() = false

    override fun isAsked() = false

    override fun tensors() = listOf(TensorSpec("weights", listOf(count.toULong())))

    override fun weights(): NativeBuffer = zeros(count)
}
