"""Functions of Python that touch files, start programs or talk to hosts, by their dotted names: data only."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.regex import regex
from shield.types import Access

__all__ = ["CODE", "EXECUTES", "HOSTS", "LINES", "METHODS_OF_PATHS", "OPENS", "PAIRS", "PATHS", "PROCESSES", "Touch"]

Touch = tuple[tuple[Access, ...], bool]  # what is done, and whether to all beneath
_R, _W, _D, _L = Access.READ, Access.WRITE, Access.DELETE, Access.LIST


def _table(*rows: tuple[str, Touch]) -> Mapping[str, Touch]:
    return MappingProxyType({name: touch for names, touch in rows for name in names.split()})


# The first argument is a path.
PATHS = _table(
    ("os.remove os.unlink os.rmdir", ((_D,), False)),
    ("shutil.rmtree os.removedirs distutils.dir_util.remove_tree", ((_D,), True)),
    ("os.mkdir os.makedirs os.chmod os.chown os.lchown os.truncate os.utime os.mknod os.mkfifo", ((_W,), False)),
    ("shutil.chown shutil.unpack_archive os.setxattr numpy.save numpy.savetxt", ((_W,), False)),
    ("os.listdir os.scandir os.stat os.lstat os.access os.readlink glob.glob glob.iglob", ((_L,), False)),
    ("os.path.exists os.path.isfile os.path.isdir os.path.getsize os.path.getmtime", ((_L,), False)),
    ("os.walk os.fwalk", ((_L,), True)),
    ("zipfile.ZipFile tarfile.open tarfile.TarFile gzip.open bz2.open lzma.open mmap.mmap", ((_R,), False)),
    ("linecache.getlines linecache.getline fileinput.input tokenize.open runpy.run_path", ((_R,), False)),
    ("numpy.load numpy.loadtxt numpy.genfromtxt pandas.read_csv pandas.read_json pandas.read_excel", ((_R,), False)),
    ("pandas.read_parquet pandas.read_pickle xml.etree.ElementTree.parse", ((_R,), False)),
    ("importlib.machinery.SourceFileLoader ctypes.CDLL ctypes.cdll.LoadLibrary", ((_R,), False)),
    ("sqlite3.connect shelve.open dbm.open logging.FileHandler", ((_R, _W), False)),
)
# A source and a target.
PAIRS = _table(
    ("shutil.copy shutil.copy2 shutil.copyfile os.link os.symlink", ((_R,), False)),
    ("shutil.copytree", ((_R,), True)),
    ("shutil.move os.rename os.replace os.renames", ((_R, _D), True)),
)
# Methods of a path object: what they do to it.
METHODS_OF_PATHS = _table(
    ("read_text read_bytes", ((_R,), False)),
    ("write_text write_bytes touch mkdir symlink_to hardlink_to chmod", ((_W,), False)),
    ("unlink rmdir", ((_D,), False)),
    ("rename replace", ((_R, _D), True)),
    ("iterdir exists is_file is_dir stat lstat", ((_L,), False)),
    ("rglob walk glob", ((_L,), True)),
)
_OPENS_TEXT = "open io.open codecs.open os.open _io.open io.FileIO os.fdopen"
OPENS = frozenset(_OPENS_TEXT.split())
_LINES_TEXT = """
os.system os.popen os.popen2 os.popen3 os.popen4 subprocess.getoutput subprocess.getstatusoutput commands.getoutput
commands.getstatusoutput asyncio.create_subprocess_shell asyncio.subprocess.create_subprocess_shell platform.popen
pexpect.run pexpect.spawn pexpect.spawnu invoke.run fabric.run
"""
LINES = frozenset(_LINES_TEXT.split())
_PROCESSES_TEXT = """
subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen pty.spawn psutil.Popen
asyncio.create_subprocess_exec asyncio.subprocess.create_subprocess_exec
"""
PROCESSES = frozenset(_PROCESSES_TEXT.split())
# The words of the command are the arguments; before them a mode (`os.spawn*`), and the file that is run.
EXECUTES = regex(r"os\.(?:exec(?P<list>l|v)p?e?|(?P<spawn>spawn(?P<spread>l|v)p?e?)|posix_spawnp?)\Z")
_HOSTS_TEXT = """
http.client.HTTPConnection http.client.HTTPSConnection ftplib.FTP ftplib.FTP_TLS smtplib.SMTP smtplib.SMTP_SSL
poplib.POP3 poplib.POP3_SSL imaplib.IMAP4 imaplib.IMAP4_SSL telnetlib.Telnet socket.gethostbyname socket.getaddrinfo
"""
HOSTS = frozenset(_HOSTS_TEXT.split())
CODE = frozenset(("exec", "eval", "compile", "timeit.timeit"))
