package org.folkmoot.android

import android.content.BroadcastReceiver
import android.content.Context
import android.content.Intent
import android.content.IntentFilter
import android.net.ConnectivityManager
import android.net.Network
import android.net.NetworkCapabilities
import android.os.PowerManager
import kotlinx.coroutines.channels.awaitClose
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.callbackFlow
import kotlinx.coroutines.flow.conflate
import kotlinx.coroutines.flow.distinctUntilChanged
import org.folkmoot.DeviceConditions

/**
 * Reads the device's conditions: battery, network, idle state and temperature. Needs only the permission for the
 * network state.
 */
class DeviceWatcher(private val context: Context) {
    private val power = context.getSystemService(PowerManager::class.java)
    private val connectivity = context.getSystemService(ConnectivityManager::class.java)

    /** Returns the current conditions. */
    fun now(): DeviceConditions {
        // This broadcast is sticky: without a receiver, the call returns the last one at once.
        return conditions(context.registerReceiver(null, IntentFilter(Intent.ACTION_BATTERY_CHANGED)))
    }

    /** Emits the current conditions, and again after each change, as long as it is collected. */
    val conditions: Flow<DeviceConditions> = callbackFlow {
        val receiver = object : BroadcastReceiver() {
            override fun onReceive(context: Context, intent: Intent) {
                trySend(now())
            }
        }
        val network = object : ConnectivityManager.NetworkCallback() {
            override fun onCapabilitiesChanged(network: Network, capabilities: NetworkCapabilities) {
                trySend(now())
            }

            override fun onLost(network: Network) {
                trySend(now())
            }
        }
        val thermal = PowerManager.OnThermalStatusChangedListener { trySend(now()) }
        context.registerReceiver(receiver, changes())
        connectivity?.registerDefaultNetworkCallback(network)
        power?.addThermalStatusListener(thermal)
        trySend(now())
        awaitClose {
            context.unregisterReceiver(receiver)
            connectivity?.unregisterNetworkCallback(network)
            power?.removeThermalStatusListener(thermal)
        }
    }.conflate().distinctUntilChanged()

    private fun conditions(battery: Intent?) = DeviceConditions(
        isCharging = battery?.let(DeviceReadings::isCharging),
        isUnmetered = connectivity?.let { DeviceReadings.isUnmetered(it.getNetworkCapabilities(it.activeNetwork)) },
        // The device is treated as idle while its screen is off. Doze mode is not required, because it also disables
        // the network.
        isIdle = power?.let { !it.isInteractive },
        batteryPercent = battery?.let(DeviceReadings::batteryPercent),
        thermal = power?.let { DeviceReadings.thermal(it.currentThermalStatus) },
    )

    private fun changes() = IntentFilter().apply {
        addAction(Intent.ACTION_BATTERY_CHANGED)
        addAction(Intent.ACTION_SCREEN_ON)
        addAction(Intent.ACTION_SCREEN_OFF)
    }
}
