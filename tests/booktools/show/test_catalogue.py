"""Labels, outputs and comments in another language: numbers stay, code stays, nothing is left out unnoticed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from booktools.show.catalogue import Catalogue, has_words, is_code, wrapped
from booktools.show.render import themed_svg, translate_markup
from booktools.source.book import BookError
from tests.conftest import ROOT


@pytest.fixture
def labels(tmp_path: Path) -> Catalogue:
    path = tmp_path / "labels.po"
    entries = {
        "# threads": "#个线程",
        "# of # samples": "#个（共#个样本）",
        "time (µs)": "时间（µs）",
        "Times a sum.": "测量求和的时间。",
        "Second paragraph that runs over two lines.": "第二段，原文占两行。",
        "why": "原因",
        "sum: # sec": "求和：#秒",
        "step # s": "一步# s",
        "step #": "第#步",
    }
    body = "".join(f'msgid "{key}"\nmsgstr "{value}"\n\n' for key, value in entries.items())
    path.write_text('msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n' + body, encoding="utf-8")
    return Catalogue(path)


@pytest.mark.parametrize(
    "text",
    [
        *("3.2 ms", "1.5e-6", "12 GB/s", "float32", "torch.compile(f)", "x", "10⁻³", "512 × 512", "n=30", "", "±0.3"),
        *("0.06 None", "True 3"),  # what Python prints where something is lacking, such as a link
    ],
)
def test_numbers_units_and_identifiers_pass_through(labels: Catalogue, text: str) -> None:
    assert labels.translate(text) == text
    assert not labels.missing


@pytest.mark.parametrize("text", ["median", "8 threads", "time (s)", "a word"])
def test_words_do_not(text: str) -> None:
    assert has_words(text)


def test_numbers_stand_where_the_translation_puts_them(labels: Catalogue) -> None:
    assert labels.translate("8 threads") == "8个线程"
    assert labels.translate(" 3 of 1,000 samples ") == " 3个（共1,000个样本） "


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("step 0.9 s", "一步0.9 s"),
        ("step 870 ms", "一步870 ms"),
        ("step 2e-07 s", "一步2e-07 s"),
        ("step 3", "第3步"),
    ],
)
def test_how_fast_a_machine_is_changes_no_entry(labels: Catalogue, text: str, shown: str) -> None:
    assert labels.translate(text) == shown
    assert not labels.missing


def test_a_letter_that_is_no_unit_stays_in_its_word(labels: Catalogue) -> None:
    for text in ("3 steps", "3 sheep", "3 ksteps", "3 msec"):
        labels.translate(text)
    assert list(labels.missing) == ["# steps", "# sheep", "# ksteps", "# msec"]


@pytest.mark.parametrize("catalogue", sorted((ROOT / "chapters").glob("labels.*.po")), ids=lambda path: path.name)
def test_no_entry_has_a_unit_that_is_never_asked_for(catalogue: Path) -> None:
    entries = Catalogue(catalogue).entries
    assert entries
    assert [key for key in entries if re.search(r"# (?:[KMGT]i|[kMGTmµn])(?:FLOP|bit|Hz|B|s)\b", key)] == []


def test_what_is_missing_is_noted_once_as_a_template(labels: Catalogue) -> None:
    assert labels.translate("7 sheep") == "7 sheep"
    assert labels.translate("9 sheep") == "9 sheep"
    assert list(labels.missing) == ["# sheep"]


def test_printed_lines_are_translated_one_by_one(labels: Catalogue) -> None:
    assert labels.translate_lines("sum: 0.1234 sec\n42\n") == "求和：0.1234秒\n42\n"


PRINTED = """def program(x, w):
    t0 = torch.exp(x @ w)
    del t0, x
    return t9
t0: int = add(1, 2)
#include <cmath>
extern "C" void loop(long n, const float* __restrict in0) {
  #pragma omp parallel for simd num_threads(threads)
  for (long i = 0; i < n; ++i) {
    out[i] = std::exp(in0[i]);
  }
}"""


def test_printed_lines_of_a_program_stay(labels: Catalogue) -> None:
    assert labels.translate_lines(PRINTED) == PRINTED
    assert not labels.missing


@pytest.mark.parametrize(
    "line",
    ["sum", "sum: 0.1 sec", "speedup = 3", "return of the trace", "del x  # why", "int x;  // why", "see below:"],
)
def test_printed_lines_of_language_do_not(line: str) -> None:
    assert not is_code(line)


CODE = '''def f(x):
    """Times a sum.

    Second paragraph that
    runs over two lines.
    """
    s = "# why is not a comment here"
    return x  # why
'''


def test_wrapped_breaks_han_anywhere_but_keeps_names_and_closing_signs() -> None:
    text = "返回预测的秒数：``predicted_seconds_of_many_calls``，见《性能测量》一章。" * 6
    lines = wrapped(text, 40)
    assert "".join(lines) == text
    assert len(lines) > 6
    assert all(sum(1 + (ord(c) > 127) for c in line) <= 46 for line in lines)
    assert all(line[0] not in "，。；：、）》”" for line in lines)
    assert all(line.count("``") % 2 == 0 for line in lines)
    assert wrapped("short words stay", 40) == ["short words stay"]


def test_comments_and_docstrings_change_and_code_does_not(labels: Catalogue) -> None:
    shown = labels.translate_code(CODE)
    assert not labels.missing
    assert '"""测量求和的时间。' in shown
    assert "    第二段，原文占两行。" in shown
    assert "return x  # 原因" in shown

    def strip(source: str) -> str:
        tree = ast.parse(source)
        tree.body[0].body.pop(0)  # type: ignore[attr-defined]
        return ast.dump(tree)

    assert strip(shown) == strip(CODE)


