package org.folkmoot

import java.io.File
import org.folkmoot.bindings.DeviceChoice

/** Where to train. */
sealed interface Device {
    /** Where a step of the plan at hand is faster. */
    data object Auto : Device

    /** On the processor. */
    data object Cpu : Device

    /** On the first graphics adapter. A slim library, built without the GPU, refuses it with [FolkmootException.BadOption]. */
    data object Gpu : Device

    /** On the adapter whose name contains this. */
    data class Named(val name: String) : Device
}

internal fun Device.native(): DeviceChoice = when (this) {
    Device.Auto -> DeviceChoice.Auto
    Device.Cpu -> DeviceChoice.Cpu
    Device.Gpu -> DeviceChoice.Gpu
    is Device.Named -> DeviceChoice.Named(name)
}

/** What is known of an assignment when the app is asked. */
data class AssignmentOffer(
    val assignmentId: String,
    val taskId: String,
    val roundNumber: Long,
    val baseVersion: Long,
    /** Bytes that are still to be fetched, at most. */
    val downloadBytes: Long,
    /** The plan as JSON, as the coordinator wrote it. */
    val plan: String,
)

/** Answers whether an assignment is taken. What throws counts as no; the coordinator does not learn why. */
fun interface Consent {
    /** Asked on a thread of its own before anything is fetched; it is to answer at once. */
    fun ask(offer: AssignmentOffer): Boolean
}

/** What an app says when it connects. */
class ClientOptions(
    /** The coordinator's address: `https://host[:port]`; `http://` for this machine only. */
    val coordinator: String,
    /** A directory for key, session and models, of this client alone. */
    val state: File,
    /** The enrolment token, needed until the client is enrolled. */
    val token: String? = null,
    /** The coordinator's `ca.pem`; without it, the system's certificates are trusted. */
    val certificate: ByteArray? = null,
    /** What the app tells the coordinator, for eligibility. */
    val attributes: Map<String, String> = emptyMap(),
    /** What plans' device rules are evaluated with, here. It is never sent and never stored. */
    val privateAttributes: Map<String, String> = emptyMap(),
    val device: Device = Device.Auto,
    /** Trains instead of the engine. */
    val trainer: Trainer? = null,
    /** Asked about each assignment; without it, all are taken. */
    val askBefore: Consent? = null,
    /** How long a check-in waits for an assignment, at most 60. */
    val waitSeconds: Int? = null,
    /** Bytes of models that are kept. */
    val blobCacheBytesMax: Long? = null,
    /** What has to hold of the device while it trains; [FolkmootClient.setConditions] says what does. */
    val policy: DevicePolicy = DevicePolicy(),
    /** How much the client may use. */
    val limits: Limits = Limits(),
    /** Where the client's key is kept, instead of a file in [state]. */
    val secrets: SecretStorage? = null,
)
