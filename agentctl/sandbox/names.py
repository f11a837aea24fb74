"""Names in a workspace whose content a program obeys that the user starts later, outside: hooks, agents' settings and
instructions, what editors and shells read of the folder that they are opened in.

What the project's own tools read (`.npmrc`, a Makefile) is not among them: that is the work itself, as its code is.
"""

import re
from collections.abc import Iterable
from fnmatch import translate
from typing import Final

__all__ = ["FILLED", "FIRST", "GIT", "IN_HIDDEN", "NAMES", "PATTERNS", "is_hidden"]

GIT: Final = ".git"

# Relative to a workspace root; a folder stands for all that is in it.
_TABLE: Final = """
.git, .git/hooks, .git/config, .git/config.worktree, .git/commondir, .git/info/attributes, .hg/hgrc
.githooks, .git-hooks, .husky, .huskyrc, .huskyrc.js, .huskyrc.json, .huskyrc.yaml, .huskyrc.yml, .overcommit.yml
.pre-commit-config.yaml, prek.toml, captainhook.json, grumphp.yml, lefthook.yml, lefthook.yaml, lefthook.json
lefthook.toml, lefthook-local.yml, .lefthook, .lefthook.yml, .lefthook.toml, .lefthook-local.yml
.shield.yaml
.claude/settings.json, .claude/settings.local.json, .claude/hooks, .claude/agents, .claude/commands, .claude/skills
.claude/plugins, .claude/rules, .claude/output-styles, .claude/CLAUDE.md, .claude-plugin, CLAUDE.md, CLAUDE.local.md
.codex, AGENTS.md, AGENTS.override.md, .agents/skills, IDENTITY.md, SOUL.md, WARP.md
.cursor/hooks.json, .cursor/hooks, .cursor/mcp.json, .cursor/cli.json, .cursor/environment.json
.cursor/permissions.json, .cursor/rules, .cursorrules
.gemini/settings.json, .gemini/commands, .gemini/extensions, GEMINI.md, .qwen/settings.json, .qwen/hooks, QWEN.md
.github/hooks, .github/copilot-instructions.md, .github/instructions, .github/agents, .github/chatmodes
.github/prompts, .github/skills, .github/extensions, .github/lsp.json, .github/plugin
.kiro, .mcp.json, mcp.json, .windsurf, .windsurfrules, .aider.conf.yml, .amp/settings.json, .amazonq/cli-agents
.amazonq/mcp.json, .amazonq/rules, .augment/rules, .augment-guidelines, .clinerules, .crush.json, crush.json, CRUSH.md
.continue/config.json, .continue/config.yaml, .continue/config.ts, .continue/mcpServers, .continue/prompts
.continue/rules, .factory/hooks, .factory/mcp.json, .factory/settings.json, .goosehints, .goosehints.local, .junie
.kilocode/mcp.json, .kilocode/rules, .opencode/agent, .opencode/agents, .opencode/command, .opencode/commands
.opencode/plugin, .opencode/plugins, .opencode/skill, .opencode/skills, .opencode/tool, .opencode/tools
.opencode/opencode.json, .opencode/opencode.jsonc, opencode.json, opencode.jsonc, .openhands/pre-commit.sh
.openhands/setup.sh, .openhands/microagents, .roo/mcp.json, .roo/rules, .roo/rules-code, .roo/rules-architect
.roo/rules-ask, .roo/rules-debug, .roomodes, .roorules, .rules, .trae/mcp.json, .trae/rules, .emdash.json, .superset
conductor.json
.devcontainer, .devcontainer.json, .devfile.yaml, devfile.yaml, .gitpod.yml, .gitpod.Dockerfile, .replit, replit.nix
.idx/dev.nix, .codesandbox/tasks.json, .zed
.vscode/settings.json, .vscode/tasks.json, .vscode/launch.json, .vscode/mcp.json, .vscode/extensions.json
.vscode/c_cpp_properties.json, .vscode/cmake-kits.json, .idea/runConfigurations, .idea/externalDependencies.xml
.idea/tools, .idea/watcherTasks.xml, .idea/startup.xml, .run, .fleet/run.json, .helix/config.toml
.helix/languages.toml, .nova/Tasks, .exrc, .nvimrc, .nvim.lua, .lvimrc, .vimrc, .dir-locals.el, .dir-locals-2.el
.envrc, .autoenv, .autoenv.zsh, .rvmrc, .powrc, .rtx.toml, mise.toml, .mise.toml, mise.local.toml, .mise.local.toml
mise/config.toml, .mise/config.toml, .config/mise, mise-tasks, .mise-tasks
.cargo-husky/hooks, .hk.pkl, .huskyrc.cjs, .lefthook.json, .rusty-hook.toml, hk.pkl, lefthook.jsonc
.arcconfig, .gclient, .gitreview, .pijul, .repo, .sl, _darcs
.autoenv.sh, .bsp, .codebuff, .crush, .externalToolBuilders, .hie-bios, .lapce/settings.toml, .loadrc, .neoconf.json
.nvim, .ondirrc, .pi, .rovodev, .shadowenv.d, .tmuxinator.yml, .tmuxp.yaml, .vscode/sftp.json, codebuff.json
gemini-extension.json, hie.yaml, .local.vimrc, .vimrc.local, _vimrc_local.vim
.agent.md, .trae/project_rules.md, .zencoder, GROK.md, IFLOW.md, JULES.md, copilot-instructions.md
firebender.json, replit.md
git-hooks, .git_hooks, .lefthook-local, .lefthook-local.json, .lefthook-local.jsonc, .lefthook-local.toml
.lefthook-local.yaml, .lefthook.jsonc, .lefthook.yaml, lefthook-local.json, lefthook-local.jsonc, lefthook-local.toml
lefthook-local.yaml, .moon/workspace.hcl, .moon/workspace.json, .moon/workspace.jsonc, .moon/workspace.pkl
.moon/workspace.toml, .moon/workspace.yaml, .moon/workspace.yml, .pre-commit-config.yml, grumphp.dist.yml
grumphp.yml.dist, .captainhook.json, captainhook.config.json, .arclint, .arcunit, .lazygit.yml
.aider.model.settings.yml, .autoenv.leave, .autoenv_leave.zsh, .codesandbox, .envrc.local, .envrc.override
.envrc.private, .envrc.user, .github/copilot, .gitpod, .idx, .mise/conf.d, .mise/config.local.toml, .miserc.toml, .ona
.opencode.json, .opencode.jsonc, .tmuxp.json, .tmuxp.yml, .vscode/cody.json, mise/conf.d, mise/config.local.toml
kilo.json, kilo.jsonc, AGENTS.local.md, CODEBUDDY.md, .hermes.md, .bolt/prompt, .builderrules, .claude/loop.md
.coderabbit.yaml, .coderabbit.yml, .greptile, greptile.json, .kilocodemodes, .kilocoderules, .openhands_instructions
.pr_agent.toml, .ruler, .voidrules, AGENT.md, BOOT.md, BOOTSTRAP.md, CODEX.md, HEARTBEAT.md, HERMES.md, TOOLS.md
.emacs.desktop, .lazy.lua, .ycm_extra_conf.py, Session.vim, .flox, .gh-dash.yml, .gtrconfig, .kateproject
.lsp/config.edn, .nova/Configuration.json, .phpactor.json, .phpactor.yml, .powenv, .prototools, .pumaenv, .rbenv-vars
.vimspector.json, .workmux.yaml, hermit.hcl, launch.vs.json, omnisharp.json, rust-analyzer.toml, tasks.vs.json
"""
NAMES: Final = tuple(_TABLE.replace(",", " ").split())
FIRST: Final = frozenset(name.partition("/")[0] for name in NAMES)

