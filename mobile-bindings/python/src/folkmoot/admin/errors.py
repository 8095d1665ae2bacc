"""The exception for a coordinator's refusal of an operator's request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Disposition, ErrorCode, RefusedError

_REMEDIES = {
    ErrorCode.API_KEY_MISSING: "give an API key of the form ID.SECRET; `folkmoot key create` creates one",
    ErrorCode.API_KEY_INVALID: "give an API key of the form ID.SECRET; `folkmoot key create` creates one",
    ErrorCode.ROLE_INSUFFICIENT: "ask an admin for a key with the required role",
    ErrorCode.TASK_INVALID: "change the description and create the task again",
    ErrorCode.TASK_UNKNOWN: "admin.tasks() lists the tasks",
    ErrorCode.ROUND_UNKNOWN: "admin.rounds(task) lists a task's rounds",
    ErrorCode.MODEL_VERSION_UNKNOWN: "admin.versions(task) lists a task's versions",
    ErrorCode.TASK_STATE_CONFLICT: "admin.task(id) shows the task's state",
    ErrorCode.MODEL_INVALID: "change the model as the detail says and export it again, for example with folkmoot.export",
    ErrorCode.PAYLOAD_TOO_LARGE: "send less, or raise the limit that the detail names in the coordinator's configuration",
}


class AdminRefusedError(RefusedError):
    """The coordinator refused an operator's request. The text says what was refused, which request it was, and what to
    do.
    """

    def __init__(self, place: str, status: int, problem: Mapping[str, Any]) -> None:
        """Takes the request's method and path, the HTTP status, and the fields of the problem document (RFC 9457)."""
        self.place = place
        """The method and path of the request."""
        self.status = status
        """The HTTP status."""
        self.code_text = str(problem.get("code", "unknown"))
        """The coordinator's error code as text, even if this version does not know it."""
        self.detail = str(problem.get("detail", ""))
        """The coordinator's explanation."""
        wait = problem.get("retry_after_milliseconds")
        self.retry_after_seconds: float | None = None if wait is None else float(wait) / 1000
        """Seconds to wait before the next request, if the coordinator says so."""
        code = ErrorCode(self.code_text) if self.code_text in set(ErrorCode) else None
        given = problem.get("disposition")
        self.disposition = Disposition(given) if given in set(Disposition) else Disposition.GIVE_UP
        """Whether to retry the same request."""
        self.remedy: str | None = None if code is None else _REMEDIES.get(code)
        """The advice on what to do about the refusal, if there is any."""
        if self.remedy is None and self.disposition is Disposition.RETRY:
            self.remedy = "try again later"
        words = f"{self.code_text}: {self.detail} ({place})"
        super().__init__(words if self.remedy is None else f"{words}; {self.remedy}", code)
