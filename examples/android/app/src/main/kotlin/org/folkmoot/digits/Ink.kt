package org.folkmoot.digits

private const val SIDE = 8

/** The number of pixels per side of the raster. Inked pixels are then counted in blocks of 4 by 4. */
private const val FINE = 32
private const val BLOCK = FINE / SIDE

/** The width of the free margin around a drawing in pixels, as in the data set. */
private const val MARGIN = 2

/** The width of a line, as a share of the pad's side. */
const val PEN = 0.1f

/** A point of a drawing, in units of the pad's side. */
data class Dot(val x: Float, val y: Float)

/** Converts a drawing to the data set's format: 8 by 8 counts of inked pixels, 0 to 16. Null if nothing is drawn. */
fun features(lines: List<List<Dot>>): FloatArray? {
    val dots = lines.flatten()
    if (dots.isEmpty()) return null
    val (left, right) = dots.minOf { it.x } - PEN / 2 to dots.maxOf { it.x } + PEN / 2
    val (top, bottom) = dots.minOf { it.y } - PEN / 2 to dots.maxOf { it.y } + PEN / 2
    val scale = maxOf(right - left, bottom - top) / (FINE - 2 * MARGIN)
    val counts = FloatArray(SIDE * SIDE)
    for (y in 0 until FINE) {
        for (x in 0 until FINE) {
            val dot = Dot(
                (left + right) / 2 + (x + 0.5f - FINE / 2) * scale,
                (top + bottom) / 2 + (y + 0.5f - FINE / 2) * scale,
            )
            if (lines.any { isOn(it, dot) }) counts[y / BLOCK * SIDE + x / BLOCK] += 1f
        }
    }
    return counts
}

private fun isOn(line: List<Dot>, dot: Dot): Boolean {
    if (line.size == 1) return distance(line[0], line[0], dot) <= PEN / 2
    return line.zipWithNext().any { (from, to) -> distance(from, to, dot) <= PEN / 2 }
}

/** Returns the distance from a dot to a line segment. */
private fun distance(from: Dot, to: Dot, dot: Dot): Float {
    val (dx, dy) = to.x - from.x to to.y - from.y
    val square = dx * dx + dy * dy
    val along = if (square == 0f) 0f else (((dot.x - from.x) * dx + (dot.y - from.y) * dy) / square).coerceIn(0f, 1f)
    return kotlin.math.hypot(dot.x - from.x - along * dx, dot.y - from.y - along * dy)
}
