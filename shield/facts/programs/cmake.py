"""cmake -E: a few commands of every system, as cmake itself has them for what it builds.

They are read as the commands that they stand for. Source: cmake(1), "Run a Command-Line Tool".
"""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import run_script

__all__ = ["works_as_tool"]

# They print, compare, or keep account of what is built.
_BUILDING = frozenset(
    ("capabilities", "cmake_autogen", "cmake_depends", "cmake_echo_color", "cmake_link_script", "cmake_progress_report",
     "cmake_progress_start", "cmake_transform_depfile", "compare_files", "echo", "echo_append", "false", "true")
)  # fmt: skip
_STANDS_FOR: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "copy": ("cp",),
        "copy_directory": ("cp", "-r"),
        "copy_if_different": ("cp",),
        "make_directory": ("mkdir", "-p"),
        "remove": ("rm", "-f"),
        "remove_directory": ("rm", "-rf"),
        "rename": ("mv",),
        "rm": ("rm",),
        "touch": ("touch",),
    }
)


def works_as_tool(call: Invocation) -> bool:
    """Whether it is known what `cmake -E …` does; what it stands for is added."""
    if call.name != "cmake" or len(call.words) < 2 or call.words[0].text != "-E" or not call.words[1].fixed:
        return False
    verb, words = call.words[1].text, call.words[2:]
    named = _STANDS_FOR.get(verb)
    if named is not None:
        if verb == "copy_directory":
            # what lies in it, not it
            words = tuple([_within(word) for word in words[:-1]] + list(words[-1:]))
        call.command([*(Value(text=text, head=text) for text in named), *words])
    if verb == "cmake_link_script" and words:
        run_script(call.reading, words[0], "sh", (), call.context)
    return verb in _BUILDING or named is not None


def _within(word: Value) -> Value:
    return word._replace(text=word.text + "/.", head=word.head and word.head + "/.") if word.fixed else word
