import Folkmoot
import Foundation

/// The coordinator's address and certificate, and the enrolment token.
struct Settings: Equatable {
    /// The conditions under which this app trains. An assignment waits up to an hour for the next background window.
    static let policy = DevicePolicy(giveUpAfterSeconds: 3_600)

    var coordinator = "https://127.0.0.1:8443"
    var token = ""
    /// The coordinator's `ca.pem`; if empty, the client trusts the system's certificates.
    var certificate = ""

    static func stored(in defaults: UserDefaults = .standard) -> Settings {
        var settings = Settings()
        settings.coordinator = defaults.string(forKey: "coordinator") ?? settings.coordinator
        settings.token = defaults.string(forKey: "token") ?? ""
        settings.certificate = defaults.string(forKey: "certificate") ?? ""
        return settings
    }

    func store(in defaults: UserDefaults = .standard) {
        defaults.set(coordinator, forKey: "coordinator")
        defaults.set(token, forKey: "token")
        defaults.set(certificate, forKey: "certificate")
    }

    func options() throws -> ClientOptions {
        var options = ClientOptions(
            coordinator: coordinator,
            stateDirectory: try ClientOptions.standardFolder(),
            enrolmentToken: token.isEmpty ? nil : token,
            certificate: certificate.isEmpty ? nil : Data(certificate.utf8)
        )
        options.policy = Self.policy
        return options
    }
}
