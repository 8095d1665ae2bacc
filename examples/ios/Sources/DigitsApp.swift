import Folkmoot
import SwiftUI
import UIKit

@main
struct DigitsApp: App {
    @UIApplicationDelegateAdaptor(AppDelegate.self) private var delegate
    @Environment(\.scenePhase) private var phase

    var body: some Scene {
        WindowGroup {
            ContentView(participation: Participation.shared)
        }
        .onChange(of: phase) { phase in
            delegate.changed(to: phase)
        }
    }
}

/// Requests background time from the system.
final class AppDelegate: NSObject, UIApplicationDelegate {
    private let background = BackgroundTraining(
        identifier: "org.folkmoot.example.digits.training",
        policy: Settings.policy,
        watcher: Participation.shared.watcher,
        open: { try await Participation.shared.openedForBackground() }
    )

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        FolkmootLog.begin()
        do {
            try background.register()
        } catch {
            Participation.shared.tell(error)
        }
        return true
    }

    func changed(to phase: ScenePhase) {
        switch phase {
        case .active:
            background.enterForeground()
            Task { await Participation.shared.begin() }
        case .background where Participation.shared.takesPart:
            do {
                try background.schedule()
            } catch {
                Participation.shared.tell(error)
            }
        default:
            break
        }
    }
}
