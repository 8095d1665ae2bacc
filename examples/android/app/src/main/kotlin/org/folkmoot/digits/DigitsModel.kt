package org.folkmoot.digits

import android.app.Application
import androidx.lifecycle.AndroidViewModel
import androidx.lifecycle.viewModelScope
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import org.folkmoot.Event
import org.folkmoot.FolkmootClient
import org.folkmoot.FolkmootException
import org.folkmoot.android.DeviceWatcher
import org.folkmoot.android.FolkmootWorker

/** The state of the screen. */
data class DigitsState(
    val drawings: Long = 0,
    val isRunning: Boolean = false,
    val line: String = "Draw a digit, then tap its number.",
    val rounds: List<Long> = emptyList(),
)

/** The actions of the screen. */
class DigitsModel(application: Application) : AndroidViewModel(application) {
    private val app = application as DigitsApp
    private val shown = MutableStateFlow(DigitsState())
    private var running: Job? = null
    val state: StateFlow<DigitsState> = shown

    init {
        doing { countDrawings() }
    }

    /** Stores a drawing as an example of a digit. */
    fun label(features: FloatArray, digit: Int) = doing {
        app.withStore { it.add(features, digit) }
        countDrawings()
        say("A drawing of $digit is stored on this device.")
    }

    /** Shows the newest model's guess for a drawing. */
    fun guess(features: FloatArray) = doing {
        app.open().use { client ->
            val outputs = client.predict(features).outputs
            say("This looks like ${outputs.indices.maxBy { outputs[it] }}.")
        }
    }

    /** Takes part while the screen is open; a second tap stops it. */
    fun takePartOrStop() {
        val job = running
        if (job != null && job.isActive) job.cancel() else running = doing(::takePart)
    }

    /** Takes part in the background while the device charges on an unmetered network. */
    fun takePartWhenIdle() {
        FolkmootWorker.schedule(app, app.policy.device)
        shown.update { it.copy(line = "Taking part in the background while the device charges.") }
    }

    private suspend fun takePart() {
        shown.update { it.copy(isRunning = true) }
        try {
            app.connect().use { client -> run(client) }
        } finally {
            shown.update { it.copy(isRunning = false) }
        }
    }

    private suspend fun run(client: FolkmootClient) = coroutineScope {
        val telling = launch(start = CoroutineStart.UNDISPATCHED) { client.events.collect(::tell) }
        val watching = launch { DeviceWatcher(app).conditions.collect(client::setConditions) }
        client.run()
        telling.cancel()
        watching.cancel()
    }

    private fun tell(event: Event) {
        when (event) {
            is Event.Waiting -> say("Waiting for a round.")
            is Event.Training -> say("Training: step ${event.step} of ${event.stepsTotal}.")
            is Event.Uploading -> say("Sending ${event.sent} of ${event.total} bytes.")
            is Event.Round -> shown.update { it.copy(rounds = it.rounds + event.roundNumber) }
            is Event.Paused -> say("Paused: ${event.reason}.")
            is Event.BackingOff -> say("Retrying: ${event.detail}")
            else -> {}
        }
    }

    private suspend fun countDrawings() {
        val count = app.withStore { it.count }
        shown.update { it.copy(drawings = count) }
    }

    private fun say(line: String) = shown.update { it.copy(line = line) }

    private fun doing(block: suspend () -> Unit): Job = viewModelScope.launch {
        try {
            withContext(Dispatchers.IO) { block() }
        } catch (error: CancellationException) {
            throw error
        } catch (error: FolkmootException) {
            say(error.message.orEmpty())
        }
    }
}
