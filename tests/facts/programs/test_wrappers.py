"""Programs that run their arguments: for every one, and every way to write its options, what runs is seen."""

import pytest

from shell_world import HOME, WS, facts
from shield.facts.made import MadeFile
from shield.facts.programs.forwarding import said_to_run, starts_program
from shield.types import Access, Dynamic

PROGRAM = MadeFile(content=b"\0", mode=0o755)

# Before each of these words stands `rm -rf x`; `%` is where it stands, else it comes last. Several ways a program.
HERE = """
sudo || sudo -u root || sudo -uroot || sudo --user=root || sudo --user root || sudo -nu root || sudo -E -H || sudo -- || sudo A=b || sudo -i || sudo -s
doas || doas -u root || doas -n -uroot
pkexec || pkexec --user root || run0 || run0 --user=root
env || env A=b || env -i || env -u A || env -uA || env --unset=A || env -S '%' || env -S'%' || env --split-string='%' || env -iS '%' || env -vS '%'
env -C . || env - A=b || env -a foo || env --argv0=foo || env --ignore-signal=INT || env -- || env -0i
nohup || nohup --frob v || stdbuf --frob v || unbuffer --frob v || nice || nice -n 5 || nice -5 || nice -n5 || nice --adjustment=5 || ionice -c3 || ionice -c 3 -n 0 || ionice --class=3
time || time -p || /usr/bin/time -v || /usr/bin/time -f %e || /usr/bin/time -o out
timeout 5 || timeout -k 5 5 || timeout -s KILL 5 || timeout --signal=KILL 5s || timeout --preserve-status 5 || timeout -- 5 || gtimeout 5
stdbuf -oL || stdbuf -o L -e 0 || stdbuf --output=L || setsid || setsid -w || setsid --
xargs || xargs -0 || xargs -n 1 || xargs -n1 -P4 || xargs -I{} || xargs -I {} % {} || xargs -a list || xargs -i || xargs --max-args=1 || xargs -- || xargs -rd , || xargs --max-lines || xargs -I A -L 1
parallel || parallel -j4 % ::: x || parallel -j 4 --bar '%' ::: 1 || parallel ::: '%'
watch || watch -n 1 || watch -n1 '%' || watch -x || watch --interval=1 -d || watch -dx '%' || watch -q 3
strace || strace -f -o log || strace -e trace=open || ltrace -c || perf record -g || perf stat || perf stat -e cycles -- || perf trace
command || command -- || builtin command || exec || exec -a foo || flock lock || flock -n lock || flock lock -c '%' || flock -xw 5 lock -c '%'
flock --command '%' lock || unshare -r || unshare --map-root-user --fork || unshare -rm --propagation private || chroot /
script -c '%' || script -qc '%' /dev/null || script -q -c '%' out || script --command='%' || script -q out
busybox || toybox || busybox sh -c '%' || sh -c '%' || bash -ec '%' || dash -c '%'
find . -exec % ; || find . -exec % \\; || find . -execdir % \\; || find . -ok % \\; || find . -okdir % \\;
chpst -u a || setpriv --reuid 1 || setpriv --clear-groups --reuid=1 || runuser -u a -- || runuser -u a || runuser -c '%' a || su -c '%'
su root -c '%' || su - root -c '%' || su --command='%' || su --command '%' root || su -lc '%'
systemd-run || systemd-run --user --scope || systemd-run -p A=b --pty || systemd-inhibit || machinectl shell root@.host /bin/%
dbus-run-session || dbus-run-session -- || xvfb-run || xvfb-run -a -s '-screen 0' || xvfb-run --server-args=x || firejail || firejail --net=none
bwrap --ro-bind / / || bwrap --dev-bind / / -- || torsocks || proxychains || proxychains4 -q || proxychains4 -f conf || catchsegv
valgrind || valgrind --leak-check=full || gdb --args || gdb -ex run --args || gdb -ex 'shell %' || gdb -batch -ex '!%' || lldb --
rlwrap || rlwrap -a || unbuffer || unbuffer -p || expect -c 'spawn %' || caffeinate -i || caffeinate -t 5
taskset 1 || taskset -c 0 || chrt -i 0 || chrt --idle 0 || prlimit --nofile=1 || prlimit --cpu=1 -- || cpulimit -l 50 || cpulimit -l 50 --
numactl --cpunodebind=0 || cgexec -g cpu:x || capsh -- -c '%' || fakeroot || fakeroot -- || faketime 2020-01-01 || setarch x86_64 || setarch -R || linux32
tmux new-session -d '%' || tmux new -d || tmux send-keys '%' Enter || screen -dm || screen -S a -dm bash -c '%' || dtach -n s || abduco -n s
daemonize /bin/% || s6-setuidgid a || softlimit -m 1 || envdir d || setlock l || setuidgid a || gosu a || su-exec a || tini -- || dumb-init || eatmydata
direnv exec . || mise exec -- || asdf exec || rbenv exec || dotenv run || dotenv -f .env run -- || cross-env A=b || nix-shell --run '%' || nix develop -c
concurrently '%' ls || nodemon --exec '%' || entr || entr -r || watchexec || watchexec -- || hyperfine '%' || hyperfine -w 3 ls '%'
op run -- || doppler run -- || aws-vault exec p -- || chamber exec s -- || infisical run --
/lib64/ld-linux-x86-64.so.2 /bin/% || ld.so /bin/%
tar cf a.tar --checkpoint=1 --checkpoint-action=exec='%' y || tar xf a.tar --to-command='%' || tar -I '%' -cf a.tar y
tar --use-compress-program='%' -cf a.tar y || tar cf a.tar -F '%' y || tar --rsh-command='%' -cf h:a y
sed '1e %' f || sed 's,a,%,e' f || sed -n '/x/e %' f || sed -e 1d -e '2e %' f
awk 'BEGIN{system("%")}' || awk 'BEGIN{print | "%"}' || awk 'BEGIN{"%" | getline}' || awk -f p.awk -e 'BEGIN{system( "%" )}' || gawk '{print |& "%"}' f
make SHELL='%' || make --eval='x:; %' || make --eval='$(shell %)'
socat - EXEC:'%' || socat TCP-LISTEN:1 SYSTEM:'%' || nc -e '%' host 1 || nc -c '%' host 1 || ncat --exec '%' -l 1 || ncat --sh-exec='%' -l 1
ssh -o ProxyCommand='%' host || rsync -e '%' a b: || rsync --rsh='%' a b: || scp -S '%' a b: || scp -o ProxyCommand='%' a b:
man -P '%' ls || man --pager='%' ls || sort --compress-program='%' f || xterm -e || xterm -e '%' || gnome-terminal -- || kitty || alacritty -e
unknowntool || unknowntool -v -- || unknowntool --opt v || unknowntool -c '%' || unknowntool --exec='%' || unknowntool --run '%' a
"""
# The same where what runs does not see this machine's files.
ELSEWHERE = """
ssh host || ssh -p 22 host || ssh -i key user@host || ssh host -- || ssh host '%' || nsenter -t 1 -m || nsenter --target 1 --mount
apptainer exec img || singularity exec img || distrobox enter a -- || toolbox run || lxc exec c -- || incus exec c -- || multipass exec vm --
limactl shell default || sshpass -p x ssh host || pssh -i -H h || pdsh -w h || ansible all -a '%' || ansible all -m shell -a '%' || fab --
vagrant ssh -c '%'
"""


