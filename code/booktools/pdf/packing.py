"""A PDF that Chromium printed, made small, and the same from the same pages.

Tags are tens of thousands of small objects, which Chromium writes one by one, as text. Here all objects but streams are
put into streams that are compressed, as PDF 1.5 has it: a fifth is left. The dates are those that are asked for.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime

EACH = 200
"""Objects in one stream."""
_TITLE = re.compile(rb"/Title (?:<FEFF(?P<hex>[0-9A-F]+)>|\((?P<plain>(?:\\.|[^\\)])*)\))", re.S | re.I)
_OBJECT = re.compile(rb"(\d+) 0 obj\n(.*?)\s*endobj\s*", re.S)


def packed(data: bytes, facts: Mapping[str, str], date: datetime, headings: Iterable[str] = ()) -> bytes:
    """Returns a PDF of Chromium's as a small one, which says these facts of itself, such as its author, and a date.

    In its outline, Chromium makes one word of two between which a heading was broken: there it is to say ``headings``.
    """
    root, info, objects = _read(data)
    whole = {_squeezed(heading): heading for heading in headings}
    for number, body in objects.items():
        if b"/Title" in body and b"/Parent" in body:
            objects[number] = _TITLE.sub(lambda title: _titled(title, whole), body)
    objects[info] = _info(objects[info], facts, date)
    objects[root] = objects[root].replace(b"<<", b"<</PageMode /UseOutlines\n", 1)
    out = bytearray(b"%PDF-1.5\n%\xd3\xeb\xe9\xe1\n")
    entries: dict[int, tuple[int, int, int]] = {0: (0, 0, 65535)}
    loose = []
    for number in sorted(objects):
        body = objects[number]
        if body.endswith(b"endstream"):
            entries[number] = (1, len(out), 0)
            out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
        else:
            loose.append(number)
    following = max(objects) + 1
    for start in range(0, len(loose), EACH):
        numbers = loose[start : start + EACH]
        entries[following] = (1, len(out), 0)
        entries |= {number: (2, following, place) for place, number in enumerate(numbers)}
        out += _stream(following, *_together([(number, objects[number]) for number in numbers]))
        following += 1
    start = len(out)
    entries[following] = (1, start, 0)
    table = b"".join(
        kind.to_bytes(1) + place.to_bytes(4) + extra.to_bytes(2)
        for kind, place, extra in (entries[number] for number in range(following + 1))
    )
    digest = hashlib.sha256(out).hexdigest()[:32].encode()
    said = b"/Type /XRef /W [1 4 2] /Size %d /Root %d 0 R /Info %d 0 R" % (following + 1, root, info)
    said += b" /ID [<%b> <%b>]" % (digest, digest)
    out += _stream(following, said, table)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def _squeezed(words: str) -> str:
    return re.sub(r"\s+", "", words)


def _titled(title: re.Match[bytes], whole: Mapping[str, str]) -> bytes:
    """Returns the title of an entry of the outline, with the spaces that the heading has."""
    if title["hex"]:
        words = bytes.fromhex(title["hex"].decode()).decode("utf-16-be")
    else:
        words = re.sub(rb"\\(.)", rb"\1", title["plain"]).decode("latin-1")
    found = whole.get(_squeezed(words))
    return b"/Title " + _text(found) if found else title[0]


def _read(data: bytes) -> tuple[int, int, dict[int, bytes]]:
    """Returns the numbers of the root and of the facts, and every object by its number."""
    begin = int(data[data.rindex(b"startxref") :].split()[1])
    places = [int(line[:10]) for line in data[begin:].split(b"trailer")[0].splitlines() if line.endswith(b"n ")]
    ends = dict(zip(sorted(places), [*sorted(places)[1:], begin], strict=True))
    objects = {}
    for place in places:
        found = _OBJECT.fullmatch(data[place : ends[place]])
        assert found is not None, "not a PDF of Chromium's"
        objects[int(found[1])] = found[2]
    trailer = data[data.rindex(b"trailer") :]
    root, info = (re.search(rb"/%b (\d+) 0 R" % name, trailer) for name in (b"Root", b"Info"))
    assert root is not None, data[-80:]
    assert info is not None, data[-80:]
    return int(root[1]), int(info[1]), objects


def _info(old: bytes, facts: Mapping[str, str], date: datetime) -> bytes:
    producer = re.search(rb"/Producer \(.*?\)", old)
    said = [b"/%b %b" % (name.encode(), _text(value)) for name, value in facts.items()]
    said += [producer[0]] if producer else []
    when = date.strftime("D:%Y%m%d%H%M%S+00'00'").encode()
    return b"<<%b>>" % b"\n".join([*said, b"/CreationDate (%b)" % when, b"/ModDate (%b)" % when])


def _text(words: str) -> bytes:
    return b"<FEFF%b>" % words.encode("utf-16-be").hex().upper().encode()


def _together(objects: list[tuple[int, bytes]]) -> tuple[bytes, bytes]:
    """Returns what a stream of objects says of itself, and the stream."""
    places, bodies = [], bytearray()
    for number, body in objects:
        places.append(b"%d %d" % (number, len(bodies)))
        bodies += body + b"\n"
    head = b" ".join(places) + b"\n"
    return b"/Type /ObjStm /N %d /First %d" % (len(objects), len(head)), head + bytes(bodies)


def _stream(number: int, said: bytes, content: bytes) -> bytes:
    small = zlib.compress(content, 9)
    said += b" /Filter /FlateDecode /Length %d" % len(small)
    return b"%d 0 obj\n<<%b>> stream\n%b\nendstream\nendobj\n" % (number, said, small)
