"""Mail: single messages (eml) and mailboxes (mbox)."""

import re
from collections import Counter
from collections.abc import Iterator
from email.headerregistry import Address
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32, default
from email.utils import parsedate_to_datetime

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    RefusedError,
    SourceFile,
    UnreadableError,
    clean,
    note_of_counts,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.html import parse, to_text
from graphrag_dagster.kernel.documents.text_decoding import UNDECODED, decode

_FROM_LINE = re.compile(rb"^From [^\r\n]{1,300}\r?\n", re.MULTILINE)
_HEADER = re.compile(rb"[A-Za-z][A-Za-z0-9-]{0,70}:|[ \t]|>?From ")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_LONGEST_HEADER = 10_000
_MOST_ADDRESSES = 200
_MOST_PARTS = 1_000
_DEEPEST = 20


def read_mail(data: bytes, source: SourceFile) -> Reading:
    """Read a message: its text, else its page; subject as title, its date, and who wrote to whom as metadata.

    Messages that are passed on stand in the text. Attachments are noted.

    Raises:
        RefusedError: not text.
        UnreadableError: no header, so that it is no message.
    """
    if not data.strip():
        return Reading(())
    if not _HEADER.match(data.lstrip(b"\xef\xbb\xbf \t\r\n")):
        raise UnreadableError("no mail: it does not begin with a header such as 'From:'")
    left: Counter[str] = Counter()
    record = _record(data.lstrip(b"\xef\xbb\xbf\r\n"), left, source)
    return Reading((record,), None, note_of_counts("left out", left))


def read_mailbox(data: bytes, source: SourceFile) -> Reading:
    """Read the messages of a mailbox, a document each; see :func:`read_mail`.

    Raises:
        UnreadableError: no line ``From …`` begins a message, or there are too many messages or characters.
    """
    if not data.strip():
        return Reading(())
    data = data.lstrip(b"\r\n")
    left: Counter[str] = Counter()
    records: list[FileRecord] = []
    characters, blank = 0, 0
    for number, message in enumerate(_messages(data)):
        record = _record(_QUOTED_FROM.sub(rb"\1", message), left, source, number)
        blank += not record.text.strip()
        characters += len(record.text)
        records.append(record)
        if number >= source.limits.max_documents:
            raise UnreadableError(source.limits.over_limit_reason("max_documents", "messages"))
        if characters > source.limits.max_characters:
            raise UnreadableError(source.limits.over_limit_reason("max_characters", "characters of text"))
    if blank:
        left["messages without a text"] += blank
    return Reading(tuple(records), None, note_of_counts("left out", left))


def _messages(data: bytes) -> Iterator[bytes]:
    # A line that begins a message stands after a blank line and before a header.
    begins = [
        found
        for found in _FROM_LINE.finditer(data)
        if (
            found.start() == 0
            or data[max(0, found.start() - 4) : found.start()].endswith((b"\n\n", b"\r\n\r\n"))
        )
        and _HEADER.match(data, found.end())
    ]
    if not begins or begins[0].start() > 0:
        raise UnreadableError(
            "no mailbox: it does not begin with a line such as 'From hanna@example.org Thu Mar  4 …'"
        )
    ends = [found.start() for found in begins[1:]] + [len(data)]
    for found, end in zip(begins, ends, strict=True):
        yield data[found.end() : end]


def _record(data: bytes, left: Counter[str], source: SourceFile, row: int | None = None) -> FileRecord:
    message = BytesParser(policy=compat32).parsebytes(data)
    text = "\n\n".join(filter(str.strip, _readable_parts(message, left, source)))
    if len(text) > source.limits.max_characters:
        raise UnreadableError(source.limits.over_limit_reason("max_characters", "characters of text"))
    told = {name: _addresses(message, name) for name in ("from", "to", "cc")}
    return FileRecord(
        clean(text),
        title=_words(message, "subject"),
        source_id=_words(message, "message-id"),
        date=_date(message),
        metadata={
            **told,
            "in_reply_to": _words(message, "in-reply-to"),
            "list": _words(message, "list-id"),
            "attachments": _attachment_names(message),
        },
        row=row,
    )


