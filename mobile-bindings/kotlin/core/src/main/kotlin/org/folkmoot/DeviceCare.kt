package org.folkmoot

import org.folkmoot.bindings.DeviceConditions as NativeConditions
import org.folkmoot.bindings.DevicePolicy as NativePolicy
import org.folkmoot.bindings.Limits as NativeLimits
import org.folkmoot.bindings.ProtectionLevel as NativeLevel
import org.folkmoot.bindings.Thermal as NativeThermal
import org.folkmoot.bindings.reasonToPause as nativeReasonToPause

/** The thermal state of a device. */
enum class Thermal { NOMINAL, FAIR, SERIOUS, CRITICAL }

/** The device's current conditions. Null means unknown. */
data class DeviceConditions(
    val isCharging: Boolean? = null,
    val isUnmetered: Boolean? = null,
    val isIdle: Boolean? = null,
    val batteryPercent: Int? = null,
    val thermal: Thermal? = null,
)

/** The conditions under which this device trains. */
data class DevicePolicy(
    val requiresCharging: Boolean = false,
    val requiresUnmetered: Boolean = false,
    val requiresIdle: Boolean = false,
    /** In percent, 0 to 100. Ignored while the device is charging. */
    val batteryPercentMin: Int = 20,
    val thermalMax: Thermal = Thermal.FAIR,
    /** Seconds of pause after which the client gives up its assignment. */
    val giveUpAfterSeconds: Int = 30,
) {
    init {
        if (giveUpAfterSeconds < 0) {
            throw FolkmootException.BadOption("giveUpAfterSeconds is $giveUpAfterSeconds; it must be 0 or more")
        }
        if (batteryPercentMin !in 0..100) {
            throw FolkmootException.BadOption("batteryPercentMin is $batteryPercentMin; it must be 0 to 100")
        }
    }

    /**
     * Returns why the device does not train under these conditions: `charging`, `unmetered`, `idle`, `battery` or
     * `thermal`. Null if it may train.
     *
     * A requirement fails if its condition is unknown. An unknown battery level or thermal state prevents nothing.
     *
     * @throws FolkmootException.BadOption if a percentage is outside 0 to 100.
     */
    fun reasonToPause(now: DeviceConditions): String? = nativeReasonToPause(native(), now.native())
}

/** The protection of one client's update by noise, from the weakest level to the strongest. */
enum class ProtectionLevel {
    NONE,

    /** The coordinator promises to add noise to the sum of clipped updates. The client cannot check it. */
    CENTRAL,

    /** The client adds a share of the noise and masks its update. The coordinator sees only the noised sum. */
    DISTRIBUTED,

    /** The client adds the noise itself, before anything leaves the device. */
    LOCAL,
}

/**
 * Limits on traffic, training time and the cost of assignments. Null means unlimited; the other fields have defaults.
 */
data class Limits(
    /**
     * The maximum number of bytes per day (UTC), sent and received. An assignment that would exceed it is declined.
     */
    val bytesPerDay: Long? = null,
    /** The maximum number of bytes per second in each direction. */
    val bytesPerSecond: Long? = null,
    /** The maximum number of seconds of training per day (UTC). */
    val trainingSecondsPerDay: Long? = null,
    /** The maximum number of seconds of training per day (UTC) while the device is not known to be charging. */
    val batterySecondsPerDay: Long? = null,
    /** The maximum memory of a training or an evaluation, in bytes. Default: 2 GiB. */
    val memoryBytesMax: Long = 2L shl 30,
    /**
     * The maximum size of model and weights, in bytes. A larger model is declined before it is fetched. Default: 1 GiB.
     */
    val modelBytesMax: Long = 1L shl 30,
    /**
     * The maximum number of seconds of training in one assignment. When the time is up, the client sends what it has.
     */
    val trainingSecondsMax: Long = 3_600,
    /** The maximum number of parameters of a model. */
    val parametersMax: Long = 1L shl 28,
    /** The maximum number of operations in a model's graph. */
    val operationsMax: Long = 200_000,
    /**
     * The minimum number of clients whose updates a released version must combine. The client compares it with the
     * number that the coordinator states for the assignment, and declines an assignment without such a number. 0
     * accepts every assignment.
     */
    val cohortMin: Long = 0,
    /** The weakest protection by noise that the client accepts for its update. */
    val protectionMin: ProtectionLevel = ProtectionLevel.NONE,
) {
    init {
        requireAtLeast("bytesPerDay", bytesPerDay, 0)
        requireAtLeast("bytesPerSecond", bytesPerSecond, 0)
        requireAtLeast("trainingSecondsPerDay", trainingSecondsPerDay, 0)
        requireAtLeast("batterySecondsPerDay", batterySecondsPerDay, 0)
        requireAtLeast("cohortMin", cohortMin, 0)
        requireAtLeast("memoryBytesMax", memoryBytesMax, 1)
        requireAtLeast("modelBytesMax", modelBytesMax, 1)
        requireAtLeast("trainingSecondsMax", trainingSecondsMax, 1)
        requireAtLeast("parametersMax", parametersMax, 1)
        requireAtLeast("operationsMax", operationsMax, 1)
    }
}

private fun requireAtLeast(name: String, value: Long?, min: Long) {
    if (value != null && value < min) throw FolkmootException.BadOption("$name is $value; it must be $min or more")
}

internal fun DeviceConditions.native(): NativeConditions {
    if (batteryPercent != null && batteryPercent !in 0..100) {
        throw FolkmootException.BadOption("batteryPercent is $batteryPercent; it must be 0 to 100")
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
