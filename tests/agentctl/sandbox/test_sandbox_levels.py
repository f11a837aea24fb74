"""What a level promises, each promise with a real process that tries: bubblewrap and Landlock, root and nobody."""

from pathlib import Path

import pytest

HIDDEN = ("shield/secret", "home/.config/agentctl/config.toml")


def test_a_command_works(inside):
    for level in ("none", "state_hidden", "confined"):
        answer = inside("echo out; echo err >&2; cat; exit 3", level, stdin="in")
        assert (answer.stdout, answer.stderr, answer.exit_code) == ("out\nin", "err\n", 3), answer
        assert answer.note.startswith("exit code 3")


def test_state_is_hidden(inside):
    for level in ("state_hidden", "confined"):
        for name in HIDDEN:
            path = inside.world / name
            assert "SECRET" in inside(f"cat {path}", "none").stdout
            assert "SECRET" not in inside(f"cat {path}; ls {path.parent}", level).stdout
            assert inside(f"echo x >> {path}", level).exit_code != 0
            assert inside(f"touch {path.parent}/new", level).exit_code != 0
            assert path.read_text() == "SECRET"
            assert not (path.parent / "new").exists()


def test_code_is_hidden(inside):
    for level in ("state_hidden", "confined"):
        for folder in inside.offer["packages"]:
            assert inside(f"ls {folder}/", "none").stdout
            answer = inside(f"cat {folder}/__init__.py; ls {folder}/; touch {folder}/new.py", level)
            assert answer.stdout == ""


def test_state_hidden_leaves_the_rest(inside):
    other = inside.world / "other"
    answer = inside(
        f"cat {other}/file; echo changed > {other}/file; echo x > {other}/new; cat {other}/new", "state_hidden"
    )
    assert answer.stdout == "otherx\n", answer
    (other / "file").write_text("other")
    (other / "new").unlink()


def test_confined_writes_in_the_workspace_only(inside):
    other = inside.world / "other"
    answer = inside(f"echo x > {other}/new; echo y > {other}/file; echo z > ~/new; echo w > src/new; cat src/new")
    assert answer.stdout == "w\n", answer
    assert (inside.world / "ws/src/new").read_text() == "w\n"
    assert not (other / "new").exists()
    assert (other / "file").read_text() == "other"
    assert not (inside.world / "home/new").exists()


def test_confined_hides_credentials(inside):
    assert "SECRET" in inside("cat ~/.ssh/id_rsa", "state_hidden").stdout
    assert "SECRET" not in inside("cat ~/.ssh/id_rsa").stdout


def test_confined_has_temporary_files_of_its_own(inside):
    temporary = "/tmp" if inside.means == "bubblewrap" else f"/tmp/agentctl-{inside.user}"
    name = f"canary-{inside.pid}"
    assert inside(f"echo x > {temporary}/{name}; cat {temporary}/{name}").stdout == "x\n"
    assert inside(f"cat {temporary}/{name}").stdout == "x\n", "kept for the session"
    if inside.means == "bubblewrap":
        assert inside(f"ls /tmp/{name}", "none").exit_code != 0
    else:
        assert inside(f"rm {temporary}/{name}").exit_code == 0
    outside = f"/tmp/{name}-outside"
    inside(f"echo SECRET > {outside}", "none")
    assert "SECRET" not in inside(f"cat {outside}; rm -f {outside}; echo x > {outside}").stdout
    assert inside(f"cat {outside}; rm {outside}", "none").stdout == "SECRET\n"


def test_memory_that_is_only_reserved_is_not_counted(inside):
    """AddressSanitizer reserves 16 TB for its shadow, writable and private."""
    if Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2":
        pytest.skip("this kernel counts what is reserved")
    reserve = "import mmap; mmap.mmap(-1, 1 << 44, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000); print('held')"
    for level in ("none", "state_hidden", "confined"):
        answer = inside(f'python3 -c "{reserve}"', level)
        assert answer.stdout == "held\n", answer


def test_what_a_call_starts_is_ended_first_when_memory_runs_out(inside):
    for level in ("none", "state_hidden", "confined"):
        assert int(inside("cat /proc/self/oom_score_adj", level).stdout) >= 500


def test_no_process_outside_can_be_reached(inside):
    pid = inside.pid
    attempts = (
        f"kill -0 {pid} && echo signal; cat /proc/{pid}/environ && echo environ; readlink /proc/{pid}/fd/0 && echo fd"
    )
    attempts += (
        f"; ls /proc/{pid}/root/ && echo root; ls /proc/{pid}/cwd/ && echo cwd; head -c1 /proc/{pid}/mem && echo mem"
    )
    assert inside(attempts, "none").lines.count("signal") == 1
    for level in ("state_hidden", "confined"):
        assert inside(attempts, level).stdout == ""


def test_nothing_is_inherited(inside):
    for level in ("none", "state_hidden", "confined"):
        answer = inside("ls /proc/self/fd | tr '\\n' ' '; env | sort | tr '\\n' ' '", level, env={"ONE": "1"})
        descriptors, _, names = answer.stdout.partition("3 ")
        assert descriptors == "0 1 2 ", (level, answer)
        known = {"HOME", "LANG", "ONE", "PATH", "PWD", "SHLVL", "_"}
        assert {word.split("=")[0] for word in names.split() if "=" in word} == known, (level, answer)


def test_signals_umask_and_terminal_are_fresh(inside):
    for level in ("none", "state_hidden", "confined"):
        answer = inside("grep -E '^Sig(Blk|Ign)' /proc/self/status; umask; cat < /dev/tty", level)
        masks = dict(line.split(":\t") for line in answer.lines if line.startswith("Sig"))
        assert int(masks["SigBlk"], 16) == 0
        # but for the two that the C library keeps for itself: posix_spawn(3) leaves them ignored
        assert int(masks["SigIgn"], 16) & ~(0b11 << 31) == 0, (level, answer)
        assert "0022" in answer.stdout
        assert answer.exit_code != 0


def test_there_are_no_privileges(inside):
    for level in ("state_hidden", "confined"):
        answer = inside("grep -E '^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status", level)
        found = dict(line.split(":\t") for line in answer.lines)
        expected = "0000000000000000"
        assert found["NoNewPrivs"] == "1"
        assert found["Seccomp"] == "2"
        assert {found["CapPrm"], found["CapEff"], found["CapAmb"]} == {expected}, (level, found)
        assert inside("unshare -U true; unshare -Ur true; unshare -m true", level).exit_code != 0


def test_exit_codes_and_signals_are_told(inside):
    for level in ("none", "state_hidden", "confined"):
        assert inside("exit 7", level).exit_code == 7
        killed = inside("kill -TERM $$", level)
        assert (killed.exit_code, killed.status) == (143, "error")
        assert "SIGTERM" in killed.note
        assert inside("true", level, argv=["/no/such/program"]).exit_code != 0 or level == "none"


def test_the_network_at_confined_is_empty(inside):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        attempt = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"
        assert inside(attempt, "state_hidden").stdout == "connected\n"
        assert inside(attempt, "confined").stdout == ""
        assert inside(attempt.replace("127.0.0.1", "::1"), "confined").stdout == ""


def test_limits_hold(inside):
    for level in ("none", "state_hidden", "confined"):
        answer = inside("ulimit -c; ulimit -n; cat /proc/self/oom_score_adj", level)
        assert answer.lines[0] == "0"
        assert int(answer.lines[1]) <= 65536
        assert int(answer.lines[2]) >= 500
