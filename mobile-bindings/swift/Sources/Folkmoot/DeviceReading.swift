import Foundation

#if !canImport(Darwin)
extension ProcessInfo {
    /// A substitute for Foundation's type, which only Apple's systems have.
    enum ThermalState {
        case nominal
        case fair
        case serious
        case critical
    }
}
#endif

/// The device's state as the system reports it, before conversion to the client's conditions.
struct DeviceReading: Equatable {
    /// The battery's state, as in `UIDevice.BatteryState`.
    enum Battery: Equatable {
        case unknown
        case unplugged
        case charging
    }

    /// The network connection, as in `NWPath`.
    struct Link: Equatable {
        var isThere: Bool
        /// Cellular, or a personal hotspot.
        var isExpensive: Bool
        /// Low Data Mode.
        var isConstrained: Bool
    }

    var battery = Battery.unknown
    /// 0 to 1; negative if unknown.
    var batteryLevel: Float = -1
    var link: Link?
    var thermalState = ProcessInfo.ThermalState.nominal
    /// True if nobody is using the device. Apps cannot measure this, but a background task can assume it.
    var isIdle: Bool?

    /// Converts the reading to the client's conditions.
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
    /// Converts the system's state. A state that a later system adds becomes `critical`, so that training pauses.
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