def lines(table, command="rm -rf x"):
    for row in table.strip().split("\n"):
        for way in row.split(" || "):
            yield way.strip().replace("%e", "\1").replace("%", command if "%" in way.replace("%e", "") else "").replace(
                "\1", "%e"
            ) + ("" if "%" in way.replace("%e", "") else f" {command}")


def look(line):
    name = line.split()[0].rpartition("/")[2]
    return facts(line, {f"/usr/bin/{name}": PROGRAM, "/lib64/ld-linux-x86-64.so.2": PROGRAM})


@pytest.mark.parametrize("line", list(lines(HERE)))
def test_what_a_wrapper_runs_is_seen_with_what_it_touches(line):
    found = look(line)
    assert [command for command in found.commands if command.name == "rm"], found.commands
    deleted = {path.resolved for path in found.paths if path.access is Access.DELETE and path.recursive}
    assert f"{WS}/x" in deleted, found.paths


@pytest.mark.parametrize("line", list(lines(ELSEWHERE)))
def test_what_runs_elsewhere_is_seen_and_its_paths_are_not_ours(line):
    found = look(line)
    assert [command for command in found.commands if command.name == "rm"], found.commands
    assert not [path for path in found.paths if path.access is Access.DELETE]


@pytest.mark.parametrize("line", [*lines(HERE, "sudo id"), *lines(ELSEWHERE, "sudo id")])
def test_nobody_hides_another_users_rights(line):
    """`sudo` and its kin stay visible to rules whatever stands before them."""
    assert any(c.name == "sudo" or "sudo" in c.via for c in look(line).commands)


