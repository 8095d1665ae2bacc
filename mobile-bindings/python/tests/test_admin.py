"""The operator's API, against a real coordinator."""

import json
import re
import threading
from pathlib import Path
from typing import get_args, get_type_hints

import folkmoot
import numpy as np
import onnx
import pytest
from folkmoot import _buffers
from folkmoot.admin import Admin, AdminRefusedError, looks, rollouts, signed_in, views
from folkmoot.admin.connection import Connection
from folkmoot.admin.filling import filled
from onnx import numpy_helper
from small_task import linear_model, task_text
from test_rounds import connect, line, name_a_site

OPENAPI = Path(__file__).parents[3] / "server" / "api" / "openapi.json"
DIGITS = Path(__file__).parents[3] / "examples" / "digits"

FOR_THE_PAGE_ALONE = {
    "/v1/admin/events",
    "/v1/admin/me",
    "/v1/admin/models/parts",
    "/v1/admin/session",
    "/v1/admin/sign-in",
    "/v1/admin/sign-in/{provider}",
    "/v1/admin/sign-in/{provider}/callback",
    "/v1/admin/sign-in/{provider}/device",
    "/v1/admin/sign-in/{provider}/device/token",
}
"""Endpoints for the coordinator's page and the command line. A program has `watch`, its disk and its API key."""


@pytest.fixture
def admin(coordinator):
    environment = coordinator.environment
    return Admin(coordinator.url, environment["FOLKMOOT_API_KEY"], coordinator.certificate)


def description(name, **more):
    """A task as a dictionary, with the keys of the file."""
    tomllib = pytest.importorskip("tomllib", reason="a TOML file is read from Python 3.11 on")
    return tomllib.loads(task_text(name, **{"report_goal": 1, "rounds": 2, **more}))


def model(tmp_path):
    return linear_model(tmp_path / "model.onnx", np.zeros((2, 1), np.float32), np.zeros(1, np.float32))


def endpoints():
    document = json.loads(OPENAPI.read_text())
    paths = {path for path in document["paths"] if path.startswith("/v1/admin/")} - FOR_THE_PAGE_ALONE
    # An edge aggregator is a program of its own.
    paths = {path for path in paths if not path.startswith("/v1/admin/aggregator/")}
    return {(method.upper(), path) for path in paths for method in document["paths"][path]}


@pytest.fixture
def called(monkeypatch):
    """The endpoints that the coordinator answered requests for."""
    heard = set()
    opened = Connection._opened

    def hear(self, method, path, content):
        [place] = [place for verb, place in endpoints() if verb == method and matches(place, path)]
        try:
            answer = opened(self, method, path, content)
        except AdminRefusedError as refused:
            # The endpoint exists and refused for a reason of its own.
            if refused.code is not folkmoot.ErrorCode.ENDPOINT_UNKNOWN:
                heard.add((method, place))
            raise
        heard.add((method, place))
        return answer

    monkeypatch.setattr(Connection, "_opened", hear)
    return heard


def matches(place, path):
    pattern = re.sub(r"\{\w+\}", "[^/?]+", place.removeprefix("/v1/admin/"))
    return re.fullmatch(rf"{pattern}(\?.*)?", path)


