package org.folkmoot

import java.io.File
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.filterIsInstance
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir

/** Tests pauses, the storage of the key, and the transparency log. */
@Timeout(120)
class CareTest {
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

    private fun connect(
        name: String,
        policy: DevicePolicy = DevicePolicy(),
        secrets: SecretStorage? = null,
        limits: Limits = Limits(),
        endorsementKeys: List<String> = emptyList(),
    ): FolkmootClient {
        val options = ClientOptions(
            coordinator.url,
            state,
            coordinator.token(name),
            coordinator.certificate.readBytes(),
            device = Device.Cpu,
            waitSeconds = 1,
            policy = policy,
            secrets = secrets,
            limits = limits,
            endorsementKeys = endorsementKeys,
        )
        return FolkmootClient.connect(options).also { Digits.read().addTo(it) }
    }

    @Test
    fun `it pauses without a charger and continues with one`(): Unit = runBlocking {
        val task = coordinator.task("charging", rounds = 1)
        connect("charging", DevicePolicy(requiresCharging = true)).use { client ->
            client.setConditions(DeviceConditions(isCharging = false))
            val paused = async(start = CoroutineStart.UNDISPATCHED) {
                client.events.filterIsInstance<Event.Paused>().first()
            }
            val running = launch { client.run(rounds = 1) }
            assertEquals("charging", paused.await().reason)
            assertEquals(0, coordinator.rounds(task).sumOf(Round::accepted))
            client.setConditions(DeviceConditions(isCharging = true))
            running.join()
        }
        assertEquals(listOf(Round("committed", 1, 1)), coordinator.committed(task, 1))
    }

    @Test
    fun `the app's own pause has the app's words`(): Unit = runBlocking {
        coordinator.task("own", rounds = 1)
        connect("own").use { client ->
            client.pause("a game is on")
            val paused = async(start = CoroutineStart.UNDISPATCHED) {
                client.events.filterIsInstance<Event.Paused>().first()
            }
            val running = launch { client.run(rounds = 1) }
            assertEquals("a game is on", paused.await().reason)
            client.resume()
            running.join()
        }
    }

    @Test
    fun `the key is where the app wants it`(): Unit = runBlocking {
        coordinator.task("secrets", rounds = 1)
        val secrets = InMemory()
        connect("secrets", secrets = secrets).use { assertEquals(1, it.run(rounds = 1)) }
        val secret = secrets.kept!!
        assertEquals(32, secret.size)
        val written = state.walk().filter(File::isFile).map { it.readBytes().toString(Charsets.ISO_8859_1) }
        assertFalse(written.any { it.contains(secret.toString(Charsets.ISO_8859_1)) })
        connect("secrets", secrets = secrets).forget()
        assertNull(secrets.kept)
        val failing = object : InMemory() {
            override fun load() = error("the key store is locked")
        }
        assertThrows(FolkmootException.StorageFailed::class.java) { connect("secrets", secrets = failing) }
    }

    @Test
    fun `the user can read what was done`(): Unit = runBlocking {
        coordinator.task("log", rounds = 1)
        connect("log").use { client ->
            client.consentGiven("I take part")
            client.run(rounds = 1)
            val entries = client.transparencyLog()
            val actions = entries.map(LogEntry::action)
            for (action in listOf("consent", "enrolled", "fetched", "trained", "sent")) {
                assertTrue(action in actions, "$action is not among $actions")
            }
            assertTrue(entries.sumOf(LogEntry::bytesSent) > 0 && entries.sumOf(LogEntry::bytesReceived) > 0)
            client.consentWithdrawn()
        }
    }

    @Test
    fun `a cohort that is too small is declined and the user can read why`(): Unit = runBlocking {
        coordinator.task("cohort", rounds = 1)
        connect("cohort", limits = Limits(cohortMin = 3, protectionMin = ProtectionLevel.LOCAL)).use { client ->
            val aborted = async(start = CoroutineStart.UNDISPATCHED) {
                client.events.filterIsInstance<Event.Aborted>().first()
            }
            val running = launch { client.run(rounds = 1) }
            assertEquals("declined", aborted.await().reason)
            val declined = client.transparencyLog().first { it.action == "declined" }
            assertTrue(declined.detail!!.startsWith("cohort_min is 3"), declined.detail)
            client.stop()
            running.join()
        }
    }

    @Test
    fun `only what the operator has endorsed is trained`(): Unit = runBlocking {
        val task = coordinator.task("endorsed", rounds = 1)
        val (signer, signed) = File(folder, "signer.pem").path to File(folder, "endorsement").path
        val created = coordinator.call("endorsement", "key", "--out", signer)
        connect("endorsed", endorsementKeys = listOf(text(created, "public_key"))).use { client ->
            val aborted = async(start = CoroutineStart.UNDISPATCHED) {
                client.events.filterIsInstance<Event.Aborted>().first()
            }
            val running = launch { client.run(rounds = 1) }
            val (reason, detail) = aborted.await().let { it.reason to it.detail }
            assertEquals("plan_unsupported", reason)
            assertTrue(detail.startsWith("the task has no endorsement"), detail)
            val log = client.transparencyLog()
            assertTrue(log.any { it.action == "gave_up" && detail in it.detail!! }, "$log")
            assertTrue(log.none { it.action == "fetched" }, "$log")
            coordinator.call("endorsement", "prepare", task, "--out", signed)
            coordinator.call("endorsement", "sign", signed, "--key", signer)
            coordinator.call("endorsement", "publish", signed)
            running.join()
        }
        assertEquals(1, coordinator.committed(task, 1).count { it.phase == "committed" })
    }

    @Test
    fun `limits that make no sense are refused`() {
        assertThrows(FolkmootException.BadOption::class.java) { Limits(modelBytesMax = 0) }
        assertThrows(FolkmootException.BadOption::class.java) { Limits(bytesPerDay = -1) }
        assertThrows(FolkmootException.BadOption::class.java) { DevicePolicy(giveUpAfterSeconds = -1) }
        assertThrows(FolkmootException.BadOption::class.java) { DeviceConditions(batteryPercent = 101).native() }
    }

    private open class InMemory : SecretStorage {
        @Volatile
        var kept: ByteArray? = null

        override fun load(): ByteArray? = kept

        override fun save(secret: ByteArray) {
            kept = secret
        }

        override fun delete() {
            kept = null
        }
    }
}
