import FolkmootNative

extension FolkmootNative.FloatBuffer {
    /// Memory of the library's with these values: the one copy that they cost.
    static func copying(_ values: UnsafeBufferPointer<Float>) throws -> FolkmootNative.FloatBuffer {
        let buffer = try translating { try FolkmootNative.FloatBuffer.zeros(count: UInt64(values.count)) }
        buffer.withFloats { floats in
            _ = floats.initialize(from: values)
        }
        return buffer
    }

    /// As the other, for an array.
    static func copying(_ values: [Float]) throws -> FolkmootNative.FloatBuffer {
        try values.withUnsafeBufferPointer { try copying($0) }
    }

    /// The values as an array, which owns its memory.
    func floats() -> [Float] {
        withFloats { Array($0) }
    }

    /// Reads or writes the values in place. Nothing else may use the buffer meanwhile.
    func withFloats<T>(_ body: (UnsafeMutableBufferPointer<Float>) throws -> T) rethrows -> T {
        // The address is a number to the compiler, which would let the buffer go before its memory is used.
        defer { withExtendedLifetime(self) {} }
        let length = Int(count())
        guard length > 0, let start = UnsafeMutableRawPointer(bitPattern: UInt(address())) else {
            return try body(UnsafeMutableBufferPointer(start: nil, count: 0))
        }
        let floats = start.bindMemory(to: Float.self, capacity: length)
        return try body(UnsafeMutableBufferPointer(start: floats, count: length))
    }
}