def test_every_endpoint_has_a_method_that_a_coordinator_answers(coordinator, admin, called, tmp_path, generator):
    x, y = line(generator, 16)
    private = admin.set_population_privacy("lines", unit="client", epsilon=8.0, delta=1e-5)
    assert (private["epsilon"], private["client_count"]) == (8.0, 0)
    assert admin.set_population_privacy("lines", no_budget=True, weaken="a test")["epsilon"] is None
    assert not admin.set_viewers_download("lines", False)["viewers_download"]
    data = admin.create_evaluation_data(x, y)
    brought = admin.create_model(model(tmp_path))
    assert [data["example_count"], brought["parameter_count"], len(brought["schema"]["tensors"])] == [16, 3, 2]
    with pytest.raises(folkmoot.RefusedError, match="component"):
        admin.create_component(b"no component")
    described = description("lines") | {"evaluation": {"central": True, "metric": "loss"}}
    task = admin.create_task(described, brought, evaluation_data=data)
    assert (task["state"], task["stop_reason"], task["latest_version"]) == ("draft", None, 0)
    assert (admin.activate(task)["state"], admin.pause(task)["state"]) == ("active", "paused")
    assert admin.check_task(described, brought, evaluation_data=data)["faults"] == []
    faults = admin.check_task({**described, "name": ""}, brought, evaluation_data=data)["faults"]
    assert [fault["field"] for fault in faults] == ["name"]
    assert admin.resume(task["id"])["state"] == "active"

    token = admin.create_token("lines", uses_max=1, expires_in_seconds=600)
    enrolled = []
    with connect(coordinator, tmp_path, token["token"], device="cpu") as client:
        client.examples.add(x, y)
        client.on("enrolled", enrolled.append)
        client.start(rounds=2)
        rounds = list(admin.watch(task, poll_seconds=0.1, seconds_max=60))
    trained = [row for row in rounds if row["phase"] == "committed"]
    assert [row["version"] for row in trained] == [1, 2]
    assert admin.task(task)["state"] == "completed"
    assert [row["number"] for row in admin.rounds(task)] == [row["number"] for row in reversed(rounds)]
    funnel = admin.round(trained[0]["id"])
    assert (funnel["cohort"], funnel["accepted"], funnel["round"]["reason"]) == (1, 1, None)
    assert {row["number"] for row in admin.stats(task)} == {row["number"] for row in rounds}
    assert [row["number"] for row in admin.versions(task)] == [2, 1, 0]
    lanes = admin.round_assignments(trained[0]["id"])["lanes"]
    assert [(lane["status"], lane["upload_bytes"] > 0) for lane in lanes] == [("accepted", True)]
    assert [point["clients"] for point in admin.series(task)["points"]] == [None, 1, 1]
    assert {row["version"] for row in admin.evaluations(task)} <= {0, 1, 2}
    for one in admin.class_evaluations(task, 0):
        assert (one["evaluation"]["source"], one["classes"]) == ("central", None), "a line has no classes"

    assert admin.download(task, tmp_path / "trained.onnx") == 2
    assert admin.download(task, tmp_path / "first.onnx", 0) == 0
    tensors = {one.name: numpy_helper.to_array(one) for one in onnx.load(tmp_path / "trained.onnx").graph.initializer}
    np.testing.assert_array_equal(tensors["weight"], coordinator.weights(task["id"])["weight"])

    statement = admin.privacy(task)
    assert (statement["is_private"], statement["clients"], statement["epsilon_spent"]) == (False, 1, None)
    settings = [entry["settings"] for entry in admin.ledger("lines") if entry["kind"] == "settings"]
    assert [(one["epsilon"], one["weakened"]) for one in settings] == [(8.0, None), (None, "a test")]
    assert [(one["name"], one["client_count"]) for one in admin.populations()] == [("lines", 1)]
    [seen] = admin.overview()["populations"]
    assert (seen["name"], seen["enrolled"]) == ("lines", 1)
    assert admin.population_clients("lines")["enrolled"] == 1
    assert admin.system()["database"] == "sqlite"
    assert [one["model"] for one in admin.models()] == [brought["model"]]
    assert admin.model_graph(brought["model"])["parameter_count"] == 3
    assert admin.plan_privacy(1000, 100, 10, 8.0, delta=1e-5)["forecast"]["verdict"]
    with pytest.raises(AdminRefusedError):
        admin.start_demo()
    with pytest.raises(AdminRefusedError):
        admin.roll_back(task, 1)
    endorsable = admin.endorsement(task)
    assert (endorsable["model"], endorsable["endorsement"]) == (brought["model"], None)
    assert {plan["work"] for plan in endorsable["plans"]} >= {"training"}
    with pytest.raises(AdminRefusedError, match="the endorsement is not valid"):
        admin.publish_endorsement(task, {"statement": "{}", "public_key": "", "signature": ""})
    warm = admin.create_task(described, brought, evaluation_data=data, warm_start=(task, 2), activate=True)
    assert admin.cancel(warm)["state"] == "cancelled"
    assert [one["id"] for one in admin.tasks()] == [warm["id"], task["id"]]
    assert [one["id"] for one in admin.tasks(state="cancelled", name="LIN")] == [warm["id"]]
    assert [one["id"] for one in admin.tasks(called=task["id"][:20])] == [task["id"]]

    name_a_site(admin)
    rolled_out = admin.create_rollout("lines", task, version=1, channel="beta", share=0.5)
    assert list(admin.rollouts("lines")) == [rolled_out]
    assert admin.change_rollout("lines", rolled_out["number"], share=1.0)["share"] == 1.0
    client = admin.client(enrolled[0].client_id)
    assert (client["population"], client["revoked_at"]) == ("lines", None)
    assert list(admin.clients_of_token(client["token_id"])) == [client]
    assert not admin.revoke_client(client["id"], keep_token_open=True)["token_closed"]
    assert admin.tokens()[0]["closed_at"] is None
    assert admin.revoke_client(client["id"])["token_closed"]
    [record, _] = admin.tokens()
    assert (record["uses"], record["revoked_at"]) == (1, None) and record["closed_at"] > 0
    assert admin.revoke_token_and_clients(record["id"])["clients_revoked"] == 0
    admin.revoke_token(record["id"])
    assert admin.tokens()[0]["revoked_at"] > 0
    created = admin.create_api_key("a notebook", "viewer")
    assert [key["role"] for key in admin.api_keys()] == ["admin", "viewer"]
    rotated = admin.rotate_api_key("a notebook", overlap_seconds=0)
    assert rotated["api_key"] != created["api_key"] and rotated["record"]["id"] == created["record"]["id"]
    admin.revoke_api_key(created["record"]["id"])
    assert admin.sessions() == []
    with pytest.raises(AdminRefusedError, match="no session"):
        admin.end_session("0123456789abcdef")
    assert admin.end_sessions_of("example", "ada") == {"ended": 0}
    log = admin.audit(after=admin.audit(limit=1)["entry_count"] - 3, limit=2)
    actions = [json.loads(entry["record"])["action"] for entry in log["entries"]]
    assert actions == ["api_key.rotate", "api_key.revoke"]
    log = admin.audit(limit=1)
    assert log["head"] == log["entries"][-1]["digest"]
    assert len(admin.audit(after=log["entry_count"] - 1)["entries"]) == 1
    usage = admin.usage()
    assert (usage["quotas"]["clients_max"], usage["clients"]) == (None, 0)
    assert usage["days"][-1]["updates"] == 2
    # Only system keys may, and these are created on the coordinator's machine.
    for forbidden in (
        admin.organisations,
        lambda: admin.create_organisation("x"),
        lambda: admin.close_organisation("x"),
        lambda: admin.set_quotas("x", usage["quotas"]),
        admin.usage_of_all,
    ):
        with pytest.raises(folkmoot.RefusedError, match="needs the role system"):
            forbidden()
    assert endpoints() <= called, "an endpoint has no method in folkmoot.admin"


