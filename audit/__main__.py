"""`python -P -m audit`: everything an auditor does, with nothing but a database and a public key.

Exit codes: 0 all is well, 1 tampered, 2 cannot tell (also wrong usage).
"""

import os
import sys


def _refuse_current_directory() -> None:
    """Without `-P`, Python looks for modules in the current directory first: an evidence folder could hold code.

    Whatever there would be taken for a module stops the program; then the directory leaves the search path. Python
    itself imports a few modules before this line, so only `-P` is safe; this is for whoever forgot it.
    """
    if sys.flags.safe_path or not sys.path:
        return
    here = os.path.realpath(sys.path[0] or os.curdir)
    if here != os.path.realpath(os.curdir):
        return
    wanted = {*sys.stdlib_module_names, "audit", "click", "cryptography", "cffi", "_cffi_backend", "rich"}
    for entry in os.scandir(here):
        name, dot, suffix = entry.name.partition(".")
        code = suffix.endswith(("py", "pyc", "so")) if dot else os.path.exists(os.path.join(entry.path, "__init__.py"))
        if code and name in wanted:
            sys.stderr.write(f"`{entry.name}` in the current directory would be run as code; use python -P -m audit\n")
            sys.exit(2)
    del sys.path[0]


_refuse_current_directory()

from audit.cli import main  # noqa: E402 - only after the search path is clean
from audit.cli.streams import take_over  # noqa: E402 - as above

if __name__ == "__main__":
    take_over()
    main(prog_name="audit")
