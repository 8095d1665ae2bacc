import Foundation
import FolkmootNative

/// What an app says when it opens a client.
public struct ClientOptions: @unchecked Sendable {
    /// The coordinator's address: `https://host[:port]`; `http://` for this machine only.
    public var coordinator: String
    /// Where session and models are kept: a folder of this client alone, and of this app alone. A folder that several
    /// apps of a group share will not do: the system ends an app that is suspended while it holds a lock there.
    public var stateFolder: URL
    /// The token that the operator gave. Needed until the client is enrolled.
    public var enrolmentToken: String?
    /// The only certificates, as PEM, that may vouch for the coordinator; without any, the system's.
    public var certificate: Data?
    /// What the app tells the coordinator, for eligibility.
    public var attributes: [String: String] = [:]
    /// What device rules of plans are evaluated with, here. It is never sent and never stored.
    public var privateAttributes: [String: String] = [:]
    /// Where to train.
    public var device = DeviceChoice.auto
    /// What has to hold of the device while it trains; a `DeviceWatcher` tells what does.
    public var policy = DevicePolicy.standard
    /// How much the client may use in a day, in a second and for one assignment, and what it declines.
    public var limits = Limits()
    /// How long a check-in waits for an assignment, in seconds, at most 60; 30 without this.
    public var waitSeconds: Int?
    /// Bytes of models that are kept; 1 GiB without this.
    public var cacheBytesMax: Int?

    /// Options with everything else as it is without a word.
    public init(coordinator: String, stateFolder: URL, enrolmentToken: String? = nil, certificate: Data? = nil) {
        self.coordinator = coordinator
        self.stateFolder = stateFolder
        self.enrolmentToken = enrolmentToken
        self.certificate = certificate
    }

    /// A folder of this name among the app's own files.
    public static func standardFolder(named name: String = "folkmoot") throws -> URL {
        do {
            let support = try FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
            return support.appendingPathComponent(name, isDirectory: true)
        } catch {
            throw FolkmootError.storageFailed("there is no folder for the app's files: \(error.localizedDescription)")
        }
    }

    /// Says the same to the library.
    func native() throws -> FolkmootNative.ConnectOptions {
        var options = FolkmootNative.ConnectOptions(coordinator: coordinator, stateDirectory: stateFolder.path)
        options.enrolmentToken = enrolmentToken
        options.certificatePem = certificate
        options.attributes = attributes
        options.privateAttributes = privateAttributes
        options.device = device
        options.policy = policy
        options.limits = limits
        options.waitSeconds = try Self.unsigned(waitSeconds, "waitSeconds")
        options.blobCacheBytesMax = try Self.unsigned(cacheBytesMax, "cacheBytesMax")
        return options
    }

    private static func unsigned<Number: FixedWidthInteger>(_ value: Int?, _ name: String) throws -> Number? {
        guard let value = value else {
            return nil
        }
        guard let number = Number(exactly: value) else {
            throw FolkmootError.badOption("\(name) is \(value): 0 to \(Number.max) are expected")
        }
        return number
    }
}