def test_a_model_is_read_with_the_data_files_beside_it(admin, tmp_path):
    proto = onnx.load(model(tmp_path))
    path = tmp_path / "apart.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="apart.onnx.data", size_threshold=0)
    assert (tmp_path / "apart.onnx.data").is_file()
    assert admin.create_model(path)["parameter_count"] == 3
    with pytest.raises(folkmoot.RefusedError, match="stored in another file, which was not given"):
        admin.create_model(path.read_bytes())
    (tmp_path / "apart.onnx.data").unlink()
    with pytest.raises(folkmoot.BadOptionError, match="stores weights in apart.onnx.data, but the folder"):
        admin.create_model(path)


def test_rows_have_the_fields_of_the_document():
    schemas = json.loads(OPENAPI.read_text())["components"]["schemas"]
    declared = vars(views) | vars(looks) | vars(rollouts) | vars(signed_in)
    kinds = {name: kind for name, kind in declared.items() if hasattr(kind, "__required_keys__")}
    assert len(kinds) > 40
    for name, kind in kinds.items():
        fields, schema = get_type_hints(kind), schemas[name]
        optional = {field for field, hint in fields.items() if type(None) in get_args(hint)}
        assert set(fields) == set(schema["properties"]), name
        assert optional == set(fields) - set(schema.get("required", ())), name


