#if canImport(Network)
import Foundation
import Network
#if os(iOS)
import UIKit
#endif

/// Watches battery, network and temperature, and reports them to a client, so that training pauses while the policy
/// forbids it.
///
/// On a Mac, the battery is unknown. Keep a reference to the watcher as long as it should watch.
@MainActor
public final class DeviceWatcher {
    private let report: @Sendable (DeviceConditions) -> Void
    private var watch: Watch?
    private var link: DeviceReading.Link?

    /// True if nobody is using the device. Apps cannot measure this. `BackgroundTraining` sets it to true while it runs.
    public var isIdle: Bool? {
        didSet { tell() }
    }

    /// Creates a watcher that reports to a client.
    public convenience init(_ client: FolkmootClient) {
        self.init { [weak client] conditions in client?.setConditions(conditions) }
    }

    /// Creates a watcher that calls `report`.
    public init(_ report: @escaping @Sendable (DeviceConditions) -> Void) {
        self.report = report
    }

    /// Starts to watch, and reports the current conditions at once.
    public func start() {
        guard watch == nil else {
            return
        }
        let watch = Watch()
        self.watch = watch
        watchLink(watch)
        watch.observers.append(observer(of: ProcessInfo.thermalStateDidChangeNotification))
        #if os(iOS)
        UIDevice.current.isBatteryMonitoringEnabled = true
        watch.observers.append(observer(of: UIDevice.batteryLevelDidChangeNotification))
        watch.observers.append(observer(of: UIDevice.batteryStateDidChangeNotification))
        #endif
        tell()
    }

    /// Stops watching. The client keeps the last reported conditions.
    public func stop() {
        watch = nil
    }

    private func watchLink(_ watch: Watch) {
        watch.monitor.pathUpdateHandler = { [weak self] path in
            let link = DeviceReading.Link(
                isThere: path.status == .satisfied,
                isExpensive: path.isExpensive,
                isConstrained: path.isConstrained
            )
            Task { @MainActor [weak self] in self?.heard(link) }
        }
        watch.monitor.start(queue: .main)
    }

    private func heard(_ link: DeviceReading.Link) {
        self.link = link
        tell()
    }

    private func observer(of name: Notification.Name) -> NSObjectProtocol {
        NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) { [weak self] _ in
            Task { @MainActor [weak self] in self?.tell() }
        }
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

/// The subscriptions of a watcher, which end with this object. The watcher's own `deinit` could not end them: it may
/// run on any thread, but they belong to the main actor.
private final class Watch {
    let monitor = NWPathMonitor()
    var observers: [NSObjectProtocol] = []

    deinit {
        monitor.cancel()
        observers.forEach { NotificationCenter.default.removeObserver($0) }
    }
}
#endif
