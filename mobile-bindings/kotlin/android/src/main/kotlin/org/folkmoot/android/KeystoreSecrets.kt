package org.folkmoot.android

import android.security.keystore.KeyGenParameterSpec
import android.security.keystore.KeyProperties
import java.io.File
import java.io.IOException
import java.security.GeneralSecurityException
import java.security.KeyStore
import javax.crypto.KeyGenerator
import javax.crypto.SecretKey
import org.folkmoot.FolkmootException
import org.folkmoot.SealedFile
import org.folkmoot.SecretStorage

private const val KEYSTORE = "AndroidKeyStore"
private const val KEY_BITS = 256

/**
 * Keeps a client's secret in a file that only a key of the Android Keystore opens.
 *
 * That key never leaves the device, in most devices not even its secure hardware. Give each client a name of its own.
 */
class KeystoreSecrets(file: File, private val name: String = "folkmoot") : SecretStorage {
    private val sealed = SealedFile(file)

    /** The secret; null if there is none yet. */
    override fun load(): ByteArray? = naming { key()?.let(sealed::load) }

    /** Keeps it. */
    override fun save(secret: ByteArray) = naming { sealed.save(secret, key() ?: newKey()) }

    /** Deletes it, and the key that opened it. */
    override fun delete() = naming {
        sealed.delete()
        keystore().deleteEntry(name)
    }

    private fun keystore(): KeyStore = KeyStore.getInstance(KEYSTORE).apply { load(null) }

    private fun key(): SecretKey? = keystore().getKey(name, null) as SecretKey?

    private fun newKey(): SecretKey {
        val purposes = KeyProperties.PURPOSE_ENCRYPT or KeyProperties.PURPOSE_DECRYPT
        val specification = KeyGenParameterSpec.Builder(name, purposes)
            .setBlockModes(KeyProperties.BLOCK_MODE_GCM)
            .setEncryptionPaddings(KeyProperties.ENCRYPTION_PADDING_NONE)
            .setKeySize(KEY_BITS)
            .build()
        val generator = KeyGenerator.getInstance(KeyProperties.KEY_ALGORITHM_AES, KEYSTORE)
        generator.init(specification)
        return generator.generateKey()
    }

    private inline fun <T> naming(block: () -> T): T =
        try {
            block()
        } catch (error: GeneralSecurityException) {
            throw FolkmootException.StorageFailed("the keystore's key `$name`: ${error.message}", error)
        } catch (error: IOException) {
            throw FolkmootException.StorageFailed("the secret under `$name`: ${error.message}", error)
        }
}
