/// The tables of an `ExampleStore`.
enum ExampleSchema {
    /// The version of the tables. A file with a later version cannot be read.
    static let version = 1

    /// Creates the tables, and deletes examples that have another form or are damaged.
    static func prepare(_ database: Database, form: ExampleStore.Form, featureCount: Int) throws {
        try database.run("PRAGMA secure_delete = ON")
        let found = try database.number("PRAGMA user_version")
        guard found <= version else {
            throw FolkmootError.storageFailed(
                "the examples have version \(found), but this app reads version \(version); update the app")
        }
        try database.transaction {
            try makeTables(database)
            try deleteOthers(database, form: form, featureCount: featureCount)
        }
    }

    private static func makeTables(_ database: Database) throws {
        try database.run(
            """
            CREATE TABLE IF NOT EXISTS examples (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                added_at INTEGER NOT NULL,
                features BLOB NOT NULL,
                labels BLOB NOT NULL
            )
            """)
        try database.run(
            "CREATE TABLE IF NOT EXISTS form (id INTEGER PRIMARY KEY CHECK (id = 1), description TEXT NOT NULL)")
        try database.run("PRAGMA user_version = \(version)")
    }

    private static func deleteOthers(
        _ database: Database, form: ExampleStore.Form, featureCount: Int
    ) throws {
        let description = text(of: form)
        var known: String?
        try database.run("SELECT description FROM form") { known = $0.text(0) }
        if known != description {
            try database.run("DELETE FROM examples")
            try database.run(
                "INSERT OR REPLACE INTO form (id, description) VALUES (1, ?)", [.text(description)])
        }
        let bytes = MemoryLayout<Float>.stride
        try database.run(
            "DELETE FROM examples WHERE length(features) <> ? OR length(labels) <> ?",
            [.integer(Int64(featureCount * bytes)), .integer(Int64(form.labels.perExample * bytes))])
    }

    /// Returns a stable description of the form. Swift's own description of a value may change between versions.
    private static func text(of form: ExampleStore.Form) -> String {
        let shape = form.featureShape.map { String($0) }.joined(separator: "x")
        switch form.labels {
        case .classes(let perExample): return "\(shape), classes \(perExample)"
        case .targets(let perExample): return "\(shape), targets \(perExample)"
        }
    }
}
