"""Databases and terminals of this machine: what only looks goes ahead, and nothing that reaches further does."""

from dataclasses import replace

import pytest

from shell_world import facts, place, reading_policy
from shield.facts.shell import analyse
from shield.types import Decision

LOOKS = [
    "psql -h localhost -U postgres -c 'select 1'",
    "psql postgresql://app@localhost:5432/app -c 'select count(*) from users'",
    "psql -h localhost -l",
    "psql -h 127.0.0.1 -d app -c '\\dt'",
    "PGPASSWORD=x psql -h localhost -c 'select 1' | head",
    "mysql -h 127.0.0.1 -u root -e 'show databases'",
    "redis-cli -h localhost get key",
    "redis-cli -h 127.0.0.1 -p 6380 keys '*'",
    "redis-cli -u redis://localhost get key",
    "mysql -h localhost -e 'select user, host from mysql.user'",
    "export PGPASSWORD=x; psql -h localhost -c 'select 1'",
    "pg_isready -h localhost",
    "tmux ls",
    "tmux list-panes -a -F '#{pane_id} #{pane_current_command}'",
    "screen -ls",
]
REACHES = [
    "redis-cli -u redis://localhost/@db.example get key",
    "redis-cli -u 'redis://localhost:6379/0@db.example' get key",
    "redis-cli -u 'redis://localhost#@db.example' get key",
    "export PGSERVICE=far; psql -h localhost -c 'select 1'",
    "PGSERVICE=far; export PGSERVICE; psql -h localhost -c 'select 1'",
    "export PGHOST=far; pg_isready",
    "mysql -e 'select 1' redis://x",
    "psql redis://x -c 'select 1'",
    "mysql -h localhost -e '\\encoding'",
    "mysql -h localhost -e ' \\dt'",
    "mysql -h localhost -e '.tables'",
    "psql -h localhost -c 'select * from pg_authid'",
    "psql -h localhost -c 'select passwd from pg_catalog.\"pg_shadow\"'",
    "mysql -h localhost -e 'select * from mysql.user'",
    "mysql -h localhost -e 'select authentication_string from mysql.user'",
    "psql -c 'select 1'",
    "psql -l",
    "redis-cli get key",
    "psql -c 'select 1'; redis-cli -h localhost ping",
    "PGHOST=x psql -c 'select 1'",
    "export PGHOSTADDR=10.0.0.1; psql -h localhost -c 'select 1'",
    "PSQLRC=x psql -h localhost -c 'select 1'",
    "psql 'host=x' -c 'select 1'",
    "psql -h localhost,db.example -c 'select 1'",
    "psql -h localhost.example -c 'select 1'",
    "psql -h localhost -d postgresql://db.example/x -c 'select 1'",
    "psql 'postgresql://localhost/x?hostaddr=10.0.0.1' -c 'select 1'",
    "psql -h localhost -c '\\! id'",
    "psql -h localhost -o '|sh' -c 'select 1'",
    "psql -h localhost -c 'select 1' -c '\\o |sh'",
    "psql -h localhost -f x.sql",
    "psql -h localhost < x.sql",
    "psql -h localhost -c 'drop table users'",
    "psql -h localhost -c 'with x as (delete from users returning 1) select 1'",
    "psql -h localhost -c \"select * from dblink('host=x', 'select 1')\"",
    "psql -h localhost -c \"select pg_read_file('/etc/passwd')\"",
    "psql -h localhost -c \"copy users to program 'sh'\"",
    "psql -h localhost -c 'explain analyze delete from users'",
    "mysql -e 'show databases'",
    "mysql -h db.example -e 'show databases'",
    "mysql -h 127.0.0.1 -e 'select load_file(\"/etc/passwd\")'",
    "mysql -h 127.0.0.1 -e 'select 1 into outfile \"/tmp/x\"'",
    "mysql -h 127.0.0.1 --pager=sh -e 'select 1'",
    "mysql -h 127.0.0.1 --defaults-file=x -e 'select 1'",
    "mysql -h 127.0.0.1 -e 'system id'",
    "redis-cli -h 10.0.0.1 get key",
    "redis-cli -u redis://x.example get key",
    "redis-cli flushall",
    "redis-cli set a b",
    "redis-cli config set dir /tmp",
    "redis-cli eval x 0",
    "psql -h localhost -c 'select 1'; nc localhost 5432",
    "tmux ls -F '#(id)'",
    "tmux ls -F '#{?#(id),a,b}'",
    "tmux -f x ls",
    "tmux ls \\; kill-server",
    "tmux ls ';' run-shell id",
    "tmux new-session -d id",
    "tmux send-keys -t 0 id Enter",
    "tmux capture-pane -p",
    "screen -X stuff x",
    "screen -dm id",
]


@pytest.mark.parametrize("line", LOOKS)
def test_looking_at_what_runs_on_this_machine_goes_ahead(line):
    assert reading_policy(line, {}, confined=True) is Decision.ALLOW


@pytest.mark.parametrize("line", REACHES)
@pytest.mark.parametrize("confined", [True, False])
def test_whatever_reaches_further_is_asked(line, confined):
    assert reading_policy(line, {}, confined=confined) is not Decision.ALLOW


@pytest.mark.parametrize("line", ["psql -h localhost -c 'select 1'", "psql -c 'select 1'", "pg_isready"])
@pytest.mark.parametrize("name", ["PGHOST", "PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PSQLRC"])
def test_surroundings_that_lead_elsewhere_leave_it_unknown(line, name):
    there = place()
    found = analyse(line, replace(there, env={**there.env, name: "db.example"}))

    assert bool(found.unknown) is (name != "PGHOST" or "-h" not in line)


@pytest.mark.parametrize(
    "line", ["psql -h localhost -c 'select 1'", "mysql -h localhost -e 'select 1'", "redis-cli ping"]
)
def test_settings_in_a_home_that_is_the_workspace_are_its_code(line):
    assert facts(line).commands[0].runs_code.value == "none"
    assert facts(line, workspace_roots=("/home/user",)).commands[0].runs_code.value == "workspace"
