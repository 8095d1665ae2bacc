import Foundation

/// Creates folders for data that must not leave the device.
enum PrivateFolder {
    /// Creates the folder: excluded from backups, and readable from the first unlock on, as background training needs.
    static func make(_ folder: URL) throws {
        guard folder.isFileURL else {
            throw FolkmootError.badOption("\(folder) is not the URL of a folder; give a file URL")
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
