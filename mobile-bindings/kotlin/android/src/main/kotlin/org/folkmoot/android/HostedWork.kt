package org.folkmoot.android

import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.launch
import org.folkmoot.DeviceConditions
import org.folkmoot.FolkmootClient
import org.folkmoot.FolkmootException
import org.folkmoot.WorkOutcome

/** One piece of background work for a host, whatever scheduled it. */
class HostedWork(private val host: FolkmootHost, private val conditions: Flow<DeviceConditions>) {
    /** Opens the host's client, runs it while the device allows it, and closes it in any case. */
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
        // Before the run, so that no event is missed.
        val telling = launch(start = CoroutineStart.UNDISPATCHED) { client.events.collect(host::onEvent) }
        val watching = launch { conditions.collect(client::setConditions) }
        client.run(host.roundsPerWork)
        telling.cancel()
        watching.cancel()
    }
}
