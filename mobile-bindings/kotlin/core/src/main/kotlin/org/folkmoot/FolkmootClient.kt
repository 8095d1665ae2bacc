package org.folkmoot

import java.nio.FloatBuffer
import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.flow.MutableSharedFlow
import kotlinx.coroutines.flow.SharedFlow
import kotlinx.coroutines.flow.asSharedFlow
import kotlinx.coroutines.runBlocking
import org.folkmoot.bindings.ClientEvent
import org.folkmoot.bindings.ConnectOptions
import org.folkmoot.bindings.ConsentCallback
import org.folkmoot.bindings.EventListener
import org.folkmoot.bindings.Folkmoot
import org.folkmoot.bindings.AssignmentOffer as NativeOffer

/** The number of events that are buffered for a slow collector. Older ones are dropped. */
private const val EVENTS_MAX = 1024

/**
 * One client of one coordinator. It trains on examples that never leave this device.
 *
 * If the process is killed, opening a client with the same state directory continues where it stopped.
 */
class FolkmootClient private constructor(private val listener: Listener, native: Folkmoot) : AutoCloseable {
    @Volatile
    private var native: Folkmoot? = native

    /** The examples to train on. */
    val examples = Examples(native.examples())

    /** The client's events. A collector that starts too late or is too slow misses the oldest ones. */
    val events: SharedFlow<Event> get() = listener.events.asSharedFlow()

    /** Whether the client is taking part in rounds. */
    val isRunning: Boolean get() = native?.status()?.isRunning ?: false

    /**
     * Takes part in rounds until [stop] is called elsewhere, or until [rounds] updates were accepted.
     *
     * Returns the number of accepted updates. The client enrols first if necessary. If the run is cancelled, the next
     * one continues from there.
     *
     * @throws FolkmootException.NoExamples, NotEnrolled, Refused, StorageFailed or AlreadyRunning.
     */
    suspend fun run(rounds: Long? = null): Long {
        if (rounds != null && rounds < 0) throw FolkmootException.BadOption("rounds is $rounds; it must be 0 or more")
        return translating { opened().start(rounds?.toULong()) }.acceptedRounds.toLong()
    }

    /** Stops taking part in rounds. Gives up the current assignment and tells the coordinator. */
    suspend fun stop() = translating { opened().stop() }

    /**
     * Sets the device's current conditions. If training is no longer allowed, it pauses within 250 ms until it is
     * allowed again.
     */
    fun setConditions(conditions: DeviceConditions) = opened().setConditions(conditions.native())

    /** Pauses training for a reason of the app's own, given as text. */
    fun pause(reason: String) = opened().setPaused(reason)

    /** Ends the app's own pause. */
    fun resume() = opened().setPaused(null)

    /** Returns how the user's data was used, the oldest entry first. The newest 2,000 entries are kept. */
    fun transparencyLog(): List<LogEntry> = translating { opened().transparencyLog() }.map(::translated)

    /** Records in the transparency log that the user consented, and the text that the user consented to. */
    fun consentGiven(words: String) = opened().consentGiven(words)

    /** Records in the transparency log that the user withdrew consent. This does not stop the client. */
    fun consentWithdrawn() = opened().consentWithdrawn()

    /**
     * Fetches the model that the operator has rolled out to this device, and tries it. From then on, [predict] uses it,
     * also without a connection and after a restart.
     *
     * Returns null if no model is rolled out to this device; [predict] then uses the model of the last assignment. Call
     * it when the app starts and, for example, once a day, also during a [run]. The client enrols first if necessary,
     * and needs no examples: a device can use models without ever training.
     *
     * @throws FolkmootException.ModelUnusable if the model does not work here; predictions then keep the model before.
     * NotEnrolled, Refused, Unreachable or StorageFailed.
     */
    suspend fun updateModel(): ModelUpdate? = translating { opened().updateModel() }?.let(::translated)

