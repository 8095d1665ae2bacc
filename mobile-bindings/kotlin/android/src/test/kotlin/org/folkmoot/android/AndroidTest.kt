package org.folkmoot.android

import android.content.ContextWrapper
import android.content.Intent
import android.os.BatteryManager
import android.os.PowerManager
import java.io.File
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.runBlocking
import org.folkmoot.Coordinator
import org.folkmoot.DeviceConditions
import org.folkmoot.Event
import org.folkmoot.FolkmootClient
import org.folkmoot.FolkmootException
import org.folkmoot.Nudge
import org.folkmoot.Round
import org.folkmoot.Thermal
import org.folkmoot.WorkOutcome
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertSame
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

/** Tests the parts that run without a device: those that call no native Android code. */
class AndroidTest {
    private fun battery(vararg extras: Pair<String, Int>) =
        Intent(Intent.ACTION_BATTERY_CHANGED).apply { extras.forEach { (name, value) -> putExtra(name, value) } }

    @Test
    fun `the battery's broadcast is read`() {
        val charging = battery(
            BatteryManager.EXTRA_PLUGGED to BatteryManager.BATTERY_PLUGGED_USB,
            BatteryManager.EXTRA_LEVEL to 40,
            BatteryManager.EXTRA_SCALE to 200,
        )
        assertEquals(true, DeviceReadings.isCharging(charging))
        assertEquals(20, DeviceReadings.batteryPercent(charging))
        assertEquals(false, DeviceReadings.isCharging(battery(BatteryManager.EXTRA_PLUGGED to 0)))
        assertNull(DeviceReadings.isCharging(battery()))
        assertNull(DeviceReadings.batteryPercent(battery(BatteryManager.EXTRA_LEVEL to 4)))
    }

    @Test
    fun `warmth is one of four`() {
        assertEquals(Thermal.NOMINAL, DeviceReadings.thermal(PowerManager.THERMAL_STATUS_NONE))
        assertEquals(Thermal.FAIR, DeviceReadings.thermal(PowerManager.THERMAL_STATUS_LIGHT))
        assertEquals(Thermal.SERIOUS, DeviceReadings.thermal(PowerManager.THERMAL_STATUS_SEVERE))
        assertEquals(Thermal.CRITICAL, DeviceReadings.thermal(PowerManager.THERMAL_STATUS_SHUTDOWN))
        assertEquals(false, DeviceReadings.isUnmetered(null))
    }

    @Test
    fun `a watcher without services knows nothing but the battery`() {
        val context = object : ContextWrapper(null) {
            override fun getSystemService(name: String): Any? = null

            override fun getSystemServiceName(serviceClass: Class<*>): String = serviceClass.name

            override fun registerReceiver(
                receiver: android.content.BroadcastReceiver?,
                filter: android.content.IntentFilter?,
            ) = battery(
                BatteryManager.EXTRA_PLUGGED to 1,
                BatteryManager.EXTRA_LEVEL to 7,
                BatteryManager.EXTRA_SCALE to 10,
            )
        }
        assertEquals(DeviceConditions(isCharging = true, batteryPercent = 70), DeviceWatcher(context).now())
    }

    private class Host(private val error: FolkmootException? = null) : FolkmootHost {
        val ended = mutableListOf<Pair<WorkOutcome, FolkmootException?>>()

        override suspend fun connect(): FolkmootClient? = error?.let { throw it }

        override fun onWorkEnded(outcome: WorkOutcome, error: FolkmootException?) {
            ended += outcome to error
        }
    }

    @Test
    fun `a piece of work sends one update`(@TempDir folder: File) = runBlocking {
        Coordinator(folder).use { coordinator ->
            val task = coordinator.task("worker", rounds = 2)
            val events = mutableListOf<Event>()
            val host = object : FolkmootHost {
                override suspend fun connect() = FolkmootClient.connect(
                    coordinator.options(File(folder, "state"), coordinator.token("worker"), Nudge()),
                )

                override fun onEvent(event: Event) {
                    events += event
                }
            }
            val good = MutableStateFlow(DeviceConditions(isCharging = true, isUnmetered = true))
            repeat(2) { assertEquals(WorkOutcome.SUCCESS, HostedWork(host, good).perform()) }
            assertEquals(List(2) { Round("committed", 1, 1) }, coordinator.committed(task, 2))
            assertEquals(listOf(1L, 2L), events.filterIsInstance<Event.Round>().map(Event.Round::roundNumber))
        }
    }

    @Test
    fun `a host hears how its work ended`() = runBlocking {
        val good = MutableStateFlow(DeviceConditions(isCharging = true, isUnmetered = true))
        val idle = Host()
        assertEquals(WorkOutcome.SUCCESS, HostedWork(idle, good).perform())
        val error = FolkmootException.NotEnrolled("no token")
        val failing = Host(error)
        assertEquals(WorkOutcome.FAILURE, HostedWork(failing, good).perform())
        assertSame(error, failing.ended.single().second)
        val away = Host(error)
        assertEquals(WorkOutcome.RETRY, HostedWork(away, MutableStateFlow(DeviceConditions())).perform())
        assertEquals(listOf(WorkOutcome.RETRY to null), away.ended)
    }
}
