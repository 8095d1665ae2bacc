package org.folkmoot.android

import android.app.Notification
import android.app.NotificationChannel
import android.app.NotificationManager
import android.content.Context
import org.folkmoot.Event

/** Chooses the notification text for an event. Implement it to use your own texts. */
fun interface NotificationText {
    /** Returns the text, or null to keep the current notification. */
    fun of(event: Event): String?
}

/**
 * Shows a notification while the client works. Call it from the host's `onEvent` and `onWorkEnded`.
 *
 * Since Android 13, the app must declare and request the permission `POST_NOTIFICATIONS`, which this library does not
 * declare. Without it, no notification is shown, and the work continues.
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

    /** Shows or updates the notification. */
    fun show(event: Event) {
        val line = text.of(event) ?: return
        manager?.notify(
            id,
            Notification.Builder(context, CHANNEL).setSmallIcon(icon).setContentTitle(title)
                .setContentText(line).setOnlyAlertOnce(true).build(),
        )
    }

    /** Removes the notification. */
    fun hide() {
        manager?.cancel(id)
    }
}

private const val CHANNEL = "org.folkmoot.rounds"
