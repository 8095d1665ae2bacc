package org.folkmoot

import java.io.File
import kotlin.time.Duration
import kotlin.time.Duration.Companion.days
import kotlin.time.Duration.Companion.milliseconds
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

class ExampleStoreTest {
    @TempDir
    lateinit var folder: File
    private val file get() = File(folder, "examples.db")
    private val form = ExampleForm(shape = listOf(2))
    private var now = 1_700_000_000_000L
    private lateinit var client: FolkmootClient

    @BeforeEach
    fun start() {
        val options = ClientOptions("https://127.0.0.1:1", File(folder, "state"), enrolmentToken = "none")
        client = FolkmootClient.connect(options)
    }

    @AfterEach
    fun end() = client.close()

    private fun store(limits: StoreLimits = StoreLimits(), form: ExampleForm = this.form) =
        ExampleStore(JdbcDatabase(file), form, limits) { now }

    @Test
    fun `examples stay when the process ends`() {
        store().use { it.add(floatArrayOf(1f, 2f), 3) }
        store().use { store ->
            store.add(floatArrayOf(4f, 5f), 0)
            assertEquals(2, store.count)
            assertEquals(Loaded(2, 0), store.loadInto(client.examples))
        }
        assertEquals(2, client.examples.count)
    }

    @Test
    fun `the oldest go where a limit is met`() {
        store(StoreLimits(countMax = 3)).use { store ->
            repeat(5) { store.add(floatArrayOf(it.toFloat(), 0f), it) }
            assertEquals(3, store.count)
        }
        // Two features and a label of four bytes each.
        store(StoreLimits(bytesMax = 25)).use { assertEquals(2, it.count) }
    }

    @Test
    fun `what is too old is gone, from the file too`() {
        val secret = floatArrayOf(12345.678f, 8765.4321f)
        store(StoreLimits(ageMax = 30.days)).use { store ->
            store.add(secret, 1)
            now += 20.days.inWholeMilliseconds
            store.add(floatArrayOf(0f, 0f), 0)
            assertTrue(holds(secret))
            now += 11.days.inWholeMilliseconds
            assertEquals(Loaded(1, 0), store.loadInto(client.examples))
        }
        assertFalse(holds(secret))
    }

    private fun holds(values: FloatArray): Boolean =
        file.readBytes().toString(Charsets.ISO_8859_1).contains(encoded(values).toString(Charsets.ISO_8859_1))

    @Test
    fun `more examples than a part`() {
        val form = ExampleForm(shape = listOf(64, 64), areClasses = false, labelsPerExample = 2)
        store(form = form).use { store ->
            repeat(300) { store.add(FloatArray(64 * 64) { 1f }, Labels.Targets(floatArrayOf(1f, 2f), 2)) }
            assertEquals(Loaded(300, 0), store.loadInto(client.examples))
        }
        assertEquals(300, client.examples.count)
    }

    @Test
    fun `what does not fit is refused and nothing is kept of it`() = store().use { store ->
        fun refused(features: FloatArray, labels: Labels) {
            assertThrows(FolkmootException.BadExample::class.java) { store.add(features, labels) }
        }
        refused(floatArrayOf(1f), Labels.Classes(intArrayOf(1)))
        refused(floatArrayOf(1f, Float.NaN), Labels.Classes(intArrayOf(1)))
        refused(floatArrayOf(1f, 2f), Labels.Classes(intArrayOf(-1)))
        refused(floatArrayOf(1f, 2f), Labels.Classes(intArrayOf(1, 2)))
        refused(floatArrayOf(1f, 2f), Labels.Targets(floatArrayOf(1f)))
        assertEquals(0, store.count)
    }

    @Test
    fun `limits and forms that make no sense are refused`() {
        fun refused(limits: StoreLimits = StoreLimits(), form: ExampleForm = this.form) {
            assertThrows(FolkmootException.BadOption::class.java) { store(limits, form).close() }
        }
        refused(StoreLimits(countMax = 0))
        refused(StoreLimits(bytesMax = 11))
        refused(StoreLimits(ageMax = Duration.ZERO))
        refused(form = ExampleForm(listOf(2), labelsPerExample = 0))
        store().close()
        refused(form = ExampleForm(listOf(3)))
        refused(form = ExampleForm(listOf(2), areClasses = false))
        assertEquals(1.milliseconds, StoreLimits(ageMax = 1.milliseconds).ageMax)
    }

    @Test
    fun `damaged examples are left out and deleted`() {
        store().use { store -> repeat(3) { store.add(floatArrayOf(it.toFloat(), 0f), it) } }
        JdbcDatabase(file).use {
            it.execute("UPDATE examples SET x = ? WHERE id = 1", encoded(floatArrayOf(7f, 7f)))
            it.execute("UPDATE examples SET x = ? WHERE id = 2", ByteArray(3))
        }
        store().use { store ->
            assertEquals(Loaded(1, 2), store.loadInto(client.examples))
            assertEquals(1, store.count)
        }
    }

    @Test
    fun `a file that is no database is named`() {
        file.writeText("this is no database ".repeat(100))
        val error = assertThrows(FolkmootException.StorageFailed::class.java) { store().close() }
        assertTrue(error.message!!.contains(file.path), error.message)
    }
}
