package org.folkmoot

import org.folkmoot.bindings.CallbackException
import org.folkmoot.bindings.SecretStorage as NativeStorage

/** A storage for the client's key other than a file in its state directory, for example a phone's key store. */
interface SecretStorage {
    /** Returns the secret, or null if none was saved. */
    fun load(): ByteArray?

    /** Saves the secret, which has 32 bytes. It must be durable when this function returns. */
    fun save(secret: ByteArray)

    /** Deletes the secret, if there is one. */
    fun delete()
}

/** Adapts a storage to the native library's interface. */
internal class NativeSecrets(private val storage: SecretStorage) : NativeStorage {
    override fun load(): ByteArray? = telling("load") { storage.load() }

    override fun save(secret: ByteArray) = telling("save") { storage.save(secret) }

    override fun delete() = telling("delete") { storage.delete() }

    private inline fun <T> telling(method: String, block: () -> T): T = try {
        block()
    } catch (error: Exception) {
        throw CallbackException.Failed("the app's secret storage failed to $method: ${error.message}")
    }
}
