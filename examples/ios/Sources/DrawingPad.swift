import SwiftUI

/// A square to draw on.
struct DrawingPad: View {
    @Binding var drawing: Drawing
    /// Called at the end of each stroke.
    let onDrawn: () -> Void

    @State private var isDown = false

    var body: some View {
        GeometryReader { geometry in
            let side = min(geometry.size.width, geometry.size.height)
            Canvas { context, _ in
                let width = 2 * Drawing.penRadius * side
                let style = StrokeStyle(lineWidth: width, lineCap: .round, lineJoin: .round)
                for line in drawing.lines {
                    context.stroke(path(line, side: side), with: .color(.primary), style: style)
                }
            }
            .background(Color(.secondarySystemBackground))
            .gesture(gesture(side: side))
        }
        .aspectRatio(1, contentMode: .fit)
        .accessibilityLabel("A square to draw a digit on")
    }

    private func gesture(side: CGFloat) -> some Gesture {
        DragGesture(minimumDistance: 0)
            .onChanged { value in
                let point = CGPoint(x: value.location.x / side, y: value.location.y / side)
                if isDown {
                    drawing.move(to: point)
                } else {
                    drawing.begin(at: point)
                }
                isDown = true
            }
            .onEnded { _ in
                isDown = false
                onDrawn()
            }
    }

    private func path(_ line: [CGPoint], side: CGFloat) -> Path {
        let points = line.map { CGPoint(x: $0.x * side, y: $0.y * side) }
        // A single point is a line of length 0; the round cap makes it visible.
        return Path { path in path.addLines(points + points.suffix(1)) }
    }
}
