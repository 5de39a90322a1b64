"""Names and texts of models, for C++: whatever is in them, nothing breaks."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORDS = """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
char32_t class compl const constexpr const_cast continue decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if inline int linux long
mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
template this thread_local throw true try typedef typeid typename union unix unsigned using virtual
void volatile wchar_t while xor xor_eq char8_t concept consteval constinit co_await co_return
co_yield requires std size_t ptrdiff_t nullptr_t max_align_t"""
_KEYWORDS = frozenset(_WORDS.split())
# What generated files and the headers that they include define.
_MACROS = re.compile(
    r"u?int(_least|_fast)?\d+_t|u?int(ptr|max)_t|NULL|NAN|INFINITY|EOF|HUGE_VAL[FL]?|(M|FP|MATH)_\w+"
    r"|U?INT(_LEAST|_FAST)?\d+_\w+|U?INT(PTR|MAX)_\w+|(SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC)_\w+"
    r"|CBRIDGE_\w+|FN|INLINE|MEMBER|signgam|errno|assert|offsetof|math_errhandling|Max_\w+"
)
# What a model's struct has.
_MEMBERS = frozenset(
    [
        "Inputs",
        "Outputs",
        "Extents",
        "Level",
        "Fingerprint",
        "Run",
        "Weights",
        "Scratch",
        "best",
        "evaluate",
        "extents",
        "in",
        "out",
        "useWeights",
        "WeightsSize",
        "WeightsEmbedded",
    ]
)


def identifier(name: str, taken: Iterable[str] = ()) -> str:
    """A name for any name; none of those that are taken."""
    text = re.sub(r"[\W_]+", "_", name, flags=re.ASCII).strip("_") or "unnamed"
    if text[0].isdigit():
        text = f"n{text}"
    made, count = text, 1
    reserved = text in _KEYWORDS or _MACROS.fullmatch(text)
    while (made == text and reserved) or made in set(taken):
        count += 1
        made = f"{text}{count}" if not reserved else f"{text}_{count}x"
    return made


def is_identifier(text: str) -> bool:
    """Whether C++ takes it as a name of a struct or a namespace."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text) and "__" not in text
    return bool(plain) and text not in _KEYWORDS | _MEMBERS and not _MACROS.fullmatch(text)


def comment(text: str) -> str:
    """Inside a comment: one line, and no backslash at its end."""
    return re.sub(r"[^ -~]|\\|\?(?=\?)", "_", text)


def text_of(text: str) -> str:
    """Inside a string literal."""
    # No question marks, of which trigraphs are made.
    return re.sub(r'[^ -~]|["\\?]', "_", text)
