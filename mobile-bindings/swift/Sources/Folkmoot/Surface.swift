import FolkmootNative

// Types of the library that already suit Swift, under this module's name. `mobile-bindings/api.txt` lists their fields.

/// An event of a client. Ids are strings; times are milliseconds since 1970.
public typealias ClientEvent = FolkmootNative.ClientEvent
/// An assignment, as shown to the app before the client accepts it.
public typealias AssignmentOffer = FolkmootNative.AssignmentOffer
/// The choice of the training device.
public typealias DeviceChoice = FolkmootNative.DeviceChoice
/// The device's current conditions; nil means unknown.
public typealias DeviceConditions = FolkmootNative.DeviceConditions
/// The conditions under which the device trains.
public typealias DevicePolicy = FolkmootNative.DevicePolicy
/// The thermal state of the device, with the levels of `ProcessInfo.ThermalState`.
public typealias Thermal = FolkmootNative.Thermal
/// The protection of one client's update by noise.
public typealias ProtectionLevel = FolkmootNative.ProtectionLevel
/// Limits on traffic, training time and the cost of assignments.
public typealias Limits = FolkmootNative.Limits
/// An entry of the transparency log.
public typealias LogEntry = FolkmootNative.LogEntry
/// The severity of a log line.
public typealias LogLevel = FolkmootNative.LogLevel
/// A storage for the client's 32 secret bytes other than its state directory.
public typealias SecretStorage = FolkmootNative.SecretStorage
/// The name and shape of one tensor of the weights.
public typealias TensorSpec = FolkmootNative.TensorSpec
/// Why a coordinator refused a request. The text of a code is stable.
public typealias ErrorCode = FolkmootNative.ErrorCode
/// The action that a client should take after an error.
public typealias Disposition = FolkmootNative.Disposition

extension DevicePolicy {
    /// Allows training on any connection, while in use, on battery power down to 20 percent, and at most slightly warm.
    public static let standard = DevicePolicy()

    /// For training that nobody waits for: only while charging, on an unmetered connection, and while nobody uses the
    /// device. An assignment survives a pause of an hour, because one background window may follow another.
    public static let overnight = DevicePolicy(
        requiresCharging: true,
        requiresUnmetered: true,
        requiresIdle: true,
        giveUpAfterSeconds: 3_600
    )

    /// Returns why the device does not train under these conditions: `charging`, `unmetered`, `idle`, `battery` or
    /// `thermal`. Nil if it may train. A requirement fails if its condition is unknown. An unknown battery level or
    /// thermal state prevents nothing.
    public func reasonToPause(_ conditions: DeviceConditions) -> String? {
        FolkmootNative.reasonToPause(policy: self, conditions: conditions)
    }
}

/// The library's types whose names this module uses for its own.
typealias NativeError = FolkmootNative.FolkmootError
typealias NativeFloatBuffer = FolkmootNative.FloatBuffer
