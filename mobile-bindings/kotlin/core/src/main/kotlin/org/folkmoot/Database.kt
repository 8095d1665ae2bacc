package org.folkmoot

/**
 * The SQLite functions that a store needs, because the JVM and Android have different classes for it. Used by one
 * thread at a time.
 */
interface Database : AutoCloseable {
    /** Runs a statement and returns the number of changed rows. */
    fun execute(sql: String, vararg values: Any): Int

    /** Runs a query and calls [read] for each row. */
    fun query(sql: String, vararg values: Any, read: (Row) -> Unit)

    /** Runs [block] in a transaction. */
    fun <T> transaction(block: () -> T): T
}

/** A row of a result. Columns are numbered from 0. */
interface Row {
    fun long(column: Int): Long

    fun bytes(column: Int): ByteArray

    fun text(column: Int): String
}
