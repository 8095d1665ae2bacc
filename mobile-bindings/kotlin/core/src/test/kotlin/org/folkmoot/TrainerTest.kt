package org.folkmoot

import java.io.File
import java.util.concurrent.ConcurrentLinkedQueue
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.filterIsInstance
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir

@Timeout(120)
class TrainerTest {
    @TempDir
    lateinit var folder: File
    private lateinit var coordinator: Coordinator

    @BeforeEach
    fun start() {
        coordinator = Coordinator(folder)
        FolkmootLog.begin(LogLevel.DEBUG) { _, part, line -> lines += "$part: $line" }
    }

    @AfterEach
    fun end() = coordinator.close()

    private fun connect(trainer: Trainer, name: String) = FolkmootClient.connect(
        coordinator.options(File(folder, "state"), coordinator.token(name), trainer),
    )

    @Test
    fun `what a loop returns is the next version`() = runBlocking {
        val task = coordinator.task("own", rounds = 3)
        val trainer = Nudge(step = 0.25f)
        connect(trainer, "own").use { client -> assertEquals(3, client.run(rounds = 3)) }
        assertEquals(List(3) { Round("committed", 1, 1) }, coordinator.committed(task, 3))
        assertEquals(listOf(1L, 2L, 3L), trainer.seen.map(Work::roundNumber))
        val (first, last) = trainer.seen.first().weights() to trainer.seen.last().weights()
        assertEquals(trainer.seen[0].shapes.keys, first.keys)
        for ((name, values) in first) {
            // Steps of 2^-28 on the grid, and float32.
            values.indices.forEach { assertEquals(values[it] + 0.5f, last.getValue(name)[it], 1e-5f, name) }
        }
        assertTrue(trainer.seen[0].plan.contains("\"batch_size\":16"), trainer.seen[0].plan)
        assertFalse(trainer.seen[0].isStopped)
        assertFalse(trainer.seen[0].isAsked)
    }

    @Test
    fun `a loop that fails gives up and says how in the log only`() = runBlocking {
        coordinator.task("failing", rounds = 2)
        val trainer = object : Nudge() {
            override fun train(work: Work): Trained {
                val trained = super.train(work)
                return when (seen.size) {
                    1 -> Trained(emptyMap(), 1, 0.0)
                    2 -> Trained(trained.weights.mapValues { floatArrayOf(1f) }, 1, 0.0)
                    3 -> Trained(trained.weights, -1, 0.0)
                    else -> trained
                }
            }
        }
        connect(trainer, "failing").use { client ->
            val aborted = async(start = CoroutineStart.UNDISPATCHED) {
                client.events.filterIsInstance<Event.Aborted>().first()
            }
            assertEquals(1, client.run(rounds = 1))
            val event = aborted.await()
            assertEquals("training_failed", event.reason)
            assertFalse(event.detail.contains("but the model has"), event.detail)
        }
        val all = lines.joinToString("\n")
        for (words in listOf("returned the weights []", "returned 1 values of", "exampleCount is -1")) {
            assertTrue(all.contains(words), "$words: $all")
        }
        assertTrue(lines.any { it.startsWith("client: ") }, all)
    }

    private companion object {
        /** The log of a process goes to its first sink. */
        val lines = ConcurrentLinkedQueue<String>()
    }
}
