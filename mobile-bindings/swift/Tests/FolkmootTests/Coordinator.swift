#if os(macOS) || os(Linux)
import XCTest

@testable import Folkmoot

/// Runs a real coordinator in a separate process over TLS, with the program that `FOLKMOOT_PROGRAM` names, until it is
/// closed.
final class Coordinator {
    /// The maximum number of seconds from one committed round to the next.
    private static let patienceSeconds = 60.0

    let url: String
    private let program: URL
    private let folder: URL
    private let process: Process
    private let environment: [String: String]
    /// Signalled for each committed round of a task.
    private let commits: DispatchSemaphore

    /// Throws `XCTSkip`, which the test report shows, if there is no program.
    init() throws {
        guard let path = ProcessInfo.processInfo.environment["FOLKMOOT_PROGRAM"] else {
            throw XCTSkip("FOLKMOOT_PROGRAM does not name the coordinator's program")
        }
        #if os(Linux)
        // A client may write to a coordinator that was killed. By default, Linux ends its process then. On Apple's
        // systems, a socket option prevents this.
        signal(SIGPIPE, SIG_IGN)
        #endif
        let program = URL(fileURLWithPath: path)
        let folder = Temporary.folder()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let data = folder.appendingPathComponent("data")
        let output = Pipe()
        let process = Process()
        process.executableURL = program
        process.arguments = ["serve", "--data", data.path, "--listen", "127.0.0.1:0", "--json", "--log-level", "info"]
        process.standardOutput = output
        let log = Pipe()
        process.standardError = log
        try process.run()
        let commits = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            Self.readLines(log.fileHandleForReading) { line in
                if line.contains("round committed") {
                    commits.signal()
                }
            }
        }
        let serving = try Self.object(Self.line(output.fileHandleForReading))
        let url = try Self.text(serving, "url")
        let variables = [
            "FOLKMOOT_URL": url,
            "FOLKMOOT_CA": data.appendingPathComponent("ca.pem").path,
            "FOLKMOOT_API_KEY": try Self.text(serving, "first_api_key"),
        ]
        self.url = url
        self.program = program
        self.folder = folder
        self.process = process
        self.commits = commits
        environment = ProcessInfo.processInfo.environment.merging(variables) { _, new in new }
    }

    deinit {
        close()
    }

    func close() {
        if process.isRunning {
            // Not `terminate`: Foundation on Linux starts programs with SIGTERM blocked.
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: folder)
    }

    /// The options of an app that connects to it.
    func options(token: String?, state: String = "state") throws -> ClientOptions {
        let certificate = try Data(contentsOf: folder.appendingPathComponent("data/ca.pem"))
        var options = ClientOptions(
            coordinator: url,
            stateDirectory: folder.appendingPathComponent(state),
            enrolmentToken: token,
            certificate: certificate
        )
        options.device = .cpu
        options.waitSeconds = 1
        return options
    }

    /// The settings of a task whose clients mask their updates. No client may vanish.
    static let masks = """
        [aggregator]
        kind = "weighted_mean"

        [protection.secure_aggregation]
        corrupt_share = 0.0
        dropout_share = 0.0
        step_deadline_seconds = 3600
        """

    /// Creates and starts a task over the digits whose rounds need `clients` clients. Returns its id.
    func task(_ name: String, rounds: Int, clients: Int = 1, settings: String = "") throws -> String {
        let text = """
            name = "\(name)"
            population = "\(name)"

            [plan]
            loss = "softmax_cross_entropy"
            epochs = 1
            batch_size = 16
            optimizer = { sgd = { learning_rate = 0.1 } }

            [scheduling]
            kind = "synchronous"
            report_goal = \(clients)
            minimum_cohort = \(clients)
            over_selection_factor = 1.0
            reporting_deadline_seconds = 120

            \(settings)

            [stop]
            rounds = \(rounds)
            """
        let file = folder.appendingPathComponent("task.toml")
        try text.write(to: file, atomically: true, encoding: .utf8)
        let model = Digits.folder.appendingPathComponent("model.onnx").path
        let created = try call(["task", "create", file.path, "--model", model, "--activate"])
        return try Self.text(Self.object(created), "id")
    }

    /// Returns an enrolment token.
    func token(_ population: String) throws -> String {
        try Self.text(Self.object(call(["token", "create", population])), "token")
    }

    /// Waits until this many rounds of the task are committed, and returns the number of accepted updates of each. A
    /// client learns that its update was accepted before the round is committed.
    func accepted(_ task: String, rounds: Int) throws -> [Int] {
        while true {
            let listed = try JSONSerialization.jsonObject(with: call(["task", "rounds", task])) as? [[String: Any]]
            let committed = (listed ?? []).filter { $0["phase"] as? String == "committed" }
            if committed.count >= rounds {
                return committed.compactMap { $0["accepted"] as? Int }
            }
            guard commits.wait(timeout: .now() + Self.patienceSeconds) == .success else {
                throw TestFailure("\(committed.count) of \(rounds) rounds of \(task) are committed, and no other came in time")
            }
        }
    }

    /// Runs an operator's command and returns its output.
    @discardableResult
    func call(_ arguments: [String]) throws -> Data {
        let output = Pipe()
        let command = Process()
        command.executableURL = program
        command.arguments = arguments + ["--json"]
        command.environment = environment
        command.standardOutput = output
        try command.run()
        let answer = output.fileHandleForReading.readDataToEndOfFile()
        command.waitUntilExit()
        guard command.terminationStatus == 0 else {
            throw TestFailure("\(arguments): \(String(decoding: answer, as: UTF8.self))")
        }
        return answer
    }

    /// Reads the stream to its end.
    private static func readLines(_ stream: FileHandle, _ hear: (String) -> Void) {
        var rest = Data()
        while true {
            let next = stream.availableData
            guard !next.isEmpty else {
                return
            }
            rest.append(next)
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                hear(String(decoding: rest[..<end], as: UTF8.self))
                rest = Data(rest[rest.index(after: end)...])
            }
        }
    }

    private static func line(_ handle: FileHandle) throws -> Data {
        var line = Data()
        while true {
            let next = handle.availableData
            guard !next.isEmpty else {
                throw TestFailure("the coordinator ended before it listened")
            }
            line.append(next)
            if let end = line.firstIndex(of: UInt8(ascii: "\n")) {
                return Data(line[..<end])
            }
        }
    }

    private static func object(_ data: Data) throws -> [String: Any] {
        guard let object = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
            throw TestFailure("no JSON object: \(String(decoding: data, as: UTF8.self))")
        }
        return object
    }

    private static func text(_ object: [String: Any], _ name: String) throws -> String {
        guard let text = object[name] as? String else {
            throw TestFailure("there is no `\(name)` in \(object)")
        }
        return text
    }
}

/// The reason why a test cannot continue.
struct TestFailure: Error {
    let detail: String

    init(_ detail: String) {
        self.detail = detail
    }
}

/// The digits of `examples/digits`.
enum Digits {
    static let folder = URL(fileURLWithPath: #filePath)
        .resolvingSymlinksInPath()
        .deletingLastPathComponent()
        .appendingPathComponent("../../../../examples/digits")
        .standardizedFileURL

    /// The first digits: 64 pixels each, and their classes.
    static func read(_ count: Int) throws -> (pixels: [Float], labels: [Int]) {
        let text = try String(contentsOf: folder.appendingPathComponent("digits.csv"), encoding: .utf8)
        var pixels: [Float] = []
        var labels: [Int] = []
        for line in text.split(separator: "\n").prefix(count) {
            let values = line.split(separator: ",").compactMap { Float($0) }
            pixels.append(contentsOf: values.prefix(64))
            labels.append(Int(values[64]))
        }
        return (pixels, labels)
    }
}
#endif
