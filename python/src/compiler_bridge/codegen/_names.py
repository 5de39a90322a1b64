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
void volatile wchar_t while xor xor_eq"""
_KEYWORDS = frozenset(_WORDS.split())


def identifier(name: str, taken: Iterable[str] = ()) -> str:
    """A name for any name; none of those that are taken."""
    text = re.sub(r"[\W_]+", "_", name, flags=re.ASCII).strip("_") or "unnamed"
    if text[0].isdigit():
        text = f"n{text}"
    made, count = text, 1
    while made in _KEYWORDS or made in set(taken):
        count += 1
        made = f"{text}{count}" if text not in _KEYWORDS else f"{text}_{count}"
    return made


def is_identifier(text: str) -> bool:
    """Whether C++ takes it as a name."""
    return bool(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text)) and text not in _KEYWORDS


def comment(text: str) -> str:
    """Inside a comment: one line, and no backslash at its end."""
    return re.sub(r"[^ -~]|\\$", "?", text)


def text_of(text: str) -> str:
    """Inside a string literal."""
    # No question marks, of which trigraphs are made.
    return re.sub(r'[^ -~]|["\\?]', "_", text)
