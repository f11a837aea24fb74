"""What sh and bash read differently: such a script is not judged by what bash would do (dash(1))."""

import re

from shield.regex import regex

__all__ = ["reads_alike"]

_BASHISMS = regex(
    r"\|&|&>|<<<|\$'|\$\[|>&(?![0-9-])|=~|:~"
    r"|\[\[|(?<!\$)\(\(|<\(|>\(|;;?&|\+="
    r"|(?<!\$)\{(?:[^\s'\"\\{,.]|\.(?!\.)|'[^']*'|\"[^\"]*\"|\\[^{])*+(?:,|\.\.)"
    # lists with operations, or in front of another expansion; `[^…]`; descriptors of two digits; `$"…"`; `printf -v`
    r"|\$\{#?[@*][^}]|\$\{#[@*]|\$\{?[@*]\}?\"?[^\s\"]*[$`]|\[\^|\d\d[<>]|\$\"|\bprintf\s+[\"'\\]*-"
    r"|\$\{!|\$\{[A-Za-z_]\w*[\[/^,@]|\$\{[A-Za-z_]\w*:[^-=?+]"
    r"|[A-Za-z_]\w*=\("
    r"|\b(?:function|select|coproc|time|declare|typeset|source|let|shopt|mapfile|readarray|pushd|popd|builtin|enable)\b"
    r"|\b(?:export|local|readonly)\s[^;&|\n]*=[^;&|\n\"']*[$`]"
)

# Some print `\n` as it is, some as the newline that it says.
_ECHO = regex(r"\becho\b")
_ESCAPES = regex(r"\\[\\0-9a-z]")

# What zsh certainly reads as bash does (zshmisc(1), zshexpn(1)): plain words, patterns and texts in quotes, `|`, `&&`,
# `||`, `;`, and output that is thrown away or joined. No variables (it does not split them), no `=name`, `~name`, `^`,
# `#`, `!`, `**`, no groups (`*(e:…:)` runs code).
_ZSH_PLAIN = regex(
    r"(?:[A-Za-z0-9_./,:@%+?-]|\*(?!\*)|(?<=[A-Za-z0-9_-])=|(?<![^\s|&;])~(?=[/\s]|\Z)|'[^'\n]*'|\"[^\"$`\\!\n]*\""
    r"|2>&1|[12&]?>>? ?/dev/null(?=[\s|&;]|\Z)|&&|\|\|?|;| )*\Z"
)
# Where it writes to a file and to a pipe, both get it.
_ZSH_BOTH = regex(r"(?<!2)>>? ?/dev/null[^;|]*\|(?!\|)")
# In front of a command: builtins of its own, or ones that do another thing than in bash, words of its grammar, and what
# hides the command's name.
_ZSH_OWN = regex(
    r"(?:\A|[|&;])\s*(?:[%.-]|\w+=|[12&]?>|(?:alias|autoload|bg|bindkey|builtin|bye|cap|case|chdir|clone|command|compctl"
    r"|coproc|declare|dirs|disable|do|done|echotc|echoti|else|emulate|enable|end|eval|exec|export|fc|fg|float|for|foreach"
    r"|function|functions|getcap|getln|hash|history|if|integer|jobs|let|limit|local|log|logout|noglob|nocorrect|popd|print"
    r"|private|pushd|pushln|r|read|readonly|rehash|repeat|sched|select|set|setcap|setopt|shift|source|stat|suspend|then"
    r"|time|trap|ttyctl|typeset|ulimit|unalias|unfunction|unhash|unlimit|unset|unsetopt|until|vared|wait|whence|where"
    r"|which|while|z[a-z]+)(?![\w./-]))"
)
_ZSH_ECHO = regex(r"\b(?:echo|printf)\b.*\\", re.DOTALL)  # what a backslash prints is another thing
_ZSH_CD = regex(r"\bcd\b(?! +(?:[\w./~][\w./-]*|'[\w./][\w./ -]*'|\"[\w./][\w./ -]*\") *(?:\Z|[|&;]))", re.ASCII)
_QUOTES = str.maketrans("", "", "'\"")


def _zsh_alike(text: str) -> bool:
    bare = text.translate(_QUOTES)
    if any(wrong.search(each) for wrong in (_ZSH_OWN, _ZSH_BOTH) for each in (text, bare)):
        return False
    return not _ZSH_ECHO.search(text) and not _ZSH_CD.search(text) and _ZSH_PLAIN.match(text) is not None


def reads_alike(shell: str, text: str) -> bool:
    """Whether the shell of this name does with `text` what bash does. sh may be bash or dash."""
    if shell == "bash":
        return True
    if shell == "zsh":
        return _zsh_alike(text)
    if shell in ("ksh", "fish", "ash") or _BASHISMS.search(text):
        return False
    said = _ECHO.search(text)
    return said is None or not _ESCAPES.search(text, said.end())
