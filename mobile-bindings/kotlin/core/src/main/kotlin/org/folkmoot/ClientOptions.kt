package org.folkmoot

import java.io.File
import org.folkmoot.bindings.DeviceChoice

/** The choice of the training device. */
sealed interface Device {
    /** The CPU or a graphics adapter: the one that a measurement shows to be faster for the current plan. */
    data object Auto : Device

    /** The CPU. */
    data object Cpu : Device

    /** The first graphics adapter. A slim library, built without GPU support, throws [FolkmootException.BadOption]. */
    data object Gpu : Device

    /** The adapter whose name contains this text. */
    data class Named(val name: String) : Device
}

internal fun Device.native(): DeviceChoice = when (this) {
    Device.Auto -> DeviceChoice.Auto
    Device.Cpu -> DeviceChoice.Cpu
    Device.Gpu -> DeviceChoice.Gpu
    is Device.Named -> DeviceChoice.Named(name)
}

/** An assignment, as shown to the app before the client accepts it. */
data class AssignmentOffer(
    val assignmentId: String,
    val taskId: String,
    val roundNumber: Long,
    val baseVersion: Long,
    /** The maximum number of bytes that would still be downloaded. */
    val downloadBytes: Long,
    /** The plan as JSON, as sent by the coordinator. */
    val plan: String,
)

/** Accepts or declines assignments. An exception declines. The coordinator does not learn the reason. */
fun interface Consent {
    /**
     * Returns whether to accept this assignment. Called on its own thread, before the model and weights are downloaded.
     * Return quickly.
     */
    fun ask(offer: AssignmentOffer): Boolean
}

/**
 * The settings of a client. [coordinator] and [stateDirectory] are required, and [enrolmentToken] until the client is
 * enrolled. All other settings have defaults.
 */
class ClientOptions(
    /** The coordinator's address: `https://host[:port]`, or `http://` for this machine only. */
    val coordinator: String,
    /** A directory for the key, session and models of this client alone. */
    val stateDirectory: File,
    /** The enrolment token, needed until the client is enrolled. */
    val enrolmentToken: String? = null,
    /** The coordinator's `ca.pem`. By default, the system's certificates are trusted. */
    val certificate: ByteArray? = null,
    /** Attributes that the coordinator uses to decide eligibility. */
    val attributes: Map<String, String> = emptyMap(),
    /**
     * Attributes that never leave the device. The client evaluates the device rules of plans with them. They are never
     * sent or stored.
     */
    val privateAttributes: Map<String, String> = emptyMap(),
    /**
     * Ed25519 public keys (base64, at most 8). The client takes part only in tasks that one of them has endorsed for
     * this coordinator, and uses only their models. By default, it takes part in every task.
     */
    val endorsementKeys: List<String> = emptyList(),
    /** The channel whose models [FolkmootClient.updateModel] fetches, such as `beta` for testers. Default: `stable`. */
    val channel: String? = null,
    val device: Device = Device.Auto,
    /** The app's own training loop. By default, the engine trains. */
    val trainer: Trainer? = null,
    /** Called for each assignment. By default, all assignments whose device rules hold are accepted. */
    val askBefore: Consent? = null,
    /** Seconds that a check-in waits for an assignment, at most 60. Default: 30. */
    val waitSeconds: Int? = null,
    /** The maximum size of all cached plans, models and weights together, in bytes. Default: 1 GiB. */
    val blobCacheBytesMax: Long? = null,
    /**
     * The conditions under which the device trains. The app reports the current ones to [FolkmootClient.setConditions].
     */
    val policy: DevicePolicy = DevicePolicy(),
    /** Limits on traffic, training time and the cost of assignments. */
    val limits: Limits = Limits(),
    /** The storage of the client's key. By default, the key is in a file in [stateDirectory]. */
    val secrets: SecretStorage? = null,
    /**
     * The client's own certificate with its intermediates (PEM), for a coordinator that requires one. It comes with
     * [clientKey].
     */
    val clientCertificate: ByteArray? = null,
    /** The private key of the client's own certificate (PEM). */
    val clientKey: ByteArray? = null,
    /**
     * Pins of the coordinator's keys (at most 8): the SHA-256 of a public key in base64, as `folkmoot doctor` prints it.
     * The client accepts only a coordinator with one of these keys. By default, it accepts every key with a trusted
     * certificate.
     */
    val pins: List<String> = emptyList(),
)
