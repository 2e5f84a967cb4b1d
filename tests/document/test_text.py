"""How YAML and JSON text becomes values, and which text is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.engine.document.reader import read_values
from agentctl.limits import DOCUMENT_BYTES_MAX, DOCUMENT_DEPTH_MAX
from tests.document.reading import refusal, values

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda one: not one.is_integer())
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)


@given(OBJECTS, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_all_of_json_is_read_as_json(
    value: dict[str, object], escaped: bool, indent: int | str | None
) -> None:
    assert values(json.dumps(value, ensure_ascii=escaped, indent=indent)) == value


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_any_text_gives_values_or_placed_problems(text: str | bytes) -> None:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    value, problems = read_values(raw, "values.yaml")
    assert (value is None) == bool(problems)
    assert all(one.line and one.column and one.message for one in problems)


@given(st.lists(st.sampled_from('{}[]:,"-&a*a!|>?#%\n \t1e.yes\\'), max_size=30).map("".join))
def test_any_punctuation_gives_values_or_placed_problems(text: str) -> None:
    value, problems = read_values(text.encode(), "values.yaml")
    assert (value is None) == bool(problems)
    assert all(one.line and one.column for one in problems)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2025-11-25", "2025-11-25"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("0o17", 15),
        ("0x1F", 31),
        ("017", 17),
        ("+5", 5),
        (".5", 0.5),
        ("1e3", 1000),
        ("1.0", 1),
        ("-0.0", 0),
        ("1e22", 1e22),
        ("True", True),
        ("tRUE", "tRUE"),
        ("~", None),
        ("", None),
        ("nUll", "nUll"),
        ("'1'", "1"),
        ("! 1", "1"),
        ("!!str null", "null"),
        ("1２", "1２"),
    ],
)
def test_a_plain_scalar_means_what_yaml_1_2_says(written: str, meant: object) -> None:
    value = values(f"a: {written}")["a"]
    assert value == meant
    assert type(value) is type(meant)


def test_a_key_is_the_text_as_written() -> None:
    text = "true: 1\n1.0: 2\n~: 3\n2025-11-25: 4\n"
    assert list(values(text)) == ["true", "1.0", "~", "2025-11-25"]


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    assert values(r'{"a": "\ud83d\ude00"}') == {"a": "\U0001f600"}


@pytest.mark.parametrize(
    "written", [r'{"a": "\ud83d"}', r'{"\udc00": 1}', r'{"a": ["\ude00\ud83d"]}', r'a: "\ud83d"']
)
def test_half_of_a_surrogate_pair_is_refused(written: str) -> None:
    problem = refusal(written)
    assert problem.code == "yaml_syntax"
    assert problem.line == 1


def test_json_may_be_indented_with_tabs_and_escape_what_it_likes() -> None:
    text = '\ufeff\r\n{\r\n\t"\\/": [\r\n\t\t"\\u00e9\\/\\b",\t1e2]\r\n}\t'
    assert values(text) == {"/": ["é/\b", 100]}


def test_a_json_key_may_be_longer_than_yaml_allows() -> None:
    key = "k" * 4000
    assert values(json.dumps({key: 1})) == {key: 1}


@pytest.mark.parametrize("text", ["k" * 2000 + ": 1\na: 2", "a: 1\n" + "k" * 2000 + ": [1]"])
def test_a_yaml_key_longer_than_yaml_allows_gets_advice(text: str) -> None:
    assert refusal(text).help == "a key longer than 1,024 characters starts with `? `"
    key = "? " + "k" * 2000 + "\n: 1"
    assert values(key) == {"k" * 2000: 1}


def test_a_second_colon_gets_advice() -> None:
    problem = refusal("a: note: this")
    assert (problem.column, problem.help) == (8, "a text that holds `: ` stands in quotes")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"k" * 2000: {"l" * 2096: [1]}}),
        "a: &a {? " + "k" * 2000 + "\n : [1]}\n? " + "l" * 2096 + "\n: *a",
    ],
)
def test_the_way_to_a_value_is_bounded(text: str) -> None:
    assert values(text)
    assert "on the way" in refusal(text.replace("l" * 2096, "l" * 2097)).message


def test_a_flow_mapping_that_is_not_json_is_read_as_yaml() -> None:
    assert values("{a: 1, 'b': [x, y,]}") == {"a": 1, "b": ["x", "y"]}


@pytest.mark.parametrize("number", [".inf", "-.INF", ".nan", "1e999", "9" * 401])
def test_a_number_that_json_cannot_hold_is_refused(number: str) -> None:
    problem = refusal(f"a:\n  b: [0, {number}]")
    assert problem.path == "a.b[1]"
    assert (problem.line, problem.column) == (2, 10)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        (b"", 1, 1, "empty"),
        (b"# nothing", 1, 1, "empty"),
        (b"- a", 1, 1, "object"),
        (b"a: 1\nb: \xff", 2, 4, "UTF-8"),
        (b"\xef\xbb\xbfa: \xff", 1, 4, "UTF-8"),
        ("é: ".encode() + b"\xff", 1, 4, "UTF-8"),
        (b"a: \xff\xfe", 1, 4, "UTF-8"),
        (b"a: 1\nb: \0", 2, 4, "NUL"),
        (b"a: 1\nb: \x07", 2, 4, "U+0007"),
        (b"a: 1\n---\nb: 2", 2, 1, "one document"),
        (b"a: !!python/object:os.system x", 1, 4, "tag"),
        (b"a: !own x", 1, 4, "tag"),
        (b"a: !!binary aGk=", 1, 4, "tag"),
        (b"a: &x {b: 1}\nc:\n  <<: *x", 3, 3, "merge"),
        (b"a: 1\nb: 2\na: 3", 3, 1, "line 1"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', 1, 24, "duplicate"),
        (b"a: [1", 1, 6, "expected"),
        (b"a:\n\tb: 1", 2, 1, "token"),
        (b"a: *b", 1, 4, "no anchor"),
        (b"a: &a [*a]", 1, 8, "contains it"),
        (b"? [a]\n: 1", 1, 3, "key must be text"),
    ],
)
def test_a_text_that_is_no_document_says_where_and_why(
    text: bytes, line: int, column: int, words: str
) -> None:
    problem = refusal(text)
    assert words in problem.message
    assert (problem.line, problem.column) == (line, column)


def test_a_byte_order_mark_is_accepted() -> None:
    assert values(b"\xef\xbb\xbfa: 1") == {"a": 1}


def test_a_tab_and_a_template_in_braces_get_advice() -> None:
    assert "spaces" in str(refusal("a:\n\tb: 1").help)
    assert "quotes" in str(refusal("a: {b: ${{ inputs.c }}}").help)


def test_every_duplicate_key_is_reported() -> None:
    _, problems = read_values(b"a: 1\na: 2\nb: {c: 1, c: 2}\na: 3", "values.yaml")
    assert [(one.code, one.line) for one in problems] == [
        ("duplicate_key", 2),
        ("duplicate_key", 3),
        ("duplicate_key", 4),
    ]


def test_a_file_may_have_one_mebibyte_and_no_byte_more() -> None:
    exact = b'{"a": "' + b"x" * (DOCUMENT_BYTES_MAX - 9) + b'"}'
    assert len(exact) == DOCUMENT_BYTES_MAX
    assert values(exact)
    assert "at most" in refusal(exact + b" ").message


def nested(depth: int) -> str:
    """Return an object of that many levels."""
    return '{"a": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


@pytest.mark.parametrize("style", ["{}", "# not JSON\n{}"])
def test_nesting_is_bounded(style: str) -> None:
    assert values(style.format(nested(DOCUMENT_DEPTH_MAX)))
    assert "deep" in refusal(style.format(nested(DOCUMENT_DEPTH_MAX + 1))).message
    assert refusal(style.format(nested(400_000))).line


def aliases(levels: int, width: int) -> str:
    """Return a document in which every level names the one before it several times."""
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(["a0: &a0 [x]", *rows])


def test_aliases_do_not_multiply_a_document() -> None:
    assert "nodes" in refusal(aliases(12, 10)).message


def test_aliases_do_not_multiply_the_characters_of_a_document() -> None:
    text = f"a: &a {'x' * 20_000}\nb: [{', '.join(['*a'] * 1000)}]"
    assert "characters" in refusal(text).message
    assert len(str(values(text.replace("x" * 20_000, "x" * 2000))["b"])) > 2_000_000


def test_aliases_do_not_nest_a_document() -> None:
    assert "deep" in refusal(aliases(5000, 1)).message


def test_an_alias_stands_for_its_node() -> None:
    assert values("a: &x [1]\nb: *x\nc: {d: *x}") == {"a": [1], "b": [1], "c": {"d": [1]}}
