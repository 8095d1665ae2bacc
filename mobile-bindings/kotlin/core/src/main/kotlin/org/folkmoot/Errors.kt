package org.folkmoot

import org.folkmoot.bindings.InternalException
import org.folkmoot.bindings.errorCodes
import org.folkmoot.bindings.FolkmootException as NativeException

/** Why a coordinator refused a request. The text of a code is stable. */
typealias ErrorCode = org.folkmoot.bindings.ErrorCode

/** The action that a client should take after an error: retry, check in again, or give up. */
typealias Disposition = org.folkmoot.bindings.Disposition

private val infos by lazy { errorCodes().associateBy { it.code } }

/** The code's stable text, as in the protocol. */
val ErrorCode.text: String get() = infos.getValue(this).text

/** The HTTP status of responses with this code. */
val ErrorCode.httpStatus: Int get() = infos.getValue(this).httpStatus.toInt()

/** The action that a client should take after an error with this code. */
val ErrorCode.disposition: Disposition get() = infos.getValue(this).disposition

/** The base class of this package's exceptions. The class names are stable; the messages are for people to read. */
sealed class FolkmootException(message: String, cause: Throwable? = null) : Exception(message, cause) {
    /** An option is invalid or exceeds its limit. */
    class BadOption(message: String) : FolkmootException(message)

    /** The examples have the wrong shape or invalid values. */
    class BadExample(message: String) : FolkmootException(message)

    /** There are no examples to train on. */
    class NoExamples : FolkmootException("there are no examples; add some, or set a trainer that has its own")

    /** The client is not enrolled and has no token. */
    class NotEnrolled(message: String) : FolkmootException(message)

    /** The coordinator refused this client. [code] is null if this version does not know the error code. */
    class Refused(val code: ErrorCode?, message: String) : FolkmootException(message)

    /** The coordinator cannot be reached, or its response is unusable. */
    class Unreachable(message: String) : FolkmootException(message)

    /** A file, a store of examples or the secret storage cannot be used. The message says which. */
    class StorageFailed(message: String, cause: Throwable? = null) : FolkmootException(message, cause)

    /** There is no model on this device yet. */
    class NoModel : FolkmootException("there is no model yet; update the model, or wait for the first assignment")

    /**
     * The model that the operator has rolled out cannot be used on this device. Predictions keep the model before.
     */
    class ModelUnusable(message: String) : FolkmootException(message)

    /** The client is already running. */
    class AlreadyRunning : FolkmootException("this client is already running; stop it first")

    /** The client was forgotten or closed. */
    class Forgotten : FolkmootException("this client was forgotten or closed; connect a new one")

    /** A bug in the package. Please report it. */
    class Internal(message: String) : FolkmootException(message)
}

/** Replaces exceptions of the native library with this package's. */
internal inline fun <T> translating(block: () -> T): T = try {
    block()
} catch (error: NativeException) {
    throw translated(error)
} catch (error: InternalException) {
    throw FolkmootException.Internal(error.message ?: "the native library failed without a message")
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
    is NativeException.ModelUnusable -> FolkmootException.ModelUnusable(error.detail)
    is NativeException.AlreadyRunning -> FolkmootException.AlreadyRunning()
    is NativeException.Forgotten -> FolkmootException.Forgotten()
    is NativeException.Internal -> FolkmootException.Internal(error.detail)
}
