from __future__ import annotations

import io
import json

import pytest

from cached.cli.output import Output, facts, table
from cached.errors import NotFound


class Sink:
    def __init__(self, *, as_json: bool) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.output = Output(json=as_json, stdout=self.out, stderr=self.err)

    @property
    def said(self) -> tuple[str, str]:
        return self.out.getvalue(), self.err.getvalue()


@pytest.fixture
def people() -> Sink:
    return Sink(as_json=False)


@pytest.fixture
def programs() -> Sink:
    return Sink(as_json=True)


def test_data_and_talk_never_mix(people: Sink) -> None:
    people.output.talk("on the way")
    people.output.data({"a": 1}, ["one", "two"])
    assert people.said == ("one\ntwo\n", "on the way\n")


def test_with_json_data_is_one_document_and_talk_is_silent(programs: Sink) -> None:
    programs.output.talk("on the way")
    programs.output.data({"a": 1}, ["one"])
    out, err = programs.said
    assert (json.loads(out), err) == ({"a": 1}, "")


def test_an_error_says_what_why_and_what_mends_it(people: Sink) -> None:
    people.output.error(NotFound("no such bucket\nasked s3.example", hint="check the name"))
    assert people.said == ("", "error: no such bucket\n  asked s3.example\nhint: check the name\n")


def test_an_error_without_a_hint_has_no_hint_line(people: Sink) -> None:
    people.output.error(NotFound("gone"))
    assert people.said == ("", "error: gone\n")


def test_with_json_an_error_is_one_object_on_stderr(programs: Sink) -> None:
    programs.output.error(NotFound("gone", hint="look", details={"n": 1}))
    out, err = programs.said
    body = {"code": "NotFound", "message": "gone", "hint": "look", "details": {"n": 1}}
    assert (out, json.loads(err)) == ("", body)


def test_a_terminal_obeys_nothing_that_came_from_a_listing(people: Sink) -> None:
    people.output.data({}, ["\x1b[2Jname\u202e"])
    people.output.talk("\x1b[2Jname")
    people.output.error(NotFound("\x1b[2Jname"))
    assert not any("\x1b" in text or "\u202e" in text for text in people.said)


def test_json_keeps_every_character_of_a_name(programs: Sink) -> None:
    programs.output.data({"name": "\x1b[2Jé"}, [])
    assert json.loads(programs.said[0]) == {"name": "\x1b[2Jé"}


def test_columns_are_aligned_by_what_is_printed() -> None:
    assert table(("A", "B"), [("long\n", "x"), ("s", "y")]) == ["A       B", "long\\n  x", "s       y"]


def test_facts_without_a_value_are_left_out() -> None:
    assert facts([("a", 1), ("empty", ""), ("none", None), ("long", 0)]) == ["a     1", "long  0"]
