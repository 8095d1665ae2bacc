package org.folkmoot

import java.io.File
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.filterIsInstance
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.flow.transformWhile
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir

@Timeout(120)
class RoundsTest {
    @TempDir
    lateinit var folder: File
    private lateinit var coordinator: Coordinator
    private val state get() = File(folder, "state")

    @BeforeEach
    fun start() {
        coordinator = Coordinator(folder)
    }

    @AfterEach
    fun end() = coordinator.close()

    private fun connect(token: String?, trainer: Trainer? = null, askBefore: Consent? = null) =
        FolkmootClient.connect(coordinator.options(state, token, trainer, askBefore))

    @Test
    fun `a client takes part and the model learns`(): Unit = runBlocking {
        val task = coordinator.task("learns", rounds = 10, change = ::steadily)
        val data = Digits.read()
        connect(coordinator.token("learns")).use { client ->
            data.addTo(client)
            assertEquals(data.classes.size.toLong(), client.examples.count)
            assertThrows(FolkmootException.NoModel::class.java) { client.predict(FloatArray(PIXELS)) }
            val told = async(start = CoroutineStart.UNDISPATCHED) { eventsUntilRound(client, 10) }
            assertEquals(10, client.run(rounds = 10))
            val events = withTimeout(30_000) { told.await() }
            for (kind in listOf(
                Event.Enrolled::class,
                Event.Assigned::class,
                Event.Device::class,
                Event.Training::class,
                Event.Uploading::class,
                Event.Round::class,
            )) {
                assertTrue(events.any(kind::isInstance), "$kind is not among the events")
            }
            val prediction = client.predict(data.features, data.classes.size)
            val right = data.classes.indices.count { row -> best(prediction.row(row)) == data.classes[row] }
            assertEquals(listOf(10), prediction.shape)
            assertTrue(right > 0.9 * data.classes.size, "$right of ${data.classes.size} are right")
        }
        val rounds = coordinator.committed(task, 10)
        assertEquals(List(10) { Round("committed", 1, 1) }, rounds)
    }

    @Test
    fun `three clients mask their updates`(): Unit = runBlocking {
        val task = coordinator.task("masked", rounds = 2, reportGoal = 3, change = ::masked)
        val clients = List(3) { number ->
            val options = coordinator.options(File(folder, "state-$number"), coordinator.token("masked"))
            FolkmootClient.connect(options).also { Digits.read(64).addTo(it) }
        }
        assertEquals(listOf(2L, 2L, 2L), clients.map { client -> async { client.run(rounds = 2) } }.awaitAll())
        assertEquals(List(2) { Round("committed", 3, 3) }, coordinator.committed(task, 2))
        for (client in clients) {
            val sent = client.transparencyLog().filter { it.action == "sent" }
            // In each round: keys, shares and an opening.
            assertEquals(6, sent.count { it.detail.orEmpty().startsWith("secure aggregation") }, "$sent")
            client.close()
        }
    }

    private suspend fun eventsUntilRound(client: FolkmootClient, number: Long): List<Event> =
        client.events.transformWhile { event ->
            emit(event)
            !(event is Event.Round && event.roundNumber == number)
        }.toList()

    private fun best(outputs: FloatArray) = outputs.indices.maxBy { outputs[it] }

    @Test
    fun `the next run continues a cancelled one`(): Unit = runBlocking {
        val task = coordinator.task("cancelled", rounds = 1) { it.replace("epochs = 1", "epochs = 100") }
        connect(coordinator.token("cancelled")).use { client ->
            Digits.read().addTo(client)
            val assigned = async(start = CoroutineStart.UNDISPATCHED) {
                client.events.filterIsInstance<Event.Training>().first().assignmentId
            }
            val running = launch { client.run(rounds = 1) }
            val first = assigned.await()
            running.cancelAndJoin()
            val accepted = async(start = CoroutineStart.UNDISPATCHED) {
                client.events.filterIsInstance<Event.Round>().first().assignmentId
            }
            assertEquals(1, client.run(rounds = 1))
            assertEquals(first, accepted.await())
        }
        assertEquals(listOf(Round("committed", 1, 1)), coordinator.committed(task, 1))
    }

