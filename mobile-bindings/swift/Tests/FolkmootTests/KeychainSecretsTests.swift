#if canImport(Security)
import Security
import XCTest

@testable import Folkmoot

final class KeychainSecretsTests: XCTestCase {
    private let keychain = TestKeychain()

    func testASecretIsKeptReplacedAndDeleted() throws {
        let secrets = self.secrets(account: "a")
        XCTAssertNil(try secrets.load())
        try secrets.save(secret: Data([1]))
        try secrets.save(secret: Data([2]))
        XCTAssertEqual(try secrets.load(), Data([2]))
        XCTAssertNil(try self.secrets(account: "b").load())
        try secrets.delete()
        try secrets.delete()
        XCTAssertNil(try secrets.load())
    }

    func testItStaysOnTheDeviceAndIsReadableInTheBackground() throws {
        try secrets(account: "a").save(secret: Data([1]))
        let kept = keychain.items["service a"]
        XCTAssertEqual(
            kept?[kSecAttrAccessible as String] as? String,
            kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String)
    }

    func testWhatCannotBeReadIsNoMissingSecret() {
        keychain.failure = errSecInteractionNotAllowed
        let secrets = self.secrets(account: "a")
        XCTAssertThrowsError(try secrets.load()) { error in
            guard case FolkmootError.storageFailed(let detail) = error else {
                return XCTFail("\(error)")
            }
            XCTAssert(detail.contains("unlock"), detail)
        }
        XCTAssertThrowsError(try secrets.save(secret: Data([1])))
        XCTAssertThrowsError(try secrets.delete())
    }

    private func secrets(account: String) -> KeychainSecrets {
        KeychainSecrets(service: "service", account: account, accessGroup: nil, keychain: keychain)
    }
}

/// Items in memory, by service and account.
private final class TestKeychain: Keychain, @unchecked Sendable {
    var items: [String: [String: Any]] = [:]
    var failure: OSStatus?

    func copyMatching(_ query: [String: Any]) -> (OSStatus, Data?) {
        let found = items[name(query)]
        return (failure ?? status(found != nil), found?[kSecValueData as String] as? Data)
    }

    func add(_ attributes: [String: Any]) -> OSStatus {
        items[name(attributes)] = attributes
        return failure ?? errSecSuccess
    }

    func update(_ query: [String: Any], _ attributes: [String: Any]) -> OSStatus {
        let found = items[name(query)]
        items[name(query)] = found?.merging(attributes) { _, new in new }
        return failure ?? status(found != nil)
    }

    func delete(_ query: [String: Any]) -> OSStatus {
        failure ?? status(items.removeValue(forKey: name(query)) != nil)
    }

    private func status(_ isFound: Bool) -> OSStatus {
        isFound ? errSecSuccess : errSecItemNotFound
    }

    private func name(_ query: [String: Any]) -> String {
        let parts = [kSecAttrService, kSecAttrAccount].map { query[$0 as String] as? String ?? "" }
        return parts.joined(separator: " ")
    }
}
#endif
