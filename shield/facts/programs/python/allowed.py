"""What Python code may use and still surely do no more than compute, print and read: a list of names, none implied.

A name is here if calling it with any value that such code can have starts nothing, opens nothing and changes nothing
outside the process (Library Reference, Python 3.8 to 3.14). Functions that open or change a file stand apart, in
`python_files`: the file has to be named by a constant.
"""

import builtins
import sys
from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["BUILTINS", "EVERY_BUILTIN", "LISTED", "METHODS", "MODULES", "SHADOWS", "STREAMS"]

_BUILTINS_TEXT = """
print len range sum min max sorted map filter zip enumerate int float str bool list dict set tuple frozenset repr
ascii abs round divmod pow hex oct bin ord chr any all reversed isinstance hash bytes bytearray iter next complex
format slice callable id exit quit True False None NotImplemented Ellipsis Exception BaseException ValueError
TypeError KeyError IndexError AttributeError AssertionError ZeroDivisionError ArithmeticError OverflowError
LookupError NameError OSError FileNotFoundError ImportError ModuleNotFoundError UnicodeDecodeError UnicodeEncodeError
UnicodeError StopIteration RuntimeError NotImplementedError SystemExit KeyboardInterrupt EOFError PermissionError
RecursionError MemoryError Warning BufferError ConnectionError DeprecationWarning FileExistsError FloatingPointError
FutureWarning ImportWarning IsADirectoryError NotADirectoryError PendingDeprecationWarning ResourceWarning
RuntimeWarning SyntaxWarning TimeoutError UserWarning __name__
"""
BUILTINS = frozenset(_BUILTINS_TEXT.split())

# A name of the code's own that is one of these could mean either, by where it stands.
_ELDER_TEXT = """
apply basestring buffer cmp coerce execfile file intern long raw_input reduce reload unichr unicode xrange
"""
EVERY_BUILTIN = frozenset((*dir(builtins), *_ELDER_TEXT.split()))

# Attributes of any value: methods and fields of numbers, text, collections, matches, dates, trees of XML, hashes, and
# files that were opened. None of them is a method by which some type starts or opens something, or writes but to a
# file that was opened (`Path.replace` is why no path object can be had).
_METHODS_TEXT = """
add append args as_integer_ratio attrib bit_count bit_length capitalize casefold cells center clear code colno combine
conjugate copy count ctime date day days decode denominator difference digest discard doc elements encode end endswith
errno expandtabs extend find findall findtext fromhex fromisoformat fromkeys fromordinal fromtimestamp fullmatch get
getroot group groupdict groups hex hexdigest hostname hour imag index insert intersection is_integer isalnum isalpha
isascii isdecimal isdigit isdisjoint isidentifier islower isnumeric isoformat isocalendar isoweekday isprintable isspace
issubset issuperset istitle isupper items iter itertext join key keys lastgroup lastindex lineno ljust lower lstrip
major maketrans match micro microsecond microseconds min max minor minute month most_common msg name netloc now
numerator params partition parse_args password path pattern pop popitem popleft port pos quantize query ratio read
readable readline readlines real releaselevel remove removeprefix removesuffix replace resolution reverse rfind rindex
rjust rotate rpartition rsplit rstrip scheme search second seconds serial setdefault sort span split splitlines start
startswith string strftime strip strptime sub subn subtract swapcase symmetric_difference tag tail text time timestamp
timetuple title to_bytes from_bytes today toordinal total total_seconds translate tzinfo union update upper username
utcnow utcoffset value values weekday year zfill fragment fieldnames line_num strerror filename reason object st_size
st_mtime st_mode close flush getvalue seek tell truncate write writeheader writelines writerow writerows
returncode stderr stdout files metadata requires version
asname attr body col_offset decorator_list end_lineno func id keywords module names origin targets
get_matching_blocks get_opcodes quick_ratio
broadcast_address compressed exploded hosts is_global is_loopback is_multicast is_private netmask network_address
cursor description fetchall fetchmany fetchone row_factory
defaults getboolean getfloat getint has_option has_section options sections
namelist infolist getinfo testzip getnames getmembers filename file_size compress_size
critical debug error info setLevel warning
num_addresses overlaps prefixlen subnet_of subnets supernet with_prefixlen machine nodename sysname
appendleft extendleft maxlen utc move_to_end astimezone dst utctimetuple tzname geturl iterfind expand
size mtime isfile isdir issym linkname date_time is_dir compress_type CRC
cdf inv_cdf pdf zscore slope intercept as_tuple is_nan is_infinite is_finite is_zero to_integral_value limit_denominator
substitute safe_substitute fill wrap
"""
METHODS = frozenset(_METHODS_TEXT.split())

