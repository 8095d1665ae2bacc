package org.folkmoot.android

import android.content.Context
import androidx.work.Constraints
import androidx.work.CoroutineWorker
import androidx.work.ExistingPeriodicWorkPolicy
import androidx.work.NetworkType
import androidx.work.PeriodicWorkRequestBuilder
import androidx.work.WorkManager
import androidx.work.WorkerParameters
import java.time.Duration
import org.folkmoot.DevicePolicy
import org.folkmoot.FolkmootException
import org.folkmoot.WorkOutcome

private const val WORK_NAME = "org.folkmoot.rounds"

/** Takes part in rounds when WorkManager finds the device idle enough. All that it decides is in [HostedWork]. */
class FolkmootWorker(context: Context, parameters: WorkerParameters) : CoroutineWorker(context, parameters) {
    override suspend fun doWork(): Result {
        val host = applicationContext as? FolkmootHost
            ?: throw FolkmootException.BadOption("the app's Application class has to implement FolkmootHost")
        return when (HostedWork(host, DeviceWatcher(applicationContext).conditions).perform()) {
            WorkOutcome.SUCCESS -> Result.success()
            WorkOutcome.RETRY -> Result.retry()
            WorkOutcome.FAILURE -> Result.failure()
        }
    }

    companion object {
        /** Works from now on, about so often; it may be called at each start of the app. */
        fun schedule(context: Context, policy: DevicePolicy, every: Duration = Duration.ofHours(6)) {
            val request = PeriodicWorkRequestBuilder<FolkmootWorker>(every).setConstraints(constraints(policy)).build()
            WorkManager.getInstance(context)
                .enqueueUniquePeriodicWork(WORK_NAME, ExistingPeriodicWorkPolicy.UPDATE, request)
        }

        /** Works no more. */
        fun cancel(context: Context) {
            WorkManager.getInstance(context).cancelUniqueWork(WORK_NAME)
        }

        /** The same policy in WorkManager's words; warmth is not among them, and is looked at while it works. */
        internal fun constraints(policy: DevicePolicy): Constraints = Constraints.Builder()
            .setRequiresCharging(policy.requiresCharging)
            .setRequiredNetworkType(if (policy.requiresUnmetered) NetworkType.UNMETERED else NetworkType.CONNECTED)
            .setRequiresDeviceIdle(policy.requiresIdle)
            .setRequiresBatteryNotLow(policy.batteryPercentMin > 0)
            .build()
    }
}
