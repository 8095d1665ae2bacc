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

/** Takes part in rounds when WorkManager runs it. [HostedWork] makes all decisions. */
class FolkmootWorker(context: Context, parameters: WorkerParameters) : CoroutineWorker(context, parameters) {
    override suspend fun doWork(): Result {
        val host = applicationContext as? FolkmootHost
            ?: throw FolkmootException.BadOption("the app's Application class must implement FolkmootHost")
        return when (HostedWork(host, DeviceWatcher(applicationContext).conditions).perform()) {
            WorkOutcome.SUCCESS -> Result.success()
            WorkOutcome.RETRY -> Result.retry()
            WorkOutcome.FAILURE -> Result.failure()
        }
    }

    companion object {
        /** Schedules the worker to run about this often. You may call it each time the app starts. */
        fun schedule(context: Context, policy: DevicePolicy, every: Duration = Duration.ofHours(6)) {
            val request = PeriodicWorkRequestBuilder<FolkmootWorker>(every).setConstraints(constraints(policy)).build()
            WorkManager.getInstance(context)
                .enqueueUniquePeriodicWork(WORK_NAME, ExistingPeriodicWorkPolicy.UPDATE, request)
        }

        /** Cancels the scheduled worker. */
        fun cancel(context: Context) {
            WorkManager.getInstance(context).cancelUniqueWork(WORK_NAME)
        }

        /**
         * Converts the policy to WorkManager's constraints. They have no temperature, so that is checked while the
         * worker runs.
         */
        internal fun constraints(policy: DevicePolicy): Constraints = Constraints.Builder()
            .setRequiresCharging(policy.requiresCharging)
            .setRequiredNetworkType(if (policy.requiresUnmetered) NetworkType.UNMETERED else NetworkType.CONNECTED)
            .setRequiresDeviceIdle(policy.requiresIdle)
            .setRequiresBatteryNotLow(policy.batteryPercentMin > 0)
            .build()
    }
}
