import Foundation

/// Folders for what must not leave the device.
enum PrivateFolder {
    /// Makes the folder: out of backups, and readable from the first unlock on, as training in the background needs.
    static func make(_ folder: URL) throws {
        guard folder.isFileURL else {
            throw FolkmootError.badOption("\(folder) is no folder: a file URL is expected")
        }
        var attributes: [FileAttributeKey: Any] = [:]
        #if os(iOS)
        attributes[.protectionKey] = FileProtectionType.completeUntilFirstUserAuthentication
        #endif
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: attributes)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            var excluded = folder
            try excluded.setResourceValues(values)
        } catch {
            throw FolkmootError.storageFailed("\(folder.path): \(error.localizedDescription)")
        }
    }
}
