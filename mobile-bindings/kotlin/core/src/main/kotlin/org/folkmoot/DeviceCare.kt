package org.folkmoot

import org.folkmoot.bindings.DeviceConditions as NativeConditions
import org.folkmoot.bindings.DevicePolicy as NativePolicy
import org.folkmoot.bindings.Limits as NativeLimits
import org.folkmoot.bindings.ProtectionLevel as NativeLevel
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

/** Where noise is added that hides what one client's update reveals, the weakest first. */
enum class ProtectionLevel {
    NONE,

    /** The coordinator promises to add noise to the sum of clipped updates. The client cannot check it. */
    CENTRAL,

    /** The client adds the noise itself, before anything leaves the device. */
    LOCAL,
}

/** How much a client may use, and what it declines. What is null is not limited; the others have the defaults that they say. */
data class Limits(
    /** Bytes in a day (UTC), both ways together. An assignment that would pass it is declined. */
    val bytesPerDay: Long? = null,
    /** Bytes in a second, each way. */
    val bytesPerSecond: Long? = null,
    /** Seconds of training in a day (UTC). */
    val trainingSecondsPerDay: Long? = null,
    /** Of these, seconds while the device is not told to charge. */
    val batterySecondsPerDay: Long? = null,
    /** Bytes of memory that a training or an evaluation may hold: 2 GiB. */
    val memoryBytesMax: Long = 2L shl 30,
    /** Bytes of the model and its weights, which are declined before they are fetched: 1 GiB. */
    val modelBytesMax: Long = 1L shl 30,
    /** Seconds of training in one assignment. What was trained until then is sent. */
    val trainingSecondsMax: Long = 3_600,
    /** Parameters of a model. */
    val parametersMax: Long = 1L shl 28,
    /** Operations of a model's graph. */
    val operationsMax: Long = 200_000,
    /** How many clients' updates a released version has to combine, by the coordinator's word; 0 is any number. */
    val cohortMin: Long = 0,
    /** Where noise has to be added that hides this client's update. */
    val protectionMin: ProtectionLevel = ProtectionLevel.NONE,
) {
    init {
        for (limit in listOfNotNull(bytesPerDay, bytesPerSecond, trainingSecondsPerDay, batterySecondsPerDay, cohortMin)) {
            if (limit < 0) throw FolkmootException.BadOption("a limit is $limit: 0 or more is expected")
        }
        for (limit in listOf(memoryBytesMax, modelBytesMax, trainingSecondsMax, parametersMax, operationsMax)) {
            if (limit < 1) throw FolkmootException.BadOption("a limit is $limit: 1 or more is expected")
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
    memoryBytesMax = memoryBytesMax.toULong(),
    modelBytesMax = modelBytesMax.toULong(),
    trainingSecondsMax = trainingSecondsMax.toULong(),
    parametersMax = parametersMax.toULong(),
    operationsMax = operationsMax.toULong(),
    cohortMin = cohortMin.toULong(),
    protectionMin = NativeLevel.valueOf(protectionMin.name),
)

private fun Thermal.native() = NativeThermal.valueOf(name)
