"""Python's virtual environments, as `source DIR/bin/activate` enters them (PEP 405)."""

import posixpath

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.programs.installs import environment_of
from shield.facts.programs.scripts import script_text
from shield.regex import regex

__all__ = ["entered", "only_enters"]

# The lines of such scripts, as venv of CPython 3.8 to 3.14 writes them, and virtualenv and uv; in whatever order, none
# of them does more than to change these variables. What they name themselves stands for itself.
_LINES_TEXT = r"""
deactivate () {
if [ -n "${_OLD_VIRTUAL_PATH:-}" ] ; then
PATH="${_OLD_VIRTUAL_PATH:-}"
export PATH
unset _OLD_VIRTUAL_PATH
fi
if [ -n "${_OLD_VIRTUAL_PYTHONHOME:-}" ] ; then
PYTHONHOME="${_OLD_VIRTUAL_PYTHONHOME:-}"
export PYTHONHOME
unset _OLD_VIRTUAL_PYTHONHOME
hash -r 2> /dev/null
hash -r 2>/dev/null
hash -r 2>/dev/null || true
hash -r
if [ -n "${_OLD_VIRTUAL_PS1:-}" ] ; then
PS1="${_OLD_VIRTUAL_PS1:-}"
export PS1
unset _OLD_VIRTUAL_PS1
unset VIRTUAL_ENV
unset VIRTUAL_ENV_PROMPT
if [ ! "${1:-}" = "nondestructive" ] ; then
if [ ! "${1-}" = "nondestructive" ] ; then
if [ ! "$1" = "nondestructive" ] ; then
unset -f deactivate
}
deactivate nondestructive
case "$(uname)" in
CYGWIN*|MSYS*)
CYGWIN*|MSYS*|MINGW*)
export VIRTUAL_ENV
;;
*)
esac
else
_OLD_VIRTUAL_PATH="$PATH"
PATH="$VIRTUAL_ENV/bin:$PATH"
PATH="$VIRTUAL_ENV/"bin":$PATH"
PATH="$VIRTUAL_ENV/"'bin'":$PATH"
export VIRTUAL_ENV_PROMPT
if [ -n "${PYTHONHOME:-}" ] ; then
_OLD_VIRTUAL_PYTHONHOME="${PYTHONHOME:-}"
unset PYTHONHOME
if [ -z "${VIRTUAL_ENV_DISABLE_PROMPT:-}" ] ; then
if [ -z "${VIRTUAL_ENV_DISABLE_PROMPT-}" ] ; then
_OLD_VIRTUAL_PS1="${PS1:-}"
_OLD_VIRTUAL_PS1="${PS1-}"
if [ -n "${BASH:-}" -o -n "${ZSH_VERSION:-}" ] ; then
if [ "${BASH_SOURCE-}" = "$0" ]; then
echo "You must source this script: \$ source $0" >&2
exit 33
unset -f pydoc >/dev/null 2>&1 || true
if ! [ -z "${_OLD_VIRTUAL_PATH:+_}" ] ; then
PATH="$_OLD_VIRTUAL_PATH"
if ! [ -z "${_OLD_VIRTUAL_PYTHONHOME+_}" ] ; then
PYTHONHOME="$_OLD_VIRTUAL_PYTHONHOME"
if ! [ -z "${_OLD_VIRTUAL_PS1+_}" ] ; then
PS1="$_OLD_VIRTUAL_PS1"
VIRTUAL_ENV_PROMPT=$(basename "$VIRTUAL_ENV")
if ! [ -z "${PYTHONHOME+_}" ] ; then
_OLD_VIRTUAL_PYTHONHOME="$PYTHONHOME"
PS1="(${VIRTUAL_ENV_PROMPT}) ${PS1-}"
alias pydoc 2>/dev/null >/dev/null && unalias pydoc || true
pydoc () {
python -m pydoc "$@"
"""
_LINES = frozenset(_LINES_TEXT.strip().split("\n"))
_NAME = r"[\w .+()-]*"
_PROMPT = regex(
    rf"VIRTUAL_ENV_PROMPT=(?:'{_NAME}'|\"{_NAME}\"|[\w.+-]+)"
    rf"|PS1=\"\({_NAME}\) \${{PS1:-}}\"|PS1=\"\(\"[\w.+-]+\"\) \${{PS1:-}}\"|PS1=\"\(\"'{_NAME}'\"\) \${{PS1:-}}\""
    rf"|PS1='{_NAME}'\"\${{PS1:-}}\"|if \[ \"x\"(?:'{_NAME}'|\"{_NAME}\"|[\w.+-]*) != x \] ; then"
)
_PLACE = regex(r"(?:export )?VIRTUAL_ENV=(?:\$\(cygpath )?(?P<quote>[\"']?)(?P<path>/[^\"'$`\\\s;&|()]*)(?P=quote)\)?")


def entered(script: str, place: Place, base: str | None) -> str | None:
    """The directory of the environment whose activation script this is; None where it is none."""
    found = environment_of(script, place, base) if posixpath.basename(script) == "activate" else None
    try:
        return found if found is not None and place.files.lstat(f"{found}/pyvenv.cfg") is not None else None
    except FileSystemUnknownError:
        return None


def only_enters(environment: str, place: Place) -> bool:
    """Whether the script of the environment does that and nothing else, whoever has put it there."""
    text = script_text(f"{environment}/bin/activate", place)
    if text is None or not text.isascii():
        return False
    lines = [line.strip() for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    return "deactivate nondestructive" in lines and all(_is_known(line, environment) for line in lines)


def _is_known(line: str, environment: str) -> bool:
    found = _PLACE.fullmatch(line)
    if found is not None:
        return found["path"] == environment
    return line in _LINES or _PROMPT.fullmatch(line) is not None
