package org.folkmoot

import java.io.File
import java.util.concurrent.TimeUnit
import kotlin.random.Random
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource

private const val ROUNDS = 2

/** Kills processes in every state of a round: no update is lost, and none counts twice. */
@Timeout(180)
class KilledTest {
    @TempDir
    lateinit var folder: File
    private lateinit var coordinator: Coordinator

    @BeforeEach
    fun start() {
        coordinator = Coordinator(folder)
    }

    @AfterEach
    fun end() = coordinator.close()

    private fun task(): String = coordinator.task("killed", ROUNDS)

    private fun goesOn(task: String, state: File, token: String, kind: String = "engine") {
        val again = child(coordinator, state, token, kind)
        try {
            val rounds = coordinator.committed(task, ROUNDS)
            assertEquals(List(ROUNDS) { Round("committed", 1, 1) }, rounds)
        } finally {
            kill(again)
        }
    }

    private fun killedAt(word: String, kind: String, state: File, token: String) {
        val process = child(coordinator, state, token, kind)
        try {
            val heard = process.inputReader().lineSequence().firstOrNull { it == word }
            assertEquals(word, heard, File(folder, "${state.name}.log").readText())
        } finally {
            kill(process)
        }
    }

    @ParameterizedTest
    @ValueSource(strings = ["connected", "Enrolled", "Assigned", "Device", "Training", "Uploading", "Round"])
    fun `the engine's training`(word: String) {
        val (task, token, state) = Triple(task(), coordinator.token("killed"), File(folder, "state"))
        killedAt(word, "engine", state, token)
        goesOn(task, state, token)
    }

    @Test
    fun `while it waits for a task`() {
        val (token, state) = coordinator.token("killed") to File(folder, "state")
        killedAt("Waiting", "engine", state, token)
        goesOn(task(), state, token)
    }

    @Test
    fun `a loop of the app's own, twice`() {
        val (task, token, state) = Triple(task(), coordinator.token("killed"), File(folder, "state"))
        repeat(2) { killedAt("Trainer", "stuck", state, token) }
        goesOn(task, state, token, "slow")
    }

    @Test
    fun `at any moment, again and again`() {
        val seed = System.getenv("FOLKMOOT_SEED")?.toLong() ?: 20240607L
        println("seed $seed")
        val random = Random(seed)
        val (task, token, state) = Triple(task(), coordinator.token("killed"), File(folder, "state"))
        repeat(4) {
            val process = child(coordinator, state, token, "engine")
            assertEquals("connected", process.inputReader().readLine())
            Thread.sleep(random.nextLong(400))
            kill(process)
        }
        goesOn(task, state, token)
    }

    @Test
    fun `a program that ends while it runs ends in order`() {
        task()
        val process = child(coordinator, File(folder, "state"), coordinator.token("killed"), "ends")
        assertTrue(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS))
        assertEquals(0, process.exitValue(), File(folder, "state.log").readText())
    }
}
