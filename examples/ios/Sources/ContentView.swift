import SwiftUI

/// The main screen: draw, label, take part, and watch.
struct ContentView: View {
    @ObservedObject var participation: Participation

    @State private var drawing = Drawing()
    @State private var guess: Int?
    @State private var showsSettings = false

    var body: some View {
        NavigationView {
            // No scroll view: it would intercept the pen's strokes.
            VStack(alignment: .leading, spacing: 12) {
                drawingPart
                Divider()
                participationPart
            }
            .padding()
            .navigationTitle("Digits")
            .toolbar {
                Button("Settings") { showsSettings = true }
            }
            .sheet(isPresented: $showsSettings) {
                SettingsView(participation: participation)
            }
        }
        .navigationViewStyle(.stack)
    }

    private var drawingPart: some View {
        Group {
            DrawingPad(drawing: $drawing) {
                Task { await look() }
            }
            HStack {
                Text(guess.map { "The model sees a \($0)." } ?? "The model has no guess.")
                Spacer()
                Button("Clear") { clear() }
            }
            LazyVGrid(columns: Array(repeating: GridItem(.flexible()), count: 5)) {
                ForEach(0..<10, id: \.self) { digit in
                    Button(String(digit)) {
                        Task { await add(digit) }
                    }
                    .buttonStyle(.bordered)
                    .disabled(drawing.isEmpty)
                    .accessibilityLabel("This is \(digit)")
                }
            }
            Text("\(participation.exampleCount) examples are on this device and never leave it.")
        }
    }

    private var participationPart: some View {
        Group {
            Toggle(Participation.words, isOn: takesPart)
            ProgressView(value: participation.progress)
            if let loss = participation.loss {
                Text("Loss \(loss, specifier: "%.3f")")
            }
            Text("\(participation.acceptedRounds) rounds include an update from this device.")
            Text(participation.message)
                .foregroundColor(.secondary)
        }
    }

    private var takesPart: Binding<Bool> {
        Binding(
            get: { participation.takesPart },
            set: { participation.setTakesPart($0) }
        )
    }

    private func look() async {
        guard let features = drawing.features() else {
            return
        }
        guess = await participation.guess(features)
    }

    private func add(_ digit: Int) async {
        guard let features = drawing.features() else {
            return
        }
        clear()
        await participation.add(features, digit: digit)
    }

    private func clear() {
        drawing = Drawing()
        guess = nil
    }
}

/// The coordinator's address, token and certificate, and a button that deletes everything.
struct SettingsView: View {
    @ObservedObject var participation: Participation

    @State private var settings = Settings.stored()
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        NavigationView {
            Form {
                Section("Coordinator") {
                    TextField("Address", text: $settings.coordinator)
                        .textInputAutocapitalization(.never)
                        .disableAutocorrection(true)
                    TextField("Enrolment token", text: $settings.token)
                        .textInputAutocapitalization(.never)
                        .disableAutocorrection(true)
                }
                Section("Its ca.pem") {
                    TextEditor(text: $settings.certificate)
                        .font(.system(.caption, design: .monospaced))
                        .frame(minHeight: 120)
                }
                Button("Forget everything", role: .destructive) {
                    Task { await participation.forget() }
                }
            }
            .navigationTitle("Settings")
            .toolbar {
                Button("Done") {
                    settings.store()
                    dismiss()
                }
            }
        }
        .navigationViewStyle(.stack)
    }
}
