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

/** Some bytes on disk, encrypted and authenticated with AES-GCM under a key that is kept elsewhere. */
class SealedFile(private val file: File) {
    /**
     * What was kept; null if there is nothing.
     *
     * @throws java.security.GeneralSecurityException if it was changed, or another key closed it.
     */
    fun load(key: SecretKey): ByteArray? {
        if (!file.exists()) return null
        if (file.length() !in NONCE_BYTES + TAG_BITS / 8L..SEALED_BYTES_MAX) {
            throw IOException("${file.path} has ${file.length()} bytes, which no sealed file has")
        }
        val bytes = file.readBytes()
        val cipher = Cipher.getInstance(TRANSFORMATION)
        cipher.init(Cipher.DECRYPT_MODE, key, GCMParameterSpec(TAG_BITS, bytes, 0, NONCE_BYTES))
        return cipher.doFinal(bytes, NONCE_BYTES, bytes.size - NONCE_BYTES)
    }

    /** Keeps this instead of what was kept: all of it or nothing, whenever the process is killed. */
    fun save(content: ByteArray, key: SecretKey) {
        val cipher = Cipher.getInstance(TRANSFORMATION)
        // The key draws the nonce: a keystore lets nobody else.
        cipher.init(Cipher.ENCRYPT_MODE, key)
        val new = File("${file.path}.new")
        FileOutputStream(new).use { output ->
            output.write(cipher.iv)
            output.write(cipher.doFinal(content))
            output.fd.sync()
        }
        Files.move(new.toPath(), file.toPath(), StandardCopyOption.ATOMIC_MOVE)
    }

    /** Deletes it. */
    fun delete() {
        Files.deleteIfExists(file.toPath())
    }
}

private const val TRANSFORMATION = "AES/GCM/NoPadding"
