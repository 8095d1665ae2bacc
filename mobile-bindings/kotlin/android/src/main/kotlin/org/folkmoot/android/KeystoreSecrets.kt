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
 * Stores a client's secret in a file that is encrypted with a key of the Android Keystore.
 *
 * That key never leaves the device; on most devices, it never leaves the secure hardware. Give each client a name of
 * its own.
 */
class KeystoreSecrets(file: File, private val name: String = "folkmoot") : SecretStorage {
    private val sealed = SealedFile(file)

    /** Returns the secret, or null if there is none yet. */
    override fun load(): ByteArray? = naming { key()?.let(sealed::load) }

    /** Saves the secret. */
    override fun save(secret: ByteArray) = naming { sealed.save(secret, key() ?: newKey()) }

    /** Deletes the secret and the key that encrypts it. */
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

    private inline fun <T> naming(block: () -> T): T = try {
        block()
    } catch (error: GeneralSecurityException) {
        throw FolkmootException.StorageFailed("cannot use the keystore key `$name`: ${error.message}", error)
    } catch (error: IOException) {
        throw FolkmootException.StorageFailed("cannot use the secret of `$name`: ${error.message}", error)
    }
}
