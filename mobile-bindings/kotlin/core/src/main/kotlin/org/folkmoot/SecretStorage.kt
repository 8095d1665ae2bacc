package org.folkmoot

import org.folkmoot.bindings.CallbackException
import org.folkmoot.bindings.SecretStorage as NativeStorage

/** Where a client's key is kept, instead of a file in its state directory: a phone's key store, say. */
interface SecretStorage {
    /** The secret; null if none was saved. */
    fun load(): ByteArray?

    /** Keeps these 32 bytes, durably when it returns. */
    fun save(secret: ByteArray)

    /** Deletes the secret, if there is one. */
    fun delete()
}

/** A storage as the native library calls it. */
internal class NativeSecrets(private val storage: SecretStorage) : NativeStorage {
    override fun load(): ByteArray? = telling("load") { storage.load() }

    override fun save(secret: ByteArray) = telling("save") { storage.save(secret) }

    override fun delete() = telling("delete") { storage.delete() }

    private inline fun <T> telling(method: String, block: () -> T): T =
        try {
            block()
        } catch (error: Exception) {
            throw CallbackException.Failed("the app's secret storage failed to $method: ${error.message}")
        }
}
