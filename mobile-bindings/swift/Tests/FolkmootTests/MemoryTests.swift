import XCTest

@testable import Folkmoot

/// Passing numbers to and from the library.
final class MemoryTests: XCTestCase {
    func testTenMillionValuesCrossAndComeBack() throws {
        let values = (0..<10_000_000).map { Float($0 % 1_000) }
        let buffer = try NativeFloatBuffer.copying(values)
        XCTAssertEqual(buffer.count(), 10_000_000)
        buffer.withFloats { $0[7] = -1 }
        let back = buffer.floats()
        XCTAssertEqual(back[7], -1)
        XCTAssertEqual(back[9_999_999], 999)
        let none: [Float] = []
        XCTAssertEqual(try NativeFloatBuffer.copying(none).floats(), none)
    }

    func testWeightsAreNamed() throws {
        let tensors = [TensorSpec(name: "weight", shape: [2, 2]), TensorSpec(name: "bias", shape: [])]
        let buffer = try NativeFloatBuffer.copying([1, 2, 3, 4, 5])
        let weights = try Weights(tensors: tensors, buffer: buffer)
        XCTAssertEqual(try weights.values(of: "weight"), [1, 2, 3, 4])
        try weights.set([6], for: "bias")
        XCTAssertEqual(buffer.floats(), [1, 2, 3, 4, 6])
        XCTAssertThrowsError(try weights.set([1, 2], for: "bias"))
        XCTAssertThrowsError(try weights.values(of: "biased")) { error in
            XCTAssertEqual(error as? FolkmootError, .badExample("there is no tensor `biased`; the tensors are weight, bias"))
        }
        XCTAssertThrowsError(try Weights(tensors: [tensors[0]], buffer: buffer))
    }

    func testOptionsAreChecked() throws {
        var options = ClientOptions(coordinator: "https://localhost", stateDirectory: Temporary.folder())
        XCTAssertEqual(try options.native().waitSeconds, nil)
        options.waitSeconds = -1
        XCTAssertThrowsError(try options.native())
        options.stateDirectory = try XCTUnwrap(URL(string: "https://localhost"))
        XCTAssertThrowsError(try FolkmootClient(options))
    }
}