_MODULES_TEXT = """
array: array
ast: AST AnnAssign Assign AsyncFunctionDef Attribute AugAssign BinOp Call ClassDef Constant Dict Expr Expression For
  FunctionDef If Import ImportFrom List Load Module Name Return Store Subscript Try Tuple While With arg
  dump get_docstring get_source_segment iter_child_nodes iter_fields keyword literal_eval unparse walk
base64: a85decode a85encode b16decode b16encode b32decode b32encode b64decode b64encode b85decode b85encode
  decodebytes encodebytes standard_b64decode standard_b64encode urlsafe_b64decode urlsafe_b64encode
binascii: a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 hexlify unhexlify
bisect: bisect bisect_left bisect_right insort insort_left insort_right
bz2: compress decompress
calendar: calendar isleap leapdays month monthrange timegm weekday day_name month_name
cmath: acos acosh asin asinh atan atanh cos cosh e exp inf isclose isfinite isinf isnan log log10 nan phase pi polar
  rect sin sinh sqrt tan tanh tau
codecs: BOM_UTF16_BE BOM_UTF16_LE BOM_UTF8 decode encode
collections: ChainMap Counter OrderedDict defaultdict deque namedtuple
collections.abc: Callable Hashable Iterable Iterator Mapping MutableMapping Sequence Set Sized
colorsys: hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv rgb_to_yiq yiq_to_rgb
configparser: ConfigParser NoOptionError NoSectionError ParsingError RawConfigParser
contextlib: closing suppress
copy: copy deepcopy
csv: DictReader DictWriter QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC field_size_limit reader writer
datetime: UTC date datetime time timedelta timezone
decimal: Context Decimal InvalidOperation ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN
  ROUND_HALF_UP ROUND_UP getcontext localcontext
dataclasses: asdict astuple fields
difflib: SequenceMatcher context_diff get_close_matches ndiff unified_diff
email.utils: formataddr formatdate parseaddr parsedate parsedate_to_datetime
dis:
errno: EACCES EAGAIN ECONNREFUSED EEXIST EINTR EINVAL EIO EISDIR ENOENT ENOTDIR ENOTEMPTY EPERM EPIPE errorcode
fnmatch: filter fnmatch fnmatchcase translate
fractions: Fraction
functools: cmp_to_key lru_cache partial reduce
glob: escape has_magic
gzip: compress decompress
hashlib: algorithms_available algorithms_guaranteed blake2b blake2s md5 new pbkdf2_hmac scrypt sha1 sha224 sha256
  sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512
heapq: heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest
hmac: compare_digest digest new
html: escape unescape
html.parser:
importlib.metadata: PackageNotFoundError distribution distributions files metadata packages_distributions requires
  version
importlib.util:
io: BytesIO StringIO
inspect: cleandoc isbuiltin isclass isfunction ismodule
ipaddress: AddressValueError IPv4Address IPv4Network IPv6Address IPv6Network collapse_addresses ip_address ip_interface
  ip_network summarize_address_range
itertools: accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile
  filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest
json: JSONDecodeError dump dumps load loads
keyword: iskeyword kwlist softkwlist
locale: getlocale getpreferredencoding
logging: CRITICAL DEBUG ERROR INFO WARNING critical debug error getLogger info warning
lzma: compress decompress
math: acos acosh asin asinh atan atan2 atanh ceil comb copysign cos cosh degrees dist e erf erfc exp expm1 fabs
  factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10
  log1p log2 modf nan perm pi pow prod radians remainder sin sinh sqrt tan tanh tau trunc cbrt exp2
numbers: Complex Integral Number Rational Real
operator: add and_ concat contains eq floordiv ge gt index invert itemgetter le lt mod mul ne neg not_ or_ pos pow sub
  truediv xor
os: cpu_count curdir extsep getcwd getegid geteuid getgid getpid getppid getuid linesep name pardir pathsep sep uname
  urandom
os.path: basename commonpath commonprefix dirname isabs join normpath relpath split splitext
platform: python_implementation python_version python_version_tuple
pathlib:
pprint: pformat pprint
quopri: decodestring encodestring
random: Random betavariate choice choices expovariate gammavariate gauss getrandbits lognormvariate
  normalvariate paretovariate randbytes randint random vonmisesvariate weibullvariate
  randrange sample seed shuffle triangular uniform
re: A ASCII DOTALL I IGNORECASE M MULTILINE S VERBOSE X compile error escape findall finditer fullmatch match search
  split sub subn
secrets: choice randbelow randbits token_bytes token_hex token_urlsafe
shlex: join quote split
shutil: get_terminal_size which
signal: SIGHUP SIGINT SIGKILL SIGPIPE SIGTERM SIGUSR1 SIGUSR2 Signals strsignal
site: getsitepackages getuserbase getusersitepackages
sqlite3: DatabaseError Error OperationalError Row sqlite_version sqlite_version_info
ssl: HAS_TLSv1_3 OPENSSL_VERSION OPENSSL_VERSION_INFO
stat: S_IMODE S_IRGRP S_IROTH S_IRUSR S_IRWXG S_IRWXO S_IRWXU S_ISDIR S_ISLNK S_ISREG S_IWUSR S_IXUSR filemode
statistics: NormalDist correlation covariance linear_regression
  fmean geometric_mean harmonic_mean mean median median_grouped median_high median_low mode multimode pstdev
  pvariance quantiles stdev variance
string: Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable punctuation
  whitespace
struct: calcsize error iter_unpack pack unpack unpack_from
subprocess: CalledProcessError SubprocessError TimeoutExpired
sys: api_version base_exec_prefix base_prefix byteorder exec_prefix executable exit flags float_info
  getdefaultencoding getfilesystemencoding getrecursionlimit getsizeof hexversion implementation int_info maxsize
  maxunicode platform prefix version version_info builtin_module_names stdlib_module_names
textwrap: TextWrapper dedent fill indent shorten wrap
timeit: default_timer
time: asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time sleep
  strftime strptime time time_ns timezone tzname
token: DEDENT ENDMARKER INDENT NAME NEWLINE NUMBER OP STRING tok_name
tokenize: COMMENT DEDENT INDENT NAME NEWLINE NL NUMBER OP STRING TokenError generate_tokens tok_name tokenize untokenize
tomllib: TOMLDecodeError load loads
traceback: format_exc print_exc
typing: Any Callable Dict Iterable Iterator List Mapping Optional Sequence Set Tuple Union
unicodedata: bidirectional category combining decimal digit east_asian_width lookup name normalize numeric
urllib.parse: parse_qs parse_qsl quote quote_from_bytes quote_plus unquote unquote_plus unquote_to_bytes urldefrag
  urlencode urljoin urlparse urlsplit urlunparse urlunsplit
uuid: NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL UUID uuid3 uuid4 uuid5
warnings: catch_warnings filterwarnings resetwarnings simplefilter warn
tarfile: TarError
xml.etree.ElementTree: fromstring tostring
yaml: BaseLoader CSafeLoader SafeLoader YAMLError dump dump_all safe_dump safe_dump_all safe_load safe_load_all
zipfile: BadZipFile
zlib: adler32 compress crc32 decompress
zoneinfo: ZoneInfo ZoneInfoNotFoundError available_timezones
"""


