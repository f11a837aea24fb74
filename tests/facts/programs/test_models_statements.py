"""Statements for databases: what surely only reads, and everything that only looks as if it did."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_world import facts, only_looks
from shield.facts.programs.statements import only_reads

READS = (
    "select * from users",
    "SELECT count(*) FROM t WHERE a > 1;",
    "select 1; select 2",
    "with x as (select 1) select * from x",
    "select a.b, max(c) from a join d on a.x = d.x group by 1 order by 2 desc limit 10",
    "select case when a is null then 'x''y' else \"b\" end from `c`",
    "select replace(name, 'a', 'b') from t",
    "explain select * from t",
    "pragma table_info(users)",
    "PRAGMA integrity_check;",
    "show tables",
    "SHOW COLUMNS FROM users",
    "describe users",
    ".tables",
    ".schema users",
    ".mode csv",
    ".dump users",
    ".timer on",
    "\\dt",
    "\\d+ users",
    "select date_trunc('day', at)::date, sum(x) from t where at >= '2026-01-01' group by 1",
)
CHANGES = (
    "",
    ";",
    "delete from t",
    "select 1; drop table t",
    "with x as (delete from a returning *) select * from x",
    "select 1 into outfile '/tmp/x'",
    "select * into copy from t",
    "select readfile('/etc/passwd')",
    "select \"readfile\"('x')",
    "select readfile ('x')",
    "select load_extension('x')",
    "select pg_read_file('x')",
    "select lo_export(1, 'x')",
    "select evil.lower('x')",
    "select nextval('s')",
    "select 'a\\'; drop table b; --'",
    "select 1 -- \n drop table t",
    "select 1 /*!50000 into outfile 'x' */",
    "select 1 -- ' \n; drop table t; -- '",
    "select 1 /* ' */; drop table t; /* ' */",
    "select 1 # ' \n; drop table t; # '",
    "explain analyze delete from a",
    "select * from a for update",
    "attach 'x' as y",
    "pragma journal_mode = delete",
    "pragma writable_schema(1)",
    "vacuum into 'x'",
    "show tables; drop table x",
    "copy t to program 'id'",
    "do $$ begin end $$",
    "select $$x$$",
    "select @a := 1",
    "replace into t values (1)",
    ".shell id",
    ".system id",
    ".output x",
    ".once |id",
    ".read x",
    ".import '|id' t",
    ".load x",
    ".open /etc/x",
    ".tables\n.shell id",
    "select 1\n.shell id",
    "\\! id",
    "\\copy t to 'x'",
    "\\o |id",
    "\\dt\n\\! id",
    "\\g |id",
    "select 1 \\g |id",
    "select 1 \\gexec",
)


@pytest.mark.parametrize("text", READS)
def test_a_query_only_reads(text):
    assert only_reads(text)


@pytest.mark.parametrize("text", CHANGES)
def test_all_else_may_do_anything(text):
    assert not only_reads(text)


@given(first=st.sampled_from(READS), second=st.sampled_from([text for text in CHANGES if text.strip(" ;")]))
def test_nothing_hides_behind_a_query(first, second):
    assert not only_reads(f"{first}; {second}")
    assert not only_reads(f"{first}\n{second}")


@given(st.text(alphabet="select fromwhr*()'\";.\\/-!@$`|\n", max_size=60))
def test_any_text_has_an_answer(text):
    assert only_reads(text) in (True, False)


def test_the_clients_believe_it():
    for line in ("sqlite3 :memory: 'select 1'", "psql -c 'select 1'", "mysql -e 'select 1'"):
        assert only_looks(facts(line)), line
        assert not only_looks(facts(line.replace("select 1", "drop table t"))), line
        assert not only_looks(facts(line.replace("'select 1'", '"$X"'))), line
        assert not only_looks(facts(line.replace(" 'select 1'", "").replace(" -c", "").replace(" -e", ""))), line
