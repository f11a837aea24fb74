"""Ruby that is proven to compute, print and read what it names."""

import pytest

from shell_world import reading_policy, text
from shield.facts.programs.ruby_proof import ruby_proven
from shield.types import Decision

PROVEN = [
    "puts RUBY_VERSION",
    "puts [1,2,3].sum",
    "puts $_ if /def /",
    'puts JSON.parse(File.read("data.json")).keys',
    "puts JSON.pretty_generate(JSON.parse(STDIN.read))",
    "puts Dir.glob('spec/**/*_spec.rb')",
    "puts Dir['*'].sort.first(3)",
    "require 'json'; data = JSON.parse(File.read('data.json')); puts data['a'].map { |x| x['b'] }.uniq.join(', ')",
    "(1..3).each { |i| puts i * 2 }",
    "3.times { |i| puts i }",
    "puts 5 % 2",
    "puts 'abc'.gsub(/b/, 'x').upcase.reverse",
    "puts ['a', 'b'].each_with_index.map { |x, i| x + i.to_s }.join",
    "x = 3; puts x > 2 ? 'a' : 'b'",
    "puts Time.now.strftime('%F')",
    "puts $stdin.each_line.map(&:strip).tally.sort_by { |k, v| v }.last(3)",
    "p({ a: 1 })",
]
REFUSED = [
    "system 'id'", "system('id')", "exec 'id'", "`id`", "%x(id)", "% x(id) + `id`", "eval 'x'", "Kernel.system('id')", "spawn 'id'",
    'puts "#{system(1)}"', "puts <<E\n#{1}\nE", "open('|id')", "IO.read('|id')", "File.read('|id')", "File.read(x)", "File.delete('x')",
    "File.write('x', 'y')", "File.open('x', 'w')", "Dir.rmdir('x')", "require 'x'", "require './x'", "load 'x'", "fork { }",
    "'id'.send(:system, 1)", "['id'].each(&:system)", "['id'].map(&method(:system))", "['1'].reduce(1, :instance_eval)",
    "x = :instance_eval; { 'a' => 'b' }.map(&x)", "{ 'a' => 'b' }.map(&:instance_eval)", "1.instance_eval('x')", "1.public_send('x')",
    "1.method('x').call", "Object.const_get('X')", "puts ENV.to_h", "puts ENV['X']", "ObjectSpace.each_object", "trap('INT') { }",
    "at_exit { }", "define_method(:x) { }", "class A; end", "def f; end", "test = 1; test 'x'", "JSON.parse('x', create_additions: true)",
    "JSON.load('x')", "YAML.load('x')", "Marshal.load('x')", "x.y", "puts gets", "$0 = 'x'", "$: << 'x'", "$LOAD_PATH.push('x')",
    "__send__('x')", "DATA.read", "puts ARGF.read", "::Kernel.exec('x')", "[].class.class_eval('x')", "/#{system(1)}/", "x = 1; x /system('id')/",
    "x = 1\n% \" +system(\"d\")+ '\" '",
    "x = 1; print/system('id')/x", "x = 1; puts/system('id')/ x", "x = 1; p(p/system('id')/x)",
    "x",
    "x 'a'",
    "puts / system('d') /1", "puts /= system('d') /1", "p ?\"+system(\"d\")+''+'\"'", "p(% \" +system(\"d\")+ '\" ')", "p ?\"",
    "x = 4; puts x / 2 / 1", "p(%w)", "puts 1 # x", "=begin\n=end", "[1].each_entry(:x) { }", "[1].to_enum(:system)", "URI.open('https://x.example')", "exit",
]  # fmt: skip


@pytest.mark.parametrize("code", PROVEN)
def test_ruby_that_is_proven(code):
    assert ruby_proven(code) is not None


@pytest.mark.parametrize("code", REFUSED)
def test_ruby_that_is_not(code):
    assert ruby_proven(code) is None


FILES = {"data.json": text("{}\n"), "app.rb": text("x\n"), ".env": text("K=1\n")}


def judged(line):
    return {reading_policy(line, FILES, confined=confined) for confined in (True, False)}


@pytest.mark.parametrize(
    "line",
    [
        "ruby -e 'puts RUBY_VERSION'",
        "ruby -ne 'puts $_ if /def /' app.rb",
        "ruby -rjson -e 'puts JSON.parse(File.read(\"data.json\")).keys'",
        "ruby -rjson -e 'puts JSON.pretty_generate(JSON.parse(STDIN.read))' < data.json",
        "ruby -e 'puts Dir.glob(\"spec/**/*_spec.rb\")'",
    ],
)
def test_ruby_that_only_looks_goes_ahead(line):
    assert judged(line) == {Decision.ALLOW}


@pytest.mark.parametrize(
    "line",
    [
        "ruby -e 'puts File.read(\".env\")'",
        "ruby -e 'puts File.read(\"../x\")'",
        "ruby -e 'puts Dir.glob(\"/home/user/**/*\")'",
        "ruby -ne 'puts $_' .env",
        "ruby -ne 'puts $_' '|id'",
        "ruby -i -pe 'puts 1' app.rb",
        "ruby -r./x -e 'puts 1'",
        "ruby -I. -rjson -e 'puts 1'",
        "RUBYOPT=-r./x ruby -e 'puts 1'",
        "GEM_HOME=. ruby -rjson -e 'puts 1'",
        "ruby -S -e 'puts 1'",
        "ruby -e 'system \"id\"'",
    ],
)
def test_ruby_that_may_do_more_is_asked(line):
    assert Decision.ALLOW not in judged(line)


def test_a_library_of_the_workspace_is_its_code():
    line = "RUBYLIB=. ruby -rjson -e 'puts 1'"

    assert reading_policy(line, FILES, confined=False) is not Decision.ALLOW
