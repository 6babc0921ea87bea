// Builds dist from src: hashed files, the page that names them, the licences of what is bundled, and a manifest that ties dist to its sources.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const livekit = lock.packages["node_modules/livekit-client"];
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const list = (dir) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .sort();

rmSync("dist", { recursive: true, force: true });
mkdirSync("dist/assets", { recursive: true });

const result = await build({
  entryPoints: { app: "src/app.js", style: "src/style.css" },
  outdir: "dist/assets",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  banner: { js: `/*! telefuser console, Apache-2.0. Bundles livekit-client ${livekit.version}, Apache-2.0; see third-party.txt. */` },
  metafile: true,
});

// The page names the two entries.
const entries = {};
for (const [path, output] of Object.entries(result.metafile.outputs)) {
  if (output.entryPoint) entries[output.entryPoint] = `/console/${path.slice("dist/assets/".length)}`;
}
const page = readFileSync("src/index.html", "utf8").replace("{{style}}", entries["src/style.css"]).replace("{{app}}", entries["src/app.js"]);
writeFileSync("dist/index.html", page);

// The licences of every package that the bundle is made of, each text once.
const texts = new Map();
for (const [path, info] of Object.entries(lock.packages)) {
  if (path === "" || info.dev || info.optional || path.includes("@types/")) continue;
  const file = readdirSync(path).find((name) => /^(licen[cs]e|copying)/i.test(name));
  const text = file ? readFileSync(`${path}/${file}`, "utf8").trim() : `Licence: ${info.license}`;
  const name = `${path.replace(/^.*node_modules\//, "")} ${info.version} (${info.license})`;
  texts.set(text, [...(texts.get(text) ?? []), name]);
}
const licences = [...texts].map(([text, names]) => `${names.join("\n")}\n\n${text}\n`).join(`\n${"-".repeat(80)}\n\n`);
writeFileSync("dist/assets/third-party.txt", licences);

const hashes = (paths, strip) => Object.fromEntries(paths.map((path) => [path.slice(strip.length), sha256(readFileSync(path))]));
const sources = hashes([...list("src"), "build.mjs", "package.json", "package-lock.json"], "");
writeFileSync("dist/manifest.json", `${JSON.stringify({ sources, files: hashes(list("dist"), "dist/") }, null, 1)}\n`);

const total = list("dist").reduce((sum, path) => sum + readFileSync(path).length, 0);
console.log(`console: ${Math.round(total / 1024)} KB`);
