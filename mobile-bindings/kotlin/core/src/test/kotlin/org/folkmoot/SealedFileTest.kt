package org.folkmoot

import java.io.File
import java.io.IOException
import java.security.GeneralSecurityException
import javax.crypto.KeyGenerator
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

class SealedFileTest {
    @TempDir
    lateinit var folder: File

    private fun key() = KeyGenerator.getInstance("AES").apply { init(256) }.generateKey()

    @Test
    fun `only the key opens it and only whole`() {
        val (path, key) = File(folder, "secret") to key()
        val sealed = SealedFile(path)
        assertNull(sealed.load(key))
        for (secret in listOf(ByteArray(32) { it.toByte() }, ByteArray(32) { 7 })) {
            sealed.save(secret, key)
            assertArrayEquals(secret, sealed.load(key))
        }
        assertFalse(path.readBytes().toList().windowed(8).contains(List<Byte>(8) { 7 }))
        assertThrows(GeneralSecurityException::class.java) { sealed.load(key()) }
        path.writeBytes(path.readBytes().also { it[20] = (it[20] + 1).toByte() })
        assertThrows(GeneralSecurityException::class.java) { sealed.load(key) }
        path.writeBytes(ByteArray(5))
        assertThrows(IOException::class.java) { sealed.load(key) }
        sealed.delete()
        assertNull(sealed.load(key))
    }
}
