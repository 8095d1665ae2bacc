package org.folkmoot

import org.folkmoot.bindings.DeviceConditions as NativeConditions
import org.folkmoot.bindings.DevicePolicy as NativePolicy
import org.folkmoot.bindings.Limits as NativeLimits
import org.folkmoot.bindings.Thermal as NativeThermal

/** How warm the device is. */
enum class Thermal { NOMINAL, FAIR, SERIOUS, CRITICAL }

/** How the device is now; null where it is not known. */
data class DeviceConditions(
    val isCharging: Boolean? = null,
    val isUnmetered: Boolean? = null,
    val isIdle: Boolean? = null,
    val batteryPercent: Int? = null,
    val thermal: Thermal? = null,
)

/** When this device may work. */
data class DevicePolicy(
    val requiresCharging: Boolean = false,
    val requiresUnmetered: Boolean = false,
    val requiresIdle: Boolean = false,
    /** Counts only while the device is not charging. */
    val batteryPercentMin: Int = 20,
    val thermalMax: Thermal = Thermal.FAIR,
    /** Seconds of a pause after which an assignment is given up. */
    val giveUpAfterSeconds: Int = 30,
) {
    init {
        if (giveUpAfterSeconds < 0) {
            throw FolkmootException.BadOption("giveUpAfterSeconds is $giveUpAfterSeconds: 0 or more is expected")
        }
        if (batteryPercentMin !in 0..100) {
            throw FolkmootException.BadOption("batteryPercentMin is $batteryPercentMin: 0 to 100 is expected")
        }
    }

    /**
     * What keeps the device from working: `charging`, `unmetered`, `idle`, `battery` or `thermal`; null for nothing.
     *
     * What is not known does not hold a requirement, and a battery or warmth that is not known does not hinder.
     */
    fun hindrance(now: DeviceConditions): String? = when {
        requiresCharging && now.isCharging != true -> "charging"
        requiresUnmetered && now.isUnmetered != true -> "unmetered"
        requiresIdle && now.isIdle != true -> "idle"
        now.isCharging != true && now.batteryPercent?.let { it < batteryPercentMin } == true -> "battery"
        now.thermal?.let { it > thermalMax } == true -> "thermal"
        else -> null
    }
}

/** How much a client may use. What is null is not limited. */
data class Limits(
    /** Bytes in a day (UTC), both ways together. An assignment that would pass it is declined. */
    val bytesPerDay: Long? = null,
    /** Bytes in a second, each way. */
    val bytesPerSecond: Long? = null,
    /** Seconds of training in a day (UTC). */
    val trainingSecondsPerDay: Long? = null,
    /** Of these, seconds while the device is not told to charge. */
    val batterySecondsPerDay: Long? = null,
) {
    init {
        for (limit in listOfNotNull(bytesPerDay, bytesPerSecond, trainingSecondsPerDay, batterySecondsPerDay)) {
            if (limit < 0) throw FolkmootException.BadOption("a limit is $limit: 0 or more is expected")
        }
    }
}

internal fun DeviceConditions.native(): NativeConditions {
    if (batteryPercent != null && batteryPercent !in 0..100) {
        throw FolkmootException.BadOption("batteryPercent is $batteryPercent: 0 to 100 is expected")
    }
    return NativeConditions(isCharging, isUnmetered, isIdle, batteryPercent?.toUByte(), thermal?.native())
}

internal fun DevicePolicy.native() = NativePolicy(
    requiresCharging = requiresCharging,
    requiresUnmetered = requiresUnmetered,
    requiresIdle = requiresIdle,
    batteryPercentMin = batteryPercentMin.toUByte(),
    thermalMax = thermalMax.native(),
    giveUpAfterSeconds = giveUpAfterSeconds.toUInt(),
)

internal fun Limits.native() = NativeLimits(
    bytesPerDay = bytesPerDay?.toULong(),
    bytesPerSecond = bytesPerSecond?.toULong(),
    trainingSecondsPerDay = trainingSecondsPerDay?.toULong(),
    batterySecondsPerDay = batterySecondsPerDay?.toULong(),
)

private fun Thermal.native() = NativeThermal.valueOf(name)
