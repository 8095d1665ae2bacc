package org.folkmoot.digits

import androidx.compose.foundation.Canvas
import androidx.compose.foundation.border
import androidx.compose.foundation.gestures.detectDragGestures
import androidx.compose.foundation.layout.aspectRatio
import androidx.compose.foundation.layout.fillMaxWidth
import androidx.compose.runtime.Composable
import androidx.compose.runtime.snapshots.SnapshotStateList
import androidx.compose.ui.Modifier
import androidx.compose.ui.geometry.Offset
import androidx.compose.ui.graphics.Color
import androidx.compose.ui.graphics.StrokeCap
import androidx.compose.ui.input.pointer.pointerInput
import androidx.compose.ui.unit.dp

private val INK = Color(0xFF1C2430)

/** A pad to draw on. */
@Composable
fun Pad(lines: SnapshotStateList<List<Dot>>) {
    val drawing = Modifier.pointerInput(Unit) {
        fun dot(at: Offset) = Dot(at.x / size.width, at.y / size.height)
        detectDragGestures(
            onDragStart = { lines.add(listOf(dot(it))) },
            onDrag = { change, _ -> lines[lines.lastIndex] = lines.last() + dot(change.position) },
        )
    }
    Canvas(Modifier.fillMaxWidth(0.6f).aspectRatio(1f).border(1.dp, INK).then(drawing)) {
        fun offset(dot: Dot) = Offset(dot.x * size.width, dot.y * size.height)
        for (line in lines) {
            // A line of one dot must be drawn, too.
            for ((from, to) in (line.take(1) + line).zipWithNext()) {
                drawLine(INK, offset(from), offset(to), PEN * size.width, StrokeCap.Round)
            }
        }
    }
}
