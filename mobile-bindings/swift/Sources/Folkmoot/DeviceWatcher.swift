import Foundation
import Network
#if os(iOS)
import UIKit
#endif

/// Watches battery, link and heat, and tells a client, so that training rests while the policy does not hold.
///
/// On a Mac the battery is not known. The watcher has to be kept as long as it is to watch.
@MainActor
public final class DeviceWatcher {
    private let report: @Sendable (DeviceConditions) -> Void
    private var monitor: NWPathMonitor?
    private var observers: [NSObjectProtocol] = []
    private var link: DeviceReading.Link?

    /// Whether nobody uses the device, which no app can find out; `BackgroundTraining` sets it while the system lets it
    /// train, which is only then.
    public var isIdle: Bool? {
        didSet { tell() }
    }

    /// Tells a client.
    public convenience init(_ client: FolkmootClient) {
        self.init { [weak client] conditions in client?.setConditions(conditions) }
    }

    /// Tells whatever is given.
    public init(_ report: @escaping @Sendable (DeviceConditions) -> Void) {
        self.report = report
    }

    deinit {
        monitor?.cancel()
        observers.forEach { NotificationCenter.default.removeObserver($0) }
    }

    /// Begins to watch, and tells at once what holds now.
    public func start() {
        guard monitor == nil else {
            return
        }
        watchLink()
        watch(ProcessInfo.thermalStateDidChangeNotification)
        #if os(iOS)
        UIDevice.current.isBatteryMonitoringEnabled = true
        watch(UIDevice.batteryLevelDidChangeNotification)
        watch(UIDevice.batteryStateDidChangeNotification)
        #endif
        tell()
    }

    /// Stops watching. What was told last stays.
    public func stop() {
        monitor?.cancel()
        monitor = nil
        observers.forEach { NotificationCenter.default.removeObserver($0) }
        observers = []
    }

    private func watchLink() {
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { [weak self] path in
            let link = DeviceReading.Link(
                isThere: path.status == .satisfied,
                isExpensive: path.isExpensive,
                isConstrained: path.isConstrained
            )
            Task { @MainActor [weak self] in self?.heard(link) }
        }
        monitor.start(queue: .main)
        self.monitor = monitor
    }

    private func heard(_ link: DeviceReading.Link) {
        self.link = link
        tell()
    }

    private func watch(_ name: Notification.Name) {
        let observer = NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) {
            [weak self] _ in
            Task { @MainActor [weak self] in self?.tell() }
        }
        observers.append(observer)
    }

    private func tell() {
        var reading = DeviceReading()
        reading.link = link
        reading.thermalState = ProcessInfo.processInfo.thermalState
        reading.isIdle = isIdle
        #if os(iOS)
        reading.batteryLevel = UIDevice.current.batteryLevel
        switch UIDevice.current.batteryState {
        case .unplugged: reading.battery = .unplugged
        case .charging, .full: reading.battery = .charging
        case .unknown: reading.battery = .unknown
        @unknown default: reading.battery = .unknown
        }
        #endif
        report(reading.conditions)
    }
}
