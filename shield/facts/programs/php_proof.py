"""Whether PHP for `php -r` surely does no more than compute, print and read files that it names.

A list of what may stand in such code, token by token. In PHP a text calls the function of its name (`"system"("id")`,
`array_map("system", …)`), so nothing but a listed name is called, and none that takes a function.
"""

from dataclasses import dataclass

from shield.regex import regex

__all__ = ["PhpProof", "php_proven"]

_MAX_CODE = 2_000
_TEXT = r"'((?:[^'\\]|\\[\\'])*)'|\"((?:[^\"\\$]|\\[nrt\"])*)\""
_STRING = regex(_TEXT)
_READS = regex(rf"(?:file_get_contents|file|is_file|file_exists|filesize|filemtime)\s*\(\s*(?:{_TEXT})\s*\)")
_SPACE = regex(r"\s+")
_VARIABLE = regex(r"\$([a-z][a-zA-Z0-9]*)")  # not $_ENV, $GLOBALS
_NUMBER = regex(r"\d+(?:\.\d+)?")
_NAME = regex(r"[A-Za-z_]\w*(?P<call>\s*\()?")
_SIGN = regex(r"=>|===?|!==?|<=>|<=|>=|<(?!<<)|>|&&|\|\||\?\?|\?(?!>)|\+\+|--|[-+*/%.]=?|[=!,;{\[]|:(?!:)")
_CAST = regex(r"\(\s*(?:int|integer|float|double|string|bool|boolean|array)\s*\)")
_COMMENT = regex(r"//|/\*|#|\?>|<<<")
_CALLED_TEXT = """
abs array_chunk array_column array_combine array_count_values array_diff array_fill array_flip array_intersect
array_is_list array_key_exists array_key_first array_key_last array_keys array_merge array_pad array_product
array_reverse array_search array_slice array_sum array_unique array_values arsort asort base64_decode base64_encode
basename bin2hex boolval ceil count crc32 ctype_alpha ctype_digit date dechex decbin dirname end exp explode
extension_loaded floatval floor fmod function_exists gettype hash hexdec html_entity_decode htmlspecialchars implode
in_array intdiv intval is_array is_bool is_float is_int is_null is_numeric is_string join json_decode json_encode
json_last_error_msg krsort ksort lcfirst log ltrim max mb_strlen mb_strtolower mb_strtoupper mb_substr md5
memory_get_peak_usage memory_get_usage microtime min mt_rand nl2br number_format php_sapi_name php_uname phpversion pi
pow preg_match preg_match_all preg_quote preg_split print_r printf range random_int rand rawurlencode reset round
rsort rtrim sha1 sort sprintf sqrt str_contains str_ends_with str_pad str_repeat str_replace str_split str_starts_with
strcmp stripos strlen strpos strrev strtolower strtotime strtoupper strtr strval substr substr_count time trim ucfirst
ucwords uniqid urldecode urlencode var_dump var_export version_compare wordwrap
"""
_CALLED = frozenset(_CALLED_TEXT.split())
_WORDS_TEXT = """
echo print return if else elseif foreach as for while isset empty array true false null TRUE FALSE NULL PHP_VERSION
PHP_EOL PHP_OS PHP_OS_FAMILY PHP_INT_MAX PHP_INT_SIZE PHP_MAJOR_VERSION PHP_MINOR_VERSION PHP_FLOAT_EPSILON PHP_SAPI
M_PI JSON_PRETTY_PRINT JSON_UNESCAPED_SLASHES JSON_UNESCAPED_UNICODE JSON_THROW_ON_ERROR DATE_ATOM SORT_NUMERIC
STR_PAD_LEFT
"""
_WORDS = frozenset(_WORDS_TEXT.split())
_BEFORE_GROUP = frozenset(
    ("echo", "print", "return", "if", "elseif", "foreach", "for", "while", "isset", "empty", "array")
)


@dataclass(frozen=True, slots=True)
class PhpProof:
    """Files that the code reads, as it names them."""

    reads: tuple[str, ...]


def php_proven(code: str) -> PhpProof | None:
    """The proof for `code`; None where there is none."""
    if len(code) > _MAX_CODE or not code.isascii() or "`" in code:
        return None
    reads: list[str] = []
    at, valued = 0, False  # valued: the last token ends a value, which a parenthesis would call
    while at < len(code):
        if _COMMENT.match(code, at):
            return None
        if match := _SPACE.match(code, at):
            at = match.end()
            continue
        if match := _READS.match(code, at):
            reads.append(match[1] or match[2] or "")
            valued = True
        elif match := _STRING.match(code, at) or _VARIABLE.match(code, at) or _NUMBER.match(code, at):
            valued = True
        elif match := _NAME.match(code, at):
            name = match[0].removesuffix("(").rstrip()
            if name not in (_CALLED | _BEFORE_GROUP if match["call"] else _WORDS):
                return None
            valued = not match["call"] and name not in _BEFORE_GROUP
            if match["call"] and name in _BEFORE_GROUP:
                at = match.end() - 1  # what follows may be a cast
                continue
        elif code[at] == "(":
            if valued:
                return None
            cast = _CAST.match(code, at)
            at = cast.end() if cast is not None else at + 1
            continue
        elif code[at] in ")]}":  # until PHP 8 `$list{0}` was one of its items, which a parenthesis calls
            at, valued = at + 1, True
            continue
        elif match := _SIGN.match(code, at):
            valued = False
        else:
            return None
        at = match.end()
    plain = all(name and "\\" not in name and "\0" not in name and "://" not in name for name in reads)
    return PhpProof(tuple(reads)) if plain else None
