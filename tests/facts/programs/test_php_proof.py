"""PHP that is proven to compute, print and read what it names, and files of PHP that are only looked at."""

import pytest

from shell_world import reading_policy, text
from shield.facts.programs.php_proof import php_proven
from shield.types import Decision

PROVEN = [
    'echo PHP_VERSION, "\\n";',
    'echo json_encode(["a" => 1]), PHP_EOL;',
    'var_dump(json_decode(file_get_contents("composer.json"), true));',
    'echo json_decode(file_get_contents("composer.json"), true)["name"];',
    "print_r(array_keys(['a' => 1, 'b' => 2]));",
    'foreach ([1, 2] as $k => $v) { echo $k . "=" . $v . PHP_EOL; }',
    "$a = range(1, 5); echo array_sum($a) / count($a);",
    "echo (1 + 2) * 3;",
    "if (version_compare(PHP_VERSION, '8.0', '>=')) { echo 'ok'; } else { echo 'old'; }",
    "echo date('Y-m-d'), ' ', strtoupper('x');",
    "var_dump(extension_loaded('xdebug'));",
]
REFUSED = [
    "system('id');", "exec('id');", "echo `id`;", "shell_exec('id');", "eval('x');", "include 'x.php';", "require('x');",
    "'system'('id');", '"sys" . "tem"("id");', "('system')('id');", "['system'][0]('id');", "$f = 'system'; $f('id');",
    "(fn() => system('id'))();", "array_map('system', ['id']);", "usort($a, 'system');", "call_user_func('system', 'id');",
    "array_filter(['id'], 'system');", "preg_replace('/x/e', 'system(1)', 'x');", "\\system('id');", "new X;", "X::y();",
    "$x->y();", "unlink('x');", "file_put_contents('x', 'y');", "file_get_contents('https://x.example');",
    "file_get_contents('php://filter/read=x/resource=y');", "file_get_contents($x);", "file_get_contents('x' . $y);",
    "echo $_ENV['X'];", "echo $_SERVER['argv'][0];", "print_r($GLOBALS);", "echo getenv('HOME');", "phpinfo();",
    'echo "${system(1)}";', 'echo "{$x->y()}";', "$$x = 1;", "${'x'} = 1;", "echo <<<E\nE;", "echo 1; ?> <?php system('id');",
    "echo 1 // ?>\n;", "echo 1 /* */;", "function f() {}", "static fn() => 1;", "extract($x);", "unserialize($x);",
    "header('x');", "mail('x');", "ini_set('x', 'y');", "dl('x');", "putenv('x');", "fopen('x', 'w');", "SYSTEM('id');",
    "$a = ['system']; $a{0}('id');", "$a = json_decode('{}'); $a->{'x'}('id');", "echo 1; $a::max('id');",
    "echo 1 system('id');", "isset($x)('id');", "__halt_compiler();", "exit(system('id'));", "die('x');",
]  # fmt: skip


@pytest.mark.parametrize("code", PROVEN)
def test_php_that_is_proven(code):
    assert php_proven(code) is not None


@pytest.mark.parametrize("code", REFUSED)
def test_php_that_is_not(code):
    assert php_proven(code) is None


FILES = {"composer.json": text("{}\n"), "src/a.php": text("<?php\n"), ".env": text("K=1\n")}


def judged(line):
    return {reading_policy(line, FILES, confined=confined) for confined in (True, False)}


@pytest.mark.parametrize(
    "line",
    [
        "php -r 'echo PHP_VERSION;'",
        "php -r 'echo json_decode(file_get_contents(\"composer.json\"))[1];'",
        "php -l src/a.php",
        "php -m",
        "find src -name '*.php' -exec php -l {} \\;",
        "find src -name '*.php' | xargs -n1 php -l",
    ],
)
def test_php_that_only_looks_goes_ahead(line):
    assert judged(line) == {Decision.ALLOW}


@pytest.mark.parametrize(
    "line",
    [
        "php -r 'echo file_get_contents(\".env\");'",
        "php -r 'echo file_get_contents(\"../x\");'",
        "php -d auto_prepend_file=x -r 'echo 1;'",
        "PHPRC=. php -r 'echo 1;'",
        "export PHP_INI_SCAN_DIR=.; php -r 'echo 1;'",
        "php -c . -r 'echo 1;'",
        "php -r 'echo 1;' -R 'x'",
        "php -i",
        "php -l .env",
        "php -l -d auto_prepend_file=x src/a.php",
        "php -ld extension=./x.so src/a.php",
        "php -lz./x.so src/a.php",
        "php -lr 'system(1);'",
        "php -c . -m",
        "php -r 'echo 1;' x.php",
        "find src -name '*.php' -exec php {} \\;",
    ],
)
def test_php_that_may_do_more_is_asked(line):
    assert Decision.ALLOW not in judged(line)
