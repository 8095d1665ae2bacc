import Foundation
import SQLite3

/// A value that is bound to a statement's parameter.
enum DatabaseValue {
    case integer(Int64)
    case text(String)
    case bytes(Data)
}

/// A SQLite file. Must not be used by two threads at a time.
final class Database {
    /// Tells SQLite to copy bound values, because their memory does not outlive the call.
    private static let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private let handle: OpaquePointer
    private let path: String

    private init(_ handle: OpaquePointer, _ path: String) {
        self.handle = handle
        self.path = path
    }

    deinit {
        sqlite3_close_v2(handle)
    }

    /// Opens the file, or creates it.
    static func open(_ file: URL) throws -> Database {
        var opened: OpaquePointer?
        let status = sqlite3_open_v2(file.path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        guard let handle = opened else {
            throw FolkmootError.storageFailed("\(file.path): not enough memory to open it")
        }
        // From here on, the object closes the handle.
        let database = Database(handle, file.path)
        guard status == SQLITE_OK else {
            throw database.failure()
        }
        return database
    }

    /// Runs a statement and calls `row` for each row.
    func run(_ sql: String, _ values: [DatabaseValue] = [], row: (DatabaseRow) throws -> Void = { _ in }) throws {
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &prepared, nil) == SQLITE_OK, let statement = prepared else {
            throw failure()
        }
        defer { sqlite3_finalize(statement) }
        for (index, value) in values.enumerated() {
            guard bind(value, to: Int32(index + 1), of: statement) == SQLITE_OK else {
                throw failure()
            }
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: try row(DatabaseRow(statement: statement))
            case SQLITE_DONE: return
            default: throw failure()
            }
        }
    }

    /// Returns the integer in the first column of the first row; 0 if there is none.
    func number(_ sql: String, _ values: [DatabaseValue] = []) throws -> Int {
        var found: Int?
        try run(sql, values) { found = found ?? $0.number(0) }
        return found ?? 0
    }

    /// Runs `body` in a transaction.
    func transaction(_ body: () throws -> Void) throws {
        try run("BEGIN IMMEDIATE")
        do {
            try body()
            try run("COMMIT")
        } catch {
            // The caller needs the first error, not one of the rollback.
            try? run("ROLLBACK")
            throw error
        }
    }

    private func bind(_ value: DatabaseValue, to index: Int32, of statement: OpaquePointer) -> Int32 {
        switch value {
        case .integer(let number):
            return sqlite3_bind_int64(statement, index, number)
        case .text(let text):
            return sqlite3_bind_text(statement, index, text, -1, Self.copies)
        case .bytes(let data):
            return data.withUnsafeBytes { bytes in
                sqlite3_bind_blob(statement, index, bytes.baseAddress, Int32(bytes.count), Self.copies)
            }
        }
    }

    private func failure() -> FolkmootError {
        FolkmootError.storageFailed("\(path): \(String(cString: sqlite3_errmsg(handle)))")
    }
}

/// A row, valid only during the callback.
struct DatabaseRow {
    let statement: OpaquePointer

    /// Returns a column's integer.
    func number(_ column: Int32) -> Int {
        Int(sqlite3_column_int64(statement, column))
    }

    /// Returns a column's text.
    func text(_ column: Int32) -> String {
        guard let text = sqlite3_column_text(statement, column) else {
            return ""
        }
        return String(cString: text)
    }

    /// Appends a column's float32 values to `values`.
    func append(_ column: Int32, to values: inout [Float]) {
        let count = Int(sqlite3_column_bytes(statement, column)) / MemoryLayout<Float>.stride
        guard count > 0, let bytes = sqlite3_column_blob(statement, column) else {
            return
        }
        let begin = values.count * MemoryLayout<Float>.stride
        values.append(contentsOf: repeatElement(0, count: count))
        values.withUnsafeMutableBytes { memory in
            // SQLite's memory may not be aligned for floats.
            let taken = UnsafeRawBufferPointer(start: bytes, count: count * MemoryLayout<Float>.stride)
            UnsafeMutableRawBufferPointer(rebasing: memory[begin...]).copyMemory(from: taken)
        }
    }
}
