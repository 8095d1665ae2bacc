#if canImport(Network)
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
    private var watch: Watch?
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

    /// Begins to watch, and tells at once what holds now.
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

    /// Stops watching. What was told last stays.
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

/// The subscriptions of a watcher, which end with this object. A `deinit` of the watcher itself could not end them: it may
/// run on any thread, and they belong to the main actor.
private final class Watch {
    let monitor = NWPathMonitor()
    var observers: [NSObjectProtocol] = []

    deinit {
        monitor.cancel()
        observers.forEach { NotificationCenter.default.removeObserver($0) }
    }
}
#endif
