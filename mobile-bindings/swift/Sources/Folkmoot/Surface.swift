import FolkmootNative

// What is Swift already as the library tells it, under this module's name. `mobile-bindings/api.txt` has the fields.

/// Something that a user of the client may want to see. Ids are texts; moments are milliseconds since 1970.
public typealias ClientEvent = FolkmootNative.ClientEvent
/// What is known of an assignment when the app is asked.
public typealias AssignmentOffer = FolkmootNative.AssignmentOffer
/// Where to train.
public typealias DeviceChoice = FolkmootNative.DeviceChoice
/// What holds of the device now; nil is not known.
public typealias DeviceConditions = FolkmootNative.DeviceConditions
/// What has to hold of the device while it trains.
public typealias DevicePolicy = FolkmootNative.DevicePolicy
/// How hot the device is, in the steps of `ProcessInfo.ThermalState`.
public typealias Thermal = FolkmootNative.Thermal
/// Where noise is added that hides what one client's update reveals.
public typealias ProtectionLevel = FolkmootNative.ProtectionLevel
/// How much a client may use in a day, in a second and for one assignment, and what it declines.
public typealias Limits = FolkmootNative.Limits
/// A line of the transparency log.
public typealias LogEntry = FolkmootNative.LogEntry
/// How much a line of the client's log matters.
public typealias LogLevel = FolkmootNative.LogLevel
/// Where the client's 32 secret bytes are kept instead of its state directory.
public typealias SecretStorage = FolkmootNative.SecretStorage
/// Name and shape of one tensor of the weights.
public typealias TensorSpec = FolkmootNative.TensorSpec
/// Why a coordinator refuses. The text of a code never changes.
public typealias ErrorCode = FolkmootNative.ErrorCode
/// What a client is to do about an error.
public typealias Disposition = FolkmootNative.Disposition

extension DevicePolicy {
    /// On any link, in use or not, on the battery down to 20 percent, and a little warm at most.
    public static let standard = DevicePolicy()

    /// For training that nobody waits for: charging, on an unmetered link, while nobody uses the device. An assignment
    /// outlasts a pause of an hour, for a window in the background may follow another.
    public static let overnight = DevicePolicy(
        requiresCharging: true,
        requiresUnmetered: true,
        requiresIdle: true,
        giveUpAfterSeconds: 3_600
    )
}

/// The library's own names where this module has another thing of the same name.
typealias NativeError = FolkmootNative.FolkmootError
typealias NativeFloatBuffer = FolkmootNative.FloatBuffer
