package org.folkmoot

/** What a store needs of SQLite: the JVM and Android have other classes for it. One thread at a time. */
interface Database : AutoCloseable {
    /** Runs a statement, and returns how many rows it changed. */
    fun execute(sql: String, vararg values: Any): Int

    /** Runs a query, and reads its rows one after the other. */
    fun query(sql: String, vararg values: Any, read: (Row) -> Unit)

    /** Does all of it or nothing. */
    fun <T> transaction(block: () -> T): T
}

/** A row of an answer. Columns count from 0. */
interface Row {
    fun long(column: Int): Long

    fun bytes(column: Int): ByteArray

    fun text(column: Int): String
}
