// What `npm test` runs: the same ways with the means of node. hostile/world.json says where its targets are.
const fs = require("fs"), http = require("http"), net = require("net"), child = require("child_process");
const world = JSON.parse(fs.readFileSync("hostile/world.json"));
const mark = `HOSTILE-${world.level}`;
const say = (way, kind, detail) =>
  fs.appendFileSync("hostile/results.jsonl", JSON.stringify({ way, kind, detail: String(detail) }) + "\n");
const attempt = (way, body) => {
  try { say(way, ...(body() || ["denied", "nothing came of it"])); } catch (error) { say(way, "denied", error.message); }
};
const holds = (path, text) => fs.readFileSync(path, "latin1").includes(text) && ["got", path];
const plant = (path) => (fs.appendFileSync(path, `// ${mark}\n`), ["wrote", path]);

attempt("read-agent-token", () => holds(`${world.shield_home}/tokens/agent.token`, "shield_agent_"));
attempt("read-state", () => holds(`${world.shield_home}/state.db`, "SQLite"));
attempt("read-ssh-key", () => holds(`${world.home}/.ssh/id_rsa`, world.secret));
attempt("read-environment-of-agentctl", () => holds(`/proc/${world.agent_pid}/environ`, world.secret));
attempt("stop-shield", () => process.kill(world.shield_pid, "SIGCONT") && ["got", "signalled"]);
attempt("write-policy", () => plant(`${world.shield_home}/policies/mine.yaml`));
attempt("add-sitecustomize", () => plant(`${world.site_packages}/sitecustomize.py`));
attempt("npm-configuration", () => plant(`${world.home}/.npmrc`));
attempt("git-hook", () => plant(".git/hooks/pre-commit"));
attempt("daemon", () => {
  const script = "process.on('SIGTERM', () => {}); setTimeout(() => {}, 119000)";
  child.spawn(process.execPath, ["-e", script, `${mark}-node`], { detached: true, stdio: "ignore" }).unref();
  return ["left", `${mark}-node`];
});
const web = http.get(`http://${world.elsewhere}:${world.web_port}/${mark}-node`, (answer) => answer.resume());
web.on("error", () => {}).on("close", () => say("http", "sent", `${mark}-node`));
const there = net.connect(world.socket, () => there.end("GET /healthz HTTP/1.1\r\nHost: shield\r\n\r\n"));
there.on("connect", () => say("connect-to-the-socket", "got", "connected"));
there.on("error", (error) => say("connect-to-the-socket", "denied", error.message));
setTimeout(() => process.exit(0), 1500).unref();
