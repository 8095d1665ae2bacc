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

/** How far a collector of events may be behind before the oldest are left out. */
private const val EVENTS_MAX = 1024

/**
 * One client of one coordinator: it trains on examples that never leave this device.
 *
 * A client that was killed goes on where it was when one is opened over the same state directory.
 */
class FolkmootClient private constructor(private val listener: Listener, native: Folkmoot) : AutoCloseable {
    @Volatile
    private var native: Folkmoot? = native

    /** The examples to train on. */
    val examples = Examples(native.examples())

    /** What the client does, as it does it. One that collects too late or too slowly misses the oldest. */
    val events: SharedFlow<Event> get() = listener.events.asSharedFlow()

    /** Whether it takes part in rounds now. */
    val isRunning: Boolean get() = native?.status()?.isRunning ?: false

    /**
     * Takes part in rounds until [stop] is called elsewhere, or until so many updates were accepted.
     *
     * Returns how many were accepted. It enrols first if it has to. A cancelled run is gone on with by the next.
     *
     * @throws FolkmootException.NoExamples, NotEnrolled, Refused, StorageFailed or AlreadyRunning.
     */
    suspend fun run(rounds: Long? = null): Long {
        if (rounds != null && rounds < 0) throw FolkmootException.BadOption("rounds is $rounds: 0 or more is expected")
        return translating { opened().start(rounds?.toULong()) }.acceptedRounds.toLong()
    }

    /** Stops taking part. An assignment under way is given up, of which the coordinator hears. */
    suspend fun stop() = translating { opened().stop() }

    /** Says what holds of the device now. A training pauses within 250 ms when it may not go on, until it may. */
    fun setConditions(conditions: DeviceConditions) = opened().setConditions(conditions.native())

    /** Pauses for a reason of the app's own, in its own words. */
    fun pause(reason: String) = opened().setPaused(reason)

    /** Ends a pause of the app's own. */
    fun resume() = opened().setPaused(null)

    /** What the client did with the user's data, the oldest first; the newest 2,000 entries are kept. */
    fun transparencyLog(): List<LogEntry> = translating { opened().transparencyLog() }.map(::translated)

    /** Notes in the transparency log that the user agreed, and to which words. */
    fun consentGiven(words: String) = opened().consentGiven(words)

    /** Notes in the transparency log that the user does not agree any more. It stops nothing. */
    fun consentWithdrawn() = opened().consentWithdrawn()

    /**
     * The newest global model's outputs for [rows] rows of features, row-major.
     *
     * @throws FolkmootException.NoModel, or BadExample if the features do not fit the model.
     */
    fun predict(features: FloatArray, rows: Int = 1): Prediction {
        if (rows < 1) throw FolkmootException.BadExample("rows is $rows: 1 or more is expected")
        val predicted = filled(FloatBuffer.wrap(features)).use { x ->
            translating { opened().predict(x, rows.toULong()) }
        }
        val shape = predicted.shape.map(ULong::toInt)
        return Prediction(taken(predicted.outputs), shape, predicted.taskId, predicted.version.toLong())
    }

    /** Stops, and deletes key, session, models and examples. The client cannot be used any more. */
    suspend fun forget() {
        val forgotten = opened()
        translating { forgotten.forget() }
        native = null
        forgotten.close()
    }

    /** Stops, and lets the state directory go. It may be called twice, and waits until a run has ended. */
    override fun close() = runBlocking { closeAndWait() }

    /** As [close], for where nothing may block. */
    suspend fun closeAndWait() {
        val closed = native ?: return
        native = null
        translating { closed.leave() }
        closed.close()
    }

    private fun opened(): Folkmoot = native ?: throw FolkmootException.Forgotten()

    companion object {
        /**
         * Opens a client: locks its state directory, and draws its key if it has none. Nothing is sent before [run].
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

/** The outputs of the newest model that this device has; [shape] is that of one row. */
class Prediction internal constructor(
    val outputs: FloatArray,
    val shape: List<Int>,
    val taskId: String,
    val version: Long,
) {
    /** The outputs of one row. */
    fun row(index: Int): FloatArray {
        val size = shape.fold(1) { product, dimension -> product * dimension }
        return outputs.copyOfRange(index * size, (index + 1) * size)
    }
}

private fun native(options: ClientOptions): ConnectOptions {
    fun refuse(name: String, value: Number): Nothing =
        throw FolkmootException.BadOption("$name is $value: 0 or more is expected")
    return ConnectOptions(
        coordinator = options.coordinator,
        stateDirectory = options.state.absolutePath,
        enrolmentToken = options.token,
        certificatePem = options.certificate,
        attributes = options.attributes,
        privateAttributes = options.privateAttributes,
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
        // It never waits, for the oldest go.
        events.tryEmit(translated(event))
    }
}

private class Asking(private val consent: Consent) : ConsentCallback {
    override fun ask(offer: NativeOffer): Boolean =
        try {
            consent.ask(offered(offer))
        } catch (error: Throwable) {
            Log.error("askBefore failed, which counts as no", error)
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
