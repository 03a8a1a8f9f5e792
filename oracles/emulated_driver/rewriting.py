"""What has to change in the text of device code before a host compiler takes it.

Names that macros cannot reach are added beside what they belong to: every kernel and every variable of the device is
registered where it is defined, shared memory is filled where it is declared, and dynamic shared memory becomes a
pointer to the buffer that the launch provides. Nothing is put on lines of its own, so messages keep their line numbers.
"""

from __future__ import annotations

import re

LINE_MARKER = re.compile(r'^# .*$|"(?:\\.|[^"\\\n])*"', re.MULTILINE)
ALIGNMENT = re.compile(r"\b(?:alignas|__align__|__attribute__)\s*(?=\()")
LAUNCH_BOUNDS = re.compile(r"\b__launch_bounds__\s*(?=\()")
DYNAMIC = re.compile(r"\bextern\s+__shared__\b([^;]*?)(\w+)\s*\[\s*\]\s*;")
OPENING, CLOSING = "([{", ")]}"


class DeviceCodeError(ValueError):
    """Device code whose form the rewriting does not know."""


def rewrite(text: str) -> str:
    """Preprocessed device code as C++ for the host, with the registrations that the driver looks for."""
    text = DYNAMIC.sub(_dynamic, text)
    text = re.sub(r"\bstatic\s+(?=__(?:shared|global|constant|device)__)", "", text)
    shape = LINE_MARKER.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    additions = [*_kernels(shape), *_shared(shape), *_globals(shape)]
    for at, addition in sorted(additions, reverse=True):
        text = text[:at] + addition + text[at:]
    return text + "\nEMUCUDA_MODULE\n"


def _dynamic(match: re.Match[str]) -> str:
    kind = _without_alignment(match.group(1)).strip()
    return f"{kind} *const {match.group(2)} = reinterpret_cast<{kind} *>(emucuda::dynamic_shared);"


def _kernels(shape: str) -> list[tuple[int, str]]:
    """Where a definition or an instantiation of a kernel ends, and its registration."""
    found = []
    for match in re.finditer(r"\b__global__\b", shape):
        before = shape[_statement_start(shape, match.start()) : match.start()]
        opening = _parameters(shape, match.end())
        head = shape[match.end() : opening]
        after = _matching(shape, opening) + 1
        ending = _next(shape, after, "{;")
        instantiates = re.search(r"\btemplate\b(?!\s*<)", before) is not None
        defines = shape[ending] == "{" and "template" not in before
        if not instantiates and not defines:
            continue
        name = re.search(r"([\w:]+\s*(?:<.*>)?)\s*$", head, re.DOTALL)
        if name is None:
            raise DeviceCodeError(f"no name after __global__ in: {head.strip()}")
        end = _matching(shape, ending) if defines else ending
        found.append((end + 1, f" EMUCUDA_KERNEL({_bounds(before + head)}, {name.group(1).strip()})"))
    return found


def _bounds(head: str) -> str:
    """The most threads of a block that the head of a kernel allows; 0 when it does not say."""
    match = LAUNCH_BOUNDS.search(head)
    if match is None:
        return "0"
    arguments = head[match.end() + 1 : _matching(head, match.end())]
    return _split(arguments)[0].strip()


def _parameters(shape: str, at: int) -> int:
    """Where the parameters of a kernel open: the first parenthesis that belongs to no attribute."""
    while True:
        opening = _next(shape, at, "(")
        word = re.search(r"(\w+)\s*$", shape[:opening])
        if word is None or word.group(1) not in ("__launch_bounds__", "__attribute__", "alignas", "__align__"):
            return opening
        at = _matching(shape, opening) + 1


def _shared(shape: str) -> list[tuple[int, str]]:
    """Where a declaration of shared memory ends, and what fills its variables when a block begins."""
    found = []
    for match in re.finditer(r"\b__shared__\b", shape):
        end = _next(shape, match.end(), ";")
        names = _declared(shape[match.end() : end])
        found.append((end + 1, "".join(f" emucuda::begin_shared({name});" for name in names)))
    return found


def _globals(shape: str) -> list[tuple[int, str]]:
    """Where a declaration of variables of the device ends, and their registrations."""
    found: dict[int, str] = {}
    for match in re.finditer(r"\b(?:__constant__|__device__|__managed__)\b", shape):
        rest = _without_alignment(shape[match.end() : _next(shape + ";", match.end(), ";")])
        before = shape[_statement_start(shape, match.start()) : match.start()]
        first = re.search(r"[;{=(]", rest + ";")
        elsewhere = re.search(r'\bextern\s+(?!")|\btemplate\b|\bclass\b|\bstruct\b', before)
        if elsewhere or first is None or first.group() in "({" or "operator" in rest:
            continue
        end = _next(shape, match.end(), ";")
        found[end + 1] = "".join(f" EMUCUDA_GLOBAL({name})" for name in _declared(rest))
    return list(found.items())


def _declared(declaration: str) -> list[str]:
    """The names that a declaration, given without its specifiers of storage, declares."""
    names = []
    for piece in _split(_without_alignment(declaration)):
        plain = re.sub(r"\[[^\]]*\]", "", piece.partition("=")[0])
        words = re.findall(r"\w+", re.sub(r"\{.*\}", " ", plain, flags=re.DOTALL))
        if not words:
            raise DeviceCodeError(f"no name in the declaration: {declaration.strip()}")
        names.append(words[-1])
    return names


def _without_alignment(text: str) -> str:
    while match := ALIGNMENT.search(text):
        text = text[: match.start()] + text[_matching(text, match.end()) + 1 :]
    return text


def _split(text: str) -> list[str]:
    """The pieces of a text between the commas that no bracket encloses."""
    pieces, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in OPENING + "<") - (letter in CLOSING + ">")
        if letter == "," and depth == 0:
            pieces.append(text[start:at])
            start = at + 1
    return [*pieces, text[start:]]


def _statement_start(shape: str, at: int) -> int:
    return max(shape.rfind(letter, 0, at) for letter in ";{}") + 1


def _next(shape: str, at: int, letters: str) -> int:
    """The next place of one of some letters that no bracket encloses."""
    depth = 0
    for place in range(at, len(shape)):
        letter = shape[place]
        if depth == 0 and letter in letters:
            return place
        depth += (letter in OPENING) - (letter in CLOSING)
    raise DeviceCodeError(f"none of {letters!r} after: {shape[at : at + 60].strip()}")


def _matching(text: str, opening: int) -> int:
    """The place of the bracket that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] in OPENING) - (text[place] in CLOSING)
        if depth == 0:
            return place
    raise DeviceCodeError(f"a bracket that does not close: {text[opening : opening + 60].strip()}")
