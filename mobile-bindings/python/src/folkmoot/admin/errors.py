"""The exception for a coordinator's refusal of an operator's request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Disposition, ErrorCode, RefusedError

_REMEDIES = {
    ErrorCode.API_KEY_MISSING: "give an API key, ID.SECRET; an admin can create one with `folkmoot key create`",
    ErrorCode.API_KEY_INVALID: "give an API key, ID.SECRET; an admin can create one with `folkmoot key create`",
    ErrorCode.ROLE_INSUFFICIENT: "use a key with the needed role, or ask somebody who has it",
    ErrorCode.TASK_INVALID: "fix the task description and create the task again",
    ErrorCode.TASK_UNKNOWN: "list the tasks with `admin.tasks()`",
    ErrorCode.ROUND_UNKNOWN: "list the rounds of a task with `admin.rounds(task)`",
    ErrorCode.MODEL_VERSION_UNKNOWN: "list the versions of a task with `admin.versions(task)`",
    ErrorCode.TASK_STATE_CONFLICT: "show the state of the task with `admin.task(task)`",
    ErrorCode.MODEL_INVALID: "change the model as described and export it again, for example with `folkmoot.export`",
    ErrorCode.PAYLOAD_TOO_LARGE: "send less, or raise the limit that the detail names in the coordinator's configuration",
}


class AdminRefusedError(RefusedError):
    """The coordinator refused an operator's request. The text has the error code, the coordinator's explanation, the
    request and, if there is one, a remedy. If the coordinator is at fault, it also has the id of the request.
    """

    def __init__(self, place: str, status: int, problem: Mapping[str, Any]) -> None:
        """Creates the exception from the request's method and path, the HTTP status, and the fields of the problem
        document (RFC 9457).
        """
        self.place = place
        """The method and path of the request."""
        self.status = status
        """The HTTP status."""
        self.code_text = str(problem.get("code", "unknown"))
        """The coordinator's error code as text, even if this version does not know it."""
        self.detail = str(problem.get("detail", ""))
        """The coordinator's explanation."""
        request_id = problem.get("request_id")
        self.request_id: str | None = None if request_id is None else str(request_id)
        """The id of the request, by which the coordinator's operator finds it in the log."""
        wait = problem.get("retry_after_milliseconds")
        self.retry_after_seconds: float | None = None if wait is None else float(wait) / 1000
        """Seconds to wait before the next request, if the coordinator says so."""
        code = ErrorCode(self.code_text) if self.code_text in set(ErrorCode) else None
        given = problem.get("disposition")
        self.disposition = Disposition(given) if given in set(Disposition) else Disposition.GIVE_UP
        """The action to take: retry the same request, or give up."""
        self.remedy: str | None = None if code is None else _REMEDIES.get(code)
        """The advice on what to do about the refusal, if there is any."""
        if self.remedy is None and self.disposition is Disposition.RETRY:
            self.remedy = "try again later"
        named = f"{place}, request {self.request_id}" if self.request_id and status >= 500 else place
        words = f"{self.code_text}: {self.detail} ({named})"
        super().__init__(words if self.remedy is None else f"{words}; {self.remedy}", code)