def test_rows_go_into_a_table_and_pages_are_hidden(coordinator, admin, tmp_path, monkeypatch):
    monkeypatch.setattr("folkmoot.admin.admin.PAGE_ROWS", 2)
    brought = admin.create_model(model(tmp_path).read_bytes())
    ids = [admin.create_task(description("paged"), brought)["id"] for _ in range(5)]
    rows = list(admin.tasks())
    assert [row["id"] for row in rows] == ids[::-1]
    assert len({tuple(row) for row in rows}) == 1, "all rows have the same columns"
    pandas = pytest.importorskip("pandas", reason="pandas is not installed; rows are plain dictionaries")
    table = pandas.DataFrame(admin.tasks())
    assert list(table["rounds_committed"]) == [0] * 5


def test_a_tasks_file_is_read_as_the_command_reads_it(coordinator, admin):
    pytest.importorskip("tomllib", reason="a TOML file is read from Python 3.11 on")
    task = admin.create_task(DIGITS / "task.toml", DIGITS / "model.onnx")
    arguments = ["task", "create", str(DIGITS / "task.toml"), "--model", str(DIGITS / "model.onnx")]
    assert coordinator.call(*arguments)["description"] == admin.task(task)["description"]


def test_examples_are_those_that_the_command_brings(coordinator, admin, tmp_path, monkeypatch):
    x = [[0.5, -1.0], [2.0, 3.5], [0.0, 1.0]]
    by_array = admin.create_evaluation_data(np.array(x), np.array([1, 0, 2]))
    monkeypatch.setattr(_buffers, "numpy", None)
    assert admin.create_evaluation_data(x, [1, 0, 2]) == by_array
    assert admin.create_evaluation_data(x, [[0.5], [1.0], [2.0]]) == admin.create_evaluation_data(x, [0.5, 1.0, 2.0])
    assert admin.create_evaluation_data(x, [1, 0, 2], labels="targets") != by_array
    with pytest.raises(folkmoot.BadExampleError, match="class"):
        admin.create_evaluation_data(x, [0.5, 1.0, 2.0], labels="classes")
    with pytest.raises(folkmoot.BadExampleError, match="shape"):
        admin.create_evaluation_data(x, [1, 0])


def test_a_round_is_seen_when_it_has_ended(coordinator, admin, tmp_path, generator):
    task = admin.create_task(description("watched", rounds=3), model(tmp_path), activate=True)
    assert list(admin.watch(task, seconds_max=0.2)) == []
    made = admin.create_token("watched")
    token, record = made["token"], made["record"]
    assert (record["uses_max"], record["expires_at"] - record["created_at"]) == (1_000, 30 * 86_400_000)
    seen, watching = [], threading.Event()

    def watch():
        for row in admin.watch(task, poll_seconds=0.05):
            seen.append((row["number"], client.is_running))
            watching.set()

    with connect(coordinator, tmp_path, token, device="cpu") as client:
        client.examples.add(*line(generator))
        thread = threading.Thread(target=watch)
        thread.start()
        client.run(rounds=1)
        assert watching.wait(30), "the first round is told while the task goes on"
        client.run(rounds=2)
        thread.join(30)
    assert [number for number, _ in seen] == [1, 2, 3]
    assert [row["number"] for row in admin.watch(task, after=1)] == [2, 3]