    @Test
    fun `what is declined is aborted and nothing is trained`(): Unit = runBlocking {
        coordinator.task("declined", rounds = 1)
        val offers = mutableListOf<AssignmentOffer>()
        val consent = Consent { offer ->
            offers += offer
            check(offers.size > 1) { "an app that fails has not agreed" }
            false
        }
        connect(coordinator.token("declined"), askBefore = consent).use { client ->
            Digits.read(32).addTo(client)
            val aborted = async(start = CoroutineStart.UNDISPATCHED) {
                client.events.filterIsInstance<Event.Aborted>().first()
            }
            val running = launch { client.run() }
            assertEquals("declined", aborted.await().reason)
            client.stop()
            running.join()
        }
        assertTrue(offers[0].plan.contains("\"epochs\"") && offers[0].downloadBytes > 0, "${offers[0]}")
    }

    @Test
    fun `stop ends a run and a second run at the same time is refused`(): Unit = runBlocking {
        coordinator.token("waits")
        connect(coordinator.token("waits"), Nudge()).use { client ->
            val enrolled = async(start = CoroutineStart.UNDISPATCHED) {
                client.events.filterIsInstance<Event.Enrolled>().first()
            }
            val running = async { client.run() }
            assertEquals("waits", enrolled.await().population)
            assertTrue(client.isRunning)
            assertEquals(
                FolkmootException.AlreadyRunning::class,
                runCatching { client.run() }.exceptionOrNull()?.let { it::class },
            )
            client.stop()
            assertEquals(0, running.await())
            assertFalse(client.isRunning)
        }
    }

    @Test
    fun `a model that is rolled out is used until it is held`(): Unit = runBlocking {
        val task = coordinator.task("rolled", rounds = 1)
        connect(coordinator.token("rolled")).use { client ->
            assertEquals(null, client.updateModel())
            coordinator.call("rollout", "create", task)
            val update = ModelUpdate(rollout = 1, taskId = task, version = 0, isNew = true)
            assertEquals(update, client.updateModel())
            assertEquals(update.copy(isNew = false), client.updateModel())
            val prediction = client.predict(FloatArray(PIXELS))
            assertEquals(task to 0L, prediction.taskId to prediction.version)
            coordinator.call("rollout", "hold", "rolled", "1")
            assertEquals(null, client.updateModel())
            assertThrows(FolkmootException.NoModel::class.java) { client.predict(FloatArray(PIXELS)) }
        }
    }

    @Test
    fun `what is forgotten is gone`(): Unit = runBlocking {
        coordinator.task("forgotten", rounds = 1)
        val client = connect(coordinator.token("forgotten"), Nudge())
        assertEquals(1, client.run(rounds = 1))
        assertTrue(state.walk().any(File::isFile))
        client.forget()
        val left = state.walk().filter { it.isFile && it.length() > 0 && it.name != "lock" }
        assertEquals(emptyList<File>(), left.toList())
        val error = runCatching { client.run() }.exceptionOrNull()
        assertTrue(error is FolkmootException.Forgotten, "$error")
        client.close()
    }

    @Test
    fun `a bad token is refused with its code`(): Unit = runBlocking {
        connect("no-such-token", Nudge()).use { client ->
            val error = runCatching { client.run() }.exceptionOrNull()
            assertEquals(ErrorCode.ENROLMENT_TOKEN_INVALID, (error as FolkmootException.Refused).code)
            assertEquals(WorkOutcome.FAILURE, WorkPolicy.outcome(error))
        }
    }

    @Test
    fun `what makes no sense is said clearly`(): Unit = runBlocking {
        fun refused(options: ClientOptions) =
            assertThrows(FolkmootException.BadOption::class.java) { FolkmootClient.connect(options).close() }.message
        refused(ClientOptions("ftp://example.org", state))
        refused(ClientOptions("https://example.org", state, certificate = "no certificate".toByteArray()))
        refused(ClientOptions("https://example.org", state, waitSeconds = 61))
        refused(ClientOptions("https://example.org", state, waitSeconds = -1))
        refused(ClientOptions("https://example.org", state, blobCacheBytesMax = -1))
        refused(ClientOptions("https://example.org", state, channel = "No Name"))
        connect(null).use { client ->
            suspend fun failing() = runCatching { client.run() }.exceptionOrNull()
            assertTrue(failing() is FolkmootException.NoExamples)
            Digits.read(4).addTo(client)
            assertTrue(failing() is FolkmootException.NotEnrolled)
            assertTrue(runCatching { client.run(-1) }.exceptionOrNull() is FolkmootException.BadOption)
            assertThrows(FolkmootException.StorageFailed::class.java) { connect(null) }
        }
    }
}
