import Foundation

#if !canImport(Darwin)
extension ProcessInfo {
    /// Only Apple's Foundation has it.
    enum ThermalState {
        case nominal
        case fair
        case serious
        case critical
    }
}
#endif

/// What the system says of the device, before it is put into the client's words.
struct DeviceReading: Equatable {
    /// The battery, as `UIDevice.BatteryState` has it.
    enum Battery: Equatable {
        case unknown
        case unplugged
        case charging
    }

    /// The link, as `NWPath` has it.
    struct Link: Equatable {
        var isThere: Bool
        /// Cellular, or a personal hotspot.
        var isExpensive: Bool
        /// Low Data Mode.
        var isConstrained: Bool
    }

    var battery = Battery.unknown
    /// 0 to 1; negative is not known.
    var batteryLevel: Float = -1
    var link: Link?
    var thermalState = ProcessInfo.ThermalState.nominal
    /// No app may know whether somebody uses the device; a background task that the system began does.
    var isIdle: Bool?

    /// The same in the client's words.
    var conditions: DeviceConditions {
        DeviceConditions(
            isCharging: battery == .unknown ? nil : battery == .charging,
            isUnmetered: isUnmetered,
            isIdle: isIdle,
            batteryPercent: batteryPercent,
            thermal: Thermal(thermalState)
        )
    }

    private var isUnmetered: Bool? {
        guard let link = link, link.isThere else {
            return nil
        }
        return !link.isExpensive && !link.isConstrained
    }

    private var batteryPercent: UInt8? {
        guard batteryLevel >= 0, batteryLevel <= 1 else {
            return nil
        }
        return UInt8((batteryLevel * 100).rounded())
    }
}

extension Thermal {
    /// The system's state; one that this version does not know is hotter than all of those.
    init(_ state: ProcessInfo.ThermalState) {
        switch state {
        case .nominal: self = .nominal
        case .fair: self = .fair
        case .serious: self = .serious
        case .critical: self = .critical
        @unknown default: self = .critical
        }
    }
}