DIFF = '''\
--- one.py
+++ two.py
@@ -1,4 +1,6 @@
 """
-    return s  # why
+    """Times a sum.
+
+    Second paragraph that
+    runs over two lines.
+    """
+    print("# why is not a comment here")
     return x  # why
'''


def test_a_diff_keeps_its_signs_and_its_code(labels: Catalogue) -> None:
    shown = labels.translate_diff(DIFF)
    assert not labels.missing
    assert [line[:1] for line in shown.split("\n")] == [*"-+@ -+++++ ", ""]
    assert "-    return s  # 原因" in shown
    assert "+    第二段，原文占两行。" in shown
    assert Catalogue(None).translate_diff(DIFF) == DIFF


def test_code_that_is_no_python_is_left_alone(labels: Catalogue) -> None:
    assert labels.translate_code("for (") == "for ("


def test_markup_keeps_its_tags_and_code(labels: Catalogue) -> None:
    assert (
        translate_markup("<td>8 threads</td><code>8 threads</code>", labels) == "<td>8个线程</td><code>8 threads</code>"
    )


def test_a_number_and_its_unit_stay_on_one_line(labels: Catalogue) -> None:
    markup = "<td>45 ms</td><td>32.2 ± 0.4 GB/s</td><td>7 %</td><td>2 or more</td>"
    kept = markup.replace("45 ms", "45\u00a0ms").replace("0.4 GB", "0.4\u00a0GB").replace("7 %", "7\u00a0%")
    assert translate_markup(markup, labels) == kept.replace("2 or", "2\u00a0or")


@pytest.mark.parametrize("kept", ["<{0}><b>8 threads</b> 8 threads</{0}>", "<{0}><{0}>a</{0}> 8 threads</{0}>"])
@pytest.mark.parametrize("tag", ["code", 'td translate="no"'])
def test_what_is_kept_ends_with_its_own_tag(kept: str, tag: str, labels: Catalogue) -> None:
    name = tag.partition(" ")[0]
    markup = kept.format(name).replace(f"<{name}>", f"<{tag}>", 1)
    assert translate_markup(markup, labels) == markup
    assert not labels.missing


def test_figures_are_translated_themed_and_have_ids_of_their_own(labels: Catalogue) -> None:
    from dlperf.plot import figure
    from dlperf.records import svg

    pictures = []
    for height in (1, 2):
        fig, ax = figure()
        ax.plot([1, height])
        ax.set_xlabel("time (µs)")
        pictures.append(themed_svg(svg(fig), labels))
    import re

    ids = [set(re.findall(r'\bid="([^"]+)"', picture)) for picture in pictures]
    assert "时间（µs）" in pictures[0]
    assert "time" not in re.sub(r"<style.*?</style>", "", pictures[0], flags=re.S)
    assert ids[0].isdisjoint(ids[1])
    for picture, known in zip(pictures, ids, strict=True):
        assert set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', picture))
        assert {a or b for a, b in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', picture)} <= known


def test_a_catalogue_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BookError, match="none"):
        Catalogue(tmp_path / "none.po")
    (tmp_path / "bad.po").write_text('msgid "a"\nmsgstr "b"\nnot gettext\n', encoding="utf-8")
    with pytest.raises(BookError, match="bad"):
        Catalogue(tmp_path / "bad.po")


def test_no_string_of_the_book_has_two_translations() -> None:
    """The first would be taken, and nobody be told."""
    text = (ROOT / "chapters" / "labels.zh.po").read_text(encoding="utf-8")
    strings = Counter("".join(found.split('"')[1::2]) for found in re.findall(r"^msgid ((?:\".*\"\n)+)", text, re.M))
    assert len(strings) > 1000
    assert [string for string, times in strings.items() if times > 1] == []
