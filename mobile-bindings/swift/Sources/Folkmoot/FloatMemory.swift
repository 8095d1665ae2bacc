import FolkmootNative

extension FolkmootNative.FloatBuffer {
    /// Copies these values into memory of the library, once.
    static func copying(_ values: UnsafeBufferPointer<Float>) throws -> FolkmootNative.FloatBuffer {
        let buffer = try translating { try FolkmootNative.FloatBuffer.zeros(count: UInt64(values.count)) }
        buffer.withFloats { floats in
            _ = floats.initialize(from: values)
        }
        return buffer
    }

    /// Copies an array into memory of the library, once.
    static func copying(_ values: [Float]) throws -> FolkmootNative.FloatBuffer {
        try values.withUnsafeBufferPointer { try copying($0) }
    }

    /// Returns the values as an array with its own memory.
    func floats() -> [Float] {
        withFloats { Array($0) }
    }

    /// Reads or writes the values in place. Nothing else may use the buffer in the meantime.
    func withFloats<T>(_ body: (UnsafeMutableBufferPointer<Float>) throws -> T) rethrows -> T {
        // The compiler does not know that the address belongs to the buffer, and could free the buffer too early.
        defer { withExtendedLifetime(self) {} }
        let length = Int(count())
        guard length > 0, let start = UnsafeMutableRawPointer(bitPattern: UInt(address())) else {
            return try body(UnsafeMutableBufferPointer(start: nil, count: 0))
        }
        let floats = start.bindMemory(to: Float.self, capacity: length)
        return try body(UnsafeMutableBufferPointer(start: floats, count: length))
    }
}