# By pattern, directly in a root.
_PATTERNS: Final = """
.*rules, .*rules-*, .lintstagedrc*, .mise.*.toml, .nano-staged.*, .nanostagedrc*, .simple-git-hooks.*
*.code-workspace, *.command, *.desktop, *.fileloc, *.inetloc, *.library-ms, *.lnk, *.scf, *.sublime-project, *.terminal
*.url, .directory, autorun.inf, desktop.ini, husky.config.*, lint-staged.config.*, mise.*.toml, nano-staged.*
simple-git-hooks.*
"""
# In whatever hidden folder of a root: agents look for these each in one of their own. Not `settings.json`, `tasks`,
# `extensions`, `plugins` or `workflows`: build tools make these there, too.
_IN_HIDDEN: Final = """
agent, agent-memory*, agents*, command, commands*, droids, guidelines*, hooks*, instructions*, mcp*, memories
microagents, output-styles, personas, prompts*, rules*, skill, skills*, steering, subagents
"""
# Hidden folders that tools fill with what they make or fetch, and obey nothing in.
_FILLED: Final = """
.angular, .cache, .eggs, .git, .gradle, .hypothesis, .ipynb_checkpoints, .mypy_cache, .next, .nox, .nuxt, .nyc_output
.output, .parcel-cache, .pnpm, .pnpm-store, .pytest_cache, .ruff_cache, .svelte-kit, .terraform, .tox, .turbo, .venv
.vite
"""


def _split(table: str) -> tuple[str, ...]:
    return tuple(table.replace(",", " ").split())


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern) for pattern in patterns), re.IGNORECASE)


PATTERNS: Final = _any_of(_split(_PATTERNS))
IN_HIDDEN: Final = _any_of(_split(_IN_HIDDEN))
FILLED: Final = frozenset(_split(_FILLED))


def is_hidden(name: str) -> bool:
    """Whether a folder of this name is hidden, so that an agent may look there."""
    return name.startswith(".") and name.lower() not in FILLED
