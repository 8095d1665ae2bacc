package org.folkmoot

import org.folkmoot.bindings.InternalException
import org.folkmoot.bindings.errorCodes
import org.folkmoot.bindings.FolkmootException as NativeException

/** Why a coordinator refuses. The text of a code never changes. */
typealias ErrorCode = org.folkmoot.bindings.ErrorCode

/** What a client is to do about an error: send it again, check in again, or give up. */
typealias Disposition = org.folkmoot.bindings.Disposition

private val infos by lazy { errorCodes().associateBy { it.code } }

/** The stable text, as it travels. */
val ErrorCode.text: String get() = infos.getValue(this).text

/** The HTTP status that carries it. */
val ErrorCode.httpStatus: Int get() = infos.getValue(this).httpStatus.toInt()

/** What a client is to do about it. */
val ErrorCode.disposition: Disposition get() = infos.getValue(this).disposition

/** What this package throws. The classes do not change; the messages are for humans. */
sealed class FolkmootException(message: String, cause: Throwable? = null) : Exception(message, cause) {
    /** An option makes no sense or passes a limit. */
    class BadOption(message: String) : FolkmootException(message)

    /** Examples do not have the shape or the values that they must have. */
    class BadExample(message: String) : FolkmootException(message)

    /** There is nothing to train on. */
    class NoExamples : FolkmootException("there are no examples: add some, or give a trainer that has its own")

    /** The client is not enrolled, and has no token. */
    class NotEnrolled(message: String) : FolkmootException(message)

    /** The coordinator refuses this client; [code] is null if it gave no reason that this version knows. */
    class Refused(val code: ErrorCode?, message: String) : FolkmootException(message)

    /** No coordinator answers there. */
    class Unreachable(message: String) : FolkmootException(message)

    /** The state directory, or a store of examples, cannot be used: the message names the file. */
    class StorageFailed(message: String, cause: Throwable? = null) : FolkmootException(message, cause)

    /** No assignment has brought a model yet. */
    class NoModel : FolkmootException("there is no model yet: it comes with the first assignment")

    /** It runs already. */
    class AlreadyRunning : FolkmootException("this client runs already: stop it first")

    /** The client was forgotten or closed. */
    class Forgotten : FolkmootException("this client was forgotten or closed: connect again")

    /** The package has a mistake: please report it. */
    class Internal(message: String) : FolkmootException(message)
}

/** Throws errors of this package instead of the native library's. */
internal inline fun <T> translating(block: () -> T): T =
    try {
        block()
    } catch (error: NativeException) {
        throw translated(error)
    } catch (error: InternalException) {
        throw FolkmootException.Internal(error.message ?: "the native library failed without a word")
    }

internal fun translated(error: NativeException): FolkmootException = when (error) {
    is NativeException.BadOption -> FolkmootException.BadOption(error.detail)
    is NativeException.BadExample -> FolkmootException.BadExample(error.detail)
    is NativeException.NoExamples -> FolkmootException.NoExamples()
    is NativeException.NotEnrolled -> FolkmootException.NotEnrolled(error.detail)
    is NativeException.Refused -> FolkmootException.Refused(error.code, error.detail)
    is NativeException.Unreachable -> FolkmootException.Unreachable(error.detail)
    is NativeException.StorageFailed -> FolkmootException.StorageFailed(error.detail)
    is NativeException.NoModel -> FolkmootException.NoModel()
    is NativeException.AlreadyRunning -> FolkmootException.AlreadyRunning()
    is NativeException.Forgotten -> FolkmootException.Forgotten()
    is NativeException.Internal -> FolkmootException.Internal(error.detail)
}
