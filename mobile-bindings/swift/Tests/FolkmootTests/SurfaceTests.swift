import XCTest

@testable import Folkmoot

/// Tests that every error code and every error of the core has a counterpart in Swift.
final class SurfaceTests: XCTestCase {
    func testEveryCodeIsHandled() {
        XCTAssertEqual(ErrorCode.all.map { text(of: $0) }, ErrorCode.all.map { $0.text })
        XCTAssertEqual(Set(ErrorCode.all).count, ErrorCode.all.count)
        for code in ErrorCode.all {
            XCTAssert((400..<600).contains(code.httpStatus), code.text)
            let error = FolkmootError(NativeError.Refused(code: code, detail: "why"))
            XCTAssertEqual(error, .refused(code, "why"))
            XCTAssertEqual(error.errorDescription, "why")
        }
    }

    func testACodeSaysWhatToDo() {
        XCTAssertEqual(ErrorCode.overloaded.disposition, .retry)
        XCTAssertEqual(ErrorCode.roundClosed.disposition, .checkIn)
        XCTAssertEqual(ErrorCode.enrolmentTokenInvalid.disposition, .giveUp)
    }

    func testEveryErrorIsTranslatedAndHasWords() {
        let pairs: [(NativeError, FolkmootError)] = [
            (.BadOption(detail: "a"), .badOption("a")),
            (.BadExample(detail: "a"), .badExample("a")),
            (.NoExamples, .noExamples),
            (.NotEnrolled(detail: "a"), .notEnrolled("a")),
            (.Refused(code: nil, detail: "a"), .refused(nil, "a")),
            (.Unreachable(detail: "a"), .unreachable("a")),
            (.StorageFailed(detail: "a"), .storageFailed("a")),
            (.NoModel, .noModel),
            (.ModelUnusable(detail: "a"), .modelUnusable("a")),
            (.AlreadyRunning, .alreadyRunning),
            (.Forgotten, .forgotten),
            (.Internal(detail: "a"), .internalError("a")),
        ]
        for (native, expected) in pairs {
            XCTAssertEqual(FolkmootError(native), expected)
            XCTAssertNotNil(expected.errorDescription)
        }
    }

    func testOptionsReachTheLibrary() throws {
        let directory = URL(fileURLWithPath: "/tmp/none")
        var options = ClientOptions(coordinator: "http://127.0.0.1:1", stateDirectory: directory)
        options.limits.cohortMin = 50
        options.limits.protectionMin = .central
        options.limits.modelBytesMax = 1_000_000
        options.channel = "beta"
        let limits = try options.native().limits
        XCTAssertEqual(limits?.cohortMin, 50)
        XCTAssertEqual(limits?.protectionMin, .central)
        XCTAssertEqual(limits?.modelBytesMax, 1_000_000)
        XCTAssertEqual(try options.native().channel, "beta")
    }

    /// Without a default case, so that a new code of the library does not compile until somebody handles it.
    private func text(of code: ErrorCode) -> String {
        switch code {
        case .malformedRequest: return "malformed_request"
        case .unsupportedProtocolVersion: return "unsupported_protocol_version"
        case .unsupportedMediaType: return "unsupported_media_type"
        case .payloadTooLarge: return "payload_too_large"
        case .endpointUnknown: return "endpoint_unknown"
        case .methodNotAllowed: return "method_not_allowed"
        case .requestTimeout: return "request_timeout"
        case .rateLimited: return "rate_limited"
        case .overloaded: return "overloaded"
        case .`internal`: return "internal"
        case .signatureMissing: return "signature_missing"
        case .signatureInvalid: return "signature_invalid"
        case .clockSkew: return "clock_skew"
        case .audienceMismatch: return "audience_mismatch"
        case .requestReplayed: return "request_replayed"
        case .clientUnknown: return "client_unknown"
        case .clientRevoked: return "client_revoked"
        case .clientCertificateMissing: return "client_certificate_missing"
        case .clientCertificateInvalid: return "client_certificate_invalid"
        case .enrolmentTokenInvalid: return "enrolment_token_invalid"
        case .enrolmentTokenExpired: return "enrolment_token_expired"
        case .enrolmentTokenExhausted: return "enrolment_token_exhausted"
        case .enrolmentTokenClosed: return "enrolment_token_closed"
        case .apiKeyMissing: return "api_key_missing"
        case .apiKeyInvalid: return "api_key_invalid"
        case .roleInsufficient: return "role_insufficient"
        case .assignmentUnknown: return "assignment_unknown"
        case .assignmentExpired: return "assignment_expired"
        case .roundClosed: return "round_closed"
        case .blobUnknown: return "blob_unknown"
        case .rangeNotSatisfiable: return "range_not_satisfiable"
        case .uploadOffsetMismatch: return "upload_offset_mismatch"
        case .uploadBusy: return "upload_busy"
        case .uploadLengthInvalid: return "upload_length_invalid"
        case .updateDigestMismatch: return "update_digest_mismatch"
        case .updateConflict: return "update_conflict"
        case .updateMalformed: return "update_malformed"
        case .updateCodecUnsupported: return "update_codec_unsupported"
        case .updateSchemaMismatch: return "update_schema_mismatch"
        case .updateVersionMismatch: return "update_version_mismatch"
        case .updateWeightOutOfRange: return "update_weight_out_of_range"
        case .updateMetricInvalid: return "update_metric_invalid"
        case .updateValueNotFinite: return "update_value_not_finite"
        case .updateValueOutOfRange: return "update_value_out_of_range"
        case .updateNormTooLarge: return "update_norm_too_large"
        case .taskUnknown: return "task_unknown"
        case .taskInvalid: return "task_invalid"
        case .taskStateConflict: return "task_state_conflict"
        case .modelInvalid: return "model_invalid"
        case .roundUnknown: return "round_unknown"
        case .modelVersionUnknown: return "model_version_unknown"
        case .resourceUnknown: return "resource_unknown"
        case .populationStateConflict: return "population_state_conflict"
        case .nameTaken: return "name_taken"
        case .lastAdminKey: return "last_admin_key"
        case .quotaExceeded: return "quota_exceeded"
        case .signInFailed: return "sign_in_failed"
        case .identityProviderUnavailable: return "identity_provider_unavailable"
        }
    }
}
