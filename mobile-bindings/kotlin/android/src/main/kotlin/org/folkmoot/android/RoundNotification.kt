package org.folkmoot.android

import android.app.Notification
import android.app.NotificationChannel
import android.app.NotificationManager
import android.content.Context
import org.folkmoot.Event

/** What a notification shows about an event: an app may have words of its own. */
fun interface NotificationText {
    /** The text, or null to leave what is shown. */
    fun of(event: Event): String?
}

/**
 * Shows that the client works, while it does. An app calls it from its host's `onEvent` and `onWorkEnded`.
 *
 * Since Android 13 an app has to ask its user for `POST_NOTIFICATIONS`, which this library does not declare: without it
 * nothing is shown, and the work goes on.
 */
class RoundNotification(
    private val context: Context,
    private val title: String,
    private val icon: Int,
    private val id: Int = 1,
    private val text: NotificationText = NotificationText { null },
) {
    private val manager = context.getSystemService(NotificationManager::class.java)

    init {
        val channel = NotificationChannel(CHANNEL, title, NotificationManager.IMPORTANCE_LOW)
        manager?.createNotificationChannel(channel)
    }

    /** Shows or renews it. */
    fun show(event: Event) {
        val line = text.of(event) ?: return
        manager?.notify(id, Notification.Builder(context, CHANNEL).setSmallIcon(icon).setContentTitle(title)
            .setContentText(line).setOnlyAlertOnce(true).build())
    }

    /** Takes it away. */
    fun hide() {
        manager?.cancel(id)
    }
}

private const val CHANNEL = "org.folkmoot.rounds"
