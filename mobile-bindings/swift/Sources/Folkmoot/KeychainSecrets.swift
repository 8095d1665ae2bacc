#if canImport(Security)
import Foundation
import Security

/// Stores a client's secret in the Keychain: on this device only, excluded from backups, and readable from the first
/// unlock on, as background training needs. The Keychain outlives the app; `FolkmootClient.forget` deletes the secret.
public final class KeychainSecrets: SecretStorage, @unchecked Sendable {
    private let service: String
    private let account: String
    private let accessGroup: String?
    private let keychain: Keychain

    /// Selects a secret by service and account. Give each client a secret of its own. On a Mac, the app must be signed
    /// with a Keychain entitlement.
    public convenience init(
        service: String = Bundle.main.bundleIdentifier ?? "org.folkmoot",
        account: String = "folkmoot",
        accessGroup: String? = nil
    ) {
        self.init(service: service, account: account, accessGroup: accessGroup, keychain: SystemKeychain())
    }

    init(service: String, account: String, accessGroup: String?, keychain: Keychain) {
        self.service = service
        self.account = account
        self.accessGroup = accessGroup
        self.keychain = keychain
    }

    /// Returns the secret, or nil if there is none. Throws an error if it cannot be read now, because a new secret
    /// would create a different client.
    public func load() throws -> Data? {
        var query = item
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        let (status, found) = keychain.copyMatching(query)
        if status == errSecItemNotFound {
            return nil
        }
        try check(status, "read")
        guard let secret = found else {
            throw FolkmootError.storageFailed("the Keychain has an item without a secret under \(service), \(account)")
        }
        return secret
    }

    /// Saves the secret and replaces an earlier one.
    public func save(secret: Data) throws {
        let attributes: [String: Any] = [
            kSecValueData as String: secret,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        let status = keychain.update(item, attributes)
        if status == errSecItemNotFound {
            try check(keychain.add(item.merging(attributes) { _, new in new }), "write")
        } else {
            try check(status, "write")
        }
    }

    /// Deletes the secret, if there is one.
    public func delete() throws {
        let status = keychain.delete(item)
        if status != errSecItemNotFound {
            try check(status, "delete from")
        }
    }

    /// The query that identifies the secret.
    private var item: [String: Any] {
        var item: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: account,
            kSecUseDataProtectionKeychain as String: true,
        ]
        if let accessGroup = accessGroup {
            item[kSecAttrAccessGroup as String] = accessGroup
        }
        return item
    }

    private func check(_ status: OSStatus, _ action: String) throws {
        guard status != errSecSuccess else {
            return
        }
        let words = SecCopyErrorMessageString(status, nil).map { $0 as String } ?? "no description"
        let advice = status == errSecInteractionNotAllowed ? "; unlock the device once after it has started" : ""
        throw FolkmootError.storageFailed("cannot \(action) the Keychain: \(words) (\(status))\(advice)")
    }
}

/// The Keychain's functions, which tests replace.
protocol Keychain: Sendable {
    func copyMatching(_ query: [String: Any]) -> (OSStatus, Data?)
    func add(_ attributes: [String: Any]) -> OSStatus
    func update(_ query: [String: Any], _ attributes: [String: Any]) -> OSStatus
    func delete(_ query: [String: Any]) -> OSStatus
}

/// The system's Keychain.
private struct SystemKeychain: Keychain {
    func copyMatching(_ query: [String: Any]) -> (OSStatus, Data?) {
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        return (status, found as? Data)
    }

    func add(_ attributes: [String: Any]) -> OSStatus {
        SecItemAdd(attributes as CFDictionary, nil)
    }

    func update(_ query: [String: Any], _ attributes: [String: Any]) -> OSStatus {
        SecItemUpdate(query as CFDictionary, attributes as CFDictionary)
    }

    func delete(_ query: [String: Any]) -> OSStatus {
        SecItemDelete(query as CFDictionary)
    }
}
#endif
