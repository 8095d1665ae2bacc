import FolkmootNative

/// A model's weights by name, one tensor after the other, in memory that the library and the app share.
///
/// They belong to the training loop that received them. After the loop has returned them, they are empty, and reading
/// them throws an error.
public final class Weights: @unchecked Sendable {
    /// The names and shapes, in order.
    public let tensors: [TensorSpec]

    let buffer: FolkmootNative.FloatBuffer
    private let ranges: [String: Range<Int>]
    private let count: Int

    init(tensors: [TensorSpec], buffer: FolkmootNative.FloatBuffer) throws {
        var ranges: [String: Range<Int>] = [:]
        var end = 0
        for tensor in tensors {
            let begin = end
            end += tensor.shape.reduce(1) { $0 * Int($1) }
            ranges[tensor.name] = begin..<end
        }
        guard end == Int(buffer.count()) else {
            throw FolkmootError.internalError("there are \(buffer.count()) weights, but the tensors have \(end)")
        }
        self.tensors = tensors
        self.buffer = buffer
        self.ranges = ranges
        count = end
    }

    /// Returns a copy of a tensor's values, in row-major order.
    public func values(of name: String) throws -> [Float] {
        try withValues(of: name) { Array($0) }
    }

    /// Replaces a tensor's values, in row-major order.
    public func set(_ values: [Float], for name: String) throws {
        try withValues(of: name) { floats in
            guard values.count == floats.count else {
                throw FolkmootError.badExample(
                    "there are \(values.count) values for `\(name)`; the tensor has \(floats.count)")
            }
            _ = floats.initialize(from: values)
        }
    }

    /// Reads or writes a tensor's values in place, without a copy. Do not keep the pointer.
    public func withValues<T>(
        of name: String,
        _ body: (UnsafeMutableBufferPointer<Float>) throws -> T
    ) throws -> T {
        guard let range = ranges[name] else {
            let names = tensors.map { $0.name }.joined(separator: ", ")
            throw FolkmootError.badExample("there is no tensor `\(name)`; the tensors are \(names)")
        }
        return try withAllValues { try body(UnsafeMutableBufferPointer(rebasing: $0[range])) }
    }

    /// Reads or writes all values in place, one tensor after the other. Do not keep the pointer.
    public func withAllValues<T>(_ body: (UnsafeMutableBufferPointer<Float>) throws -> T) throws -> T {
        try buffer.withFloats { floats in
            guard floats.count == count else {
                throw FolkmootError.badExample("these weights were already returned; copy them first to keep them")
            }
            return try body(floats)
        }
    }
}
