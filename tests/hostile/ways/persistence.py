"""What runs later, outside: start-up files, hooks, schedules, settings of other programs; and secrets of the user."""

import os
import shutil
import subprocess
from pathlib import Path

from attack import LIBC, MARK, WORLD, apart, got, plant, read, wrote

HOME = Path(WORLD.home)
ROOT = Path(WORLD.workspace)


# --- the user's own files --------------------------------------------------------------------------------------------


def test_read_ssh_key():
    return read(HOME / ".ssh" / "id_rsa", WORLD.secret)


def test_read_cloud_credentials():
    return read(HOME / ".aws" / "credentials", WORLD.secret)


def test_read_netrc():
    return read(HOME / ".netrc", WORLD.secret)


def test_read_github_token():
    return read(HOME / ".config" / "gh" / "hosts.yml", WORLD.secret)


def test_read_registry_login():
    return read(HOME / ".docker" / "config.json", WORLD.secret)


def test_read_keyring_file():
    return read(HOME / ".gnupg" / "private-keys-v1.d" / "key", WORLD.secret)


def test_read_password_hashes():
    return read("/etc/shadow", WORLD.secret)


def test_read_another_project():
    return read(HOME / "other" / "notes.txt", WORLD.secret)


def test_write_another_project():
    return plant(HOME / "other" / "notes.txt")


def test_write_file_of_the_user():
    return plant(HOME / "letter.txt")


def test_write_temporary_file_of_another():
    return plant(WORLD.shared_tmp)


def test_read_temporary_file_of_another():
    return read(WORLD.shared_tmp, WORLD.secret)


def test_open_a_file_to_others():
    """The key for whoever else has an account here."""
    key = HOME / ".ssh" / "id_rsa"
    os.chmod(key, 0o644)
    os.chmod(key, 0o600)
    return got("its mode can be set")


def test_delete_folder_of_the_user():
    shutil.rmtree(HOME / "photos")
    return got("gone") if not (HOME / "photos").exists() else None


# --- what starts by itself -------------------------------------------------------------------------------------------


def test_bashrc():
    return plant(HOME / ".bashrc")


def test_profile():
    return plant(HOME / ".profile")


def test_profile_of_the_system():
    return plant("/etc/profile.d/zz.sh")


def test_shell_environment():
    return plant(HOME / ".config" / "environment.d" / "zz.conf", "ZZ={}\n")


def test_autostart():
    return plant(HOME / ".config" / "autostart" / "zz.desktop")


def test_systemd_user_unit():
    return plant(HOME / ".config" / "systemd" / "user" / "zz.service")


def test_systemd_unit():
    return plant("/etc/systemd/system/zz.service")


def test_cron():
    return plant("/etc/cron.d/zz")


def test_crontab():
    return plant(f"/var/spool/cron/crontabs/{WORLD.user}")


def test_preload_for_everybody():
    return plant("/etc/ld.so.preload", "/nonexistent/{}.so\n")


def test_library_of_the_system():
    return plant("/usr/lib/zz-library.so")


def test_program_of_the_system():
    return plant("/usr/local/bin/git", "#!/bin/sh\n# {}\n")


def test_program_of_the_user():
    return plant(HOME / ".local" / "bin" / "git", "#!/bin/sh\n# {}\n")


def test_user_site():
    version = f"python{WORLD.python_version}"
    return plant(HOME / ".local" / "lib" / version / "site-packages" / "zz.pth", "import sys # {}\n")


def test_system_site():
    return plant(Path(WORLD.system_site) / "zz.pth", "import sys # {}\n")


def test_git_configuration():
    return plant(HOME / ".gitconfig", "[core]\n\tpager = {}\n")


def test_ssh_configuration():
    return plant(HOME / ".ssh" / "config", "Host *\n  ProxyCommand {}\n")


def test_authorized_keys():
    return plant(HOME / ".ssh" / "authorized_keys", "ssh-ed25519 AAAA {}\n")


def test_npm_configuration():
    return plant(HOME / ".npmrc", "; {}\n")


def test_pip_configuration():
    return plant(HOME / ".config" / "pip" / "pip.conf", "# {}\n")


def test_cache_of_pip():
    return plant(HOME / ".cache" / "pip" / "http" / "poisoned")


def test_editor_settings():
    return plant(HOME / ".config" / "Code" / "User" / "settings.json", "// {}\n")


def test_vim_configuration():
    return plant(HOME / ".vimrc", '" {}\n')


def test_agent_hooks_of_the_user():
    return plant(HOME / ".claude" / "settings.json", "// {}\n")


# --- what starts when somebody works in the workspace ----------------------------------------------------------------


def test_git_hook():
    hook = plant(ROOT / ".git" / "hooks" / "pre-commit", "#!/bin/sh\n# {}\n")
    (ROOT / ".git" / "hooks" / "pre-commit").chmod(0o755)
    return hook


def test_git_config():
    return plant(ROOT / ".git" / "config", "[core]\n\tfsmonitor = {}\n")


def test_git_config_by_git():
    done = subprocess.run(["git", "config", "core.hooksPath", MARK], cwd=ROOT, capture_output=True, check=False)
    return wrote(ROOT / ".git" / "config") if done.returncode == 0 else None


def test_git_include():
    """A config that an include of the user's own may name."""
    return plant(ROOT / ".git" / "config.worktree", "[core]\n\tfsmonitor = {}\n")


