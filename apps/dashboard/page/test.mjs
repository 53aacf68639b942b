// Runs the tests: they are bundled as the page is, since Node does not read TypeScript everywhere.
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = await mkdtemp(join(tmpdir(), "tune-page-"));
const tests = (await readdir(join(here, "test"))).filter((name) => name.endsWith(".test.ts"));
await build({
  absWorkingDir: here, entryPoints: tests.map((name) => join("test", name)), outdir: out, outExtension: { ".js": ".mjs" },
  bundle: true, platform: "node", format: "esm", target: "node18", jsx: "automatic", jsxImportSource: "preact", logLevel: "warning",
});
const done = spawnSync(process.execPath, ["--test", ...tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")))], { stdio: "inherit" });
await rm(out, { recursive: true });
process.exit(done.status ?? 1);
