// Builds built/report.html: the page of `tune report`, with its script and style inside, and with
// their hashes in its policy. `node build.mjs --check` says instead whether it is up to date.
// built/sources.sha256 has what it was made of, so that a machine without npm can tell, too.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { join, dirname } from "node:path";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "built", "report.html");

async function bundled(entry) {
  const result = await build({
    absWorkingDir: here, entryPoints: [entry], bundle: true, write: false, minify: true, charset: "ascii", legalComments: "none",
    target: ["es2022"], format: entry.endsWith(".css") ? undefined : "iife", jsx: "automatic", jsxImportSource: "preact", logLevel: "warning",
  });
  // Between its tags the text must not end the element.
  return result.outputFiles[0].text.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
}

/** What its licence asks of every copy. */
async function licence(name) {
  const text = await readFile(join(here, "node_modules", name, "LICENSE"), "utf8");
  return `<!-- This page contains ${name}:\n${text.trim().replaceAll("--", "- -")}\n-->`;
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

export async function page() {
  const [script, style] = [await bundled("src/main.tsx"), await bundled("src/style.css")];
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
  return `<!doctype html><!-- tune report -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>tune report</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
${await licence("preact")}
<div id="page"></div>
<noscript>This report needs scripts; it sends nothing anywhere.</noscript>
<script type="application/json" id="report">"TUNE_REPORT"</script>
<script>${script}</script>
</body>
</html>
`;
}

/** As `sha256sum` writes them and checks them. */
async function sourceHashes(text) {
  const names = (await readdir(join(here, "src"), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(here.length + 1));
  const lines = await Promise.all(["build.mjs", "package-lock.json", ...names].sort().map(async (name) =>
    `${createHash("sha256").update(await readFile(join(here, name))).digest("hex")}  ${name}\n`));
  return lines.join("") + `${createHash("sha256").update(text).digest("hex")}  built/report.html\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await page();
  if (process.argv.includes("--check")) {
    const old = await readFile(target, "utf8").catch(() => "");
    if (old !== text) {
      console.error("built/report.html is not what the sources make: npm run build");
      process.exit(1);
    }
  } else {
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
    await writeFile(join(here, "built", "sources.sha256"), await sourceHashes(text));
    console.log(`${target}: ${text.length} bytes`);
  }
}