    /**
     * Returns a model's outputs for [rows] rows of features, in row-major order: those of the model that [updateModel]
     * has brought, or else of the one that the last assignment started from.
     *
     * @throws FolkmootException.NoModel, or BadExample if the features do not fit the model.
     */
    fun predict(features: FloatArray, rows: Int = 1): Prediction {
        if (rows < 1) throw FolkmootException.BadExample("rows is $rows; it must be 1 or more")
        val predicted = filled(FloatBuffer.wrap(features)).use { x ->
            translating { opened().predict(x, rows.toULong()) }
        }
        val shape = predicted.shape.map(ULong::toInt)
        return Prediction(taken(predicted.outputs), shape, predicted.taskId, predicted.version.toLong())
    }

    /** Stops the client and deletes its key, session, models and examples. It cannot be used afterwards. */
    suspend fun forget() {
        val forgotten = opened()
        translating { forgotten.forget() }
        native = null
        forgotten.close()
    }

    /**
     * Stops the client, waits until its run has ended, and releases the state directory. Calling it again has no
     * effect.
     */
    override fun close() = runBlocking { closeAndWait() }

    /** Like [close], for code that must not block. */
    suspend fun closeAndWait() {
        val closed = native ?: return
        native = null
        translating { closed.leave() }
        closed.close()
    }

    private fun opened(): Folkmoot = native ?: throw FolkmootException.Forgotten()

    companion object {
        /**
         * Opens a client: locks its state directory, and generates its key if there is none. Sends nothing until [run]
         * or [updateModel] is called.
         *
         * @throws FolkmootException.BadOption or StorageFailed.
         */
        fun connect(options: ClientOptions): FolkmootClient {
            val listener = Listener()
            val consent = options.askBefore?.let(::Asking)
            val trainer = options.trainer?.let { NativeTrainer(it, Log) }
            val secrets = options.secrets?.let(::NativeSecrets)
            val native = translating { Folkmoot.connect(native(options), listener, consent, trainer, secrets) }
            return FolkmootClient(listener, native)
        }
    }
}

private fun native(options: ClientOptions): ConnectOptions {
    fun refuse(name: String, value: Number): Nothing =
        throw FolkmootException.BadOption("$name is $value; it must be 0 or more")
    return ConnectOptions(
        coordinator = options.coordinator,
        stateDirectory = options.stateDirectory.absolutePath,
        enrolmentToken = options.enrolmentToken,
        certificate = options.certificate,
        clientCertificate = options.clientCertificate,
        clientKey = options.clientKey,
        pins = options.pins,
        attributes = options.attributes,
        privateAttributes = options.privateAttributes,
        endorsementKeys = options.endorsementKeys,
        channel = options.channel,
        device = options.device.native(),
        waitSeconds = options.waitSeconds?.let { if (it < 0) refuse("waitSeconds", it) else it.toUInt() },
        blobCacheBytesMax = options.blobCacheBytesMax?.let {
            if (it < 0) refuse("blobCacheBytesMax", it) else it.toULong()
        },
        policy = options.policy.native(),
        limits = options.limits.native(),
    )
}

private class Listener : EventListener {
    val events = MutableSharedFlow<Event>(0, EVENTS_MAX, BufferOverflow.DROP_OLDEST)

    override fun onEvent(event: ClientEvent) {
        // This never suspends, because the oldest events are dropped.
        events.tryEmit(translated(event))
    }
}

private class Asking(private val consent: Consent) : ConsentCallback {
    override fun ask(offer: NativeOffer): Boolean = try {
        consent.ask(offered(offer))
    } catch (error: Throwable) {
        Log.error("askBefore failed, so the assignment is declined", error)
        false
    }

    private fun offered(offer: NativeOffer) = AssignmentOffer(
        assignmentId = offer.assignmentId,
        taskId = offer.taskId,
        roundNumber = offer.roundNumber.toLong(),
        baseVersion = offer.baseVersion.toLong(),
        downloadBytes = offer.downloadBytes.toLong(),
        plan = offer.plan,
    )
}
