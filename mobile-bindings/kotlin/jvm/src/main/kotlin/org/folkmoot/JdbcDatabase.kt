package org.folkmoot

import java.io.File
import java.sql.DriverManager
import java.sql.PreparedStatement
import java.sql.ResultSet
import java.sql.SQLException

/** SQLite on the JVM, through `org.xerial:sqlite-jdbc`. Add that library to the app's dependencies. */
class JdbcDatabase(private val file: File) : Database {
    private val connection = naming { DriverManager.getConnection("jdbc:sqlite:${file.absolutePath}") }

    override fun execute(sql: String, vararg values: Any): Int = naming {
        prepared(sql, values) { it.executeUpdate() }
    }

    override fun query(sql: String, vararg values: Any, read: (Row) -> Unit) = naming {
        prepared(sql, values) { statement ->
            statement.execute()
            statement.resultSet?.use { rows ->
                while (rows.next()) read(JdbcRow(rows))
            }
            Unit
        }
    }

    override fun <T> transaction(block: () -> T): T {
        naming { connection.autoCommit = false }
        try {
            val value = block()
            naming { connection.commit() }
            return value
        } catch (error: Throwable) {
            naming { connection.rollback() }
            throw error
        } finally {
            naming { connection.autoCommit = true }
        }
    }

    override fun close() = naming { connection.close() }

    private fun <T> prepared(sql: String, values: Array<out Any>, use: (PreparedStatement) -> T): T =
        connection.prepareStatement(sql).use { statement ->
            values.forEachIndexed { index, value -> statement.setObject(index + 1, value) }
            use(statement)
        }

    private inline fun <T> naming(block: () -> T): T = try {
        block()
    } catch (error: SQLException) {
        throw FolkmootException.StorageFailed("${file.path}: ${error.message}", error)
    }
}

private class JdbcRow(private val row: ResultSet) : Row {
    override fun long(column: Int): Long = row.getLong(column + 1)

    override fun bytes(column: Int): ByteArray = row.getBytes(column + 1) ?: ByteArray(0)

    override fun text(column: Int): String = row.getString(column + 1).orEmpty()
}
