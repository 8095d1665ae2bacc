package org.folkmoot

import java.io.File
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit
import kotlin.concurrent.thread

const val PATIENCE_SECONDS = 60L

/** The root of the repository, for the examples' data and models. */
val repository = File(System.getProperty("folkmoot.repository"))
val digits = File(repository, "examples/digits")

/** A round, as shown by the task. */
data class Round(val phase: String, val cohort: Int, val accepted: Int)

/** Runs `folkmoot serve` in a separate process over TLS, on a free port, until it is closed. */
class Coordinator(private val folder: File) : AutoCloseable {
    private val program = System.getenv("FOLKMOOT_PROGRAM") ?: "folkmoot"
    private val log = StringBuffer()
    private val commits = LinkedBlockingQueue<String>()
    private val process = ProcessBuilder(
        program,
        "serve",
        "--data",
        "${File(folder, "data")}",
        "--listen",
        "127.0.0.1:0",
        "--json",
        "--log-level",
        "info",
    ).start()
    private val reader = thread(isDaemon = true) { process.errorReader().forEachLine(::hear) }
    private val serving = process.inputReader().readLine() ?: error(reader.join().let { "$log" })
    val certificate = File(folder, "data/ca.pem")
    val url = text(serving, "url")
    private val environment = mapOf(
        "FOLKMOOT_URL" to url,
        "FOLKMOOT_CA" to certificate.path,
        "FOLKMOOT_API_KEY" to text(serving, "first_api_key"),
    )

    private fun hear(line: String) {
        log.appendLine(line)
        if ("round committed" in line) commits += line
    }

    /** Runs an operator's command and returns its output. */
    fun call(vararg arguments: String): String {
        val errors = File(folder, "command.log")
        val builder = ProcessBuilder(program, *arguments, "--json").redirectError(errors)
        builder.environment().putAll(environment)
        val command = builder.start()
        val answer = command.inputReader().readText()
        check(command.waitFor() == 0) { errors.readText() + answer }
        return answer
    }

    /** Creates and starts a task over the digits, and returns its id. */
    fun task(name: String, rounds: Int, reportGoal: Int = 1, change: (String) -> String = { it }): String {
        val text = File(digits, "task.toml").readText()
            .replace("\"digits\"", "\"$name\"")
            .replace("rounds = 10", "rounds = $rounds")
            .replace("report_goal = 1 ", "report_goal = $reportGoal\nminimum_cohort = $reportGoal ")
        val file = File(folder, "task.toml").apply { writeText(change(text)) }
        return text(call("task", "create", file.path, "--model", "$digits/model.onnx", "--activate"), "id")
    }

    fun token(population: String): String = text(call("token", "create", population), "token")

    fun rounds(task: String): List<Round> {
        val answer = call("task", "rounds", task, "--limit", "100")
        val phases = Regex("\"phase\":\\s*\"(\\w+)\"").findAll(answer).map { it.groupValues[1] }.toList()
        fun numbers(name: String) =
            Regex("\"$name\":\\s*(\\d+|null)").findAll(answer).map { it.groupValues[1].toIntOrNull() ?: 0 }.toList()
        val (cohorts, accepted) = numbers("cohort") to numbers("accepted")
        check(phases.size == cohorts.size && phases.size == accepted.size) { answer }
        return phases.indices.map { Round(phases[it], cohorts[it], accepted[it]) }.reversed()
    }

    /** Waits until this many rounds are committed, and returns all rounds. */
    fun committed(task: String, count: Int): List<Round> {
        while (true) {
            val rounds = rounds(task)
            if (rounds.count { it.phase == "committed" } >= count) return rounds
            checkNotNull(commits.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)) { "$rounds\n$log" }
        }
    }

    fun options(
        state: File,
        token: String?,
        trainer: Trainer? = null,
        askBefore: Consent? = null,
        coordinator: String = url,
    ) = ClientOptions(
        coordinator = coordinator,
        stateDirectory = state,
        enrolmentToken = token,
        certificate = certificate.readBytes(),
        device = Device.Cpu,
        trainer = trainer,
        askBefore = askBefore,
        waitSeconds = 1,
    )

    override fun close() {
        // `Process.destroy` would also close the log under its reader.
        process.toHandle().destroy()
        process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)
        reader.join()
    }
}

/**
 * Lowers the learning rate of a task over the digits. At the example's own rate, the last batch of five sometimes
 * makes the model worse.
 */
fun steadily(description: String) = description.replace("learning_rate = 0.1", "learning_rate = 0.05")

/** Makes the clients of a task over the digits mask their updates. No client may vanish. */
fun masked(description: String) = description + """

    [aggregator]
    kind = "weighted_mean"
    [protection.secure_aggregation]
    corrupt_share = 0.0
    dropout_share = 0.0
    step_deadline_seconds = 3600
"""

internal fun text(json: String, name: String): String =
    Regex("\"$name\":\\s*\"([^\"]+)\"").find(json)?.groupValues?.get(1) ?: error("there is no `$name`: $json")
