package org.folkmoot.digits

import android.app.Application
import java.io.File
import java.io.IOException
import kotlin.time.Duration.Companion.days
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import org.folkmoot.ClientOptions
import org.folkmoot.ExampleForm
import org.folkmoot.ExampleStore
import org.folkmoot.FolkmootClient
import org.folkmoot.FolkmootException
import org.folkmoot.StoreLimits
import org.folkmoot.android.AndroidDatabase
import org.folkmoot.android.FolkmootHost
import org.folkmoot.android.KeystoreSecrets

const val PIXELS = 64

/** Opens the client for a worker when no screen is open. */
class DigitsApp : Application(), FolkmootHost {
    private val lock = Mutex()

    /** Opens the store of drawings on this device for the duration of a call. */
    suspend fun <T> withStore(use: (ExampleStore) -> T): T = lock.withLock {
        val file = File(noBackupFilesDir, "drawings.db")
        val limits = StoreLimits(countMax = 2_000, ageMax = 90.days)
        ExampleStore(AndroidDatabase(file), ExampleForm(listOf(PIXELS)), limits).use(use)
    }

    override suspend fun connect(): FolkmootClient {
        val client = open()
        withStore { it.loadInto(client.examples) }
        return client
    }

    /** Opens the client without examples, which is enough to predict. */
    fun open(): FolkmootClient = FolkmootClient.connect(
        ClientOptions(
            coordinator = BuildConfig.COORDINATOR,
            stateDirectory = File(noBackupFilesDir, "folkmoot"),
            enrolmentToken = BuildConfig.TOKEN.ifEmpty { null },
            certificate = certificate(),
            secrets = KeystoreSecrets(File(noBackupFilesDir, "folkmoot.key")),
        ),
    )

    private fun certificate(): ByteArray = try {
        assets.open("ca.pem").use { it.readBytes() }
    } catch (error: IOException) {
        throw FolkmootException.BadOption(
            "ca.pem is missing: ${error.message}; copy the coordinator's to app/src/main/assets",
        )
    }
}
