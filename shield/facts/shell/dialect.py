"""What sh and bash read differently: such a script is not judged by what bash would do (dash(1))."""

import re

__all__ = ["reads_alike"]

_BASHISMS = re.compile(
    r"\|&|&>|<<<|\$'|\$\[|>&(?![0-9-])|=~|:~"
    r"|\[\[|(?<!\$)\(\(|<\(|>\(|;;?&|\+="
    r"|\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}"
    r"|\$\{!|\$\{[A-Za-z_]\w*[\[/^,@]|\$\{[A-Za-z_]\w*:[^-=?+]"
    r"|[A-Za-z_]\w*=\("
    r"|\b(?:function|select|coproc|time|declare|typeset|source|let|shopt|mapfile|readarray|pushd|popd|builtin|enable)\b"
    r"|\b(?:export|local|readonly)\s[^;&|\n]*=[^;&|\n\"']*[$`]"
)


def reads_alike(shell: str, text: str) -> bool:
    """Whether the shell of this name does with `text` what bash does. sh may be bash or dash."""
    if shell == "bash":
        return True
    return shell not in ("zsh", "ksh", "fish", "ash") and not _BASHISMS.search(text)
