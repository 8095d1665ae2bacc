package org.folkmoot.android

import android.database.Cursor
import android.database.DatabaseErrorHandler
import android.database.SQLException
import android.database.sqlite.SQLiteDatabase
import android.database.sqlite.SQLiteProgram
import java.io.File
import org.folkmoot.Database
import org.folkmoot.FolkmootException
import org.folkmoot.Row

/** Android's SQLite. Use a file in `noBackupFilesDir`, so that backups do not contain examples. */
class AndroidDatabase(private val file: File) : Database {
    // By default, Android silently deletes a damaged file. Keep it, so that the app sees an error.
    private val keeping = DatabaseErrorHandler { }
    private val database = naming { SQLiteDatabase.openOrCreateDatabase(file.path, null, keeping) }

    override fun execute(sql: String, vararg values: Any): Int = naming {
        database.compileStatement(sql).use { statement ->
            bind(statement, values)
            statement.executeUpdateDelete()
        }
    }

    override fun query(sql: String, vararg values: Any, read: (Row) -> Unit) = naming {
        val bound = SQLiteDatabase.CursorFactory { _, driver, table, query ->
            bind(query, values)
            android.database.sqlite.SQLiteCursor(driver, table, query)
        }
        database.rawQueryWithFactory(bound, sql, emptyArray(), "").use { cursor ->
            while (cursor.moveToNext()) read(CursorRow(cursor))
        }
    }

    override fun <T> transaction(block: () -> T): T {
        naming { database.beginTransaction() }
        try {
            val value = block()
            naming { database.setTransactionSuccessful() }
            return value
        } finally {
            naming { database.endTransaction() }
        }
    }

    override fun close() = database.close()

    private fun bind(program: SQLiteProgram, values: Array<out Any>) = values.forEachIndexed { index, value ->
        when (value) {
            is ByteArray -> program.bindBlob(index + 1, value)
            is Number -> program.bindLong(index + 1, value.toLong())
            else -> program.bindString(index + 1, value.toString())
        }
    }

    private inline fun <T> naming(block: () -> T): T = try {
        block()
    } catch (error: SQLException) {
        throw FolkmootException.StorageFailed("${file.path}: ${error.message}", error)
    }
}

private class CursorRow(private val cursor: Cursor) : Row {
    override fun long(column: Int): Long = cursor.getLong(column)

    override fun bytes(column: Int): ByteArray = cursor.getBlob(column) ?: ByteArray(0)

    override fun text(column: Int): String = cursor.getString(column).orEmpty()
}
