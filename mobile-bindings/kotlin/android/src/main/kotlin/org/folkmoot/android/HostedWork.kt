package org.folkmoot.android

import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.launch
import org.folkmoot.DeviceConditions
import org.folkmoot.FolkmootClient
import org.folkmoot.FolkmootException
import org.folkmoot.WorkOutcome

/** One run of background work for a host, independent of the scheduler. */
class HostedWork(private val host: FolkmootHost, private val conditions: Flow<DeviceConditions>) {
    /** Opens the host's client, runs it while the conditions allow it, and always closes it. */
    suspend fun perform(): WorkOutcome {
        var failure: FolkmootException? = null
        val outcome = host.policy.perform(conditions) {
            try {
                host.connect()?.use { run(it) }
            } catch (error: FolkmootException) {
                failure = error
                throw error
            }
        }
        host.onWorkEnded(outcome, failure)
        return outcome
    }

    private suspend fun run(client: FolkmootClient) = coroutineScope {
        // Start collecting before the run, so that no event is missed.
        val telling = launch(start = CoroutineStart.UNDISPATCHED) { client.events.collect(host::onEvent) }
        val watching = launch { conditions.collect(client::setConditions) }
        client.run(host.roundsPerWork)
        telling.cancel()
        watching.cancel()
    }
}
