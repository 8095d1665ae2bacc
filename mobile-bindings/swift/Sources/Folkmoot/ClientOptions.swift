import Foundation
import FolkmootNative

/// The settings of a client. `coordinator` and `stateDirectory` are required, and `enrolmentToken` until the client is
/// enrolled. All other settings have defaults.
public struct ClientOptions: @unchecked Sendable {
    /// The coordinator's address: `https://host[:port]`, or `http://` for this machine only.
    public var coordinator: String
    /// The folder for the session and models of this client alone. Do not use a folder that an app group shares: the
    /// system terminates a suspended app that holds a lock there.
    public var stateDirectory: URL
    /// The enrolment token from the operator. Needed until the client is enrolled.
    public var enrolmentToken: String?
    /// The only certificates (PEM) to trust for the coordinator. By default, the system's certificates are trusted.
    public var certificate: Data?
    /// The client's own certificate with its intermediates (PEM), for a coordinator that requires one. It comes with
    /// `clientKey`.
    public var clientCertificate: Data?
    /// The private key of the client's own certificate (PEM).
    public var clientKey: Data?
    /// Pins of the coordinator's keys (at most 8): the SHA-256 of a public key in base64, as `folkmoot doctor` prints it.
    /// The client accepts only a coordinator with one of these keys. By default, it accepts every key with a trusted
    /// certificate.
    public var pins: [String] = []
    /// Attributes that the coordinator uses to decide eligibility.
    public var attributes: [String: String] = [:]
    /// Attributes that never leave the device. The client evaluates the device rules of plans with them. They are never
    /// sent or stored.
    public var privateAttributes: [String: String] = [:]
    /// Ed25519 public keys (base64, at most 8). The client takes part only in tasks that one of them has endorsed for
    /// this coordinator, and uses only their models. By default, it takes part in every task.
    public var endorsementKeys: [String] = []
    /// The channel whose models `FolkmootClient.updateModel` fetches, such as `beta` for testers. Default: `stable`.
    public var channel: String?
    /// The device to train on.
    public var device = DeviceChoice.auto
    /// The conditions under which the device trains. A `DeviceWatcher` reports them.
    public var policy = DevicePolicy.standard
    /// Limits on traffic, training time and the cost of assignments.
    public var limits = Limits()
    /// Seconds that a check-in waits for an assignment, at most 60. Default: 30.
    public var waitSeconds: Int?
    /// The maximum size of all cached plans, models and weights together, in bytes. Default: 1 GiB.
    public var blobCacheBytesMax: Int?

    /// Creates the settings of a client, with defaults for all that are not given.
    public init(coordinator: String, stateDirectory: URL, enrolmentToken: String? = nil, certificate: Data? = nil) {
        self.coordinator = coordinator
        self.stateDirectory = stateDirectory
        self.enrolmentToken = enrolmentToken
        self.certificate = certificate
    }

    /// Returns a folder of this name among the app's own files.
    public static func standardFolder(named name: String = "folkmoot") throws -> URL {
        do {
            let support = try FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
            return support.appendingPathComponent(name, isDirectory: true)
        } catch {
            throw FolkmootError.storageFailed("cannot find the folder for the app's files: \(error.localizedDescription)")
        }
    }

    /// Converts the options to the library's.
    func native() throws -> FolkmootNative.ConnectOptions {
        var options = FolkmootNative.ConnectOptions(coordinator: coordinator, stateDirectory: stateDirectory.path)
        options.enrolmentToken = enrolmentToken
        options.certificate = certificate
        options.clientCertificate = clientCertificate
        options.clientKey = clientKey
        options.pins = pins
        options.attributes = attributes
        options.privateAttributes = privateAttributes
        options.endorsementKeys = endorsementKeys
        options.channel = channel
        options.device = device
        options.policy = policy
        options.limits = limits
        options.waitSeconds = try Self.unsigned(waitSeconds, "waitSeconds")
        options.blobCacheBytesMax = try Self.unsigned(blobCacheBytesMax, "blobCacheBytesMax")
        return options
    }

    private static func unsigned<Number: FixedWidthInteger>(_ value: Int?, _ name: String) throws -> Number? {
        guard let value = value else {
            return nil
        }
        guard let number = Number(exactly: value) else {
            throw FolkmootError.badOption("\(name) is \(value); it must be 0 to \(Number.max)")
        }
        return number
    }
}
