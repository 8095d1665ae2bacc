import CoreGraphics

/// Lines on a square of side 1, and their conversion to the data set's format: 8 by 8 counts of inked points, 0 to 16.
struct Drawing: Equatable {
    static let side = 8
    static let featureCount = side * side
    /// Half of the pen's width, in units of the square's side.
    static let penRadius: CGFloat = 0.035
    /// The number of points per side of the raster. Inked points are then counted in blocks of 4 by 4.
    private static let fine = 32
    private static let block = fine / side
    /// The width of the free margin around a drawing in points, as in the data set.
    private static let margin = 2

    private(set) var lines: [[CGPoint]] = []

    var isEmpty: Bool {
        lines.isEmpty
    }

    /// Starts a new line.
    mutating func begin(at point: CGPoint) {
        lines.append([point])
    }

    /// Extends the current line.
    mutating func move(to point: CGPoint) {
        guard !lines.isEmpty else {
            return begin(at: point)
        }
        lines[lines.count - 1].append(point)
    }

    /// The counts of the drawing, centred and scaled to fill the space; nil if nothing is drawn.
    func features() -> [Float]? {
        guard let box = box() else {
            return nil
        }
        let scale = max(box.width, box.height) / CGFloat(Self.fine - 2 * Self.margin)
        let middle = CGFloat(Self.fine) / 2
        var counts = [Float](repeating: 0, count: Self.featureCount)
        for row in 0..<Self.fine {
            for column in 0..<Self.fine {
                let point = CGPoint(
                    x: box.midX + (CGFloat(column) + 0.5 - middle) * scale,
                    y: box.midY + (CGFloat(row) + 0.5 - middle) * scale
                )
                if isInked(point) {
                    counts[row / Self.block * Self.side + column / Self.block] += 1
                }
            }
        }
        return counts
    }

    private func box() -> CGRect? {
        let points = lines.flatMap { $0 }
        let (xs, ys) = (points.map { $0.x }, points.map { $0.y })
        guard let left = xs.min(), let right = xs.max(), let top = ys.min(), let bottom = ys.max() else {
            return nil
        }
        let around = CGRect(x: left, y: top, width: right - left, height: bottom - top)
        return around.insetBy(dx: -Self.penRadius, dy: -Self.penRadius)
    }

    private func isInked(_ point: CGPoint) -> Bool {
        lines.contains { line in
            let ends = line.dropFirst() + line.suffix(1)
            return zip(line, ends).contains { distance(point, $0, $1) <= Self.penRadius }
        }
    }

    /// Returns the distance from a point to the segment between two others.
    private func distance(_ point: CGPoint, _ from: CGPoint, _ to: CGPoint) -> CGFloat {
        let (dx, dy) = (to.x - from.x, to.y - from.y)
        let length = dx * dx + dy * dy
        let along = length == 0 ? 0 : ((point.x - from.x) * dx + (point.y - from.y) * dy) / length
        let share = min(max(along, 0), 1)
        let (x, y) = (from.x + share * dx - point.x, from.y + share * dy - point.y)
        return (x * x + y * y).squareRoot()
    }
}