def _modules(text: str) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    name = ""
    for line in text.strip().splitlines():
        head, colon, rest = line.partition(":")
        if colon:
            name, line = head, rest  # noqa: PLW2901 - the same line without its name
        found.setdefault(name, set()).update(line.split())
    return MappingProxyType({key: frozenset(value) for key, value in found.items()})


MODULES = _modules(_MODULES_TEXT)
# Values that are shared with the rest of the process and could be changed: only to be shown or gone through.
LISTED = frozenset(("sys.path", "sys.argv", "sys.warnoptions"))
STREAMS = frozenset(
    ("sys.stdin", "sys.stdin.buffer", "sys.stdout", "sys.stdout.buffer", "sys.stderr", "sys.stderr.buffer")
)

# Names of modules that the modules above, or the interpreter when it reports an error, may import: where the directory
# that is searched first holds such a name, other code runs. All of the standard library (3.8 to 3.14) but for files
# whose names begin with an underscore, what Debian's and Ubuntu's hooks import, and names of Python 2 that its own
# modules import; and PyYAML, which is taken for a part of it, as it imports nothing else.
_SHADOWS_TEXT = """
apport apport_python_hook apt apt_pkg problem_report packaging sitecustomize usercustomize exceptiongroup readline
_distutils_hack _pyrepl _yaml tzdata yaml distutils-precedence pyreadline StringIO UserDict UserList UserString cPickle
cStringIO
commands copy_reg dummy_thread dummy_threading exceptions htmlentitydefs markupbase md5 sets sha sre sre_compile
sre_constants sre_parse strop thread urllib2 urlparse repr new HTMLParser ConfigParser Queue SocketServer cookielib
httplib rfc822 mimetools multifile abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore
atexit audioop base64 bdb binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs
codeop collections colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg crypt
csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno
faulthandler fcntl filecmp fileinput fnmatch formatter fractions ftplib functools gc genericpath getopt getpass
gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib imghdr imp importlib inspect io ipaddress
itertools json keyword linecache locale logging lzma macpath mailbox mailcap marshal math mimetypes mmap modulefinder
msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev
parser pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty
pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re reprlib resource rlcompleter runpy sched secrets
select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 ssl stat
statistics string stringprep struct subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib
tempfile termios textwrap threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle
types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib
xml xmlrpc xxlimited xxsubtype zipapp zipfile zipimport zlib zoneinfo
"""
SHADOWS = frozenset(name.casefold() for name in (*_SHADOWS_TEXT.split(), *sys.stdlib_module_names))
