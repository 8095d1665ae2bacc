package org.folkmoot

import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.zip.CRC32

/** The version of the table format. */
private const val FORMAT = 1L

/** Creates the tables if there are none. Otherwise, checks that the form matches. */
internal fun prepare(database: Database, form: ExampleForm) {
    // Overwrite deleted data, so that expired examples cannot be found in the file.
    database.query("PRAGMA secure_delete = ON") {}
    database.transaction {
        database.execute("CREATE TABLE IF NOT EXISTS form (format INTEGER NOT NULL, form TEXT NOT NULL)")
        database.execute(
            "CREATE TABLE IF NOT EXISTS examples (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, " +
                "x BLOB NOT NULL, y BLOB NOT NULL, crc INTEGER NOT NULL)",
        )
        val stored = mutableListOf<Pair<Long, String>>()
        database.query("SELECT format, form FROM form") { stored += it.long(0) to it.text(1) }
        val own = FORMAT to described(form)
        when (val first = stored.firstOrNull()) {
            null -> database.execute("INSERT INTO form (format, form) VALUES (?, ?)", own.first, own.second)
            own -> {}
            else -> throw FolkmootException.BadOption(
                "this store has format ${first.first} and ${first.second}, but the app expects format " +
                    "${own.first} and ${own.second}; delete the store's file, or use another file",
            )
        }
    }
}

private fun described(form: ExampleForm): String {
    val kind = if (form.areClasses) "classes" else "targets"
    return "features of shape ${form.shape} with ${form.labelsPerExample} $kind each"
}

internal fun encoded(values: FloatArray): ByteArray {
    val bytes = ByteBuffer.allocate(values.size * Float.SIZE_BYTES).order(ByteOrder.LITTLE_ENDIAN)
    bytes.asFloatBuffer().put(values)
    return bytes.array()
}

internal fun decoded(bytes: ByteArray): FloatArray {
    val values = FloatArray(bytes.size / Float.SIZE_BYTES)
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(values)
    return values
}

/** Returns a checksum over both parts, because storage in cheap devices can fail silently. */
internal fun crc(x: ByteArray, y: ByteArray): Long = CRC32().apply {
    update(x)
    update(y)
}.value
