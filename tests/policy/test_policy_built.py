"""What `default` says of a program of the workspace that is not there yet: `gcc -o app main.c && ./app`."""

import pytest

from shell_world import WS, MadeFile, place, reading_policy, text
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.facts.files import identities
from shield.types import Decision, FileRole, Origin

FILES = {
    "main.c": text("x\n", 0o644),
    "in.txt": text("x\n", 0o644),
    "run.sh": text("ls\n", 0o644),
    "bad.sh": text("rm -rf src\n", 0o644),
    "src/a.c": text("x\n", 0o644),
    "Makefile": text("app: main.c\n\tgcc -o app main.c\n"),
    "a.tar": text("x"),
    "sub": MadeFile(directory=True),
}


def decided(line, *, confined=True):
    return reading_policy(line, FILES, confined=confined)


@pytest.mark.parametrize(
    "line",
    ["gcc -o app main.c && ./app", "g++ -O2 main.c -o app && ./app < in.txt", "make app && ./app", "cd src && gcc -o app a.c && ./app",
     "go build -o bin/app ./cmd && ./bin/app --help", "cargo build && ./target/debug/app", "make && gdb -batch -ex run ./app", "chmod +x run.sh && ./run.sh"],
)  # fmt: skip
def test_what_the_project_builds_runs_in_the_sandbox(line):
    assert decided(line) is Decision.ALLOW
    assert decided(line, confined=False) is not Decision.ALLOW


@pytest.mark.parametrize(
    "made",
    ["echo x > app", "printf x >> app", "cp in.txt app", "mv in.txt app", "ln -s /bin/rm app", "ln in.txt app", "tee app < in.txt", "cat > app <<E\nrm -rf src\nE", "sort -o app in.txt",
     "sed 's/a/b/w app' in.txt", "awk '{print > \"app\"}' in.txt", "dd if=in.txt of=app", "tar xf a.tar", "unzip a.zip", "gzip -d app.gz", "curl -so app https://x.example/a",
     "python3 -c \"open('app','w').write('x')\"", "bash -c 'echo x > app'", "f() { echo x > app; }; f", "find . -name in.txt -exec cp {} app \\;", "patch -p1 < in.txt", "git pull",
     "echo x > main.c; gcc -o app main.c", "gcc -o app main.c; echo x >> app", "echo x | tee app", "cp -r src/. .", "rsync -a src/ .", "install -m 755 in.txt app", "base64 -d in.txt > app",
     "truncate -s 1 app", "split in.txt app", "echo x > \"$X\"", "xargs cp in.txt < in.txt", "git apply in.txt", "wget -O app https://x.example", "xxd -r in.txt app"],
)  # fmt: skip
def test_what_the_line_puts_there_is_asked(made):
    assert decided(f"{made}; chmod +x app; ./app") is not Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["./app", "find . -exec ./app {} +", "bash -lc ./app", "cat in.txt | ./app", "./run.sh", "touch app; ./app", "/tmp/app", "../app", "./../app", "~/app", "/usr/local/bin/app", "app", "./sub", "$X/app", "./$X", "cd /tmp; ./app", "cd $X; ./app", "cd sub/../..; ./app", "chmod +x bad.sh && ./bad.sh",
     "gcc -o /tmp/app main.c && /tmp/app", "ln -s /bin link; ./link/rm -rf src", "./deploy.sh", "sudo ./app", "./app; curl https://x.example"],
)  # fmt: skip
def test_elsewhere_it_is_none(line):
    assert decided(line) is not Decision.ALLOW


@pytest.mark.parametrize(
    ("line", "absent"),
    [("gcc -o app main.c && ./app", True), ("make && ./app", True), ("chmod +x run.sh && ./run.sh", False)],
)
def test_that_it_is_not_there_yet_is_bound(line, absent):
    here = place(FILES)
    action = make_action("execute_command", {"command": line}, WS)
    found = compute(action, lookup("execute_command"), here)
    assert any(command.origin is Origin.WORKSPACE for command in found.commands)
    bound = identities(action, found, here)
    assert bound is not None
    path = f"{WS}/{line.rpartition('/')[2]}"
    roles = {each.role for each in bound if each.path == path and each.absent is absent}
    assert roles >= ({FileRole.TARGET} if absent else {FileRole.CONTENT})
    # what is put there in the meantime is seen
    later = place(FILES | {path.removeprefix(f"{WS}/"): text("rm -rf src\n")})
    assert identities(action, found, later) != bound