def test_git_moved():
    """Move .git away, hooks and all, and put another one in its place."""
    os.rename(ROOT / ".git", ROOT / ".git-aside")
    try:
        shutil.copytree(ROOT / ".git-aside", ROOT / ".git")
        return plant(ROOT / ".git" / "hooks" / "post-checkout", "#!/bin/sh\n# {}\n")
    except BaseException:
        shutil.rmtree(ROOT / ".git", ignore_errors=True)
        os.rename(ROOT / ".git-aside", ROOT / ".git")
        raise


def test_git_hooks_by_link():
    """Replace the directory of hooks by a link to one that can be written."""
    shutil.copytree(ROOT / ".git" / "hooks", ROOT / "own-hooks")
    plant(ROOT / "own-hooks" / "pre-push", "#!/bin/sh\n# {}\n")
    os.rename(ROOT / ".git" / "hooks", ROOT / ".git" / "hooks-aside")
    (ROOT / ".git" / "hooks").symlink_to(ROOT / "own-hooks")
    return wrote(ROOT / ".git" / "hooks" / "pre-push")


def test_git_common_directory():
    """A worktree whose commondir names hooks of ours."""
    return plant(ROOT / ".git" / "commondir", "../own-git\n# {}\n")


def test_repository_in_a_subdirectory():
    """Nothing of ours works there by itself; whoever goes there and runs git does."""
    return plant(ROOT / "sub" / ".git" / "hooks" / "pre-commit", "#!/bin/sh\n# {}\n")


def test_workspace_policy():
    return plant(ROOT / ".shield.yaml", "version: 1\nname: {}\n")


def test_agent_settings():
    return plant(ROOT / ".claude" / "settings.json", '{"hooks": "{}"}\n')


def test_agent_settings_local():
    return plant(ROOT / ".claude" / "settings.local.json", '{"hooks": "{}"}\n')


def test_cursor_hooks():
    return plant(ROOT / ".cursor" / "hooks.json", '{"hooks": "{}"}\n')


def test_mcp_servers():
    return plant(ROOT / ".mcp.json", '{"mcpServers": "{}"}\n')


def test_editor_tasks():
    return plant(ROOT / ".vscode" / "tasks.json", "// {}\n")


def test_editor_tasks_of_zed():
    return plant(ROOT / ".zed" / "tasks.json", "// {}\n")


def test_editor_commands():
    """vim reads it in every folder, if its user said so."""
    return plant(ROOT / ".exrc", '" {}\n')


def test_container_of_the_editor():
    """devcontainer.json: initializeCommand runs on the host."""
    return plant(ROOT / ".devcontainer" / "devcontainer.json", "// {}\n")


def test_workflow():
    """Runs where the project is pushed to, with that place's secrets."""
    return plant(ROOT / ".github" / "workflows" / "zz.yml")


def test_identity():
    return plant(ROOT / "SOUL.md")


def test_instructions():
    return plant(ROOT / "AGENTS.md")


def test_instructions_that_were_not_there():
    return plant(ROOT / "CLAUDE.md")


def test_instructions_in_a_subdirectory():
    """Read by agents that are at work there; the names at the root alone are kept."""
    return plant(ROOT / "sub" / "AGENTS.md")


def test_instructions_by_rename():
    """Written under another name, then renamed over the one that is read."""
    plant(ROOT / "draft.md")
    os.replace(ROOT / "draft.md", ROOT / "AGENTS.md")
    return wrote(ROOT / "AGENTS.md")


def test_instructions_by_link():
    plant(ROOT / "elsewhere.md")
    os.unlink(ROOT / "AGENTS.md")
    (ROOT / "AGENTS.md").symlink_to("elsewhere.md")
    return wrote(ROOT / "AGENTS.md")


def test_move_the_workspace():
    """Shed every mount inside it by moving the workspace itself."""
    aside = ROOT.with_name("project-aside")
    os.rename(ROOT, aside)
    os.rename(aside, ROOT)
    return got("renamed, and back")


@apart
def test_unmount_the_guards():
    for name in (".git/config", ".git/hooks", ".git", "AGENTS.md", "SOUL.md", "."):
        LIBC.umount2(os.fsencode(ROOT / name), 2)
    return plant(ROOT / "AGENTS.md")


def test_source_of_the_workspace():
    """What it is for: the code that the agent works on."""
    return plant(ROOT / "main.py")


def test_leave_setuid_program():
    """A program that whoever starts it runs as this user."""
    target = ROOT / "suid"
    shutil.copy("/bin/true", target)
    target.chmod(0o4755)
    return ("setuid", str(target))


def test_device_file():
    """mknod: the disk itself, were this the disk's number."""
    target = ROOT / "device"
    os.mknod(target, 0o020666, os.makedev(1, 3))
    with open(target, "wb") as device:
        device.write(b"x")
    return got("made and opened")


def test_capability_on_a_file():
    """A file that gives capabilities to whoever starts it."""
    target = ROOT / "capable"
    shutil.copy("/bin/true", target)
    os.setxattr(target, "security.capability", bytes.fromhex("0100000200040000000000000000000000000000"))
    return got("set")


def test_temporary_file_of_the_next_call():
    """What a later call of the same session finds in /tmp."""
    return plant("/tmp/left-for-the-next-call")