@pytest.mark.parametrize("line", list(lines(HERE, "cat ~/.ssh/id_rsa")))
def test_the_tilde_and_the_home_are_found_behind_every_wrapper(line):
    found = look(line)
    seen = {path.resolved for path in found.paths} | {path.raw for path in found.paths}
    # what is quoted reaches a shell later, or a program that takes no tilde for the home
    assert seen & {f"{HOME}/.ssh/id_rsa", "~/.ssh/id_rsa", f"{WS}/~/.ssh/id_rsa"}, found.paths


@pytest.mark.parametrize(
    "line",
    ["timeout 5 ls", "nice -n 5 ls", "stdbuf -oL ls", "nohup ls", "env A=b ls", "ionice -c3 ls", "setsid ls", "xargs ls",
     "chrt -i 0 ls", "taskset -c 0 ls", "prlimit --nofile=1 ls", "caffeinate ls"],
)  # fmt: skip
def test_a_wrapper_of_a_reader_stays_quiet(line):
    found = look(line)
    assert found.parsed
    assert [command.dynamic for command in found.commands][1:] in ([Dynamic.NONE], [Dynamic.CODE], [Dynamic.ARGUMENT])
    assert not [command for command in found.commands if command.dynamic is Dynamic.CODE and command.name != "ls"]


@pytest.mark.parametrize(
    "line",
    ["git commit -m 'rm -rf / is dangerous'", "echo 'sudo rm -rf ~'", "unknowntool commit -m 'rm -rf ~ is what it did'",
     "unknowntool --message='rm -rf ~'", "unknowntool note 'cat ~/.ssh/id_rsa'"],
)  # fmt: skip
def test_words_that_only_mention_a_command_run_nothing(line):
    assert [command.name for command in look(line).commands] == [line.split()[0]]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("unknowntool install x", ["unknowntool"]),
        ("unknowntool test ls-files", ["unknowntool"]),
        ("unknowntool -- test -f x", ["unknowntool", "test"]),
        ("unknowntool python3.12 x.py", ["unknowntool", "python3.12"]),
        ("unknowntool /usr/bin/rm x", ["unknowntool", "rm"]),
        ("unknowntool a b rm x", ["unknowntool", "rm"]),
    ],
)
def test_which_words_of_an_unknown_program_are_a_command(line, names):
    assert [command.name for command in look(line).commands] == names


def test_what_an_editor_is_told_to_run():
    assert said_to_run(":!rm -rf x") == "rm -rf x"
    assert said_to_run("silent !id") == "id"
    assert said_to_run("r !id") == "id"
    assert said_to_run("w! f") is None
    assert said_to_run("q!") is None
    assert said_to_run("set nu") is None
    assert starts_program("rm x")
    assert not starts_program("removed x")
    assert not starts_program("")