def _readable_parts(
    message: Message, left: Counter[str], source: SourceFile, depth: int = 0
) -> Iterator[str]:
    """The readable parts in their order; of alternatives, the plain one that has any words."""
    if depth > _DEEPEST:
        left["parts that are nested too deeply"] += 1
        return
    kind = message.get_content_type()
    payload = message.get_payload()
    parts = [part for part in payload if isinstance(part, Message)] if isinstance(payload, list) else []
    if kind == "message/rfc822" and parts:
        for inner in parts[:1]:
            heads = (
                f"{name.title()}: {said}"
                for name in ("from", "to", "date", "subject")
                if (said := _words(inner, name))
            )
            yield "\n".join(["Forwarded message:", *heads])
            yield from _readable_parts(inner, left, source, depth + 1)
    elif parts:
        if len(parts) > _MOST_PARTS:
            left["parts beyond the first thousand"] += len(parts) - _MOST_PARTS
        if kind == "multipart/alternative":
            yield from _choose_alternative(parts[:_MOST_PARTS], left, source, depth)
            return
        for part in parts[:_MOST_PARTS]:
            yield from _readable_parts(part, left, source, depth + 1)
    elif _is_attached(message) or kind not in ("text/plain", "text/html"):
        name = _file_name(message)
        left[f"attachments ({kind})" if depth or name else f"a body of {kind}"] += 1
    else:
        yield _text(message, kind, left)


def _choose_alternative(
    parts: list[Message], left: Counter[str], source: SourceFile, depth: int
) -> Iterator[str]:
    """One of several forms of the same part: the first with words, plain text before HTML."""
    order = {"text/plain": 0, "text/html": 1}
    for part in sorted(
        parts, key=lambda one: order.get(one.get_content_type(), 2 if one.is_multipart() else 3)
    ):
        of_part: Counter[str] = Counter()
        said = list(_readable_parts(part, of_part, source, depth + 1))
        if any(map(str.strip, said)):
            left.update({what: count for what, count in of_part.items() if part.is_multipart()})
            yield from said
            return


def _text(message: Message, kind: str, left: Counter[str]) -> str:
    payload = message.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    if not data.strip():
        return ""
    charset = message.get_content_charset()
    try:
        decoded = decode(data, charset)
    except RefusedError:
        left["texts in no known encoding"] += 1
        return ""
    left[UNDECODED] += decoded.replaced
    return to_text(parse(decoded.text)).text if kind == "text/html" else decoded.text


def _is_attached(message: Message) -> bool:
    return message.get_content_disposition() == "attachment" or (
        message.get_content_type() != "text/plain" and bool(_file_name(message))
    )


def _attachment_names(message: Message) -> list[str]:
    names = []
    for place, part in enumerate(message.walk()):
        if place > _MOST_PARTS:
            break
        if not part.is_multipart() and (name := _file_name(part)):
            names.append(name)
    return names


def _file_name(message: Message) -> str | None:
    try:
        return _parsed("subject", str(message.get_filename() or ""))[0]
    except (LookupError, ValueError, TypeError):
        return None


def _parsed(name: str, value: str) -> tuple[str | None, list[str]]:
    """The words of a header and its addresses, or those of it as it is written where it is none."""
    # Bytes that are not ASCII stand there as lone surrogates.
    data = value[:_LONGEST_HEADER].encode("utf-8", "surrogateescape")
    try:
        written = data.decode("utf-8")
    except UnicodeDecodeError:
        written = data.decode("cp1252", "replace")
    try:
        header = default.header_factory(name, " ".join(written.split()))
        return one_line(str(header)), [_person(one) for one in getattr(header, "addresses", ())]
    # The library raises anything at all on what it does not expect.
    except Exception:
        return one_line(written), [written]


def _person(address: Address) -> str:
    named = address.display_name
    return f"{named} <{address.addr_spec}>" if named and address.username else named or address.addr_spec


def _header(message: Message, name: str) -> tuple[str | None, list[str]]:
    return _parsed(
        name, next((str(value) for key, value in message.raw_items() if key.casefold() == name), "")
    )


def _words(message: Message, name: str) -> str | None:
    return _header(message, name)[0]


def _addresses(message: Message, name: str) -> list[str] | str | None:
    found = list(filter(None, map(one_line, _header(message, name)[1][:_MOST_ADDRESSES])))
    return (found[0] if found else None) if name == "from" else found or None


def _date(message: Message) -> str | None:
    written = _words(message, "date")
    if not written:
        return None
    try:
        return parsedate_to_datetime(written).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return written
