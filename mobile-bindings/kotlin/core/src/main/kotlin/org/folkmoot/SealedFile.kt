package org.folkmoot

import java.io.File
import java.io.FileOutputStream
import java.io.IOException
import java.nio.file.Files
import java.nio.file.StandardCopyOption
import javax.crypto.Cipher
import javax.crypto.SecretKey
import javax.crypto.spec.GCMParameterSpec

private const val NONCE_BYTES = 12
private const val TAG_BITS = 128
private const val SEALED_BYTES_MAX = 64L * 1024

/** A file that is encrypted and authenticated with AES-GCM, under a key that is kept elsewhere. */
class SealedFile(private val file: File) {
    /**
     * Returns the content, or null if there is no file.
     *
     * @throws java.security.GeneralSecurityException if the file was changed, or was written with another key.
     */
    fun load(key: SecretKey): ByteArray? {
        if (!file.exists()) return null
        if (file.length() !in NONCE_BYTES + TAG_BITS / 8L..SEALED_BYTES_MAX) {
            throw IOException("${file.path} has ${file.length()} bytes, so it is not a sealed file")
        }
        val bytes = file.readBytes()
        val cipher = Cipher.getInstance(TRANSFORMATION)
        cipher.init(Cipher.DECRYPT_MODE, key, GCMParameterSpec(TAG_BITS, bytes, 0, NONCE_BYTES))
        return cipher.doFinal(bytes, NONCE_BYTES, bytes.size - NONCE_BYTES)
    }

    /** Replaces the content atomically, even if the process is killed. */
    fun save(content: ByteArray, key: SecretKey) {
        val cipher = Cipher.getInstance(TRANSFORMATION)
        // The key's provider generates the nonce, because a keystore does not accept one from outside.
        cipher.init(Cipher.ENCRYPT_MODE, key)
        val new = File("${file.path}.new")
        FileOutputStream(new).use { output ->
            output.write(cipher.iv)
            output.write(cipher.doFinal(content))
            output.fd.sync()
        }
        Files.move(new.toPath(), file.toPath(), StandardCopyOption.ATOMIC_MOVE)
    }

    /** Deletes the file. */
    fun delete() {
        Files.deleteIfExists(file.toPath())
    }
}

private const val TRANSFORMATION = "AES/GCM/NoPadding"
