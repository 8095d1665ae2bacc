package org.folkmoot

import java.io.File
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import kotlin.concurrent.thread
import kotlin.system.exitProcess
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/** A client in a separate process, which prints each event as a line until it is killed. `-` means no certificate. */
fun main(arguments: Array<String>) {
    val (url, state, token, certificate, kind) = arguments
    val trainer = when (kind) {
        "slow" -> SlowNudge(milliseconds = 200)
        "stuck" -> SlowNudge(milliseconds = 60_000)
        else -> null
    }
    val options = ClientOptions(
        url,
        File(state),
        token,
        if (certificate == "-") null else File(certificate).readBytes(),
        device = Device.Cpu,
        trainer = trainer,
        waitSeconds = 1,
    )
    val client = FolkmootClient.connect(options)
    say("connected")
    Digits.read().addTo(client)
    if (kind == "ends") {
        val isRunning = CountDownLatch(1)
        thread(isDaemon = true) { runBlocking { runTelling(client) { isRunning.countDown() } } }
        isRunning.await()
        exitProcess(0)
    }
    runBlocking { runTelling(client) { say(it.javaClass.simpleName) } }
}

/** Runs the client, and calls [tell] for each event. */
private suspend fun runTelling(client: FolkmootClient, tell: (Event) -> Unit): Unit = coroutineScope {
    launch(Dispatchers.Default, CoroutineStart.UNDISPATCHED) { client.events.collect { tell(it) } }
    client.run()
}

private class SlowNudge(private val milliseconds: Long) : Nudge() {
    override fun train(work: Work): Trained {
        say("Trainer")
        Thread.sleep(milliseconds)
        return super.train(work)
    }
}

private fun say(word: String) {
    println(word)
    System.out.flush()
}

/** The command that starts a program of these tests in a separate process. */
fun javaCommand(mainClass: String): List<String> {
    val java = File(System.getProperty("java.home"), "bin/java").path
    val properties = listOf("jna.library.path", "folkmoot.repository").map { "-D$it=${System.getProperty(it)}" }
    return listOf(java, "-Xmx512m", "-cp", System.getProperty("java.class.path")) + properties + mainClass
}

/** Starts a separate process. */
fun child(coordinator: Coordinator, state: File, token: String, kind: String): Process {
    val arguments = listOf(coordinator.url, state.path, token, coordinator.certificate.path, kind)
    val errors = File(state.parentFile, "${state.name}.log")
    return ProcessBuilder(javaCommand("org.folkmoot.ChildKt") + arguments).redirectError(errors).start()
}

/** Kills a process like a system that needs its memory, and waits until it has ended. */
fun kill(process: Process) {
    process.destroyForcibly()
    check(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) { "a killed process is still there" }
}
