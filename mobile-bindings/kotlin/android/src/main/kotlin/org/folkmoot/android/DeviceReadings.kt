package org.folkmoot.android

import android.content.Intent
import android.net.NetworkCapabilities
import android.os.BatteryManager
import android.os.PowerManager
import org.folkmoot.Thermal

/** Converts Android's values to the client's. */
internal object DeviceReadings {
    /** Whether the device is charging, from the battery broadcast. Null if unknown. */
    fun isCharging(battery: Intent): Boolean? =
        battery.getIntExtra(BatteryManager.EXTRA_PLUGGED, -1).takeIf { it >= 0 }?.let { it != 0 }

    /** The battery level in percent. Null if unknown. */
    fun batteryPercent(battery: Intent): Int? {
        val level = battery.getIntExtra(BatteryManager.EXTRA_LEVEL, -1)
        val scale = battery.getIntExtra(BatteryManager.EXTRA_SCALE, -1)
        return if (level < 0 || scale <= 0) null else (100 * level / scale).coerceIn(0, 100)
    }

    /** Whether the network is unmetered. False without a network. */
    fun isUnmetered(network: NetworkCapabilities?): Boolean =
        network?.hasCapability(NetworkCapabilities.NET_CAPABILITY_NOT_METERED) ?: false

    /** The thermal state. */
    fun thermal(status: Int): Thermal = when {
        status <= PowerManager.THERMAL_STATUS_NONE -> Thermal.NOMINAL
        status <= PowerManager.THERMAL_STATUS_LIGHT -> Thermal.FAIR
        status <= PowerManager.THERMAL_STATUS_SEVERE -> Thermal.SERIOUS
        else -> Thermal.CRITICAL
    }
}
