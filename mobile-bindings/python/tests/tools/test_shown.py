"""Results in a notebook and a terminal: short texts, tables and curves, without anything from elsewhere."""

import html as html_text
import html.parser
import json
import xml.dom.minidom

import folkmoot
import pytest
from folkmoot._notebook import columns
from folkmoot._notebook import html as shown
from folkmoot.admin import History, looks, views
from folkmoot.admin.filling import filled
from folkmoot.offer import AssignmentOffer

HOSTILE = '<script src="https://elsewhere.example/x.js"></script>'
PLAN = {"training": {"loss": {"huber": {"delta": 1.0}}, "epochs": 2, "batch_size": 8}}


def simulated(count=30):
    rows = [
        dict.fromkeys(columns.ROUNDS) | {"round_number": number + 1, "version": number + 1} for number in range(count)
    ]
    for number, row in enumerate(rows):
        row |= {"reported": 5, "held_out_loss": 1.0 / (number + 1), "held_out_metric": number / count}
    return folkmoot.Simulated(rows, {"committed": count, "held_out_metric": 0.5, "bytes_up": 12_345}, None)


def compared(name="digits"):
    rows = [
        {"variant": variant, "seed": seed, "round_number": number, "held_out_metric": 0.1 * number * seed}
        for variant in (name, "b")
        for seed in (1, 2)
        for number in (1, 2)
    ]
    measure = {"mean": 0.3, "half_width": 0.05, "values": [0.2, 0.4]}
    figures = {figure: measure for figure in ("final_metric", "rounds_to_target", "committed")}
    variants = [{"variant": variant, "difference": None, **figures} for variant in (name, "b")]
    return folkmoot.Compared(rows, variants, {"metric": "accuracy", "seeds": [1, 2]}, "", None)


def task(name="digits"):
    return filled(
        views.TaskView,
        {"id": "1", "description": {"name": name}, "state": "active", "latest_version": 3, "created_at": 86_400_000},
    )


def history(name="digits"):
    point = dict.fromkeys(columns.VERSIONS) | {"version": 1, "accuracy": 0.5}
    return History(task(name), [point, point | {"version": 2, "accuracy": 0.75}], 1, None)


class Page(html.parser.HTMLParser):
    """Checks that each element is closed, and notes the elements and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.attributes = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.elements.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


EVERYTHING = {
    "simulation": simulated,
    "comparison": lambda: compared(HOSTILE),
    "history": lambda: history(HOSTILE),
    "task": lambda: task(HOSTILE),
    "offer": lambda: AssignmentOffer("a", HOSTILE, 3, 2, 4200, PLAN),
}


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_notebook_shows_it_without_requests(name):
    page = Page(EVERYTHING[name]()._repr_html_())
    assert "script" not in page.elements, "texts are escaped"
    assert {"table"} <= set(page.elements)
    assert not {"src", "href"} & {attribute for attribute, _ in page.attributes}
    assert ("svg" in page.elements) == (name in ("simulation", "comparison", "history"))


def test_texts_are_short_and_say_what_it_is():
    assert repr(simulated()) == (
        "<Simulated: rounds 30, committed 30, held-out metric 0.5, virtual seconds –, sent to clients –, "
        "sent by clients 12.3 kB>"
    )
    assert repr(compared()) == "<Compared: accuracy with 2 seeds: digits 0.3 ± 0.05, b 0.3 ± 0.05>"
    assert repr(history()) == "<History of digits: state active, version 3, rounds committed –>"
    offer = AssignmentOffer("a", "task-1", 3, 2, 4200, PLAN)
    assert repr(offer) == (
        "<AssignmentOffer: task task-1, round 3, from version 2, to download 4.2 kB, loss huber, epochs 2, batch size 8>"
    )
    assert repr(AssignmentOffer("a", "b", 1, 0, 1, {})).endswith("loss –, epochs –, batch size –>")
    assert dict(task()) == json.loads(json.dumps(task())), "an answer is still a dictionary"
    assert "1970-01-02 00:00:00 UTC" in task()._repr_html_()


def test_a_new_secret_is_read_but_not_shown():
    record = {"id": "1", "name": None, "created_at": 10**400, "expires_at": 0}
    token = filled(views.CreatedToken, {"token": "top.secret", "record": record})
    key = {"api_key": "top.secret", "record": record}
    organisation = filled(looks.CreatedOrganisation, {"first_key": key, "organisation": {"name": "a"}})
    for row, how in (
        (token, 'row["token"]'),
        (filled(views.CreatedApiKey, key), 'row["api_key"]'),
        (organisation, 'row["first_key"]["api_key"]'),
    ):
        assert "top.secret" not in repr(row) + str([row]) + row._repr_html_()
        assert html_text.escape(how, quote=True) in row._repr_html_() and how.split("[")[-1] in repr(row)
    assert "1970-01-01" in token._repr_html_(), "one of its times is in no calendar"
    assert token["token"] == json.loads(json.dumps(token))["token"] == "top.secret"


def test_a_long_table_leaves_out_its_middle():
    page = simulated()._repr_html_()
    assert "<td>1</td>" in page and "<td>30</td>" in page and "<td>15</td>" not in page and "<td>…</td>" in page


def points(svg):
    document = xml.dom.minidom.parseString(svg)
    return [line.getAttribute("points").split() for line in document.getElementsByTagName("polyline")]


def test_a_curve_goes_from_corner_to_corner():
    svg = shown.chart({"a": [(0, 0.0), (5, 0.5), (10, 1.0)]}, "a rising line")
    left, right = shown.MARGIN, shown.WIDTH - shown.MARGIN
    bottom, top = shown.HEIGHT - shown.MARGIN / 2, shown.MARGIN / 2
    middle = f"{(left + right) / 2:.1f},{(bottom + top) / 2:.1f}"
    assert points(svg) == [[f"{left:.1f},{bottom:.1f}", middle, f"{right:.1f},{top:.1f}"]]
    assert 'aria-label="a rising line"' in svg


def test_odd_curves_do_not_break_the_page():
    assert shown.chart({}, "none") == "" == shown.chart({"a": [(1, float("nan"))]}, "none")
    assert "circle" in shown.chart({"a": [(1, 2.0)]}, "one"), "a single point is a dot"
    assert len(points(shown.chart({"a": [(1, 2.0), (2, 2.0)]}, "flat"))[0]) == 2
    [thinned] = points(shown.chart({"a": [(number, float(number)) for number in range(10_000)]}, "long"))
    assert len(thinned) <= shown.POINTS_MAX + 1 and thinned[-1].startswith(f"{shown.WIDTH - shown.MARGIN:.1f}")
    many = shown.chart({str(number): [(0, 0.0), (1, 1.0)] for number in range(20)}, "many")
    assert len(points(many)) == shown.CURVES_MAX
    assert points(shown.chart({"a": [(0, 0.0), (1, float("inf")), (2, 1.0)]}, "hole"))[0][0].startswith("36.0")
