"""Build files that are code: what tasks of Gradle, rake and Rails and the language of cmake delete is asked."""

import pytest

from shell_world import MadeFile, reading_policy, text
from shield.types import Decision

PROGRAM = MadeFile(content=b"#!/bin/sh\nls\n", mode=0o755)
RAILS = "require_relative 'config/application'\nRails.application.load_tasks\n"
RAKE = "namespace :up do\n  task :wipe => :environment do\n    rm_rf 'data'\n  end\n  task :ok do\n    puts 1\n  end\nend\n"


def decided(line, files):
    kept = {"data/a": text("1\n"), "src/a.c": text("x\n"), "build/a": text("1\n"), "app/data/a": text("1\n")}
    kept |= dict.fromkeys(("gradlew", "bin/rake", "bin/rails"), PROGRAM)
    return reading_policy(line, kept | {path: text(said) for path, said in files.items()}, confined=True)


GRADLE = [
    'tasks.register("wipe") { doLast { delete("@@") } }',
    'tasks.register("wipe") {\n  doLast {\n    if (true) { project.delete(file("@@")) }\n  }\n}',
    "task wipe(type: Delete) {\n  delete 'build', '@@'\n}",
    "task wipe { dependsOn 'other' }\ntask other(type: Delete) {\n  delete files('@@')\n}",
    'val wipe by tasks.registering(Exec::class) { commandLine("rm", "-rf", "@@") }',
    "task wipe(type: Exec) {\n  commandLine 'rm', '-rf', '@@'\n}",
    'val wipe by tasks.registering { doLast { file("@@").deleteRecursively() } }',
]


@pytest.mark.parametrize("task", GRADLE)
def test_tasks_of_gradle(task):
    for file in ("build.gradle", "build.gradle.kts"):
        said = {file: "plugins { java }\n" + task.replace("@@", "data")}
        assert decided("./gradlew wipe", said) is Decision.ESCALATE
        assert decided("./gradlew test", said) is Decision.ALLOW
        assert decided("./gradlew tasks --all", said) is Decision.ALLOW
        assert decided("./gradlew wipe", {file: task.replace("@@", "build")}) is Decision.ALLOW


@pytest.mark.parametrize("before", ['val a = "**/*.csv"', "def a = '/*'", 'val a = "https://x.example/a" // see "b"'])
def test_what_looks_like_a_comment_in_a_text_is_none(before):
    task = before + '\ntasks.register("wipe") { doLast { delete("data") } }\nval z = "*/"\n'
    assert decided("./gradlew wipe", {"build.gradle": task}) is Decision.ESCALATE


def test_a_task_of_gradle_that_an_inner_project_has():
    said = {"app/build.gradle.kts": 'tasks.clean { delete("data") }\n'}
    assert decided("./gradlew :app:clean", said) is Decision.ESCALATE
    assert decided("./gradlew :app:test", said) is Decision.ALLOW
    assert decided("./gradlew test", {"build.gradle": '// test { delete("data") }\n'}) is Decision.ALLOW


@pytest.mark.parametrize("line", ["bin/rake up:wipe", "rake up:wipe", "bin/rails up:wipe", "bundle exec rake up:wipe"])
def test_tasks_that_rails_finds(line):
    said = {"Rakefile": RAILS, "lib/tasks/sub/x.rake": RAKE, "config/application.rb": ""}
    assert decided(line, said) is Decision.ESCALATE
    assert decided(line.replace("wipe", "ok"), said) is Decision.ALLOW


@pytest.mark.parametrize("line", ["bin/rake -T", "bin/rake db:migrate", "bin/rails db:migrate", "bin/rails routes"])
def test_what_rails_does_itself_goes_ahead_beside_such_tasks(line):
    assert decided(line, {"Rakefile": RAILS, "lib/tasks/x.rake": RAKE}) is Decision.ALLOW


def test_tasks_of_rakelib():
    said = {"Rakefile": "task :default => [:wipe]\ntask :none => []\n", "rakelib/x.rake": RAKE}
    assert decided("rake", said) is Decision.ESCALATE
    assert decided("rake wipe", said) is Decision.ESCALATE
    assert decided("rake none", said) is Decision.ALLOW


CMAKE = [
    "file(REMOVE_RECURSE ${CMAKE_SOURCE_DIR}/@@)",
    'set(D "${CMAKE_CURRENT_LIST_DIR}/@@")\nFILE(REMOVE_RECURSE\n  "${D}" # all of it\n)',
    "execute_process(COMMAND ls COMMAND rm -rf @@ RESULT_VARIABLE done)",
    "execute_process(COMMAND ${CMAKE_COMMAND} -E rm -rf @@)",
]


@pytest.mark.parametrize("code", CMAKE)
def test_the_language_of_cmake(code):
    gone, made = code.replace("@@", "data"), code.replace("@@", "build")
    for line, file in (("cmake -P x.cmake", "x.cmake"), ("cmake -S . -B build", "CMakeLists.txt")):
        assert decided(line, {file: gone}) is Decision.ESCALATE
        assert decided(line, {file: made}) is Decision.ALLOW
        assert decided(line, {file: "# " + gone.replace("\n", " ")}) is Decision.ALLOW


def test_what_the_files_of_cmake_include():
    for main in ("include(sub/x.cmake)\n", "add_subdirectory(sub)\n"):
        said = {"CMakeLists.txt": main, "sub/x.cmake": CMAKE[0].replace("@@", "data")}
        said["sub/CMakeLists.txt"] = "include(${CMAKE_CURRENT_SOURCE_DIR}/x.cmake)\n"
        assert decided("cmake -B build", said) is Decision.ESCALATE
        assert decided("cmake --build build", said) is Decision.ALLOW