def test_refusals_say_what_where_and_what_to_do(coordinator, admin, tmp_path):
    with pytest.raises(AdminRefusedError) as caught:
        admin.create_task(description("wrong", report_goal=0) | {"stop": {"rounds": 0}}, model(tmp_path))
    error = caught.value
    assert isinstance(error, folkmoot.RefusedError) and error.code is folkmoot.ErrorCode.TASK_INVALID
    assert "report_goal" in error.detail and "stop" in error.detail, "all faults are listed"
    assert error.place == "POST /v1/admin/tasks" and error.status == error.code.http_status
    assert str(error).endswith("fix the task description and create the task again")
    with pytest.raises(AdminRefusedError, match="task_unknown.*admin.tasks"):
        admin.task("../tasks")
    viewer = admin.create_api_key("sees", "viewer")["api_key"]
    with pytest.raises(AdminRefusedError, match="role_insufficient"):
        Admin(coordinator.url, viewer, coordinator.certificate.read_bytes()).create_token("any")
    with pytest.raises(AdminRefusedError, match="api_key_invalid.*key create"):
        list(Admin(coordinator.url, "none.none", coordinator.certificate).tasks())
    with pytest.raises(folkmoot.BadOptionError, match="nowhere.toml"):
        admin.create_task(tmp_path / "nowhere.toml", b"")
    with pytest.raises(AdminRefusedError, match="model_invalid"):
        admin.create_model(b"no model")


def test_a_large_file_that_is_refused_before_it_is_read_says_why(coordinator, admin):
    large = b"x" * 50_000_000
    viewer = admin.create_api_key("sees", "viewer")["api_key"]
    with pytest.raises(AdminRefusedError, match="role_insufficient"):
        Admin(coordinator.url, viewer, coordinator.certificate).create_model(large)
    with pytest.raises(AdminRefusedError, match="api_key_invalid"):
        Admin(coordinator.url, "none.none", coordinator.certificate).create_model(large)
    with pytest.raises(AdminRefusedError, match="model_invalid"):
        admin.create_model(large)
    coordinator.process.kill()
    with pytest.raises(folkmoot.UnreachableError, match="50000000 bytes"):
        admin.create_model(large)


def test_what_is_left_out_within_an_answer_is_none():
    of_slice = {"slice": "region=north", "client_count": 1, "example_count": 2}
    row = filled(views.EvaluationView, {"version": 1, "slices": [of_slice], "newer": 1})
    assert row["slices"] == [{**of_slice, "mean_loss": None, "accuracy": None, "metrics": None}]
    assert row["accuracy"] is None and row["newer"] == 1
    task = filled(views.TaskView, {"open_round": {"round": {"number": 1}}, "description": {"name": "free"}})
    assert task["open_round"]["round"]["version"] is None and task["description"] == {"name": "free"}


def test_what_was_overloaded_is_asked_again(coordinator, admin, monkeypatch):
    problem = {
        "code": "overloaded",
        "detail": "busy",
        "disposition": "retry",
        "retry_after_milliseconds": 10,
        "request_id": "4f1c",
    }
    opened, refused = Connection._opened, []

    def busy(self, method, path, content):
        if len(refused) < 2:
            refused.append(method)
            raise AdminRefusedError(f"{method} {path}", 503, problem)
        return opened(self, method, path, content)

    monkeypatch.setattr("folkmoot.admin.connection.PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(Connection, "_opened", busy)
    assert admin.populations() == [] and refused == ["GET", "GET"]
    refused.clear()
    with pytest.raises(AdminRefusedError, match="overloaded.*request 4f1c.*try again"):
        admin.create_token("any")
    assert refused == ["POST"], "what may have happened is not sent again"
